"""`poll_arrow` and `to_arrow`: what is in the columns, and that reading goes on in the right place."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pytest

from moldau import KafkaConsumer, KafkaProducer, TopicPartition, errors
from moldau.aio import AIOKafkaConsumer
from moldau.client.admin import NewTopic, create_topics
from moldau.client.cluster import Cluster

Row = tuple[int, bytes | None, bytes | None, list[tuple[str, bytes | None]]]


@pytest.fixture
def consumer(bootstrap: str) -> Iterator[KafkaConsumer]:
    with KafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
        yield consumer


def create(bootstrap: str, topic: str, partitions: int = 1) -> list[TopicPartition]:
    with Cluster(bootstrap) as cluster:
        cluster.run(create_topics([NewTopic(topic, partitions)]))
    return [TopicPartition(topic, number) for number in range(partitions)]


def write(bootstrap: str, topic: str, rows: list[Row], **settings: Any) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap, **settings) as producer:
        for partition, key, value, headers in rows:
            producer.send(topic, value, key=key, partition=partition, headers=headers, timestamp_ms=1_700_000_000_123)


def rows_of(table: Any) -> list[Row]:
    """As they were written, and checked by Arrow itself."""
    table.validate(full=True)
    return [
        (
            row["partition"],
            row["key"],
            row["value"],
            [(header["key"], header["value"]) for header in row["headers"]],
        )
        for row in table.to_pylist()
    ]


MIXED: list[Row] = [
    (0, b"k", b"v", []),
    (0, None, b"no key", [("a", b"1")]),
    (0, b"no value", None, [("a", b"1"), ("a", None), ("řeka", b"")]),
    (0, b"", b"", []),
    (0, bytes(range(256)), bytes(5000), [("x", bytes(300))] * 20),
] * 3


@pytest.mark.parametrize("codec", [None, "gzip", "snappy", "lz4", "zstd"])
def test_every_column_with_nulls_and_headers(
    bootstrap: str, consumer: KafkaConsumer, topic: str, codec: str | None
) -> None:
    (where,) = create(bootstrap, topic)
    write(bootstrap, topic, MIXED, compression_type=codec)
    consumer.assign([where])
    table = consumer.to_arrow()
    assert rows_of(table) == MIXED
    assert [(field.name, str(field.type)) for field in table.schema] == [
        ("topic", "dictionary<values=string, indices=int32, ordered=0>"),
        ("partition", "int32"),
        ("offset", "int64"),
        ("timestamp", "timestamp[ms, tz=UTC]"),
        ("key", "binary"),
        ("value", "binary"),
        ("headers", "list<item: struct<key: string not null, value: binary>>"),
    ]
    assert table["offset"].to_pylist() == list(range(len(MIXED)))
    assert set(table["timestamp"].to_pylist()) == {datetime.fromtimestamp(1_700_000_000.123, UTC)}
    assert set(table["topic"].to_pylist()) == {topic}


def test_batches_come_by_partition_and_fit_together(bootstrap: str, consumer: KafkaConsumer, topic: str) -> None:
    partitions = create(bootstrap, topic, 3)
    write(bootstrap, topic, [(number % 3, None, b"%d" % number, []) for number in range(300)])
    consumer.assign(partitions)
    batches: list[Any] = []
    while sum(batch.num_rows for batch in batches) < 300:
        found = consumer.poll_arrow(60_000)
        assert found, "records are missing"
        for where, batch in found.items():
            batch.validate(full=True)
            assert set(batch["partition"].to_pylist()) == {where.partition}
            batches.append(batch)
    table = pa.Table.from_batches(batches)
    assert sorted(int(value) for value in table["value"].to_pylist()) == list(range(300))
    assert consumer.poll_arrow(0) == {}
    assert [consumer.position(where) for where in partitions] == [100, 100, 100]


@pytest.mark.parametrize("codec", [None, "zstd"])
def test_no_more_than_asked_for(bootstrap: str, consumer: KafkaConsumer, topic: str, codec: str | None) -> None:
    partitions = create(bootstrap, topic, 2)
    write(bootstrap, topic, [(number % 2, None, b"%d" % number, []) for number in range(1000)], compression_type=codec)
    consumer.assign(partitions)
    seen: dict[int, list[int]] = {0: [], 1: []}
    sizes: list[int] = []
    while sum(map(len, seen.values())) < 900:
        found = consumer.poll_arrow(60_000, max_records=70)
        sizes.append(sum(batch.num_rows for batch in found.values()))
        for where, batch in found.items():
            seen[where.partition] += batch["offset"].to_pylist()
            assert consumer.position(where) == seen[where.partition][-1] + 1
    assert max(sizes) == 70
    # And objects after columns, from the middle of a batch.
    for where, records in consumer.poll(5000, max_records=50).items():
        seen[where.partition] += [record.offset for record in records]
    rest = consumer.to_arrow()
    for partition, offset in zip(rest["partition"].to_pylist(), rest["offset"].to_pylist(), strict=True):
        seen[partition].append(offset)
    assert seen == {0: list(range(500)), 1: list(range(500))}
    with pytest.raises(errors.IllegalArgumentError):
        consumer.poll_arrow(0, max_records=0)


def test_nothing_there_is_a_table_without_rows(bootstrap: str, consumer: KafkaConsumer, topic: str) -> None:
    consumer.assign(create(bootstrap, topic))
    table = consumer.to_arrow()
    assert table.num_rows == 0
    assert table.schema.names == ["topic", "partition", "offset", "timestamp", "key", "value", "headers"]


def test_only_committed_transactions(bootstrap: str, topic: str) -> None:
    (where,) = create(bootstrap, topic)
    with KafkaProducer(bootstrap_servers=bootstrap, transactional_id=topic) as producer:
        producer.init_transactions()
        for number, end in enumerate((producer.commit_transaction, producer.abort_transaction) * 2):
            producer.begin_transaction()
            producer.send(topic, b"%d" % number, partition=0)
            producer.flush()
            end()
    for isolation, values in (("read_committed", [b"0", b"2"]), ("read_uncommitted", [b"0", b"1", b"2", b"3"])):
        with KafkaConsumer(
            bootstrap_servers=bootstrap, auto_offset_reset="earliest", isolation_level=isolation
        ) as consumer:
            consumer.assign([where])
            assert consumer.to_arrow()["value"].to_pylist() == values
            # Behind the last marker, which is not a record.
            assert consumer.position(where) == 8


def test_header_keys_that_are_not_text(bootstrap: str, consumer: KafkaConsumer, topic: str) -> None:
    """Kafka wants UTF-8 there and does not look."""
    from moldau.client.producer.topic_writer import TopicWriter

    (where,) = create(bootstrap, topic)
    with Cluster(bootstrap) as cluster:
        writer = TopicWriter(cluster, topic)
        writer.append(b"v", headers=[("bad \udcff", b"x")])
        writer.append(b"v", headers=[("good", b"y")])
        writer.flush()
    consumer.assign([where])
    assert [row[3] for row in rows_of(consumer.to_arrow())] == [[("bad \ufffd", b"x")], [("good", b"y")]]


def test_without_pyarrow_nothing_is_taken(
    bootstrap: str, consumer: KafkaConsumer, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (where,) = create(bootstrap, topic)
    write(bootstrap, topic, [(0, None, b"v", [])])
    consumer.assign([where])
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pyarrow", None)
        for method in (consumer.poll_arrow, consumer.to_arrow):
            with pytest.raises(errors.KafkaConfigurationError, match="not installed"):
                method(5000)
    assert consumer.to_arrow().num_rows == 1


def test_members_of_a_group(bootstrap: str, topic: str) -> None:
    create(bootstrap, topic, 2)
    write(bootstrap, topic, [(number % 2, None, b"%d" % number, []) for number in range(10)])
    settings = {"bootstrap_servers": bootstrap, "group_id": topic, "auto_offset_reset": "earliest"}
    with KafkaConsumer(topic, **settings) as consumer:
        assert consumer.to_arrow(max_records=4).num_rows == 4
        consumer.commit()
    with KafkaConsumer(topic, **settings) as consumer:
        assert consumer.to_arrow().num_rows == 6
        assert consumer.to_arrow().num_rows == 0


def test_on_an_event_loop(bootstrap: str, topic: str) -> None:
    (where,) = create(bootstrap, topic)
    write(bootstrap, topic, [(0, None, b"%d" % number, []) for number in range(100)])

    async def work() -> None:
        async with AIOKafkaConsumer(bootstrap_servers=bootstrap, auto_offset_reset="earliest") as consumer:
            consumer.assign([where])
            assert (await consumer.getone()).offset == 0
            # 99 more lie in the buffer of `getone`; they are not lost.
            (batch,) = (await consumer.poll_arrow(timeout_ms=60_000, max_records=10)).values()
            assert batch["offset"].to_pylist() == list(range(1, 11))
            assert await consumer.position(where) == 11
            assert (await consumer.getone()).offset == 11
            assert (await consumer.to_arrow())["offset"].to_pylist() == list(range(12, 100))
            assert await consumer.poll_arrow() == {}

    asyncio.run(asyncio.wait_for(work(), 30))
