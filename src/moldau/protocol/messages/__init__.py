"""The messages, generated from the definitions in `moldau.protocol.schema`."""
