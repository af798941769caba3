"""The metadata log and who may write it.

`quorum` says what the controller and the loader may ask: append, be told what is committed, be told who leads. The
rest of this room keeps that promise. `quorum_of_one` does it alone on one disk; a quorum of several voters takes its
place behind the same interface, with the same files.
"""
