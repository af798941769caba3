"""The definitions of every message, and what turns them into Python.

The `.wire` files beside this one say what is on the wire: one file per API, and one per family of records. `language`
reads them into the `model`; `generator` writes the modules in `moldau.protocol.messages` from it. Nothing here is
imported by a running broker or client. After a change to a definition run `python tools/generate_messages.py`.
"""
