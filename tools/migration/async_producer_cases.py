"""What a program does with aiokafka's producer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tools.migration.async_trial import AsyncTrial, call, in_turn, made_with, take
from tools.migration.trial import RECORDS, Case, Cases


def cases() -> Cases:
    return {f"asyncio producer: {name}": case for name, case in [*_sending(), *_transactions()]}


def _sending() -> Iterator[tuple[str, Case]]:
    def sends(name: str, **settings: Any) -> Any:
        def case(*arguments: Any, **options: Any) -> Case:
            return lambda t: call(t.producer(**settings), name, t.topic, *arguments, **options)

        return case

    wait = sends("send_and_wait")
    yield "send_and_wait", lambda t: _sent(t, b"x", key=b"k", partition=0, timestamp_ms=7)
    yield "send, then its future", _sent_later
    yield (
        "send_and_wait, acks=0",
        lambda t: _sent(t, b"x", partition=0, settings={"acks": 0, "enable_idempotence": False}),
    )
    yield "where keys go", _keys
    yield "send_and_wait, headers", lambda t: _read_back(t, b"v", headers=[("a", b"1"), ("b", b"")])
    yield "send_and_wait, without a value", lambda t: _read_back(t, None, key=b"k")
    for codec in (None, "gzip", "snappy", "lz4", "zstd"):
        yield f"compressed by {codec}", lambda t, codec=codec: _read_back(t, b"v", settings={"compression_type": codec})
    yield "neither key nor value", wait()
    yield "a value that is text", wait("x")
    yield "a key that is a number", wait(b"x", key=5)
    yield "a partition that is not there", wait(b"x", partition=7)
    yield "a partition below 0", wait(b"x", partition=-1)
    yield "too large", sends("send", max_request_size=1000)(bytes(2000))
    yield "a serializer that fails", sends("send", value_serializer=lambda value: 1 / 0)(b"x")
    yield "partitions_for", lambda t: call(t.producer(), "partitions_for", t.topic)
    yield "flush", lambda t: call(t.producer(), "flush")
    yield "stop before start", lambda t: t.new_producer().stop()
    yield "a batch", _batch
    yield "a batch that is full", _full_batch
    yield "a batch, sent twice", _batch_twice
    yield "a batch, closed and added to", _closed_batch
    for settings in (
        {"colour": 1},
        {"acks": 2},
        {"compression_type": "rar"},
        {"enable_idempotence": True, "acks": 1},
        {"transactional_id": "t", "enable_idempotence": False},
        {"security_protocol": "SMTP"},
        {"max_batch_size": -1},
    ):
        what = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        yield f"made with {what}", lambda t, settings=settings: made_with("new_producer", t, settings)


async def _sent(t: AsyncTrial, value: Any, settings: dict[str, Any] | None = None, **options: Any) -> Any:
    found = await (await t.producer(**(settings or {}))).send_and_wait(t.topic, value, **options)
    return [found.topic, found.partition, found.topic_partition, found.offset, found.timestamp]


async def _sent_later(t: AsyncTrial) -> Any:
    future = await (await t.producer()).send(t.topic, b"x", partition=0)
    return [asyncio.isfuture(future), (await future).offset]


async def _keys(t: AsyncTrial) -> Any:
    producer = await t.producer()
    return [(await producer.send_and_wait(t.topic, b"x", b"%d" % number)).partition for number in range(8)]


async def _read_back(t: AsyncTrial, value: Any, settings: dict[str, Any] | None = None, **options: Any) -> Any:
    producer = await t.producer(**(settings or {}))
    sent = await producer.send_and_wait(t.topic, value, partition=0, timestamp_ms=5, **options)
    consumer = await t.reader()
    consumer.seek(t.where(), sent.offset)
    record = await consumer.getone()
    return [record.offset, record.key, record.value, list(record.headers), record.timestamp]


async def _batch(t: AsyncTrial) -> Any:
    producer = await t.producer()
    batch = producer.create_batch()
    told = [batch.append(key=b"k", value=b"%d" % number, timestamp=5) for number in range(3)]
    size = batch.size() > 0
    sent = await producer.send_batch(batch, t.topic, partition=0)
    return [told[0] is not None, batch.record_count(), size, (await sent).offset]


async def _full_batch(t: AsyncTrial) -> Any:
    batch = (await t.producer(max_batch_size=500)).create_batch()
    return [batch.append(key=None, value=bytes(300), timestamp=None) is None for _ in range(3)]


async def _batch_twice(t: AsyncTrial) -> Any:
    producer = await t.producer()
    batch = producer.create_batch()
    batch.append(key=None, value=b"x", timestamp=None)
    for _ in range(2):
        await (await producer.send_batch(batch, t.topic, partition=0))


async def _closed_batch(t: AsyncTrial) -> Any:
    batch = (await t.producer()).create_batch()
    batch.close()
    return batch.append(key=None, value=b"x", timestamp=None)


def _transactions() -> Iterator[tuple[str, Case]]:
    def own(t: AsyncTrial) -> Any:
        return t.producer(transactional_id=t.topic)

    yield "begin without an id", lambda t: call(t.producer(), "begin_transaction")
    yield "transaction without an id", lambda t: _entered(t.producer())
    yield "begin twice", lambda t: in_turn(own(t), "begin_transaction", "begin_transaction")
    yield "commit without begin", lambda t: call(own(t), "commit_transaction")
    yield "abort without begin", lambda t: call(own(t), "abort_transaction")
    yield "an empty transaction", lambda t: in_turn(own(t), "begin_transaction", "commit_transaction")
    yield "send outside of one", lambda t: call(own(t), "send", t.topic, b"x")
    yield "transactions in blocks", _blocks
    yield "a block with an exception", _failing_block
    yield "offsets in one", _offsets
    yield "offsets outside of one", lambda t: call(own(t), "send_offsets_to_transaction", {t.where(): 1}, t.topic)
    yield "fenced, then send", lambda t: _fenced(t, "send_and_wait", t.topic, b"x")
    yield "fenced, then commit", lambda t: _fenced(t, "commit_transaction")
    yield "fenced, then abort", lambda t: _fenced(t, "abort_transaction")


async def _entered(producer: Any) -> Any:
    async with (await producer).transaction():
        pass


async def _blocks(t: AsyncTrial) -> Any:
    producer = await t.producer(transactional_id=t.topic)
    for value in (b"a", b"b"):
        async with producer.transaction():
            await producer.send_and_wait(t.topic, value, partition=0)
    found = await take(await t.reader(isolation_level="read_committed"), RECORDS + 2)
    return [record.value for record in found]


async def _failing_block(t: AsyncTrial) -> Any:
    producer = await t.producer(transactional_id=t.topic)
    with suppress(ZeroDivisionError):
        async with producer.transaction():
            await producer.send_and_wait(t.topic, b"a", partition=0)
            raise ZeroDivisionError
    async with producer.transaction():
        await producer.send_and_wait(t.topic, b"b", partition=0)
    found = await take(await t.reader(isolation_level="read_committed"), RECORDS + 1)
    return [(record.offset, record.value) for record in found]


async def _offsets(t: AsyncTrial) -> Any:
    producer = await t.producer(transactional_id=t.topic)
    async with producer.transaction():
        await producer.send_offsets_to_transaction({t.where(): 3}, t.topic)
    return await (await t.reader(group_id=t.topic)).committed(t.where())


async def _fenced(t: AsyncTrial, method: str, *arguments: Any) -> Any:
    first = await t.producer(transactional_id=t.topic)
    await first.begin_transaction()
    await first.send_and_wait(t.topic, b"first", partition=0)
    await t.producer(transactional_id=t.topic)
    return await getattr(first, method)(*arguments)
