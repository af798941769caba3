"""What applications derive from when they authenticate, under the place it has in kafka-python."""
