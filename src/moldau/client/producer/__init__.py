"""The producer: records into lanes, lanes into batches, batches to leaders.

accumulator   where records wait (`_speed`), one lane per partition
delivery      the fate of a batch, and the futures that look at it
batch         records on their way, with their producer id and sequence
partition     what the sender knows of one partition: order, sequences, retries
sender        which batches go out, and what their answers mean; on the network's thread
identity      the producer id and epoch under which brokers recognize repeated batches
transactions  begin, add, commit, abort
settings      what the producer can be told, with kafka-python's names and defaults
face          `KafkaProducer`
"""
