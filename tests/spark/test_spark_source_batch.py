"""`spark.read.format("moldau")` on a real Spark: every option, and what is refused."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable
from typing import Any

import pytest
from filled_topics import NOON, rows, write
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from moldau.client.admin.offsets import delete_records
from moldau.client.cluster import Cluster as Client
from moldau.protocol.records import Compression
from moldau.testing import Cluster
from moldau.types import TopicPartition

Load = Callable[..., Any]


@pytest.fixture
def load(spark: Any, node: Cluster) -> Load:
    """A DataFrame from options; `schema` is the user's own."""

    def load(schema: str | None = None, **options: Any) -> Any:
        reader = spark.read.format("moldau").option("kafka.bootstrap.servers", node.bootstrap_servers)
        reader = reader.options(**{name.replace("__", "."): value for name, value in options.items()})
        return (reader.schema(schema) if schema else reader).load()

    return load


def numbers(frame: Any) -> list[int]:
    """Which of the numbered records are there."""
    return sorted(int(row.value[1:]) for row in frame.select(F.col("value").cast("string")).collect())


def refusal(frame: Callable[[], Any]) -> str:
    with pytest.raises(PySparkException) as caught:
        frame()
    return re.sub(r"\s+", " ", str(caught.value))


@pytest.fixture
def rivers(node: Cluster, create_topic: Callable[..., str]) -> str:
    """Two partitions: 0-9 in the first, 10-29 in the second, in batches of five, a second apart."""
    topic = create_topic(2)
    for first in range(0, 30, 5):
        write(node.bootstrap_servers, topic, int(first >= 10), rows(5, first=first))
    return topic


def test_all_columns_with_their_types(load: Load, node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    record = (NOON + 123, b"key", b"value", [("name", b"text"), ("none", None)])
    write(node.bootstrap_servers, topic, 0, [record, (NOON, None, None, [])])
    frame = load(subscribe=topic, includeHeaders=True).orderBy("offset")
    assert ", ".join(f"{name} {kind}" for name, kind in frame.dtypes) == (
        "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int, "
        "headers array<struct<key:string,value:binary>>"
    )
    first, second = frame.select("*", F.unix_millis("timestamp").alias("ms")).collect()
    assert (bytes(first.key), bytes(first.value), first.topic, first.partition) == (b"key", b"value", topic, 0)
    assert (first.offset, first.ms, first.timestampType) == (0, NOON + 123, 0)
    assert [(header.key, header.value and bytes(header.value)) for header in first.headers] == record[3]
    assert (second.key, second.value, second.headers) == (None, None, None)
    assert "headers" not in load(subscribe=topic).columns


def test_topics_are_named_listed_or_matched(load: Load, node: Cluster, rivers: str, create_topic: Load) -> None:
    other = create_topic()
    write(node.bootstrap_servers, other, 0, rows(2, first=100))
    assert numbers(load(subscribe=f"{rivers}, {other}")) == [*range(30), 100, 101]
    assert numbers(load(subscribePattern=f"{rivers[:-1]}.|{other}x?").where(F.col("topic").isin(rivers, other))) == [
        *range(30),
        100,
        101,
    ]
    assert numbers(load(assign=f'{{"{rivers}": [1]}}')) == list(range(10, 30))


def test_from_offsets_to_offsets(load: Load, rivers: str) -> None:
    start = f'{{"{rivers}": {{"0": 7, "1": -2}}}}'
    end = f'{{"{rivers}": {{"0": -1, "1": 3}}}}'
    assert numbers(load(subscribe=rivers, startingOffsets=start, endingOffsets=end)) == [7, 8, 9, 10, 11, 12]
    assert numbers(load(subscribe=rivers, startingOffsets="earliest", endingOffsets="latest")) == list(range(30))
    partial = refusal(lambda: load(subscribe=rivers, startingOffsets=f'{{"{rivers}": {{"0": 7}}}}').collect())
    assert f"startingOffsets must name every partition, and {rivers}-1 is missing" in partial
    foreign = refusal(lambda: load(assign=f'{{"{rivers}": [0]}}', startingOffsets=start).collect())
    assert f"names {rivers}-1, which is not among what is read" in foreign


def test_from_times_to_times(load: Load, rivers: str) -> None:
    second = 1000

    def at(first: int, other: int) -> str:
        return f'{{"{rivers}": {{"0": {NOON + first * second}, "1": {NOON + other * second}}}}}'

    # The record at the ending time itself is not read.
    by_partition = load(subscribe=rivers, startingOffsetsByTimestamp=at(8, 28), endingOffsetsByTimestamp=at(9, 99))
    assert numbers(by_partition) == [8, 28, 29]
    everywhere = {"startingTimestamp": NOON + 5 * second, "endingTimestamp": NOON + 12 * second}
    assert numbers(load(subscribe=rivers, **everywhere)) == [5, 6, 7, 8, 9, 10, 11]
    late = {"subscribe": rivers, "startingTimestamp": NOON + 15 * second}
    sentence = refusal(lambda: load(**late).collect())
    assert f"{rivers}-0 has no record at or after it" in sentence
    assert "startingOffsetsByTimestampStrategy=latest" in sentence
    assert numbers(load(**late, startingOffsetsByTimestampStrategy="latest")) == list(range(15, 30))


def test_tasks_are_cut(load: Load, rivers: str) -> None:
    def tasks(**options: Any) -> list[int]:
        frame = load(subscribe=rivers, **options)
        assert numbers(frame) == list(range(30))
        return sorted(row["count"] for row in frame.groupBy(F.spark_partition_id()).count().collect())

    assert tasks() == [10, 20]
    assert tasks(minPartitions=6) == [5, 5, 5, 5, 5, 5]
    assert tasks(maxRecordsPerPartition=7) == [5, 5, 6, 7, 7]


def test_a_schema_leaves_out_columns(load: Load, rivers: str) -> None:
    frame = load("value string, offset long", subscribe=rivers)
    assert frame.columns == ["value", "offset"]
    assert {(row.value, row.offset) for row in frame.collect()} == {
        (f"v{n}", n if n < 10 else n - 10) for n in range(30)
    }
    assert load("partition int", subscribe=rivers).groupBy("partition").count().count() == 2
    assert "no column colour" in refusal(lambda: load("colour string", subscribe=rivers).collect())


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"subscribe": "a", "maxOffsetsPerTrigger": 5}, "it is for streams; a batch is bounded by endingOffsets"),
        ({"subscribe": "a", "subscribePattern": "b"}, "Exactly one of subscribe, subscribePattern and assign"),
        ({"subscribe": "a", "kafka__auto__offset__reset": "earliest"}, "startingOffsets says where to begin"),
        ({"subscribe": "a", "startingOffset": "earliest"}, "is startingOffsets meant?"),
        ({"subscribe": "nowhere", "fetchOffset__numRetries": 0}, "There is no topic 'nowhere'"),
    ],
)
def test_refusals_reach_the_user(load: Load, options: dict[str, Any], sentence: str) -> None:
    assert sentence in refusal(lambda: load(**options).collect())


def test_settings_of_kafka_are_passed_on(load: Load, node: Cluster, rivers: str) -> None:
    frame = load(
        subscribe=rivers,
        kafka__isolation__level="read_committed",
        kafka__fetch__max__bytes="1",
        kafka__max__partition__fetch__bytes="1",
        kafka__client__id="a-client",
        kafka__check__crcs="false",
        kafka__request__timeout__ms="5000",
        kafka__max__poll__records="17",  # taken, and without effect
        kafkaConsumer__pollTimeoutMs="10000",
        fetchOffset__numRetries="1",
        fetchOffset__retryIntervalMs="10",
        groupIdPrefix="unused-in-batches",
    )
    assert numbers(frame) == list(range(30))


def test_deleted_records(load: Load, node: Cluster, rivers: str) -> None:
    with Client(node.bootstrap_servers) as client:
        client.run(delete_records({TopicPartition(rivers, 1): 7}))
    assert numbers(load(subscribe=rivers)) == [*range(10), *range(17, 30)]
    before = {"subscribe": rivers, "startingOffsets": f'{{"{rivers}": {{"0": 0, "1": 2}}}}'}
    sentence = refusal(lambda: load(**before).collect())
    assert f"Partition {rivers}-1 begins at 7, and was to be read from 2" in sentence
    assert "failOnDataLoss" in sentence
    assert numbers(load(**before, failOnDataLoss=False)) == [*range(10), *range(17, 30)]


def test_a_million_records(load: Load, node: Cluster, create_topic: Callable[..., str]) -> None:
    """Counted, summed and checked by their checksums, in batches of every kind of compression."""
    topic = create_topic(4)
    batch, expected, offsets = 10_000, 0, 0
    for number in range(100):
        values = [b"%d-" % (number * batch + n) + bytes((n * 7 + m) % 256 for m in range(n % 40)) for n in range(batch)]
        records = [(NOON + n, b"%d" % (n % 100), value, []) for n, value in enumerate(values)]
        codec = Compression(number // 4 % len(Compression))
        first = write(node.bootstrap_servers, topic, number % 4, records, compression=codec)
        expected += sum(map(zlib.crc32, values))
        offsets += sum(range(first, first + batch))
    frame = load(subscribe=topic)
    found = frame.agg(
        F.count("*").alias("count"),
        F.sum(F.crc32("value")).alias("checksum"),
        F.sum("offset").alias("offsets"),
        F.countDistinct("partition").alias("partitions"),
        F.sum(F.col("key").cast("string").cast("int")).alias("keys"),
    ).first()
    assert found["count"] == 1_000_000
    assert (found.checksum, found.offsets, found.partitions) == (expected, offsets, 4)
    assert found["keys"] == sum(range(100)) * 10_000
