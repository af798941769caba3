"""The consumer, from one partition up to a group:

    reading         one partition being read: its position, and what was fetched and not yet taken
    fetched         one answer's records of one partition, made into records a few at a time
    sessions        fetch sessions: a broker is told what changed, not everything each time
    flights         fetches on their way, and what to do beside one that waits at the broker
    fetcher         which partitions are fetched from whom; on the network's thread
    validation      truncation detection: whether what was read is still there
    taking          handing out what was fetched
    reset           where to begin when nothing is committed: `auto_offset_reset`
    positions       where to begin: committed offsets, then the reset policy
    offsets         committing, and asking for what was committed
    committing      when and how the consumer commits
    assignors       who reads what, in classic groups
    membership      joining, heartbeats and rebalances of classic groups
    reconciliation  the same in groups of the new protocol (KIP-848), where the coordinator decides
    subscription    topics by name or by pattern, and which of them are not there yet
    rebalancing     the application's side of membership: when to join, what listeners are told
    interceptors    what an application hangs in between: sees records and commits
    measures        what is counted
    arrow           columns as pyarrow's record batches
    settings        what the consumer can be told, with kafka-python's names and defaults
    face            `KafkaConsumer`, in four parts: `seeking` for positions as an application asks for and changes them,
                    `remembering` for commits, `columnar` for columns, and itself

Two threads: the application's polls, commits and runs listeners; the network's fetches ahead and keeps the group.
"""
