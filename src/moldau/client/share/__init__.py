"""The share consumer: members of a share group read the same partitions side by side, record by record.

    acknowledgements  what becomes of records: accepted, released, rejected, renewed; runs of them as the wire has them
    acquired          the records one answer acquired in one partition: made into records, and watched until their end
    in_flight         what the application has in its hands, and what it has said of it
    node_session      one broker: the share session with it, and acknowledgements on their way to it
    share_fetcher     which brokers are asked for records and told of acknowledgements; on the network's thread
    share_membership  heartbeats, and which partitions are ours to read from
    settings          what the share consumer can be told
    face              `KafkaShareConsumer`, which holds these

Two threads, as in the consumer: the application's polls and acknowledges; the network's keeps the membership, fetches
when records are wanted, and never ahead of that: a record that is acquired is locked for everybody else.
"""
