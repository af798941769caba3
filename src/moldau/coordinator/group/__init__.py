"""The group coordinator: consumer groups of both protocols and the offsets they commit.

    coordinator     the face: requests in, Deferred responses out
    shard           one partition of `__consumer_offsets` in memory: all groups and offsets in it, and their replay
    classic_*       groups whose members agree among themselves: join, sync, heartbeat, leave
    consumer_*      groups of KIP-848, where the coordinator assigns
    offset_*        committed offsets
    requests        who asks, and how it is refused
    migration       a group changes from one protocol to the other while it is in use

Further kinds of groups (share, streams) have their place beside the two: a class in `groups`, their records in
`record_types`.
"""
