"""The producer: records into lanes, lanes into batches, batches to leaders.

    delivery      the fate of a batch, and the futures that look at it; the accumulator comes from `_speed`
    batch         records on their way, with their producer id and sequence
    partition     what the sender knows of one partition: order, sequences, retries; and of nodes that take nothing
    sender        which batches go out, and what their answers mean; on the network's thread
    requests      produce requests and their answers
    counters      what is counted, for `metrics`
    identity      the producer id and epoch under which brokers recognize repeated batches
    transactions  begin, add, commit, abort
    interceptors  what applications hang into the way of records
    batch_producer  the door for who has batches; topic_writer for who has one topic
    settings      what the producer can be told, with kafka-python's names and defaults
    face          `KafkaProducer`

Two threads: the application's append, in one call per record; the network's send and hear the answers.
"""
