"""The share coordinator: how far the share groups have come in each partition, kept in `__share_group_state`.

A share partition is a partition as one share group sees it. Its leader decides what is delivered; here is only what
must survive him: the start offset, and the batches behind it that are not as new. `state` says what is kept,
`state_batches` how a change becomes part of it, `shard` decides, `coordinator` takes the requests.
"""
