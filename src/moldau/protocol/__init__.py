"""The wire: messages, their definitions and the primitives they are made of, and record batches."""
