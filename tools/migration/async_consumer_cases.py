"""What a program does with aiokafka's consumer."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from tools.migration.async_trial import AsyncTrial, call, in_turn, made_with, take
from tools.migration.trial import RECORDS, Case, Cases


def cases() -> Cases:
    parts = [*_records(), *_subscriptions(), *_positions(), *_commits(), *_ends()]
    return {f"asyncio consumer: {name}": case for name, case in parts}


def _records() -> Iterator[tuple[str, Case]]:
    yield "getone", lambda t: _record(t)
    yield "getone, of a partition", lambda t: call(t.reader(0, 1), "getone", t.where(1))
    yield "getone, cancelled", _cancelled
    yield "getone, stopped meanwhile", lambda t: _stopped_within(t, "getone")
    yield "getmany", lambda t: _offsets_of(t.reader())
    yield "getmany, some", lambda t: _offsets_of(t.reader(), max_records=2)
    yield "getmany, no records", lambda t: call(t.reader(), "getmany", timeout_ms=50, max_records=0)
    yield "getmany, records as text", lambda t: call(t.reader(), "getmany", timeout_ms=50, max_records="1")
    yield "getmany, of a partition", lambda t: call(t.reader(0, 1), "getmany", t.where(1), timeout_ms=50, max_records=0)
    yield "getmany, of one not ours", lambda t: call(t.reader(), "getmany", t.where(7), timeout_ms=50)
    yield "getmany, stopped meanwhile", lambda t: _stopped_within(t, "getmany", timeout_ms=20_000)
    yield "iterated", _iterated
    yield "iterated, stopped meanwhile", _iterated_until_stopped
    yield "deserializers", lambda t: _values(t.reader(value_deserializer=int, key_deserializer=bytes.decode))
    yield "a deserializer that fails", lambda t: _values(t.reader(value_deserializer=lambda value: 1 / 0))
    yield "getone before start", lambda t: t.new_consumer(t.topic).getone()
    yield "getone after stop", lambda t: _after_stop(t, "getone")
    yield "getmany after stop", lambda t: _after_stop(t, "getmany")
    yield "a block", _block


async def _record(t: AsyncTrial) -> Any:
    record = await (await t.reader()).getone()
    names = ("topic", "partition", "offset", "timestamp", "timestamp_type", "key", "value", "headers", "checksum")
    return [getattr(record, name) for name in (*names, "serialized_key_size", "serialized_value_size")]


async def _cancelled(t: AsyncTrial) -> Any:
    consumer = await t.reader()
    seen = [(await consumer.getone()).offset for _ in range(RECORDS)]
    task = asyncio.ensure_future(consumer.getone())
    await asyncio.sleep(0.1)
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task
    await (await t.producer()).send_and_wait(t.topic, b"x", partition=0)
    return [*seen, (await consumer.getone()).offset]


async def _stopped_within(t: AsyncTrial, method: str, **options: Any) -> Any:
    consumer = await t.reader()
    await take(consumer, RECORDS)
    task = asyncio.ensure_future(getattr(consumer, method)(**options))
    await asyncio.sleep(0.1)
    await consumer.stop()
    return await asyncio.wait_for(task, 10)


async def _offsets_of(consumer: Any, **options: Any) -> Any:
    made = await consumer
    for _ in range(100):
        found = await made.getmany(timeout_ms=100, **options)
        if found:
            return {where: [record.offset for record in share] for where, share in found.items()}
    return None


async def _iterated(t: AsyncTrial) -> Any:
    seen = []
    async for record in await t.reader():
        seen.append(record.offset)
        if len(seen) == RECORDS:
            break
    return seen


async def _iterated_until_stopped(t: AsyncTrial) -> Any:
    consumer = await t.reader()
    seen = []
    async for record in consumer:
        seen.append(record.offset)
        if len(seen) == RECORDS:
            asyncio.get_running_loop().call_later(0.2, lambda: asyncio.ensure_future(consumer.stop()))
    return seen


async def _values(consumer: Any) -> Any:
    made = await consumer
    return [(record.key, record.value) for record in await take(made, RECORDS)]


async def _after_stop(t: AsyncTrial, method: str, *arguments: Any) -> Any:
    consumer = await t.reader(group_id=t.topic)
    await consumer.stop()
    said = getattr(consumer, method)(*arguments)
    return await said if asyncio.iscoroutine(said) else said


async def _block(t: AsyncTrial) -> Any:
    async with t.new_consumer(t.topic, group_id=t.topic) as consumer:
        seen = await consumer.getone()
    after = await t.reader(group_id=t.topic)
    return await after.committed(t.package.TopicPartition(t.topic, seen.partition))


def _subscriptions() -> Iterator[tuple[str, Case]]:
    yield "neither subscribed nor assigned", lambda t: _state(t.consumer())
    yield "subscribed", lambda t: _state(t.consumer(t.topic))
    yield "subscribed, with a group", lambda t: _state(t.consumer(t.topic, group_id=t.topic))
    yield "assigned", lambda t: _state(t.reader())
    yield "subscribe, to text", lambda t: call(t.consumer(), "subscribe", t.topic)
    yield "subscribe, to both", lambda t: call(t.consumer(), "subscribe", [t.topic], pattern=".*")
    yield "subscribe, to nothing", lambda t: call(t.consumer(), "subscribe", [])
    yield "subscribe, a listener that is none", lambda t: call(t.consumer(), "subscribe", [t.topic], listener=5)
    yield "subscribe, a pattern that is none", lambda t: call(t.consumer(), "subscribe", pattern="(")
    yield "subscribe, then assign", lambda t: call(t.consumer(t.topic), "assign", [t.where()])
    yield "assign, then subscribe", lambda t: call(t.reader(), "subscribe", [t.topic])
    yield "unsubscribe", _unsubscribed
    yield "a topic that is not there", lambda t: _state(t.consumer("not-there-" + t.topic, group_id=t.topic))
    yield "topics", _topics
    yield "partitions_for_topic", lambda t: call(t.consumer(t.topic), "partitions_for_topic", t.topic)
    yield "partitions_for_topic, unknown", lambda t: call(t.consumer(), "partitions_for_topic", "not-there-" + t.topic)
    yield "a listener's life", _listened
    yield "a listener that commits", _committing_listener
    yield "a listener that fails", _failing_listener
    yield "a pattern", lambda t: _pattern(t)
    for settings in (
        {"colour": 1},
        {"auto_offset_reset": "sometimes"},
        {"isolation_level": "none"},
        {"security_protocol": "SMTP"},
        {"max_poll_records": 0},
        {"session_timeout_ms": 1000, "heartbeat_interval_ms": 2000},
        {"group_instance_id": "a"},
        {"bootstrap_servers": "127.0.0.1:1"},
    ):
        what = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        yield f"made with {what}", lambda t, settings=settings: made_with("new_consumer", t, settings)


async def _state(client: Any) -> Any:
    consumer = await client
    return [consumer.subscription(), consumer.assignment()]


async def _unsubscribed(t: AsyncTrial) -> Any:
    consumer = await t.consumer(t.topic, group_id=t.topic)
    await take(consumer, 2 * RECORDS)
    consumer.unsubscribe()
    return [consumer.subscription(), consumer.assignment()]


async def _topics(t: AsyncTrial) -> Any:
    return t.topic in await (await t.consumer()).topics()


def listener(t: AsyncTrial, **methods: Any) -> Any:
    def hears(what: str) -> Any:
        async def hear(self: Any, partitions: Any) -> None:
            self.said.append((what, sorted(tuple(each) for each in partitions)))

        return hear

    both = {"on_partitions_assigned": hears("assigned"), "on_partitions_revoked": hears("revoked")}
    made = type("Listener", (t.package.ConsumerRebalanceListener,), {**both, **methods})()
    made.said = []
    return made


async def _listened(t: AsyncTrial) -> Any:
    heard = listener(t)
    consumer = t.new_consumer(group_id=t.topic)
    consumer.subscribe([t.topic], listener=heard)
    await consumer.start()
    await take(consumer, 2 * RECORDS)
    await consumer.stop()
    return heard.said


async def _committing_listener(t: AsyncTrial) -> Any:
    consumer = t.new_consumer(group_id=t.topic, enable_auto_commit=False)

    async def assigned(_self: Any, partitions: Any) -> None:
        for where in partitions:
            await consumer.commit({where: 2})

    consumer.subscribe([t.topic], listener=listener(t, on_partitions_assigned=assigned))
    await consumer.start()
    found = await take(consumer, 2)
    return [found[0].offset, await consumer.committed(t.where())]


async def _failing_listener(t: AsyncTrial) -> Any:
    async def assigned(_self: Any, _partitions: Any) -> None:
        raise ZeroDivisionError

    consumer = t.new_consumer(group_id=t.topic)
    consumer.subscribe([t.topic], listener=listener(t, on_partitions_assigned=assigned))
    await consumer.start()
    return len(await take(consumer, 1))


async def _pattern(t: AsyncTrial) -> Any:
    consumer = t.new_consumer(group_id=t.topic)
    consumer.subscribe(pattern=f"^{t.topic}$")
    await consumer.start()
    found = await take(consumer, 2 * RECORDS)
    return [len(found), consumer.subscription()]


def _positions() -> Iterator[tuple[str, Case]]:
    elsewhere = 7
    for method in ("position", "highwater", "last_stable_offset", "last_poll_timestamp", "pause", "resume"):
        yield f"{method}, not ours", lambda t, method=method: call(t.reader(), method, t.where(elsewhere))
    for method in ("seek_to_beginning", "seek_to_end", "seek_to_committed"):
        yield f"{method}, of text", lambda t, method=method: call(t.reader(group_id=t.topic), method, "t")
        yield (
            f"{method}, not ours",
            lambda t, method=method: call(t.reader(group_id=t.topic), method, t.where(elsewhere)),
        )
        yield f"{method}, of none", lambda t, method=method: call(t.consumer(group_id=t.topic), method)
    yield "position", lambda t: call(t.reader(), "position", t.where())
    yield "seek", lambda t: _after(t, "seek", t.where(), 3)
    yield "seek, below 0", lambda t: call(t.reader(), "seek", t.where(), -1)
    yield "seek, to text", lambda t: call(t.reader(), "seek", t.where(), "3")
    yield "seek, not ours", lambda t: call(t.reader(), "seek", t.where(elsewhere), 3)
    yield "seek_to_beginning", lambda t: _after(t, "seek_to_beginning")
    yield "seek_to_end", lambda t: _positioned(t, "seek_to_end")
    yield "seek_to_committed", lambda t: call(t.reader(group_id=t.topic), "seek_to_committed")
    yield "beyond the end, from the earliest", lambda t: _beyond(t)
    yield "beyond the end, without a reset", lambda t: _beyond(t, auto_offset_reset="none")
    yield "no place to begin", lambda t: call(t.reader(auto_offset_reset="none", group_id=t.topic), "getone")
    yield "highwater", _highwater
    yield "pause", _paused
    yield "beginning_offsets", lambda t: call(t.consumer(), "beginning_offsets", [t.where(), t.where(1)])
    yield "end_offsets", lambda t: call(t.consumer(), "end_offsets", [t.where(), t.where(1)])
    yield "end_offsets, of none", lambda t: call(t.consumer(), "end_offsets", [])
    yield (
        "end_offsets, unknown partition",
        lambda t: call(t.consumer(request_timeout_ms=2000), "end_offsets", [t.where(elsewhere)]),
    )
    yield "offsets_for_times", lambda t: call(t.consumer(), "offsets_for_times", {t.where(): 1003})
    yield "offsets_for_times, below 0", lambda t: call(t.consumer(), "offsets_for_times", {t.where(): -1})
    yield (
        "offsets_for_times, later than all",
        lambda t: call(t.consumer(), "offsets_for_times", {t.where(): 10**13 - 1}),
    )
    yield "seek after stop", lambda t: _after_stop(t, "seek", t.where(), 1)
    yield "end_offsets after stop", lambda t: _after_stop(t, "end_offsets", [t.where()])


async def _after(t: AsyncTrial, method: str, *arguments: Any) -> Any:
    consumer = await t.reader()
    await take(consumer, RECORDS)
    said = getattr(consumer, method)(*arguments)
    if asyncio.iscoroutine(said):
        await said
    return (await consumer.getone()).offset


async def _positioned(t: AsyncTrial, method: str) -> Any:
    consumer = await t.reader()
    return [await getattr(consumer, method)(), await consumer.position(t.where())]


async def _beyond(t: AsyncTrial, **settings: Any) -> Any:
    consumer = await t.reader(**settings)
    consumer.seek(t.where(), 300)
    return (await consumer.getone()).offset


async def _highwater(t: AsyncTrial) -> Any:
    consumer = await t.reader()
    await take(consumer, RECORDS)
    return [consumer.highwater(t.where()), consumer.last_stable_offset(t.where())]


async def _paused(t: AsyncTrial) -> Any:
    consumer = await t.reader(0, 1)
    consumer.pause(t.where(1))
    seen = {record.partition for record in await take(consumer, RECORDS)}
    paused = consumer.paused()
    consumer.resume(t.where(1))
    return [sorted(seen), paused, sorted({record.partition for record in await take(consumer, RECORDS)})]


def _commits() -> Iterator[tuple[str, Case]]:
    yield "commit", lambda t: _commit(t)
    yield "commit, a number", lambda t: _commit(t, {t.where(): 3})
    yield "commit, a pair", lambda t: _commit(t, {t.where(): (3, "why")})
    yield "commit, text", lambda t: _commit(t, {t.where(): "3"})
    yield "commit, a list", lambda t: _commit(t, [t.where()])
    yield "commit, nothing", lambda t: _commit(t, {})
    yield "commit, below 0", lambda t: _commit(t, {t.where(): -2})
    yield "commit, not ours", lambda t: _commit(t, {t.where(1): 3})
    yield "commit without a group", lambda t: call(t.reader(), "commit")
    yield "committed without a group", lambda t: call(t.reader(), "committed", t.where())
    yield "committed, nothing yet", lambda t: call(t.reader(group_id=t.topic), "committed", t.where())
    yield "commit after stop", lambda t: _after_stop(t, "commit")
    yield "commit before start", lambda t: t.new_consumer(t.topic, group_id=t.topic).commit()
    yield "stop commits", lambda t: _stopped_with(t)
    yield "stop does not commit", lambda t: _stopped_with(t, enable_auto_commit=False)


async def _commit(t: AsyncTrial, offsets: Any = None) -> Any:
    consumer = await t.reader(group_id=t.topic, enable_auto_commit=False)
    await take(consumer, RECORDS)
    await consumer.commit(offsets)
    return await consumer.committed(t.where())


async def _stopped_with(t: AsyncTrial, **settings: Any) -> Any:
    consumer = await t.consumer(t.topic, group_id=t.topic, **settings)
    await take(consumer, 2 * RECORDS)
    await consumer.stop()
    return await (await t.reader(group_id=t.topic)).committed(t.where())


def _ends() -> Iterator[tuple[str, Case]]:
    yield "start twice", lambda t: in_turn(t.reader(), "start")
    yield "stop before start", lambda t: t.new_consumer(t.topic).stop()
    yield "assignment after stop", lambda t: _after_stop(t, "assignment")
    yield "start after stop", lambda t: _after_stop(t, "start")
