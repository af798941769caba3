"""What turns the definitions of every message into Python.

The `.wire` files in `src/moldau/protocol/schema` say what is on the wire: one file per API, and one per family of
records. `language` reads them into the `model`; `generator` writes the modules in `moldau.protocol.messages` from it.
A running broker or client needs none of this, so it is no part of the package. After a change to a definition run
`make generate`.
"""
