"""Pictures of the console's pages for the documentation, of a small shop's cluster at work (`make screenshots`)."""
