"""The client side: one core without IO of its own, and one driver that runs it.

From the wire upwards:

    exchange      one connection's protocol state: versions, correlation, in-flight requests. Bytes in, bytes out.
    link          a connection on a loop: an exchange on a transport.
    security      TLS or not, SASL or not (`sasl` has the mechanisms; `properties` the names of other clients).
    metadata      what is known of the cluster: brokers, topics, leaders and their epochs. Immutable.
    conversation  operations written as generators that say what they need (ask a node, learn metadata, pause).
    network       links to the nodes, the view of the cluster, and `perform` for conversations (`driver` has the steps).
    background    the loop on a thread of its own.
    session       what the parts of a client share; how a face takes over their methods.
    cluster       the face for those who only wait: a background, a network, and `run` for conversations.

An operation never touches a socket or a clock, so it exists once for whoever performs it:

    producing     conversations of those who write: producer ids, topics, batches.
    fetching      fetch requests and what comes back, likewise.
    leaders, coordinators  asking the node that is responsible, and finding it again when it has moved.
    admin/        topics, configs, offsets, brokers, groups; its `face` is `KafkaAdminClient`.
    producer/     `KafkaProducer`, and doors for who has batches (`batch_producer`) or one topic (`topic_writer`).
    consumer/     `KafkaConsumer`, and `partition_reader` for those who only have offsets.
    exceptions    Kafka's errors by the names kafka-python gives them.

`docs/internals/client.md` says which thread does what, and who may call what from where.
"""
