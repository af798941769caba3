"""The controller: the one place where the cluster's metadata is decided.

An operation is a pure decision: it looks at the state and returns records and a response. The records go into the
metadata log, `replay` applies them, and the response leaves when they are committed. A restart, a new leader and a
test all take the same path, because only `replay` changes state. One file per noun.
"""
