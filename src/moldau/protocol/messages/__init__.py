"""The messages, generated from the definitions in `schema/` beside this package."""
