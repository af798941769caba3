"""What a program does with kafka-python's producer."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from tools.migration.trial import Case, Cases, Trial, take


def cases() -> Cases:
    return {f"producer: {name}": case for name, case in [*_sending(), *_refused(), *_settings(), *_transactions()]}


def _sending() -> Iterator[tuple[str, Case]]:
    yield "send, its metadata", lambda t: t.producer().send(t.topic, b"x", b"k", partition=0, timestamp_ms=7).get(10)
    yield "send, told on paper", lambda t: str(type(t.producer().send(t.topic, b"x").get(10)).__name__)
    yield (
        "where keys go",
        lambda t: [t.producer().send(t.topic, b"x", b"%d" % number).get(10).partition for number in range(8)],
    )
    yield "send without a value", lambda t: _read_back(t, value=None, key=b"k")
    yield "send with headers", lambda t: _read_back(t, value=b"v", headers=[("a", b"1"), ("a", b""), ("b", b"2")])
    yield "send a bytearray", lambda t: _read_back(t, value=bytearray(b"v"))
    yield "send a memoryview", lambda t: _read_back(t, value=memoryview(b"v"))
    for codec in (None, "gzip", "snappy", "lz4", "zstd"):
        yield f"compressed by {codec}", lambda t, codec=codec: _read_back(t, {"compression_type": codec}, value=b"v")
    yield "acks=0", lambda t: t.producer(acks=0, enable_idempotence=False).send(t.topic, b"x", partition=0).get(10)
    yield "acks=1", lambda t: t.producer(acks=1, enable_idempotence=False).send(t.topic, b"x", partition=0).get(10)
    yield "acks='all'", lambda t: t.producer(acks="all").send(t.topic, b"x", partition=0).get(10)
    yield "future", _future
    yield "future, callbacks", _callbacks
    yield "future, a callback that fails", _failing_callback
    yield (
        "serializers",
        lambda t: _read_back(t, {"value_serializer": str.encode, "key_serializer": str.encode}, "v", "k"),
    )
    yield "a serializer that fails", lambda t: t.producer(value_serializer=lambda value: 1 / 0).send(t.topic, 1)
    yield "partitions_for", lambda t: t.producer().partitions_for(t.topic)
    yield "bootstrap_connected", lambda t: t.producer().bootstrap_connected()
    yield "metrics", lambda t: sorted(set(t.producer().metrics()) & {"producer-metrics", "kafka-metrics-count"})[-1:]
    yield "a partitioner", _partitioner
    yield "flush", lambda t: t.producer(linger_ms=100).flush(10)
    yield "close twice", lambda t: [t.producer().close() for _ in range(2)]
    yield "close at once", lambda t: t.producer().close(timeout=0)
    yield "flush after close", lambda t: _closed(t).flush(5)
    yield "send after close", lambda t: _closed(t).send(t.topic, b"x")
    yield "with a block", _block


def _read_back(
    t: Trial, settings: dict[str, Any] | None = None, value: Any = None, key: Any = None, **more: Any
) -> Any:
    producer = t.producer(**(settings or {}))
    sent = producer.send(t.topic, value, key=key, partition=0, timestamp_ms=5, **more).get(10)
    consumer = t.reader()
    consumer.seek(t.where(), sent.offset)
    return take(consumer, 1)[0]


def _future(t: Trial) -> Any:
    future = t.producer().send(t.topic, b"x", partition=0)
    found = future.get(timeout=10)
    return [future.is_done, future.succeeded(), future.failed(), future.exception, found.offset, future.value.offset]


def _callbacks(t: Trial) -> Any:
    told: list[Any] = []
    producer = t.producer(max_request_size=500)
    good = producer.send(t.topic, b"x", partition=0)
    good.add_callback(told.append, *()).add_callback(lambda extra, found: told.append((extra, found.offset)), "extra")
    good.add_both(lambda found: told.append("both")).add_errback(lambda error: told.append("no"))
    good.get(10)
    producer.flush()
    good.add_callback(lambda found: told.append("late"))
    return told


def _failing_callback(t: Trial) -> Any:
    producer = t.producer()
    future = producer.send(t.topic, b"x", partition=0).add_callback(lambda found: 1 / 0)
    return [future.get(10).offset, producer.send(t.topic, b"y", partition=0).get(10).offset]


def _partitioner(t: Trial) -> Any:
    seen: list[Any] = []

    class Choosing(t.package.partitioner.Partitioner):  # type: ignore[name-defined,misc]
        def partition(self, topic: Any, key: Any, raw_key: Any, value: Any, raw_value: Any, cluster: Any) -> int:
            seen.append([key, raw_key, value, raw_value, sorted(cluster.partitions_for_topic(topic))])
            return 1

    return [t.producer(partitioner=Choosing()).send(t.topic, b"x", b"k").get(10).partition, seen]


def _closed(t: Trial) -> Any:
    producer = t.producer()
    producer.close()
    return producer


def _block(t: Trial) -> Any:
    with t.producer(linger_ms=200) as producer:
        future = producer.send(t.topic, b"x", partition=0)
    return [future.is_done, future.value.offset]


def _refused() -> Iterator[tuple[str, Case]]:
    yield "a name no topic can have", lambda t: t.producer().send("a b", b"x")
    yield "an empty name", lambda t: t.producer().send("", b"x")
    yield "a name that is no text", lambda t: t.producer().send(5, b"x")
    yield "a name in bytes", lambda t: t.producer().send(b"t", b"x")
    yield "neither key nor value", lambda t: t.producer().send(t.topic)
    yield "a partition that is not there", lambda t: t.producer().send(t.topic, b"x", partition=7)
    yield "a partition below 0", lambda t: t.producer().send(t.topic, b"x", partition=-1)
    yield "a partition that is no number", lambda t: t.producer().send(t.topic, b"x", partition="0")
    yield "a value that is text", lambda t: t.producer().send(t.topic, "x")
    yield "a value that is a number", lambda t: t.producer().send(t.topic, 5)
    yield "a key that is text", lambda t: t.producer().send(t.topic, b"x", key="k")
    yield "headers that are a dictionary", lambda t: t.producer().send(t.topic, b"x", headers={"a": b"b"})
    yield "headers of text", lambda t: t.producer().send(t.topic, b"x", headers=[("a", "b")])
    yield "headers of three", lambda t: t.producer().send(t.topic, b"x", headers=[("a", b"b", b"c")])
    yield "a time that is text", lambda t: t.producer().send(t.topic, b"x", timestamp_ms="now")
    yield "too large for a request", lambda t: t.producer(max_request_size=1000).send(t.topic, bytes(2000)).get(10)
    yield (
        "too large for the broker",
        lambda t: t.producer(max_request_size=10**7).send(t.topic, bytes(2 * 10**6)).get(10),
    )


def _settings() -> Iterator[tuple[str, Case]]:
    for settings in (
        {"colour": 1},
        {"compression_type": "rar"},
        {"acks": 2},
        {"acks": "some"},
        {"enable_idempotence": True, "acks": 1},
        {"enable_idempotence": True, "retries": 0},
        {"enable_idempotence": True, "max_in_flight_requests_per_connection": 6},
        {"transactional_id": "t", "enable_idempotence": False},
        {"security_protocol": "SMTP"},
        {"delivery_timeout_ms": 100},
        {"linger_ms": -1},
        {"batch_size": -1},
        {"max_block_ms": -1},
        {"value_serializer": 5},
        {"partitioner": 5},
        {"bootstrap_servers": "nobody:1", "bootstrap_timeout_ms": 300},
    ):
        what = ", ".join(f"{name}={value!r}" for name, value in settings.items())
        yield f"made with {what}", lambda t, settings=settings: _made(t, settings)


def _made(t: Trial, settings: dict[str, Any]) -> Any:
    kind = t.package.KafkaProducer
    t.made.append(kind(**{"bootstrap_servers": t.bootstrap, **settings}))


def _transactions() -> Iterator[tuple[str, Case]]:
    yield "init without an id", lambda t: t.producer().init_transactions()
    yield "begin without an id", lambda t: t.producer().begin_transaction()
    yield "begin before init", lambda t: _transactional(t, "begin_transaction", init=False)
    yield "init twice", lambda t: _transactional(t, "init_transactions")
    yield "begin twice", lambda t: _transactional(t, "begin_transaction", "begin_transaction")
    yield "commit without begin", lambda t: _transactional(t, "commit_transaction")
    yield "abort without begin", lambda t: _transactional(t, "abort_transaction")
    yield "an empty transaction", lambda t: _transactional(t, "begin_transaction", "commit_transaction")
    yield "send outside of one", lambda t: _initialised(t).send(t.topic, b"x")
    yield "offsets outside of one", lambda t: _send_offsets(t, _initialised(t))
    yield "committed and aborted", _committed_and_aborted
    yield "offsets in one", _offsets
    yield "fenced, then send", lambda t: _fenced(t).send(t.topic, b"x", partition=0).get(10)
    yield "fenced, then commit", lambda t: _fenced(t).commit_transaction()
    yield "fenced, then abort", lambda t: _fenced(t).abort_transaction()


def _initialised(t: Trial) -> Any:
    producer = t.producer(transactional_id=t.topic)
    producer.init_transactions()
    return producer


def _transactional(t: Trial, *methods: str, init: bool = True) -> Any:
    producer = _initialised(t) if init else t.producer(transactional_id=t.topic)
    return [getattr(producer, method)() for method in methods]


def _send_offsets(t: Trial, producer: Any) -> Any:
    metadata = t.reader(group_id=t.topic).group_metadata()
    producer.send_offsets_to_transaction({t.where(): t.offset(3)}, metadata)


def _committed_and_aborted(t: Trial) -> Any:
    producer = _initialised(t)
    for end in ("abort_transaction", "commit_transaction"):
        producer.begin_transaction()
        producer.send(t.topic, end.encode(), partition=0).get(10)
        getattr(producer, end)()
    found = take(t.reader(isolation_level="read_committed"), 6)
    return [(record.offset, record.value) for record in found]


def _offsets(t: Trial) -> Any:
    producer = _initialised(t)
    producer.begin_transaction()
    _send_offsets(t, producer)
    producer.commit_transaction()
    return t.reader(group_id=t.topic).committed(t.where())


def _fenced(t: Trial) -> Any:
    first = _initialised(t)
    first.begin_transaction()
    first.send(t.topic, b"first", partition=0).get(10)
    _initialised(t)
    return first
