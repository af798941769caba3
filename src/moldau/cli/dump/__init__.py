"""Reading what a broker has written: segments, indexes, snapshots, checkpoints. Files are only read, never opened for
writing, so a dump can run beside the broker that owns them.

`files` says what a path is, `segment` and `index` read and check, `state` the small files, `content` turns records
into something to look at.
"""
