"""Transactions: who writes under a transactional id, to which partitions, and whether it counts.

`states` is the map of the state machine, `transaction` one transaction and its record; `initialization`, `membership`
and `ending` decide, each a pure function from a transaction to the next; `shard` keeps those of one partition and
decides when time is up; `completion` carries a decision to the partitions; `coordinator` is the face to the server.
"""
