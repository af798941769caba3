"""What a sink's test looks at afterwards: the records of a topic, and the transactions that are still open."""

from __future__ import annotations

from typing import Any

from moldau import KafkaConsumer
from moldau.client.admin.transactions import describe_transaction, list_transactions
from moldau.client.cluster import Cluster
from moldau.spark.sink.ending import end_transactions
from moldau.spark.sink.ledger import Opened
from moldau.types import TopicPartition


def records_of(bootstrap: str, topic: str, *, committed: bool = True) -> list[Any]:
    """All records of a topic up to the end that a reader of this kind can see."""
    isolation = "read_committed" if committed else "read_uncommitted"
    found: list[Any] = []
    with KafkaConsumer(
        bootstrap_servers=bootstrap, isolation_level=isolation, auto_offset_reset="earliest", group_id=None
    ) as consumer:
        partitions = [TopicPartition(topic, index) for index in consumer.partitions_for_topic(topic) or ()]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        while any(consumer.position(where) < ends[where] for where in partitions):
            for polled in consumer.poll(timeout_ms=500).values():
                found += polled
    return found


def open_transactions(bootstrap: str, key: str = "") -> list[str]:
    """The transactional ids with something open, of one query if `key` names it."""
    with Cluster(bootstrap) as cluster:
        listed = cluster.run(list_transactions(states=["Ongoing"]))
    return [entry.transactional_id for entry in listed if key in entry.transactional_id]


def abort_open(bootstrap: str, key: str) -> None:
    """Aborts what is open, as the coordinator does when the time of a transaction is over."""
    with Cluster(bootstrap) as cluster:
        for name in open_transactions(bootstrap, key):
            found = cluster.run(describe_transaction(name))
            opened = Opened(name, found.producer_id, found.producer_epoch, True)
            assert cluster.run(end_transactions({name: opened}, commit=False)) == {}
