"""The metadata log and who may write it: KRaft.

`quorum` says what the controller and the loader may ask: append, be told what is committed, be told who leads.
`raft_quorum` keeps that promise, alone or with others: it drives `machine`, which decides everything and does nothing,
over `metadata_log`, the file of `quorum_state` and the other members (`correspondence`).
"""
