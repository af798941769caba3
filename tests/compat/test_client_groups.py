"""Consumers that share topics: joining, leaving, dying, listeners and commits, in classic groups."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Any

import pytest

from moldau import ConsumerRebalanceListener, KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition, errors
from moldau.client.admin import NewTopic, create_topics
from moldau.client.cluster import Cluster

PARTITIONS = 6
PATIENCE = 60.0

ASSIGNORS = ["range", "roundrobin", "sticky", "cooperative-sticky"]


@pytest.fixture
def filled(bootstrap: str, topic: str) -> str:
    with Cluster(bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(topic, PARTITIONS)]))
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(6000):
            producer.send(topic, b"%d" % number, partition=number % PARTITIONS)
    return topic


class Members:
    """Consumers of one group, each polling on a thread of its own."""

    def __init__(self, bootstrap: str, topic: str, **settings: Any) -> None:
        self._settings = {
            "bootstrap_servers": bootstrap,
            "group_id": topic,
            "auto_offset_reset": "earliest",
            "heartbeat_interval_ms": 200,
            **settings,
        }
        self._topic = topic
        self.seen: list[tuple[int, int]] = []
        self.failures: list[BaseException] = []
        self.running: dict[KafkaConsumer, tuple[threading.Event, threading.Thread]] = {}

    def add(self, **settings: Any) -> KafkaConsumer:
        consumer = KafkaConsumer(self._topic, **{**self._settings, **settings})
        stop = threading.Event()
        thread = threading.Thread(target=self._poll, args=(consumer, stop))
        self.running[consumer] = (stop, thread)
        thread.start()
        return consumer

    def _poll(self, consumer: KafkaConsumer, stop: threading.Event) -> None:
        try:
            while not stop.is_set():
                for records in consumer.poll(200).values():
                    self.seen += [(record.partition, record.offset) for record in records]
        except BaseException as error:
            self.failures.append(error)

    def remove(self, consumer: KafkaConsumer) -> None:
        stop, thread = self.running.pop(consumer)
        stop.set()
        thread.join()
        consumer.close()

    def shares(self) -> list[set[TopicPartition]]:
        return [consumer.assignment() for consumer in self.running]

    def settle(self) -> None:
        """Until everybody has a share of the work and nothing is shared twice."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            shares = self.shares()
            together = set().union(*shares)
            sizes = [len(share) for share in shares]
            if len(together) == PARTITIONS == sum(sizes) and max(sizes) - min(sizes) <= 1:
                return
            time.sleep(0.05)
        raise AssertionError(f"the group did not settle: {self.shares()}, {self.failures}")


@pytest.fixture
def members(bootstrap: str, filled: str) -> Iterator[Members]:
    members = Members(bootstrap, filled)
    yield members
    for consumer in tuple(members.running):
        members.remove(consumer)
    assert not members.failures


@pytest.mark.parametrize("assignor", [*ASSIGNORS, "of the coordinator"])
def test_members_come_and_go_and_every_record_is_read(members: Members, assignor: str) -> None:
    strategy: dict[str, Any] = {"partition_assignment_strategy": [assignor]}
    if assignor not in ASSIGNORS:
        strategy = {"group_protocol": "consumer"}
    first = members.add(**strategy)
    members.settle()
    second, third = members.add(**strategy), members.add(**strategy)
    members.settle()
    members.remove(second)
    members.settle()
    members.remove(first)
    members.settle()
    deadline = time.monotonic() + PATIENCE
    while len(set(members.seen)) < 6000 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert set(members.seen) == {(partition, offset) for partition in range(PARTITIONS) for offset in range(1000)}
    # Everybody left in order, committing what it had read: nothing was read twice.
    assert len(members.seen) == 6000
    assert third.group_metadata().generation_id > 1


def test_cooperative_members_keep_what_stays_theirs(members: Members) -> None:
    told: list[tuple[str, set[TopicPartition]]] = []

    class Listener(ConsumerRebalanceListener):
        def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
            told.append(("revoked", set(revoked)))

        def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
            told.append(("assigned", set(assigned)))

    strategy = {"partition_assignment_strategy": ["cooperative-sticky"]}
    first = members.add(**strategy)
    first.subscribe([members._topic], listener=Listener())
    members.settle()
    kept = first.assignment()
    members.add(**strategy)
    members.settle()
    revoked = [partitions for what, partitions in told if what == "revoked"]
    assert len(revoked) == 1
    assert len(revoked[0]) == PARTITIONS // 2
    assert first.assignment() == kept - revoked[0]


def test_an_upgrade_from_eager_to_cooperative(members: Members) -> None:
    """In two rounds through the group, as Kafka describes it: first both kinds everywhere, then the new one alone."""
    old = {"partition_assignment_strategy": ["range"]}
    both = {"partition_assignment_strategy": ["cooperative-sticky", "range"]}
    new = {"partition_assignment_strategy": ["cooperative-sticky"]}
    first, second = members.add(**old), members.add(**old)
    members.settle()
    for leaving in (first, second):
        members.remove(leaving)
        members.add(**both)
        members.settle()
    # All offer both now, and the group is larger than before: nobody waits for partitions that were given back.
    third = members.add(**both)
    members.settle()
    for leaving in tuple(members.running):
        members.remove(leaving)
        members.add(**new)
        members.settle()
    assert third not in members.running
    deadline = time.monotonic() + PATIENCE
    while len(set(members.seen)) < 6000 and time.monotonic() < deadline:
        time.sleep(0.05)
    assert len(members.seen) == len(set(members.seen)) == 6000


def test_a_static_member_comes_back_to_its_share_without_a_rebalance(bootstrap: str, filled: str) -> None:
    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "group_id": filled,
        "auto_offset_reset": "earliest",
        "heartbeat_interval_ms": 200,
    }
    generations = []
    for _ in range(2):
        with KafkaConsumer(filled, group_instance_id="one", **settings) as consumer:
            deadline = time.monotonic() + PATIENCE
            while len(consumer.assignment()) < PARTITIONS and time.monotonic() < deadline:
                consumer.poll(100)
            generations.append(consumer.group_metadata().generation_id)
            assert len(consumer.assignment()) == PARTITIONS
    assert generations[0] == generations[1]


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_the_others_notice_nothing_of_a_static_member_that_restarts(members: Members, protocol: str) -> None:
    first = members.add(group_instance_id="one", group_protocol=protocol)
    second = members.add(group_instance_id="two", group_protocol=protocol)
    members.settle()
    rounds, share = first.metrics()["consumer-coordinator-metrics"]["rebalance-total"], second.assignment()
    members.remove(second)
    again = members.add(group_instance_id="two", group_protocol=protocol)
    members.settle()
    assert again.assignment() == share
    assert first.metrics()["consumer-coordinator-metrics"]["rebalance-total"] == rounds


def test_a_second_member_of_the_same_instance_shuts_out_the_first(bootstrap: str, filled: str) -> None:
    settings: dict[str, Any] = {
        "bootstrap_servers": bootstrap,
        "group_id": filled,
        "group_instance_id": "one",
        "heartbeat_interval_ms": 100,
    }
    with KafkaConsumer(filled, **settings) as first, KafkaConsumer(filled, **settings) as second:
        deadline = time.monotonic() + PATIENCE
        for consumer in (first, second):
            while not consumer.assignment() and time.monotonic() < deadline:
                consumer.poll(100)
        with pytest.raises(errors.FencedInstanceIdError):
            first.commit({TopicPartition(filled, 0): OffsetAndMetadata(1, "", -1)})
        with pytest.raises(errors.FencedInstanceIdError):
            list(iter(lambda: first.poll(100), None))  # for ever, if it does not hear of it
        assert len(second.assignment()) == PARTITIONS


def test_a_pattern_takes_up_new_topics(bootstrap: str, topic: str) -> None:
    def create(name: str) -> None:
        with Cluster(bootstrap) as cluster:
            cluster.run(create_topics([NewTopic(name, 1)]))
        with KafkaProducer(bootstrap_servers=bootstrap) as producer:
            producer.send(name, name.encode()).get(10)

    create(f"{topic}-a")
    seen: set[bytes] = set()
    with KafkaConsumer(
        bootstrap_servers=bootstrap, group_id=topic, auto_offset_reset="earliest", metadata_max_age_ms=500
    ) as consumer:
        consumer.subscribe(pattern=f"{topic}-.*")
        for name in (f"{topic}-a", f"{topic}-b"):
            if name.endswith("b"):
                create(name)
            deadline = time.monotonic() + PATIENCE
            while name.encode() not in seen and time.monotonic() < deadline:
                for records in consumer.poll(200).values():
                    seen |= {record.value for record in records}
        assert seen == {f"{topic}-a".encode(), f"{topic}-b".encode()}
        assert consumer.subscription() == {f"{topic}-a", f"{topic}-b"}


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_subscriptions_change_end_and_begin_again(bootstrap: str, filled: str, protocol: str) -> None:
    other = f"{filled}-other"
    with Cluster(bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(other, 2)]))
    with KafkaConsumer(
        filled, bootstrap_servers=bootstrap, group_id=filled, group_protocol=protocol, heartbeat_interval_ms=100
    ) as consumer:

        def settle(*topics: str) -> None:
            deadline = time.monotonic() + PATIENCE
            while {where.topic for where in consumer.assignment()} != set(topics):
                assert time.monotonic() < deadline, (topics, consumer.assignment())
                consumer.poll(50)

        settle(filled)
        consumer.subscribe([filled, other])
        settle(filled, other)
        before = consumer.group_metadata()
        consumer.unsubscribe()
        assert consumer.assignment() == set()
        assert consumer.group_metadata()[1:3] == (-1, "")
        # Outside of the group offsets can be committed all the same, as long as nobody is in it.
        consumer.assign([TopicPartition(other, 0)])
        consumer.seek(TopicPartition(other, 0), 0)
        consumer.commit()
        consumer.unsubscribe()
        consumer.subscribe(pattern=f"{filled}-o.*")
        settle(other)
        assert consumer.group_metadata().member_id != before.member_id
        deadline = time.monotonic() + PATIENCE
        while not consumer.metrics()["consumer-coordinator-metrics"]["heartbeat-total"]:
            assert time.monotonic() < deadline, "whoever does not show signs of life is counted out"
            consumer.poll(50)


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_who_stops_polling_loses_its_share(bootstrap: str, filled: str, protocol: str) -> None:
    lost: list[set[TopicPartition]] = []

    class Listener(ConsumerRebalanceListener):
        def on_partitions_lost(self, partitions: Iterable[TopicPartition]) -> None:
            lost.append(set(partitions))

    with KafkaConsumer(
        bootstrap_servers=bootstrap,
        group_id=filled,
        group_protocol=protocol,
        max_poll_interval_ms=1000,
        heartbeat_interval_ms=100,
    ) as consumer:
        consumer.subscribe([filled], listener=Listener())
        deadline = time.monotonic() + PATIENCE
        while not consumer.assignment() and time.monotonic() < deadline:
            consumer.poll(100)
        old = consumer.group_metadata()
        while consumer.group_metadata()[:3] == old[:3] and time.monotonic() < deadline:
            time.sleep(0.05)
        while not lost and time.monotonic() < deadline:
            consumer.poll(100)
    assert lost[0] == {TopicPartition(filled, number) for number in range(PARTITIONS)}
