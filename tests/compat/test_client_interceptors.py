"""Interceptors of the consumer: what they see, what they may change, and that they cannot do harm."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from typing import Any

import pytest

from moldau import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from moldau.aio import AIOKafkaConsumer


class Watching:
    def __init__(self) -> None:
        self.consumed: list[bytes] = []
        self.committed: list[dict[TopicPartition, OffsetAndMetadata]] = []
        self.closed = 0
        self.threads: set[threading.Thread] = set()

    def on_consume(self, records: Any) -> Any:
        self.threads.add(threading.current_thread())
        self.consumed += [record.value for share in records.values() for record in share]
        return records

    def on_commit(self, offsets: Any) -> None:
        self.threads.add(threading.current_thread())
        self.committed.append(offsets)

    def close(self) -> None:
        self.closed += 1


class Even:
    """Changes what is handed out, and has nothing else."""

    def on_consume(self, records: Any) -> Any:
        return {where: [record for record in share if int(record.value) % 2 == 0] for where, share in records.items()}


class Broken:
    def on_consume(self, records: Any) -> Any:
        raise ZeroDivisionError

    def on_commit(self, offsets: Any) -> None:
        raise ZeroDivisionError

    def close(self) -> None:
        raise ZeroDivisionError


@pytest.fixture
def filled(bootstrap: str, topic: str) -> str:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(10):
            producer.send(topic, b"%d" % number, partition=0)
    return topic


def take(consumer: KafkaConsumer, count: int) -> list[bytes]:
    values: list[bytes] = []
    deadline = time.monotonic() + 60
    while len(values) < count and time.monotonic() < deadline:
        for records in consumer.poll(200).values():
            values += [record.value for record in records]
    return values


def test_each_sees_what_the_one_before_it_left(bootstrap: str, filled: str) -> None:
    before, after = Watching(), Watching()
    where = TopicPartition(filled, 0)
    with KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        group_id=filled,
        enable_auto_commit=False,
        interceptors=[before, Even(), after],
    ) as consumer:
        consumer.assign([where])
        even = [b"0", b"2", b"4", b"6", b"8"]
        assert take(consumer, 5) == even
        assert before.consumed == [b"%d" % number for number in range(10)]
        assert after.consumed == even
        assert consumer.position(where) == 10, "what is left out was read all the same"
        consumer.commit()
        assert [offsets[where].offset for offsets in before.committed] == [10]
        consumer.commit_async({where: OffsetAndMetadata(3, "later")}).get(10)
        consumer.poll(0)
        assert before.committed[1:] == [{where: OffsetAndMetadata(3, "later")}]
        assert after.committed == before.committed
        assert before.closed == 0
    assert (before.closed, after.closed) == (1, 1)
    assert before.threads == {threading.current_thread()}


def test_records_one_by_one_pass_them_too(bootstrap: str, filled: str) -> None:
    with KafkaConsumer(
        filled,
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=60_000,
        interceptors=[Even()],
    ) as consumer:
        assert [int(next(consumer).value) for _ in range(5)] == [0, 2, 4, 6, 8]


def test_automatic_commits_are_told(bootstrap: str, filled: str) -> None:
    watching = Watching()
    where = TopicPartition(filled, 0)
    with KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        group_id=filled,
        auto_commit_interval_ms=50,
        interceptors=[watching],
    ) as consumer:
        consumer.assign([where])
        assert len(take(consumer, 10)) == 10
        # Records may come in several answers, with a commit in between; the last one has all of them.
        deadline = time.monotonic() + 60
        while [offsets[where].offset for offsets in watching.committed][-1:] != [10]:
            assert time.monotonic() < deadline, watching.committed
            consumer.poll(20)


def test_one_that_fails_is_logged_and_passed_over(
    bootstrap: str, filled: str, caplog: pytest.LogCaptureFixture
) -> None:
    watching = Watching()
    where = TopicPartition(filled, 0)
    with (
        caplog.at_level(logging.ERROR, "moldau.client"),
        KafkaConsumer(
            bootstrap_servers=bootstrap,
            auto_offset_reset="earliest",
            group_id=filled,
            interceptors=[Broken(), watching],
        ) as consumer,
    ):
        consumer.assign([where])
        assert len(take(consumer, 10)) == 10
        consumer.commit()
    assert len(watching.consumed) == 10
    assert watching.committed[0][where].offset == 10
    assert watching.closed == 1
    assert {message.split(" of ")[0] for message in caplog.messages} == {"on_consume", "on_commit", "close"}


def test_on_an_event_loop_they_may_be_coroutines(bootstrap: str, filled: str) -> None:
    class Awaited(Watching):
        async def on_consume(self, records: Any) -> Any:
            await asyncio.sleep(0)
            return super().on_consume(records)

        async def close(self) -> None:  # type: ignore[override]
            await asyncio.sleep(0)
            super().close()

    watching = Awaited()
    where = TopicPartition(filled, 0)

    async def work() -> None:
        async with AIOKafkaConsumer(
            bootstrap_servers=bootstrap,
            auto_offset_reset="earliest",
            group_id=filled,
            enable_auto_commit=False,
            interceptors=[watching],
        ) as consumer:
            consumer.assign([where])
            assert [(await consumer.getone()).offset for _ in range(10)] == list(range(10))
            await consumer.commit()

    asyncio.run(asyncio.wait_for(work(), 30))
    assert len(watching.consumed) == 10
    assert [offsets[where].offset for offsets in watching.committed] == [10]
    assert watching.closed == 1


def test_records_given_back_are_not_shown_twice(bootstrap: str, filled: str) -> None:
    """An iterator has more than it handed out; by whatever way the rest comes, it was seen already."""
    watching = Watching()
    where = TopicPartition(filled, 0)
    with KafkaConsumer(
        bootstrap_servers=bootstrap,
        auto_offset_reset="earliest",
        max_poll_records=6,
        interceptors=[watching],
    ) as consumer:
        consumer.assign([where])
        assert [next(consumer).value for _ in range(2)] == [b"0", b"1"]
        assert watching.consumed == [b"%d" % number for number in range(6)]
        looked_at = consumer.poll(10_000, max_records=3, update_offsets=False)
        assert [record.value for record in looked_at[where]] == [b"2", b"3", b"4"]
        consumer.pause(where)
        consumer.resume(where)
        assert take(consumer, 8) == [b"%d" % number for number in range(2, 10)]
    assert watching.consumed == [b"%d" % number for number in range(10)]
