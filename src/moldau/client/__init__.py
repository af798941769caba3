"""The client side: one core without IO of its own, and the blocking face the commands use.

From the wire upwards:

    exchange      one connection's protocol state: versions, correlation, in-flight requests. Bytes in, bytes out.
    connection    a blocking socket around an exchange.
    security      TLS or not, SASL or not: what both kinds of connection ask (`sasl` has the mechanisms).
    metadata      what is known of the cluster: brokers, topics, leaders and their epochs. Immutable.
    conversation  operations written as generators that say what they need (ask a node, learn metadata, pause).
    cluster       the blocking face that performs those steps: connections per node, deadlines, back-off.
    admin/        topics, configs, offsets, brokers, groups: every operation is a conversation.
    producing     records into batches into partitions, one step at a time: what `moldau produce` uses.
    consuming     positions, fetches, records, likewise.

An operation never touches a socket or a clock; so a second face performs the same conversations without a second copy
of them. That one runs on a loop, behind the ports of `runtime`, and is what applications use:

    link          a connection on a loop.
    network       links to the nodes, the view of the cluster, and `perform` for conversations (`talk`).
    background    the loop on a thread of its own.
    coordinators  finding and asking coordinators of groups and transactions.
    producer/     `KafkaProducer`.
    consumer/     `KafkaConsumer`.
    admin/face    `KafkaAdminClient`.
    exceptions    Kafka's errors by the names kafka-python gives them.
"""
