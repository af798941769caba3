"""Data frames into topics: every column, where rows go, and what is refused before anything is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from time import time
from typing import Any

import pytest
from sink_topics import records_of

from moldau.client.partitioner import partition_for_key
from moldau.testing import Cluster

CreateTopic = Callable[..., str]


def write(frame: Any, node: Cluster, topic: str | None = None, **options: str) -> None:
    writer = frame.write.format("moldau").mode("append").option("kafka.bootstrap.servers", node.bootstrap_servers)
    if topic is not None:
        writer = writer.option("topic", topic)
    for name, value in options.items():
        writer = writer.option(name.replace("_", "."), value)
    writer.save()


def test_keys_and_values(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=5)
    frame = spark.range(3000).selectExpr("concat('k', id) AS key", "CAST(concat('value ', id) AS BINARY) AS value")
    write(frame, node, topic)
    found = records_of(node.bootstrap_servers, topic)
    assert sorted((record.key, record.value) for record in found) == sorted(
        (b"k%d" % number, b"value %d" % number) for number in range(3000)
    )
    assert all(record.partition == partition_for_key(record.key, 5) for record in found)
    assert {record.partition for record in found} == set(range(5))


def test_headers_topics_and_partitions_from_columns(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topics = [create_topic(partitions=3) for _ in range(3)]
    names = ", ".join(f"'{name}'" for name in topics)
    frame = spark.range(900).selectExpr(
        "CAST(id AS STRING) AS value",
        f"array({names})[CAST(id % 3 AS INT)] AS topic",
        "CASE WHEN id % 2 = 0 THEN CAST(id % 3 AS INT) END AS partition",
        "CASE WHEN id % 5 != 0 THEN array(struct('a' AS key, CAST(CAST(id AS STRING) AS BINARY) AS value), "
        "struct('b' AS key, CAST(NULL AS BINARY) AS value)) END AS headers",
    )
    write(frame, node, includeHeaders="true")
    numbers: list[int] = []
    for at, topic in enumerate(topics):
        for record in records_of(node.bootstrap_servers, topic):
            number = int(record.value)
            numbers.append(number)
            assert number % 3 == at
            assert record.key is None
            if number % 2 == 0:
                assert record.partition == number % 3
            heads = [] if number % 5 == 0 else [("a", b"%d" % number), ("b", None)]
            assert list(record.headers) == heads
    assert sorted(numbers) == list(range(900))


def test_the_option_wins_over_the_column(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topic = create_topic()
    write(spark.sql("SELECT 'v' AS value, CAST(NULL AS STRING) AS topic"), node, topic)
    assert [record.value for record in records_of(node.bootstrap_servers, topic)] == [b"v"]


def test_timestamps_are_kept_if_asked_for(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topic, stamped_anew, copied = create_topic(), create_topic(), create_topic()
    moments = {"a": 1_700_000_000_123_999, "b": 1_600_000_000_000_000, "c": None}
    rows = ", ".join(f"('{name}', {'NULL' if at is None else at})" for name, at in moments.items())
    frame = spark.sql(f"SELECT value, timestamp_micros(at) AS timestamp FROM VALUES {rows} AS t(value, at)")
    before = round(time() * 1000)
    write(frame, node, topic, keepTimestamps="true")
    found = {record.value: record.timestamp for record in records_of(node.bootstrap_servers, topic)}
    assert found.pop(b"c") >= before
    assert found == {b"a": 1_700_000_000_123, b"b": 1_600_000_000_000}
    # As it comes from the source, with columns that the sink does not know.
    source = (
        spark.read.format("moldau")
        .options(**{"kafka.bootstrap.servers": node.bootstrap_servers, "subscribe": topic})
        .load()
    )
    assert "offset" in source.columns
    write(source, node, stamped_anew)
    assert all(record.timestamp >= before for record in records_of(node.bootstrap_servers, stamped_anew))
    write(source, node, copied, keepTimestamps="true", delivery="exactly-once")
    again = {record.value: record.timestamp for record in records_of(node.bootstrap_servers, copied)}
    assert again == {record.value: record.timestamp for record in records_of(node.bootstrap_servers, topic)}


def test_nulls(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topic = create_topic()
    write(spark.sql("SELECT 'k' AS key, CAST(NULL AS STRING) AS value UNION ALL SELECT NULL, NULL"), node, topic)
    found = {(record.key, record.value) for record in records_of(node.bootstrap_servers, topic)}
    assert found == {(b"k", None), (None, None)}


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_compressed(spark: Any, node: Cluster, create_topic: CreateTopic, codec: str) -> None:
    topic = create_topic(partitions=2)
    frame = spark.range(500).selectExpr("CAST(id AS STRING) AS key", "repeat('x', 200) AS value")
    write(frame, node, topic, kafka_compression_type=codec, kafka_batch_size="20000")
    assert {record.key for record in records_of(node.bootstrap_servers, topic)} == {b"%d" % n for n in range(500)}


def test_rows_larger_than_a_batch_and_batches_larger_than_the_topic_takes(
    spark: Any, node: Cluster, create_topic: CreateTopic
) -> None:
    topic = create_topic(max_message_bytes="30000")
    frame = spark.range(40).selectExpr("CAST(id AS STRING) AS key", "repeat('y', CAST(id * 600 AS INT)) AS value")
    write(frame, node, topic, kafka_buffer_memory="50000")
    found = {int(record.key): len(record.value) for record in records_of(node.bootstrap_servers, topic)}
    assert found == {number: number * 600 for number in range(40)}


@pytest.mark.parametrize(
    ("query", "options", "sentence"),
    [
        ("SELECT 'k' AS key", {"topic": "t"}, "The data frame has no column value; it has key."),
        ("SELECT 'v' AS value", {}, "No topic is named: set the option topic, or give the data frame a column topic."),
        ("SELECT 1 AS value", {"topic": "t"}, "The column value is int; it must be binary or string: CAST it."),
        ("SELECT 'v' AS value, 1L AS partition", {"topic": "t"}, "The column partition is bigint; it must be int"),
        (
            "SELECT 'v' AS value, array(struct(CAST(NULL AS STRING) AS key, CAST('x' AS BINARY) AS value)) AS headers",
            {"topic": "refusals"},
            "The rows cannot be written: a header has no key.",
        ),
        ("SELECT 'v' AS value, array('h') AS headers", {"topic": "t"}, "The column headers is array<string>; it must"),
        ("SELECT 'v' AS value, 7 AS topic", {}, "The column topic is int; it must be string: CAST it."),
        ("SELECT 'v' AS Value", {"topic": "t"}, "The column Value is not known; is value meant?"),
        ("SELECT 'v' AS value, CAST(NULL AS STRING) AS topic", {}, "A row has no topic: the column topic is null"),
        ("SELECT 'v' AS value, 9 AS partition", {"topic": "refusals"}, "A row names partition 9 of topic 'refusals'"),
        (
            "SELECT 'v' AS value",
            {"topic": "t", "keepTimestamps": "true"},
            "The option keepTimestamps is true, and the data frame has no column timestamp.",
        ),
        (
            "SELECT 'v' AS value, 7L AS timestamp",
            {"topic": "t", "keepTimestamps": "true"},
            "The column timestamp is bigint; it must be timestamp: CAST it.",
        ),
        (
            "SELECT 'v' AS value, current_timestamp() AS Timestamp",
            {"topic": "t", "keepTimestamps": "true"},
            "The column Timestamp is not known; is timestamp meant?",
        ),
        ("SELECT 'v' AS value", {"topic": "t", "delivery": "twice"}, "The option delivery is 'twice'; it must be"),
        ("SELECT 'v' AS value", {"topic": "t", "subscribe": "t"}, "The option subscribe has no meaning here"),
        (
            "SELECT 'v' AS value",
            {"topic": "t", "delivery": "exactly-once", "kafka.acks": "1"},
            "The option kafka.acks must be all with delivery=exactly-once.",
        ),
        ("SELECT 'v' AS value", {"topic": "t", "txnAppId": "a"}, "txnAppId and txnVersion belong together"),
        (
            "SELECT repeat('z', 5000000) AS value",
            {"topic": "refusals"},
            "kafka.max.request.size allows 4194304",
        ),
    ],
)
def test_what_is_refused(spark: Any, node: Cluster, query: str, options: dict[str, str], sentence: str) -> None:
    writer = spark.sql(query).write.format("moldau").mode("append")
    writer = writer.options(**{"kafka.bootstrap.servers": node.bootstrap_servers, **options})
    with pytest.raises(Exception, match=re.escape(sentence)):
        writer.save()


def test_overwriting_is_refused(spark: Any, node: Cluster) -> None:
    with pytest.raises(Exception, match="cannot be overwritten"):
        spark.sql("SELECT 'v' AS value").write.format("moldau").mode("overwrite").options(
            **{"kafka.bootstrap.servers": node.bootstrap_servers, "topic": "t"}
        ).save()


def test_a_stream(spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Any) -> None:
    topic = create_topic(partitions=2)
    source, checkpoint = tmp_path / "in", tmp_path / "checkpoint"
    source.mkdir()
    for part in range(3):
        (source / f"{part}.txt").write_text("".join(f"{part}-{line}\n" for line in range(100)))
        frame = spark.readStream.format("text").load(str(source))
        query = (
            frame.writeStream.format("moldau")
            .options(**{"kafka.bootstrap.servers": node.bootstrap_servers, "topic": topic})
            .option("checkpointLocation", str(checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        query.awaitTermination()
    values = [record.value.decode() for record in records_of(node.bootstrap_servers, topic)]
    assert sorted(values) == sorted(f"{part}-{line}" for part in range(3) for line in range(100))
