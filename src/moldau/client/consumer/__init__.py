"""The consumer: positions, fetches, records, groups.

reading       one partition being read: its position, and what was fetched and not yet taken
fetched       one answer's records of one partition, made into records a few at a time
sessions      fetch sessions: a broker is told what changed, not everything each time
fetcher       which partitions are fetched from whom; on the network's thread
positions     where to begin: committed offsets, then the reset policy
offsets       committing, and asking for what was committed
assignors     who reads what, in classic groups
membership    joining, heartbeats and rebalances of classic groups
settings      what the consumer can be told, with kafka-python's names and defaults
face          `KafkaConsumer`
"""
