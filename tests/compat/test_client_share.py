"""The share consumer: records handed out one by one to whoever is there, and what becomes of each."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from moldau import KafkaProducer, TopicPartition, errors
from moldau.client.admin import NewTopic, create_topics
from moldau.client.admin.configs import ConfigChange, ConfigResource, ResourceType, alter_configs
from moldau.client.cluster import Cluster
from moldau.client.share.acknowledgements import AcknowledgeType
from moldau.client.share.face import KafkaShareConsumer

PATIENCE = 60.0

NewConsumer = Callable[..., KafkaShareConsumer]


@pytest.fixture
def group(share_bootstrap: str, topic: str) -> str:
    """A share group that begins with the oldest record."""
    earliest(share_bootstrap, topic)
    return topic


def earliest(bootstrap: str, group: str, **settings: str) -> None:
    changes = {"share.auto.offset.reset": "earliest", **settings}
    with Cluster(bootstrap) as cluster:
        outcomes = cluster.run(
            alter_configs({ConfigResource(ResourceType.GROUP, group): [ConfigChange(*each) for each in _set(changes)]})
        )
    assert set(outcomes.values()) == {None}


def _set(changes: dict[str, str]) -> list[tuple[Any, ...]]:
    from moldau.client.admin.configs import ConfigOperation

    return [(name, ConfigOperation.SET, value) for name, value in changes.items()]


@pytest.fixture
def filled(share_bootstrap: str, topic: str) -> str:
    """Thirty records in three partitions."""
    with Cluster(share_bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(topic, 3)]))
    fill(share_bootstrap, topic, 30)
    return topic


def fill(bootstrap: str, topic: str, count: int, partitions: int = 3, begin: int = 0) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(begin, begin + count):
            producer.send(topic, b"%d" % number, partition=number % partitions)


@pytest.fixture
def new_consumer(share_bootstrap: str, group: str) -> Iterator[NewConsumer]:
    made: list[KafkaShareConsumer] = []

    def make(*topics: str, **settings: Any) -> KafkaShareConsumer:
        consumer = KafkaShareConsumer(*topics, **{"bootstrap_servers": share_bootstrap, "group_id": group, **settings})
        made.append(consumer)
        return consumer

    yield make
    for consumer in made:
        consumer.close()


def collect(consumer: KafkaShareConsumer, count: int) -> list[Any]:
    """So many records, over as many polls as it takes."""
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(500).values():
            found += records
    return found


def test_all_records_come_once_and_are_done_with(filled: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(filled)
    found = collect(consumer, 30)
    assert sorted(int(record.value) for record in found) == list(range(30))
    assert {record.delivery_count for record in found} == {1}
    outcomes = consumer.commit_sync()
    assert outcomes
    assert set(outcomes.values()) == {None}
    assert consumer.poll(700) == {}
    assert consumer.assignment() == {TopicPartition(filled, number) for number in range(3)}
    assert consumer.acquisition_lock_timeout_ms() == 30_000


def test_the_next_poll_accepts_what_the_last_one_brought(
    share_bootstrap: str, filled: str, new_consumer: NewConsumer
) -> None:
    with new_consumer(filled) as consumer:
        collect(consumer, 30)
        consumer.poll(300)
    assert new_consumer(filled).poll(1500) == {}


def test_what_was_not_accepted_when_a_member_ends_goes_to_others(filled: str, new_consumer: NewConsumer) -> None:
    with new_consumer(filled) as first:
        seen = [record for records in first.poll(10_000).values() for record in records]
        assert seen
    second = new_consumer(filled)
    found = collect(second, 30)
    again = {(record.partition, record.offset): record.delivery_count for record in found}
    assert {again[record.partition, record.offset] for record in seen} == {2}


def test_each_record_is_acknowledged_by_itself(filled: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(filled, share_acknowledgement_mode="explicit")
    heard: list[tuple[dict[TopicPartition, set[int]], BaseException | None]] = []
    consumer.set_acknowledgement_commit_callback(lambda offsets, error: heard.append((offsets, error)))
    found = collect_explicitly(consumer, 30, accept_but_thirds)
    assert len(found) == 30
    released = {(each.partition, each.offset) for each in found if each.offset % 3 == 1}
    again = collect_explicitly(consumer, len(released), lambda record: AcknowledgeType.ACCEPT)
    assert {(each.partition, each.offset) for each in again} == released
    assert {each.delivery_count for each in again} == {2}
    consumer.commit_sync()
    assert consumer.poll(700) == {}
    told = [
        (where, offset) for offsets, error in heard if error is None for where in offsets for offset in offsets[where]
    ]
    assert len(told) == 30 + len(released)
    assert all(error is None for _, error in heard)


def accept_but_thirds(record: Any) -> AcknowledgeType:
    return (AcknowledgeType.ACCEPT, AcknowledgeType.RELEASE, AcknowledgeType.REJECT)[record.offset % 3]


def collect_explicitly(consumer: KafkaShareConsumer, count: int, decide: Callable[[Any], AcknowledgeType]) -> list[Any]:
    found: list[Any] = []
    deadline = time.monotonic() + PATIENCE
    while len(found) < count and time.monotonic() < deadline:
        for records in consumer.poll(500, max_records=count - len(found)).values():
            for record in records:
                consumer.acknowledge(record, decide(record))
                found.append(record)
    return found


def test_a_poll_before_everything_was_acknowledged_is_refused(filled: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(filled, share_acknowledgement_mode="explicit")
    records = [record for each in consumer.poll(10_000).values() for record in each]
    consumer.acknowledge(records[0])
    assert set(consumer.commit_sync().values()) == {None}
    with pytest.raises(errors.IllegalStateError, match="must be acknowledged"):
        consumer.poll(0)
    with pytest.raises(errors.IllegalStateError, match="not among the records"):
        consumer.acknowledge(records[0])
    for record in records[1:]:
        consumer.acknowledge_offset(record.topic, record.partition, record.offset, AcknowledgeType.REJECT)
    consumer.poll(0)


def test_implicit_members_do_not_acknowledge(filled: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(filled)
    records = next(iter(consumer.poll(10_000).values()))
    with pytest.raises(errors.IllegalStateError, match="implicitly"):
        consumer.acknowledge(records[0])


def test_a_renewed_record_is_handed_out_again_by_the_same_member(filled: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(filled, share_acknowledgement_mode="explicit")
    first = [record for records in consumer.poll(10_000).values() for record in records]
    for record in first:
        consumer.acknowledge(record, AcknowledgeType.RENEW if record is first[0] else AcknowledgeType.ACCEPT)
    again = [record for records in consumer.poll(10_000).values() for record in records]
    assert again == first[:1]
    assert again[0].delivery_count == 1
    consumer.acknowledge(again[0])
    assert set(consumer.commit_sync().values()) == {None}


def test_a_lock_that_ran_out_is_told(share_bootstrap: str, filled: str, group: str, new_consumer: NewConsumer) -> None:
    earliest(share_bootstrap, group, **{"share.record.lock.duration.ms": "15000"})
    slow = new_consumer(filled, share_acknowledgement_mode="explicit")
    record = next(iter(slow.poll(10_000).values()))[0]
    # Not the lock itself, which takes fifteen seconds, but what comes of it: another member has acknowledged.
    slow._fetcher.network.loop.call_from_thread(lambda: _lose(slow))
    slow.acknowledge(record)
    outcomes = slow.commit_sync(20_000)
    assert isinstance(outcomes[TopicPartition(filled, record.partition)], errors.MoldauError)


def _lose(consumer: KafkaShareConsumer) -> None:
    from moldau.links.errors import ConnectionFailed

    for session in consumer._fetcher._sessions.values():
        session.link.give_up(ConnectionFailed("cut off"))


def test_no_more_records_than_wanted(filled: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(filled, max_poll_records=4, share_acquire_mode="record_limit")
    sizes = []
    seen: Counter[tuple[int, int]] = Counter()
    while len(seen) < 30:
        found = consumer.poll(5000)
        sizes.append(sum(map(len, found.values())))
        seen.update((record.partition, record.offset) for records in found.values() for record in records)
    assert max(sizes) <= 4
    assert set(seen.values()) == {1}


def test_a_wait_ends_when_it_is_woken_up(topic: str, share_bootstrap: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(topic)
    threading.Timer(0.3, consumer.wakeup).start()
    with pytest.raises(errors.WakeupError):
        consumer.poll(60_000)


def test_a_record_that_cannot_be_read_is_for_others(filled: str, new_consumer: NewConsumer) -> None:
    def deserialize(value: bytes) -> int:
        if value == b"7":
            raise ValueError("seven")
        return int(value)

    picky = new_consumer(filled, value_deserializer=deserialize)
    found: list[int] = []
    failed = 0
    deadline = time.monotonic() + PATIENCE
    while len(found) < 29 and time.monotonic() < deadline:
        try:
            for records in picky.poll(500).values():
                found += [record.value for record in records]
        except ValueError:
            failed += 1
    assert sorted(found) == [number for number in range(30) if number != 7]
    assert failed
    picky.commit_sync()
    picky.close()
    (record,) = collect(new_consumer(filled), 1)
    assert record.value == b"7"
    assert record.delivery_count > 1


def test_markers_of_transactions_are_passed_over(share_bootstrap: str, topic: str, new_consumer: NewConsumer) -> None:
    with Cluster(share_bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(topic, 1)]))
    with KafkaProducer(bootstrap_servers=share_bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for number in range(3):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number)
            producer.commit_transaction()
    consumer = new_consumer(topic)
    assert [int(record.value) for record in collect(consumer, 3)] == [0, 1, 2]
    consumer.commit_sync()
    assert consumer.poll(700) == {}


def test_members_that_come_and_go_lose_nothing(share_bootstrap: str, filled: str, new_consumer: NewConsumer) -> None:
    fill(share_bootstrap, filled, 970, begin=30)
    done: Counter[int] = Counter()
    failures: list[BaseException] = []
    lock = threading.Lock()

    def work(polls: int) -> None:
        try:
            consumer = new_consumer(filled, max_poll_records=50)
            for _ in range(polls):
                values = [int(record.value) for records in consumer.poll(500).values() for record in records]
                if values and set(consumer.commit_sync().values()) == {None}:
                    with lock:
                        done.update(values)
            consumer.close()
        except BaseException as error:
            failures.append(error)

    deadline = time.monotonic() + PATIENCE
    while len(done) < 1000 and time.monotonic() < deadline:
        threads = [threading.Thread(target=work, args=(polls,)) for polls in (2, 5, 9)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert not failures
    assert len(done) == 1000
    assert set(done.values()) == {1}


def test_settings_of_the_group_are_not_the_member_s(share_bootstrap: str) -> None:
    with pytest.raises(errors.KafkaConfigurationError, match=r"share\.auto\.offset\.reset"):
        KafkaShareConsumer(group_id="any", auto_offset_reset="earliest")
    with pytest.raises(errors.KafkaConfigurationError, match="group_id"):
        KafkaShareConsumer(bootstrap_servers=share_bootstrap)
    with pytest.raises(errors.KafkaConfigurationError, match="explicit"):
        KafkaShareConsumer(group_id="any", share_acknowledgement_mode="perhaps")


def test_metrics_count_what_was_done(filled: str, new_consumer: NewConsumer) -> None:
    consumer = new_consumer(filled)
    collect(consumer, 30)
    consumer.commit_sync()
    fetched = consumer.metrics()["consumer-share-fetch-manager-metrics"]
    assert fetched["records-fetched-total"] == 30
    assert fetched["acknowledgements-send-total"] == 30
    assert fetched["acknowledgements-error-total"] == 0
    assert consumer.metrics()["consumer-share-coordinator-metrics"]["assigned-partitions"] == 3
