"""The consumer, from one partition up to a group:

    fetch_state     one partition being read: its position, and what was fetched of it
    fetched         one answer's records of one partition, made into records a few at a time
    sessions        fetches in flight, and their sessions: a broker is told what changed, not everything each time
    fetcher         which partitions are fetched from whom; on the network's thread
    validation      truncation detection: whether what was read is still there
    fetch_buffer    what was fetched and not yet handed out; on the application's thread
    position_finder where to begin: committed offsets, then the reset policy
    positions       where the application is, and how it is moved
    columns         records as columns, and as pyarrow's record batches
    offsets         conversations of committing, and of asking for what was committed
    committer       commits one after the other, and their callbacks
    commits         commits as an application asks for them, and those made for it
    assignors       who reads what, in classic groups
    membership      joining, heartbeats and rebalances of classic groups
    reconciliation  the same in groups of the new protocol (KIP-848), where the coordinator decides
    subscription    topics by name or by pattern, and which of them are not there yet
    rebalancing     the application's side of membership: when to join, what listeners are told
    interceptors    what an application hangs in between: sees records and commits
    counters        what is counted
    settings        what the consumer can be told, with kafka-python's names and defaults
    face            `KafkaConsumer`, which holds these
    partition_reader  ranges of partitions without a consumer, for those who only have offsets

Two threads: the application's polls, commits and runs listeners; the network's fetches ahead and keeps the group.
"""
