"""Coordinators: state machines over the partitions of an internal topic.

A group or a transactional id belongs to one partition of its internal topic (`partition_hash`), and whoever leads that
partition is its coordinator. The state of the partition is a *shard*: it decides `(records, response)` and changes only
by `replay` (`shard`). The *runtime* appends the records, parks the response until the high watermark passes them, loads
a shard from its partition and drops it again (`runtime`, `write_path`, `loading`, `timers`).

`group/` and `txn/` are the two coordinators that stand on it.
"""
