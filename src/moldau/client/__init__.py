"""The client side: one core without IO of its own, and the blocking face the commands use.

From the wire upwards:

    exchange      one connection's protocol state: versions, correlation, in-flight requests. Bytes in, bytes out.
    connection    a blocking socket around an exchange.
    metadata      what is known of the cluster: brokers, topics, leaders and their epochs. Immutable.
    conversation  operations written as generators that say what they need (ask a node, learn metadata, pause).
    cluster       the blocking face that performs those steps: connections per node, deadlines, back-off.
    admin/        topics, configs, offsets, brokers: every operation is a conversation.
    producing     records into batches into partitions.
    consuming     positions, fetches, records.

An operation never touches a socket or a clock; so a second face (asyncio, or the simulated network) performs the same
conversations without a second copy of them.
"""
