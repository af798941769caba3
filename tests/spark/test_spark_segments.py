"""`format("moldau-log")`: what Spark reads from the files is what a consumer reads from the broker."""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from moldau.admin import NewTopic
from moldau.testing import Cluster

BASE = 1_700_000_000_000


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    # Records of long ago would not last until the end of the tests.
    settings = {"log.retention.ms": "-1", "log.cleaner.backoff.ms": "200", "log.index.interval.bytes": "512"}
    with Cluster(settings=settings) as cluster:
        _create(cluster, "plain", 2, {"internal.segment.bytes": "20000"})
        _create(
            cluster,
            "compacted",
            1,
            {"internal.segment.bytes": "6000", "cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01"},
        )
        _create(cluster, "transactions", 2, {"internal.segment.bytes": "8000"})
        _fill(cluster)
        yield cluster


def _create(cluster: Cluster, name: str, partitions: int, configs: dict[str, str]) -> None:
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(name, partitions, 1, topic_configs=configs)])


def _fill(cluster: Cluster) -> None:
    at = {"bootstrap_servers": cluster.bootstrap_servers}
    with KafkaProducer(**at, linger_ms=0, compression_type="lz4") as producer:
        for number in range(2000):
            key = None if number % 7 == 0 else b"key-%d" % (number % 50)
            value = None if number % 11 == 1 and key else b"value-%d-" % number + b"x" * 40
            headers = [("number", b"%d" % number), ("empty", None)] if number % 3 == 0 else None  # type: ignore[list-item]
            producer.send("plain", value, key, headers, number % 2, BASE + 1000 * number)
            if number % 20 == 19:
                producer.flush()
        for number in range(600):
            producer.send("compacted", b"%d" % number * 20, b"key-%d" % (number % 40), timestamp_ms=BASE + number)
            if number % 10 == 9:
                producer.flush()
    for round in range(40):
        with KafkaProducer(**at, transactional_id=f"writer-{round % 3}", linger_ms=0) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            for number in range(30):
                producer.send("transactions", b"%d-%d-" % (round, number) + b"y" * 30, b"k", partition=number % 2)
            producer.flush()
            producer.commit_transaction() if round % 3 else producer.abort_transaction()
    with (
        KafkaProducer(**at, transactional_id="one", linger_ms=0) as one,
        KafkaProducer(**at, transactional_id="other", linger_ms=0) as other,
    ):
        for producer in (one, other):
            producer.init_transactions()
            producer.begin_transaction()
        for number in range(300):
            (one if number % 2 else other).send("transactions", b"both-%d" % number, b"k", partition=number // 2 % 2)
            one.flush()
            other.flush()
        one.abort_transaction()
        other.commit_transaction()
    with KafkaProducer(**at, linger_ms=0) as producer:
        for number in range(60):
            producer.send("transactions", b"plain-%d" % number, b"k", partition=number % 2)
            producer.flush()


def consumed(cluster: Cluster, topic: str, isolation: str = "read_uncommitted") -> list[tuple[Any, ...]]:
    consumer = KafkaConsumer(
        bootstrap_servers=cluster.bootstrap_servers,
        isolation_level=isolation,
        auto_offset_reset="earliest",
        group_id=None,
    )
    with consumer:
        partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
        consumer.assign(partitions)
        ends = consumer.end_offsets(partitions)
        rows = []
        while any(consumer.position(where) < ends[where] for where in partitions):
            for records in consumer.poll(1000).values():
                rows += [
                    (each.topic, each.partition, each.offset, each.timestamp, each.key, each.value, list(each.headers))
                    for each in records
                ]
    return sorted(rows, key=lambda row: row[:3])


def scanned(spark: Any, directory: Path, **options: str) -> list[tuple[Any, ...]]:
    frame = spark.read.format("moldau-log").options(**{"includeHeaders": "true", **options}).load(str(directory))
    rows = frame.selectExpr(
        "topic", "partition", "offset", "unix_millis(timestamp)", "key", "value", "headers"
    ).collect()
    found = [(*row[:4], _bytes(row[4]), _bytes(row[5]), [(h[0], _bytes(h[1])) for h in row[6] or []]) for row in rows]
    return sorted(found, key=lambda row: row[:3])


def _bytes(value: Any) -> bytes | None:
    return None if value is None else bytes(value)


def data_of(cluster: Cluster) -> Path:
    return cluster.nodes[0].directory / "data"


def sealed_end(directory: Path) -> int:
    return max(int(path.name[:20]) for path in directory.glob("*.log"))


def test_sealed_segments_of_a_running_node(spark: Any, cluster: Cluster) -> None:
    ends = {number: sealed_end(data_of(cluster) / f"plain-{number}") for number in (0, 1)}
    assert min(ends.values()) > 500
    wanted = [row for row in consumed(cluster, "plain") if row[2] < ends[row[1]]]
    assert scanned(spark, data_of(cluster), subscribe="plain") == wanted


def test_ranges_by_offset_and_time(spark: Any, cluster: Cluster) -> None:
    rows = consumed(cluster, "plain")
    start, end = {"plain": {"0": 123, "1": 7}}, {"plain": {"0": 457, "1": 7}}
    found = scanned(
        spark, data_of(cluster), topic="plain", startingOffsets=json.dumps(start), endingOffsets=json.dumps(end)
    )
    assert found == [row for row in rows if row[1] == 0 and 123 <= row[2] < 457]
    found = scanned(
        spark,
        data_of(cluster),
        assign='{"plain": [1]}',
        startingTimestamp=str(BASE + 300_500),
        endingTimestamp=str(BASE + 700_000),
    )
    assert found == [row for row in rows if row[1] == 1 and BASE + 300_500 <= row[3] < BASE + 700_000]


def test_nothing_to_read(spark: Any, cluster: Cluster) -> None:
    options = {"subscribe": "plain", "startingTimestamp": str(BASE + 10_000_000)}
    frame = spark.read.format("moldau-log").options(**options).load(str(data_of(cluster)))
    assert frame.count() == 0
    assert frame.collect() == []


def test_small_tasks_and_a_schema_of_its_own(spark: Any, cluster: Cluster) -> None:
    reader = spark.read.format("moldau-log").option("subscribePattern", "pla.*")
    frame = (
        reader.option("maxRecordsPerPartition", "137").schema("offset bigint, value string").load(str(data_of(cluster)))
    )
    ends = [sealed_end(data_of(cluster) / f"plain-{number}") for number in (0, 1)]
    assert frame.rdd.getNumPartitions() == sum(-(-end // 137) for end in ends)
    wanted = [row for row in consumed(cluster, "plain") if row[2] < sealed_end(data_of(cluster) / f"plain-{row[1]}")]
    texts = [(row[2], None if row[5] is None else row[5].decode()) for row in wanted]
    assert sorted(map(tuple, frame.collect()), key=str) == sorted(texts, key=str)


def test_committed_records_of_a_running_node(spark: Any, cluster: Cluster) -> None:
    """What is sealed and decided there: everything of it that the consumer gets, and nothing else."""
    wanted = consumed(cluster, "transactions", "read_committed")
    found = scanned(spark, data_of(cluster), subscribe="transactions", isolation="read_committed")
    ends = {row[1]: row[2] for row in found}
    assert min(ends.values()) > 200
    assert found == [row for row in wanted if row[2] <= ends[row[1]]]


def test_a_stopped_node_is_read_to_its_end(spark: Any, cluster: Cluster, tmp_path: Path) -> None:
    """Transactions with aborts, one left open, and a compacted topic: exactly what consumers of the broker get."""
    hanging = KafkaProducer(bootstrap_servers=cluster.bootstrap_servers, transactional_id="hanging", linger_ms=0)
    hanging.init_transactions()
    hanging.begin_transaction()
    hanging.send("transactions", b"undecided", b"k", partition=0)
    hanging.flush()
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for number in range(300):
            producer.send("transactions", b"behind-%d" % number * 5, b"k", partition=0)
            producer.flush()
    _wait_for_compaction(data_of(cluster) / "compacted-0")
    wanted = {
        (topic, isolation): consumed(cluster, topic, isolation)
        for topic in ("plain", "transactions", "compacted")
        for isolation in ("read_committed", "read_uncommitted")
    }
    assert len(wanted["compacted", "read_committed"]) < 500
    cluster.nodes[0].stop()
    try:
        data = tmp_path / "data"
        shutil.copytree(data_of(cluster), data)
        for (topic, isolation), rows in wanted.items():
            found = scanned(spark, data, subscribe=topic, isolation=isolation, includeActiveSegment="true")
            assert found == rows, (topic, isolation)
        (data / ".kafka_cleanshutdown").unlink()
        with pytest.raises(Exception, match="was not clean, so nobody can say yet what is committed"):
            scanned(spark, data, subscribe="plain", isolation="read_committed", includeActiveSegment="true")
        _tear(data / "plain-0")
        rows = scanned(spark, data, assign='{"plain": [0]}', includeActiveSegment="true")
        known = [row for row in wanted["plain", "read_committed"] if row[1] == 0]
        assert 0 < len(known) - len(rows) <= 20
        assert rows == known[: len(rows)]
    finally:
        cluster.nodes[0].start()
        hanging.close()


def _wait_for_compaction(directory: Path) -> None:
    import time

    for _ in range(600):
        if (directory.parent / "cleaner-offset-checkpoint").exists():
            return
        time.sleep(0.1)
    raise AssertionError("the cleaner did not run")


def _tear(directory: Path) -> None:
    """As a power cut does: the last batch is cut, and the index has room behind its entries."""
    newest = max(directory.glob("*.log"))
    os.truncate(newest, newest.stat().st_size - 5)
    with newest.with_suffix(".index").open("ab") as index:
        index.write(bytes(8000))


def test_tasks_cut_at_index_entries_cover_every_record_once(cluster: Cluster) -> None:
    from moldau.spark.schema import SOURCE_SCHEMA
    from moldau.spark.segments.bounds import scan_ranges
    from moldau.spark.segments.scan import scan
    from moldau.spark.segments.scan_options import parse_options
    from moldau.spark.segments.splits import gather, split

    (whole,) = scan_ranges(parse_options({"path": str(data_of(cluster)), "assign": '{"plain": [0]}'}))
    for size in (600, 3000, 50_000, 1 << 30):
        tasks = gather(split(whole, task_bytes=size, most_records=None), task_bytes=size, together=True)
        assert len(tasks) == 1 or max(task.size for task in tasks) < size + 2000
        offsets = [
            offset for task in tasks for batch in scan(task, SOURCE_SCHEMA) for offset in batch["offset"].to_pylist()
        ]
        assert offsets == list(range(whole.end_offset))


def test_segments_that_go_away(spark: Any, cluster: Cluster, tmp_path: Path) -> None:
    """A file that was only renamed on its way out is still read; one that is gone ends the job with a sentence."""
    from moldau.spark.schema import SOURCE_SCHEMA
    from moldau.spark.segments.data_directory import ScanError
    from moldau.spark.segments.reader import plan
    from moldau.spark.segments.scan import scan
    from moldau.spark.segments.scan_options import parse_options

    log = tmp_path / "plain-0"
    shutil.copytree(data_of(cluster) / "plain-0", log)
    tasks = plan(parse_options({"path": str(tmp_path), "topic": "plain"}))
    count = sum(batch.num_rows for task in tasks for batch in scan(task, SOURCE_SCHEMA))
    first = min(log.glob("*.log"))
    first.rename(str(first) + ".deleted")
    assert sum(batch.num_rows for task in tasks for batch in scan(task, SOURCE_SCHEMA)) == count
    shutil.copy(str(first) + ".deleted", first)
    (log / (first.name + ".deleted")).unlink()
    with pytest.raises(ScanError, match="was deleted, replaced or written to after the job was planned"):
        list(scan(tasks[0], SOURCE_SCHEMA))


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({}, "One of topic, subscribe, subscribePattern, assign must say what is read"),
        ({"subscribe": "nowhere"}, "There is no log of the topic nowhere"),
        ({"subscribe": "plain", "kafka.bootstrap.servers": "x:1"}, "no broker is asked here"),
        ({"subscribe": "plain", "isolationLevel": "x"}, "There is no option isolationlevel; is isolation meant?"),
        ({"subscribe": "plain", "isolation": "x"}, "it must be read_uncommitted or read_committed"),
        ({"subscribe": "plain", "failOnDataLoss": "false"}, "one that is gone ends the job"),
        ({"subscribe": "plain", "includeActiveSegment": "true"}, "A node is running on"),
        ({"subscribe": "plain", "startingOffsets": '{"plain": {"0": 1}}'}, "does not name plain-1"),
        ({"subscribe": "plain", "endingOffsets": '{"plain": {"0": 10000, "1": 1}}'}, "sealed segments end at"),
        ({"subscribe": "plain", "minPartitions": "none"}, "must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_read_is_refused(spark: Any, cluster: Cluster, options: dict[str, str], sentence: str) -> None:
    with pytest.raises(Exception, match=re.escape(sentence)):
        spark.read.format("moldau-log").options(**options).load(str(data_of(cluster))).collect()


def test_segments_are_neither_streamed_nor_written(spark: Any, cluster: Cluster, tmp_path: Path) -> None:
    reader = spark.readStream.format("moldau-log").option("subscribe", "plain")
    with pytest.raises(Exception, match=r'format\("moldau"\) reads a topic as a stream'):
        reader.load(str(data_of(cluster))).writeStream.format("noop").start().processAllAvailable()
    with pytest.raises(Exception, match=r'format\("moldau"\) writes to its topics'):
        spark.range(1).write.format("moldau-log").mode("append").save(str(tmp_path))
