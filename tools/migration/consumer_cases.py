"""What a program does with kafka-python's consumer."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from tools.migration.trial import RECORDS, Case, Cases, Trial, take


def cases() -> Cases:
    parts = [*_records(), *_subscriptions(), *_positions(), *_offsets(), *_commits(), *_groups(), *_settings()]
    return {f"consumer: {name}": case for name, case in parts}


def _records() -> Iterator[tuple[str, Case]]:
    yield "poll, a record", lambda t: take(t.reader(), 5)[0]
    yield "poll, by partition", lambda t: {where: len(share) for where, share in _first(t.reader()).items()}
    yield "poll, some", lambda t: [record.offset for record in _first(t.reader(), max_records=2)[t.where()]]
    yield "poll, nothing there", lambda t: _at_end(t).poll(50)
    yield "poll, nothing wanted", lambda t: t.consumer().poll(50)
    yield "poll, a time below 0", lambda t: t.reader().poll(-1)
    yield "poll, no records", lambda t: t.reader().poll(50, max_records=0)
    yield "poll, records below 0", lambda t: t.reader().poll(50, max_records=-1)
    yield "poll, records as text", lambda t: t.reader().poll(50, max_records="1")
    yield "poll, half a record", lambda t: t.reader().poll(50, max_records=1.5)
    yield "poll after close", lambda t: _closed(t).poll(50)
    yield "iterated", lambda t: [record.offset for record in islice(t.reader(consumer_timeout_ms=30_000), RECORDS)]
    yield "iterated, nothing there", lambda t: next(_at_end(t, consumer_timeout_ms=100))
    yield "iterated after close", lambda t: next(_closed(t))
    yield "iterated, its type", lambda t: (lambda consumer: iter(consumer) is consumer)(t.reader())
    yield "iterated, then position", _iterated
    yield "iterated, then commit", lambda t: _iterated(t, "commit")
    yield "deserializers", lambda t: _values(t.reader(value_deserializer=int, key_deserializer=bytes.decode))
    yield "a deserializer that fails", lambda t: _values(t.reader(value_deserializer=lambda value: 1 / 0))
    yield "a deserializer that fails later", lambda t: _values(t.reader(value_deserializer=_up_to_two))
    yield "a record as a tuple", lambda t: tuple(take(t.reader(), 5)[0])[:3]
    yield "a record by name", lambda t: take(t.reader(), 5)[1]._asdict()["value"]
    yield "small fetches", lambda t: len(take(t.reader(max_partition_fetch_bytes=1, fetch_max_bytes=1), 5))
    yield "max_poll_records", lambda t: len(_first(t.reader(max_poll_records=3))[t.where()])
    yield "close twice", lambda t: [t.reader().close() for _ in range(2)]
    yield "a block", _block


def _first(consumer: Any, **options: Any) -> Any:
    found: Any = {}
    for _ in range(100):
        found = found or consumer.poll(100, **options)
    return found


def _values(consumer: Any) -> Any:
    return [(record.key, record.value) for record in take(consumer, 5)]


def _up_to_two(value: bytes) -> int:
    if int(value) > 2:
        raise ZeroDivisionError
    return int(value)


def _at_end(t: Trial, **settings: Any) -> Any:
    consumer = t.reader(**settings)
    consumer.seek_to_end()
    consumer.position(t.where())
    return consumer


def _closed(t: Trial, **settings: Any) -> Any:
    consumer = t.reader(**settings)
    consumer.close()
    return consumer


def _iterated(t: Trial, then: str = "") -> Any:
    consumer = t.reader(group_id=t.topic)
    seen = [next(consumer).offset for _ in range(2)]
    if then:
        consumer.commit()
        seen.append(consumer.committed(t.where()))
    return [*seen, consumer.position(t.where())]


def _block(t: Trial) -> Any:
    with t.consumer(t.topic, group_id=t.topic) as consumer:
        seen = next(consumer)
    return t.reader(group_id=t.topic).committed(t.package.TopicPartition(t.topic, seen.partition))


class Listening:
    """Made a subclass of each library's own."""

    said: list[Any]

    def on_partitions_assigned(self, assigned: Any) -> None:
        self.said.append(("assigned", sorted(tuple(each) for each in assigned)))

    def on_partitions_revoked(self, revoked: Any) -> None:
        self.said.append(("revoked", sorted(tuple(each) for each in revoked)))


def listener(t: Trial, **methods: Any) -> Any:
    made = type("Listener", (Listening, t.package.ConsumerRebalanceListener), methods)()
    made.said = []
    return made


def _subscriptions() -> Iterator[tuple[str, Case]]:
    yield "neither subscribed nor assigned", lambda t: [t.consumer().subscription(), t.consumer().assignment()]
    yield "subscribe, to a name", lambda t: _subscribed(t, [t.topic])
    yield "subscribe, to text", lambda t: _subscribed(t, t.topic)
    yield "subscribe, to a pattern", lambda t: _subscribed(t, pattern=f"^{t.topic}$")
    yield "subscribe, to both", lambda t: _subscribed(t, [t.topic], pattern=".*")
    yield "subscribe, to nothing", lambda t: _subscribed(t, [])
    yield "subscribe, without arguments", lambda t: _subscribed(t)
    yield "subscribe, to a number", lambda t: _subscribed(t, [5])
    yield "subscribe, to a name no topic can have", lambda t: _subscribed(t, ["a b"])
    yield "subscribe, a listener that is none", lambda t: _subscribed(t, [t.topic], listener=5)
    yield "subscribe, a pattern that is none", lambda t: _subscribed(t, pattern="(")
    yield "subscribe, then assign", lambda t: _both(t, "subscribe", "assign")
    yield "assign, then subscribe", lambda t: _both(t, "assign", "subscribe")
    yield "subscribe, unsubscribe, assign", lambda t: _both(t, "subscribe", "unsubscribe", "assign")
    yield "assign, unsubscribe, subscribe", lambda t: _both(t, "assign", "unsubscribe", "subscribe")
    yield "assign, to nothing", lambda t: (lambda c: [c.assign([]), c.assignment()])(t.reader())
    yield "assign, to pairs", lambda t: (lambda c: [c.assign([(t.topic, 0)]), c.assignment()])(t.consumer())
    yield "assign, a topic that is not there", lambda t: _assigned_elsewhere(t).poll(300)
    yield "assign, its subscription", lambda t: t.reader().subscription()
    yield "subscribe after close", lambda t: _closed(t).subscribe([t.topic])
    yield "topics", lambda t: t.topic in t.consumer().topics()
    yield "partitions_for_topic", lambda t: t.consumer().partitions_for_topic(t.topic)
    yield "partitions_for_topic, unknown", lambda t: t.consumer().partitions_for_topic("not-there-" + t.topic)
    yield "bootstrap_connected", lambda t: t.consumer().bootstrap_connected()
    yield "metrics", lambda t: "consumer-fetch-manager-metrics" in t.reader().metrics()


def _subscribed(t: Trial, *arguments: Any, **options: Any) -> Any:
    consumer = t.consumer(group_id=t.topic)
    consumer.subscribe(*arguments, **options)
    return sorted(consumer.subscription() or ())


def _both(t: Trial, *methods: str) -> Any:
    consumer = t.consumer(group_id=t.topic)
    arguments = {"subscribe": [[t.topic]], "assign": [[t.where()]], "unsubscribe": []}
    for method in methods:
        getattr(consumer, method)(*arguments[method])
    return [consumer.subscription(), consumer.assignment()]


def _assigned_elsewhere(t: Trial) -> Any:
    consumer = t.consumer()
    consumer.assign([t.package.TopicPartition("not-there-" + t.topic, 0)])
    return consumer


def _positions() -> Iterator[tuple[str, Case]]:
    elsewhere = 7
    yield "position", lambda t: t.reader().position(t.where())
    yield "position, not ours", lambda t: t.reader().position(t.where(elsewhere))
    yield "position, of a pair", lambda t: t.reader().position((t.topic, 0))
    yield "position after close", lambda t: _closed(t).position(t.where())
    yield "seek", lambda t: _after_seek(t, "seek", t.where(), 3)
    yield "seek, not ours", lambda t: t.reader().seek(t.where(elsewhere), 3)
    yield "seek, below 0", lambda t: t.reader().seek(t.where(), -1)
    yield "seek, to text", lambda t: t.reader().seek(t.where(), "3")
    yield "seek, beyond the end, from the earliest", lambda t: _after_seek(t, "seek", t.where(), 300)
    yield "seek, beyond the end, without a reset", _out_of_range
    yield "seek_to_beginning", lambda t: _after_seek(t, "seek_to_beginning", t.where())
    yield "seek_to_beginning, of all", lambda t: _after_seek(t, "seek_to_beginning")
    yield "seek_to_beginning, not ours", lambda t: t.reader().seek_to_beginning(t.where(elsewhere))
    yield "seek_to_beginning, of none", lambda t: t.consumer().seek_to_beginning()
    yield "seek_to_beginning, of text", lambda t: t.reader().seek_to_beginning("t")
    yield "seek_to_end", lambda t: [_at_end(t).position(t.where())]
    yield "seek_to_end, of none", lambda t: t.consumer().seek_to_end()
    yield "no place to begin", lambda t: t.reader(auto_offset_reset="none", group_id=t.topic).poll(5000)
    yield "no place to begin, without a group", lambda t: t.reader(auto_offset_reset="none").poll(5000)
    yield "pause", _paused
    yield "pause, not ours", lambda t: t.reader().pause(t.where(elsewhere))
    yield "resume, not ours", lambda t: t.reader().resume(t.where(elsewhere))
    yield "paused", lambda t: (lambda c: [c.pause(t.where()), c.paused(), c.resume(t.where()), c.paused()])(t.reader())
    yield (
        "highwater",
        lambda t: (lambda c: [c.highwater(t.where()), len(take(c, 5)), c.highwater(t.where())])(t.reader()),
    )
    yield "highwater, not ours", lambda t: t.reader().highwater(t.where(elsewhere))


def _after_seek(t: Trial, method: str, *arguments: Any) -> Any:
    consumer = t.reader()
    take(consumer, 5)
    getattr(consumer, method)(*arguments)
    return [record.offset for record in take(consumer, 1)][:1]


def _out_of_range(t: Trial) -> Any:
    consumer = t.reader(auto_offset_reset="none")
    consumer.seek(t.where(), 300)
    for _ in range(50):
        consumer.poll(100)


def _paused(t: Trial) -> Any:
    consumer = t.reader(0, 1)
    consumer.pause(t.where(1))
    seen = {record.partition for record in take(consumer, 5)}
    consumer.resume(t.where(1))
    return [sorted(seen), sorted({record.partition for record in take(consumer, 5)})]


def _offsets() -> Iterator[tuple[str, Case]]:
    def unknown(t: Trial) -> Any:
        return t.package.TopicPartition("not-there-" + t.topic, 0)

    yield "beginning_offsets", lambda t: t.consumer().beginning_offsets([t.where(), t.where(1)])
    yield "end_offsets", lambda t: t.consumer().end_offsets([t.where(), t.where(1)])
    yield "end_offsets, of none", lambda t: t.consumer().end_offsets([])
    yield "end_offsets, unknown topic", lambda t: t.consumer().end_offsets([unknown(t)])
    yield "end_offsets, unknown partition", lambda t: t.consumer(request_timeout_ms=2000).end_offsets([t.where(7)])
    yield "end_offsets after close", lambda t: _closed(t).end_offsets([t.where()])
    yield "offsets_for_times", lambda t: t.consumer().offsets_for_times({t.where(): 1003})
    yield "offsets_for_times, later than all", lambda t: t.consumer().offsets_for_times({t.where(): 10**13 - 1})
    yield "offsets_for_times, below 0", lambda t: t.consumer().offsets_for_times({t.where(): -1})
    yield "offsets_for_times, of none", lambda t: t.consumer().offsets_for_times({})
    yield "offsets_for_times, as text", lambda t: t.consumer().offsets_for_times({t.where(): "now"})


def _commits() -> Iterator[tuple[str, Case]]:
    yield "commit", lambda t: _commit(t)
    yield "commit, given", lambda t: _commit(t, {t.where(): t.offset(3)})
    yield (
        "commit, with metadata",
        lambda t: _commit(t, {t.where(): t.package.OffsetAndMetadata(3, "why", -1)}, metadata=True),
    )
    yield "commit, nothing", lambda t: _commit(t, {})
    yield "commit, a number", lambda t: _commit(t, {t.where(): 3})
    yield "commit, a list", lambda t: _commit(t, [t.where()])
    yield "commit, below 0", lambda t: _commit(t, {t.where(): t.offset(-2)})
    yield "commit, not ours", lambda t: _commit(t, {t.where(1): t.offset(3)})
    yield "commit, unknown topic", _commit_elsewhere
    yield "commit without a group", lambda t: t.reader().commit()
    yield "commit_async without a group", lambda t: t.reader().commit_async()
    yield "committed without a group", lambda t: t.reader().committed(t.where())
    yield "committed, nothing yet", lambda t: t.reader(group_id=t.topic).committed(t.where())
    yield "committed, of a pair", lambda t: t.reader(group_id=t.topic).committed((t.topic, 0))
    yield (
        "committed, unknown topic",
        lambda t: t.reader(group_id=t.topic).committed(t.package.TopicPartition("not-there-" + t.topic, 0)),
    )
    yield "commit after close", lambda t: _closed(t, group_id=t.topic).commit()
    yield "commit_async", _commit_async
    yield "close commits", lambda t: _closed_with(t)
    yield "close does not commit", lambda t: _closed_with(t, autocommit=False)
    yield "without automatic commits", lambda t: _closed_with(t, enable_auto_commit=False)
    yield "goes on where it was committed", _goes_on


def _commit(t: Trial, offsets: Any = None, metadata: bool = False) -> Any:
    consumer = t.reader(group_id=t.topic, enable_auto_commit=False)
    take(consumer, 5)
    consumer.commit(offsets)
    return consumer.committed(t.where(), metadata=metadata)


def _commit_elsewhere(t: Trial) -> Any:
    """Which of the two it is depends on what the end of the time meets: a question, or a pause between two."""
    try:
        t.reader(group_id=t.topic).commit(
            {t.package.TopicPartition("not-there-" + t.topic, 0): t.offset(1)}, timeout_ms=1000
        )
    except (t.errors.KafkaTimeoutError, t.errors.UnknownTopicOrPartitionError):
        return "not committed when the time is over"


def _commit_async(t: Trial) -> Any:
    told: list[Any] = []
    consumer = t.reader(group_id=t.topic, enable_auto_commit=False)
    future = consumer.commit_async(
        {t.where(): t.offset(2)}, lambda offsets, said: told.append(offsets[t.where()].offset)
    )
    for _ in range(100):
        if not told:
            consumer.poll(100)
    return [future.is_done, future.succeeded(), told]


def _closed_with(t: Trial, enable_auto_commit: bool = True, **options: Any) -> Any:
    consumer = t.reader(group_id=t.topic, enable_auto_commit=enable_auto_commit)
    take(consumer, 5)
    consumer.close(**options)
    return t.reader(group_id=t.topic).committed(t.where())


def _goes_on(t: Trial) -> Any:
    _commit(t, {t.where(): t.offset(3)})
    return [record.offset for record in take(t.reader(group_id=t.topic), 2)]


def _groups() -> Iterator[tuple[str, Case]]:
    yield "a listener's life", _listened
    yield "a listener that commits", _committing_listener
    yield "a listener that seeks", _seeking_listener
    yield "a listener that fails", _failing_listener
    yield "assigned before it was there", _assigned_early
    yield "two members", _two_members
    yield "the same instance twice", _same_instance
    yield "group_metadata before joining", lambda t: list(t.consumer(group_id=t.topic).group_metadata())[:3]
    yield "group_metadata after joining", _group_metadata
    yield "unsubscribe leaves", _unsubscribed


def _listened(t: Trial) -> Any:
    heard = listener(t)
    consumer = t.consumer(group_id=t.topic)
    consumer.subscribe([t.topic], listener=heard)
    take(consumer, 10)
    consumer.close()
    return heard.said


def _subscribed_with(t: Trial, heard: Any) -> Any:
    consumer = t.consumer(group_id=t.topic)
    heard.consumer = consumer
    consumer.subscribe([t.topic], listener=heard)
    return consumer


def _committing_listener(t: Trial) -> Any:
    def revoked(self: Any, _revoked: Any) -> None:
        self.consumer.commit({t.where(): t.offset(4)})

    consumer = _subscribed_with(t, listener(t, on_partitions_revoked=revoked))
    take(consumer, 10)
    consumer.unsubscribe()
    return t.reader(group_id=t.topic).committed(t.where())


def _seeking_listener(t: Trial) -> Any:
    def assigned(self: Any, assigned: Any) -> None:
        for where in assigned:
            self.consumer.seek(where, 3)

    found = take(_subscribed_with(t, listener(t, on_partitions_assigned=assigned)), 4)
    return sorted((record.partition, record.offset) for record in found)


def _failing_listener(t: Trial) -> Any:
    return len(take(_subscribed_with(t, listener(t, on_partitions_assigned=lambda self, assigned: 1 / 0)), 10))


def _assigned_early(t: Trial) -> Any:
    topic = f"late-{t.topic}"
    consumer = t.consumer(group_id=t.topic, auto_offset_reset="latest")
    consumer.assign([t.package.TopicPartition(topic, 0)])
    for _ in range(5):
        consumer.poll(100)
    t.producer().send(topic, b"first").get(20)
    return len(take(consumer, 1))


def _two_members(t: Trial) -> Any:
    pair = [t.consumer(t.topic, group_id=t.topic, heartbeat_interval_ms=200) for _ in range(2)]
    for _ in range(2000):  # ends when each has one, on a machine of any speed
        for consumer in pair:
            consumer.poll(50)
        if all(len(consumer.assignment()) == 1 for consumer in pair):
            break
    return [len(consumer.assignment()) for consumer in pair]


def _same_instance(t: Trial) -> Any:
    """Which of the two kafka-python says depends on whether a heartbeat heard of it first."""
    options = {"group_id": t.topic, "group_instance_id": "one", "enable_auto_commit": False}
    first, second = (t.consumer(t.topic, **options) for _ in range(2))
    take(first, 10)
    take(second, 10)
    try:
        first.commit({t.where(): t.offset(1)})
    except (t.errors.FencedInstanceIdError, t.errors.RebalanceInProgressError):
        return "the first may not commit"


def _group_metadata(t: Trial) -> Any:
    consumer = t.consumer(t.topic, group_id=t.topic)
    take(consumer, 10)
    found = consumer.group_metadata()
    return [found.group_id, found.generation_id > 0, bool(found.member_id), found.group_instance_id]


def _unsubscribed(t: Trial) -> Any:
    consumer = t.consumer(t.topic, group_id=t.topic)
    take(consumer, 10)
    consumer.unsubscribe()
    return [consumer.subscription(), consumer.assignment(), consumer.poll(100)]


def _settings() -> Iterator[tuple[str, Case]]:
    for settings in (
        {"colour": 1},
        {"auto_offset_reset": "sometimes"},
        {"isolation_level": "none"},
        {"fetch_max_wait_ms": 40_000},
        {"connections_max_idle_ms": 10_000},
        {"group_instance_id": "a"},
        {"group_id": ""},
        {"group_id": "g", "group_instance_id": "a b"},
        {"group_id": "g", "session_timeout_ms": 1000, "heartbeat_interval_ms": 2000},
        {"security_protocol": "SMTP"},
        {"max_poll_records": 0},
        {"fetch_min_bytes": -1},
        {"request_timeout_ms": "soon"},
        {"value_deserializer": 5},
        {"partition_assignment_strategy": []},
        {"bootstrap_servers": "nobody:1", "bootstrap_timeout_ms": 300},
        {"bootstrap_servers": []},
    ):
        what = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        yield f"made with {what}", lambda t, settings=settings: _made(t, settings)


def _made(t: Trial, settings: dict[str, Any]) -> Any:
    t.made.append(t.package.KafkaConsumer(**{"bootstrap_servers": t.bootstrap, **settings}))
