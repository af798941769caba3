"""The life of an asyncio consumer between `start` and `stop`: the group lives while the event loop does something else,
listeners may await the consumer, and nothing holds up the event loop."""

from __future__ import annotations

import asyncio
import os
import socket
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Iterator
from typing import Any

import pytest
from node_process import NodeProcess

from moldau import errors
from moldau.aio import (
    AIOKafkaAdminClient,
    AIOKafkaConsumer,
    AIOKafkaProducer,
    ConsumerRebalanceListener,
    TopicPartition,
)
from moldau.aio.listeners import LISTENER_LIMIT


@pytest.fixture(scope="module")
def at_once(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A node whose groups do not wait for further members before they begin."""
    node = NodeProcess(tmp_path_factory.mktemp("node") / "data", {"group.initial.rebalance.delay.ms": "0"})
    yield node.bootstrap
    node.kill()


def run(work: Coroutine[Any, Any, None]) -> None:
    threads = set(threading.enumerate())
    asyncio.run(asyncio.wait_for(work, 60))
    assert set(threading.enumerate()) == threads


async def create(bootstrap: str, topic: str, partitions: int = 1) -> None:
    async with AIOKafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        await admin.create_topics({topic: {"num_partitions": partitions}}, wait_for_metadata=True)


async def send(bootstrap: str, topic: str, count: int) -> None:
    async with AIOKafkaProducer(bootstrap_servers=bootstrap) as producer:
        for number in range(count):
            await producer.send_and_wait(topic, b"%d" % number)


async def until(true: Callable[[], bool]) -> None:
    while not true():
        await asyncio.sleep(0.01)


@pytest.mark.parametrize("way", ["group", "alone", "assigned"])
def test_what_is_sent_after_start_is_read(at_once: str, topic: str, way: str) -> None:
    where = TopicPartition(topic, 0)

    async def work() -> None:
        await create(at_once, topic)
        names = [] if way == "assigned" else [topic]
        consumer = AIOKafkaConsumer(*names, bootstrap_servers=at_once, group_id=topic if way == "group" else None)
        if way == "assigned":
            consumer.assign([where])
        async with consumer:
            assert consumer.assignment() == {where}
            await send(at_once, topic, 5)
            assert await consumer.position(where) == 0
            assert [(await consumer.getone()).value for _ in range(5)] == [b"%d" % number for number in range(5)]
            await consumer.seek_to_end()
            await send(at_once, topic, 1)
            assert (await consumer.getone()).offset == 5
            consumer.seek(where, 2)
            assert (await consumer.getone()).offset == 2

    run(work())


def test_the_group_lives_while_nobody_reads(at_once: str, topic: str) -> None:
    """Two members share the work, and what the first took is committed, without one call for records in between."""

    async def work() -> None:
        await create(at_once, topic, 2)
        settings: dict[str, Any] = {"bootstrap_servers": at_once, "group_id": topic, "heartbeat_interval_ms": 100}
        async with AIOKafkaConsumer(topic, auto_commit_interval_ms=100, **settings) as first:
            assert len(first.assignment()) == 2
            async with AIOKafkaConsumer(topic, **settings) as second:
                await until(lambda: len(first.assignment()) == 1)
                assert not first.assignment() & second.assignment()
            await until(lambda: len(first.assignment()) == 2)
            await send(at_once, topic, 1)
            record = await first.getone()
            where = TopicPartition(topic, record.partition)
            while await first.committed(where) != 1:
                await asyncio.sleep(0.01)

    run(work())


class Asking(ConsumerRebalanceListener):
    """Awaits all it can within its methods."""

    def __init__(self) -> None:
        self.consumer: AIOKafkaConsumer
        self.told: list[Any] = []

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:  # type: ignore[override]
        for where in assigned:
            self.told.append(("assigned", await self.consumer.position(where), await self.consumer.committed(where)))
            await self.consumer.seek_to_beginning(where)
            assert await self.consumer.end_offsets([where]) == {where: 3}
            await self.consumer.commit({where: 1})

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:  # type: ignore[override]
        await self.consumer.commit()
        for where in revoked:
            self.told.append(("revoked", await self.consumer.position(where), await self.consumer.committed(where)))


@pytest.mark.parametrize("end", ["stop", "unsubscribe"])
def test_listeners_may_await_the_consumer(at_once: str, topic: str, end: str) -> None:
    async def work() -> None:
        await create(at_once, topic)
        await send(at_once, topic, 3)
        listener = Asking()
        consumer = AIOKafkaConsumer(bootstrap_servers=at_once, group_id=topic, enable_auto_commit=False)
        listener.consumer = consumer
        consumer.subscribe([topic], listener=listener)
        await consumer.start()
        assert [(await consumer.getone()).offset for _ in range(2)] == [0, 1]
        if end == "unsubscribe":
            consumer.unsubscribe()
            await until(lambda: len(listener.told) == 2)
        await consumer.stop()
        assert listener.told == [("assigned", 3, None), ("revoked", 2, 2)]
        with pytest.raises(errors.ConsumerStoppedError):
            await consumer.getone()

    run(work())


def test_methods_of_listeners_run_on_the_event_loop(at_once: str, topic: str) -> None:
    seen: list[threading.Thread] = []

    class Plain(ConsumerRebalanceListener):
        def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
            seen.append(threading.current_thread())

    async def work() -> None:
        await create(at_once, topic)
        consumer = AIOKafkaConsumer(bootstrap_servers=at_once, group_id=topic)
        consumer.subscribe([topic], listener=Plain())
        async with consumer:
            assert seen == [threading.current_thread()]

    run(work())


@pytest.mark.parametrize("how", ["itself", "with a limit"])
def test_a_listener_may_stop_the_consumer(at_once: str, topic: str, how: str) -> None:
    """Also in another task, as which older Pythons run what has a limit."""

    async def work() -> None:
        await create(at_once, topic)
        consumer = AIOKafkaConsumer(bootstrap_servers=at_once, group_id=topic)
        before = time.monotonic()

        class Stopping(ConsumerRebalanceListener):
            async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:  # type: ignore[override]
                stopping = consumer.stop()
                await (stopping if how == "itself" else asyncio.create_task(stopping))

        await consumer.start()
        consumer.subscribe([topic], listener=Stopping())
        with pytest.raises(errors.ConsumerStoppedError):
            await consumer.getone()
        await consumer.stop()
        assert time.monotonic() - before < LISTENER_LIMIT  # which is how long they would wait for each other

    run(work())


def test_those_who_wait_hear_of_the_end(at_once: str, topic: str) -> None:
    async def work() -> None:
        await create(at_once, topic)
        consumer = AIOKafkaConsumer(topic, bootstrap_servers=at_once)
        await consumer.start()
        waiting = [asyncio.ensure_future(consumer.getone()) for _ in range(2)]
        iterating = asyncio.ensure_future(_all_of(consumer))
        await asyncio.sleep(0)
        await consumer.stop()
        for each in waiting:
            with pytest.raises(errors.ConsumerStoppedError):
                await each
        assert await iterating == []

    run(work())


async def _all_of(consumer: AIOKafkaConsumer) -> list[Any]:
    return [record async for record in consumer]


@pytest.mark.parametrize("kind", [AIOKafkaConsumer, AIOKafkaProducer, AIOKafkaAdminClient])
def test_a_cancelled_start_holds_up_nobody(kind: type[Any]) -> None:
    async def work() -> None:
        with socket.create_server(("127.0.0.1", 0)) as silent:  # takes connections, and says nothing
            address = f"127.0.0.1:{silent.getsockname()[1]}"
            client = kind(bootstrap_servers=address, bootstrap_timeout_ms=1500)
            threads = set(threading.enumerate())
            starting = asyncio.ensure_future(client.start())
            await until(lambda: set(threading.enumerate()) != threads)
            turns = 0
            starting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await starting
            # What is left of it ends by itself, while the event loop turns.
            while set(threading.enumerate()) != threads:
                await asyncio.sleep(0.01)
                turns += 1
            assert turns > 10

    run(work())


def test_one_who_does_not_take_records_gives_its_share_to_the_others(at_once: str, topic: str) -> None:
    async def work() -> None:
        await create(at_once, topic)
        settings: dict[str, Any] = {"bootstrap_servers": at_once, "group_id": topic, "auto_offset_reset": "earliest"}
        idle = AIOKafkaConsumer(topic, max_poll_interval_ms=1000, heartbeat_interval_ms=100, **settings)
        async with idle, AIOKafkaConsumer(topic, **settings) as busy:
            await send(at_once, topic, 50)
            begin = time.monotonic()
            seen = 0
            while seen < 50 and time.monotonic() - begin < 30:
                seen += sum(map(len, (await busy.getmany(timeout_ms=100)).values()))
            assert seen == 50

    run(work())


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork with threads, from Python 3.12 on
def test_the_child_of_a_fork_is_told_and_let_go(at_once: str, topic: str) -> None:
    async def in_child(consumer: AIOKafkaConsumer, producer: AIOKafkaProducer, admin: AIOKafkaAdminClient) -> None:
        for call in (consumer.getone, consumer.commit, lambda: producer.send(topic, b"x"), admin.list_topics):
            with pytest.raises((errors.IllegalStateError, errors.IllegalOperation), match="fork"):
                await call()
        for end in (consumer.stop, producer.stop, admin.close):
            await end()

    async def work() -> None:
        await create(at_once, topic)
        await send(at_once, topic, 3)
        settings: dict[str, Any] = {"bootstrap_servers": at_once}
        consumer = AIOKafkaConsumer(topic, group_id=topic, auto_offset_reset="earliest", **settings)
        async with consumer, AIOKafkaProducer(**settings) as producer, AIOKafkaAdminClient(**settings) as admin:
            assert (await consumer.getone()).offset == 0
            child = os.fork()
            if child == 0:
                status = 1
                try:
                    asyncio.events._set_running_loop(None)  # that of the parent
                    asyncio.new_event_loop().run_until_complete(
                        asyncio.wait_for(in_child(consumer, producer, admin), 9)
                    )
                    status = 0
                finally:
                    os._exit(status)
            _, status = await asyncio.get_running_loop().run_in_executor(None, os.waitpid, child, 0)
            assert os.waitstatus_to_exitcode(status) == 0
            assert [(await consumer.getone()).offset for _ in range(2)] == [1, 2]
            assert (await producer.send_and_wait(topic, b"x")).offset == 3
        await asyncio.get_running_loop().shutdown_default_executor()

    run(work())
