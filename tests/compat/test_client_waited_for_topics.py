"""Topics that are not there yet: what is written to them first is read, and who may create them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import pytest
from node_process import StartNode

from moldau import KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.admin import KafkaAdminClient, NewTopic

AT_ONCE = {"group.initial.rebalance.delay.ms": "0"}
BY_HAND = {**AT_ONCE, "auto.create.topics.enable": "false"}


def write(bootstrap: str, topic: str, count: int) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(count):
            producer.send(topic, b"%d" % number)


def read(consumer: KafkaConsumer, count: int, meanwhile: Callable[[], None]) -> list[bytes]:
    """Waits for nothing a few times first, as a service does that was started too early."""
    for _ in range(5):
        assert consumer.poll(100) == {}
    writing = threading.Thread(target=meanwhile)
    writing.start()
    seen: list[bytes] = []
    for _ in range(100):
        seen += [record.value for records in consumer.poll(200).values() for record in records]
        if len(seen) >= count:
            break
    writing.join()
    return sorted(seen)


@pytest.mark.parametrize("group", [None, "readers"])
@pytest.mark.parametrize("how", ["by name", "by pattern"])
@pytest.mark.parametrize("settings", [AT_ONCE, BY_HAND], ids=["created by itself", "created by hand"])
def test_the_first_records_are_read(
    start_node: StartNode, topic: str, group: str | None, how: str, settings: dict[str, str]
) -> None:
    bootstrap = start_node(settings).bootstrap

    def meanwhile() -> None:
        if settings is BY_HAND:
            with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
                admin.create_topics([NewTopic(topic, 3, 1)])
        write(bootstrap, topic, 5)

    options: dict[str, Any] = {"group_id": group, "metadata_max_age_ms": 1000}
    with KafkaConsumer(bootstrap_servers=bootstrap, **options) as consumer:
        if how == "by name":
            consumer.subscribe([topic])
        else:
            consumer.subscribe(pattern="^the-first")
        assert read(consumer, 5, meanwhile) == [b"%d" % number for number in range(5)]


@pytest.mark.parametrize("group", [None, "readers"])
@pytest.mark.parametrize("which", ["topic", "partition"])
def test_the_first_records_of_what_was_assigned_are_read(
    start_node: StartNode, topic: str, group: str | None, which: str
) -> None:
    bootstrap = start_node(BY_HAND).bootstrap
    with (
        KafkaAdminClient(bootstrap_servers=bootstrap) as admin,
        KafkaConsumer(bootstrap_servers=bootstrap, group_id=group, metadata_max_age_ms=1000) as consumer,
    ):
        if which == "partition":
            admin.create_topics([NewTopic(topic, 1, 1)])
        consumer.assign([TopicPartition(topic, 1)])

        def meanwhile() -> None:
            if which == "partition":
                admin.create_partitions({topic: 2})
            else:
                admin.create_topics([NewTopic(topic, 2, 1)])
            with KafkaProducer(bootstrap_servers=bootstrap) as producer:
                for number in range(5):
                    producer.send(topic, b"%d" % number, partition=1)

        assert read(consumer, 5, meanwhile) == [b"%d" % number for number in range(5)]


def test_what_was_there_before_is_read_from_its_end(bootstrap: str, topic: str) -> None:
    write(bootstrap, topic, 3)
    for subscription in ({"topics": [topic]}, {"pattern": f"^{topic}$"}):
        with KafkaConsumer(bootstrap_servers=bootstrap) as consumer:
            assert consumer.partitions_for_topic("elsewhere-" + topic) == set()
            consumer.subscribe(**subscription)
            consumer.poll(100)
            assert consumer.position(TopicPartition(topic, 0)) == 3


def test_who_may_create_topics(bootstrap: str, topic: str) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        with KafkaConsumer(f"{topic}-r", bootstrap_servers=bootstrap, allow_auto_create_topics=False) as consumer:
            consumer.poll(1000)
        with (
            KafkaProducer(bootstrap_servers=bootstrap, allow_auto_create_topics=False, max_block_ms=1000) as producer,
            # The latter where not even the first answer comes in this time.
            pytest.raises((errors.UnknownTopicOrPartitionError, errors.KafkaTimeoutError)),
        ):
            producer.send(f"{topic}-w", b"x").get(10)
        assert not {f"{topic}-r", f"{topic}-w"} & set(admin.list_topics())
        with KafkaConsumer(f"{topic}-r", bootstrap_servers=bootstrap) as consumer:
            consumer.poll(1000)
        assert f"{topic}-r" in admin.list_topics()


@pytest.mark.parametrize("count", [2, 8], ids=["shorter than before", "longer than before"])
def test_a_topic_made_anew_is_read_from_its_beginning(start_node: StartNode, topic: str, count: int) -> None:
    """Offsets of the former one mean nothing in it, and all of it is new, whatever auto_offset_reset says."""
    bootstrap = start_node(BY_HAND).bootstrap
    with (
        KafkaAdminClient(bootstrap_servers=bootstrap) as admin,
        KafkaConsumer(bootstrap_servers=bootstrap, metadata_max_age_ms=1000) as consumer,
    ):
        admin.create_topics([NewTopic(topic, 1, 1)])
        consumer.assign([TopicPartition(topic, 0)])
        assert consumer.position(TopicPartition(topic, 0)) == 0
        assert len(read(consumer, 5, lambda: write(bootstrap, topic, 5))) == 5
        admin.delete_topics([topic])
        admin.create_topics([NewTopic(topic, 1, 1)])
        write(bootstrap, topic, count)
        seen: list[int] = []
        for _ in range(100):
            seen += [record.offset for records in consumer.poll(200).values() for record in records]
            if len(seen) >= count:
                break
        assert seen == list(range(count))


def test_of_a_topic_that_was_deleted_nothing_is_committed_by_itself(
    start_node: StartNode, topic: str, caplog: pytest.LogCaptureFixture
) -> None:
    """The coordinator says that it may be there soon; asked until time is over, it would hold up `poll` for as long."""
    bootstrap = start_node(BY_HAND).bootstrap
    options: dict[str, Any] = {"group_id": topic, "auto_offset_reset": "earliest", "metadata_max_age_ms": 500}
    with (
        KafkaAdminClient(bootstrap_servers=bootstrap) as admin,
        KafkaConsumer(topic, bootstrap_servers=bootstrap, **options) as consumer,
    ):
        admin.create_topics([NewTopic(topic, 1, 1)])
        assert len(read(consumer, 5, lambda: write(bootstrap, topic, 5))) == 5
        admin.delete_topics([topic])
        while consumer.assignment():
            consumer.poll(100)
    assert "could not be committed" not in caplog.text
