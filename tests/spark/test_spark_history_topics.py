"""Exports, copies and checks of topics: nothing missing, nothing twice, order kept; interrupted anywhere."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from moldau.spark.history.copying import CopyRequest, copy, key_from_json
from moldau.spark.history.exporting import ExportRequest, export
from moldau.spark.history.report import JobError
from moldau.spark.history.topic_access import FromFiles, ThroughBrokers
from moldau.spark.history.verifying import verify_topic
from moldau.testing import Cluster

DAY = 86_400_000
BASE = 19_700 * DAY


def _fill(node: Cluster, topic: str, first: int, count: int) -> None:
    """Some committed, some aborted, over three days long ago, keys in both partitions."""
    at = {"bootstrap_servers": node.bootstrap_servers}
    with KafkaProducer(**at, transactional_id=f"fill-{topic}", linger_ms=0) as producer:
        producer.init_transactions()
        for start in range(first, first + count, 50):
            producer.begin_transaction()
            for number in range(start, start + 50):
                value = json.dumps({"customer": {"id": number % 7}, "n": number}).encode()
                time = BASE + number * 3 * DAY // 1000
                producer.send(topic, value, b"key-%d" % (number % 20), [("n", b"%d" % number)], number % 2, time)
            producer.flush()
            producer.abort_transaction() if start % 150 == 50 else producer.commit_transaction()


def _consumed(node: Cluster, topic: str) -> list[tuple[Any, ...]]:
    settings = {"bootstrap_servers": node.bootstrap_servers, "isolation_level": "read_committed", "group_id": None}
    with KafkaConsumer(**settings) as consumer:
        partitions = [TopicPartition(topic, number) for number in sorted(consumer.partitions_for_topic(topic))]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        rows: list[tuple[Any, ...]] = []
        while any(consumer.position(where) < ends[where] for where in partitions):
            for records in consumer.poll(1000).values():
                rows += [(one.partition, one.offset, one.key, one.value, one.timestamp) for one in records]
    return sorted(rows)


def _exported(spark: Any, target: Path) -> list[tuple[Any, ...]]:
    rows = (
        spark.read.parquet(str(target))
        .selectExpr("partition", "offset", "key", "value", "unix_millis(timestamp)")
        .collect()
    )
    return sorted((row[0], row[1], bytes(row[2]), bytes(row[3]), row[4]) for row in rows)


class Killed(BaseException):
    """Ends a run where `os._exit` would: nothing in the job may catch it and tidy up."""


def _killing(after: int) -> Callable[[], None]:
    left = after

    def step() -> None:
        nonlocal left
        left -= 1
        if left < 0:
            raise Killed

    return step


def test_an_export_killed_anywhere_continues(spark: Any, node: Cluster, create_topic: Any, tmp_path: Path) -> None:
    topic = create_topic(2, retention_ms="-1")
    _fill(node, topic, 0, 900)
    access = ThroughBrokers(node.bootstrap_servers)
    wanted = _consumed(node, topic)
    assert len(wanted) == 600
    request = ExportRequest(topic, str(tmp_path / "export"), round_records=500)
    dry = export(spark, access, request, dry_run=True)
    assert sum(row["offsets"] for row in dry.rows) > 900
    assert not (tmp_path / "export").exists()
    kills = 0
    for after in (0, 2, 4, 5, 9, 1_000_000):
        try:
            export(spark, access, request, step=_killing(after))
            break
        except Killed:
            kills += 1
    assert kills > 3
    assert _exported(spark, tmp_path / "export") == wanted
    days = {path.parent.name for path in (tmp_path / "export").glob("topic=*/partition=*/date=*/*.parquet")}
    assert days == {"date=2023-12-09", "date=2023-12-10", "date=2023-12-11"}
    _fill(node, topic, 900, 300)
    report = export(spark, access, request)
    assert report.totals["records"] == 200
    assert _exported(spark, tmp_path / "export") == _consumed(node, topic)
    with pytest.raises(JobError, match="holds an export of"):
        export(spark, access, ExportRequest(topic, str(tmp_path / "export"), by="offsets"))


def test_an_export_of_records_that_were_deleted_meanwhile(
    spark: Any, node: Cluster, create_topic: Any, tmp_path: Path
) -> None:
    topic = create_topic(2, retention_ms="-1")
    _fill(node, topic, 0, 150)
    access = ThroughBrokers(node.bootstrap_servers)
    request = ExportRequest(topic, str(tmp_path), by="offsets")
    export(spark, access, request)
    _fill(node, topic, 150, 150)
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.delete_records({TopicPartition(topic, 0): 100})
    with pytest.raises(JobError, match="were deleted before they could be exported"):
        export(spark, access, request)


def test_the_command(node: Cluster, create_topic: Any, tmp_path: Path) -> None:
    """Through the real command, from the files of a running node: what is sealed there."""
    topic = create_topic(1, internal_segment_bytes="10000")
    with KafkaProducer(bootstrap_servers=node.bootstrap_servers, linger_ms=0) as producer:
        for number in range(400):
            producer.send(topic, b"%d" % number * 20, b"key")
            producer.flush()
    data = node.nodes[0].directory / "data"
    sealed = max(int(path.name[:20]) for path in (data / f"{topic}-0").glob("*.log"))
    assert sealed > 200
    command = [
        sys.executable,
        "-m",
        "moldau",
        "history",
        "export",
        topic,
        "--data",
        str(data),
        "--to",
        str(tmp_path / "x"),
    ]
    settings = ["--isolation", "read_uncommitted", "--by", "offsets", "--json", "--master", "local[2]"]
    done = subprocess.run(command + settings, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["records"] == sealed
    import pyarrow.parquet as pq

    files = sorted((tmp_path / "x").glob(f"topic={topic}/partition=0/*.parquet"))
    offsets = [offset for file in files for offset in pq.ParquetFile(file).read(["offset"])["offset"].to_pylist()]
    assert offsets == list(range(sealed))


def test_a_topic_is_verified_through_the_brokers(spark: Any, node: Cluster, create_topic: Any) -> None:
    topic = create_topic(2, retention_ms="-1")
    _fill(node, topic, 0, 150)
    report = verify_topic(spark, ThroughBrokers(node.bootstrap_servers), topic)
    assert report.problems == []
    assert report.totals["records"] == 150  # aborted ones are looked at, too
    assert [row["offsets_without_record"] for row in report.rows] == [3, 3]  # the markers


def test_damage_is_found_through_the_brokers(spark: Any, node: Cluster, create_topic: Any) -> None:
    topic = create_topic(1, internal_segment_bytes="10000")
    with KafkaProducer(bootstrap_servers=node.bootstrap_servers, linger_ms=0) as producer:
        for number in range(200):
            producer.send(topic, b"%d" % number * 20, b"key")
            producer.flush()
    segment = min((node.nodes[0].directory / "data" / f"{topic}-0").glob("*.log"))
    with segment.open("r+b") as file:
        file.seek(segment.stat().st_size - 3)
        file.write(b"\xff\xff\xff")
    report = verify_topic(spark, ThroughBrokers(node.bootstrap_servers), topic)
    assert report.totals["sound"] is False
    assert len(report.problems) == 1


def test_rekeyed_records_keep_their_order(spark: Any, node: Cluster, create_topic: Any, topic: str) -> None:
    source = create_topic(2, retention_ms="123456789012", message_timestamp_after_max_ms="77777")
    _fill(node, source, 0, 450)
    access = ThroughBrokers(node.bootstrap_servers)
    request = CopyRequest("rekey", source, topic, key_from_json("$.customer.id"), 3, origin_headers=True)
    assert copy(spark, access, request, dry_run=True).totals["records"] == 300
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        assert topic not in admin.list_topics()
    report = copy(spark, access, request)
    assert report.problems == []
    assert report.totals["records"] == 300
    rows = _consumed(node, topic)
    assert sorted(row[3:] for row in rows) == sorted(row[3:] for row in _consumed(node, source))  # timestamps, too
    numbers = [(row[2], json.loads(row[3])["n"]) for row in rows]
    assert sorted(n for _, n in numbers) == sorted(json.loads(row[3])["n"] for row in _consumed(node, source))
    places: dict[bytes, set[int]] = {}
    for row in rows:
        assert row[2] == b"%d" % json.loads(row[3])["customer"]["id"]
        places.setdefault(row[2], set()).add(row[0])
    assert {len(found) for found in places.values()} == {1}
    for key in places:
        of_key = [n for found, n in numbers if found == key]
        assert of_key == sorted(of_key)  # times and numbers grow together here, in both partitions
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        from moldau.admin import ConfigResource, ConfigResourceType

        described = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])
    settings = {name: one["value"] for name, one in described["topic"][topic].items()}
    assert settings["retention.ms"] == "123456789012"
    assert settings["message.timestamp.after.max.ms"] == "77777"
    assert "message.timestamp.before.max.ms" not in settings  # only while it was filled
    with pytest.raises(JobError, match="exists already"):
        copy(spark, access, request)


def test_other_partitions(spark: Any, node: Cluster, create_topic: Any, topic: str) -> None:
    source = create_topic(2, retention_ms="-1")
    _fill(node, source, 0, 300)
    report = copy(spark, ThroughBrokers(node.bootstrap_servers), CopyRequest("repartition", source, topic, None, 5))
    assert report.problems == []
    rows = _consumed(node, topic)
    before = _consumed(node, source)
    assert sorted(row[2:] for row in rows) == sorted(row[2:] for row in before)
    assert len({row[0] for row in rows}) > 2
    for key in {row[2] for row in before}:
        assert [row[3] for row in rows if row[2] == key] == [row[3] for row in before if row[2] == key]
    with pytest.raises(JobError, match="cannot be used as a key"):
        copy(spark, ThroughBrokers(node.bootstrap_servers), CopyRequest("rekey", source, "new", "nonsense(("))


def test_timestamps_that_the_brokers_would_refuse_or_replace_are_kept(
    spark: Any, node: Cluster, create_topic: Any, topic: str
) -> None:
    source = create_topic(2, retention_ms="-1")
    _fill(node, source, 0, 50)
    from moldau.admin import ConfigResource, ConfigResourceType

    later = {"message.timestamp.type": "LogAppendTime", "message.timestamp.before.max.ms": "1000"}
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.alter_configs([ConfigResource(ConfigResourceType.TOPIC, source, later)])
        copied = copy(spark, ThroughBrokers(node.bootstrap_servers), CopyRequest("repartition", source, topic))
        found = admin.describe_configs([ConfigResource(ConfigResourceType.TOPIC, topic)])["topic"][topic]
    assert copied.problems == []
    assert sorted(row[2:] for row in _consumed(node, topic)) == sorted(row[2:] for row in _consumed(node, source))
    assert {name: found[name]["value"] for name in later} == later


def test_files_of_a_stopped_node_are_a_topic_too(spark: Any, tmp_path: Path) -> None:
    with Cluster() as cluster:
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            for number in range(100):
                producer.send("few", b"%d" % number, b"k").get(10)
        cluster.nodes[0].stop()
        request = ExportRequest("few", str(tmp_path / "few"))
        report = export(spark, FromFiles(str(cluster.nodes[0].directory / "data")), request)
    assert report.totals["records"] == 100
