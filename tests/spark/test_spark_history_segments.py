"""Erasing and recompressing the segments of a stopped node, killed or not: the rest stays, with its offsets."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, TopicPartition
from moldau.admin import NewTopic
from moldau.cli.main import main as moldau
from moldau.protocol.records import Compression
from moldau.spark.history.erasing import Selection, erase, find
from moldau.spark.history.recompressing import recompress
from moldau.spark.history.report import JobError
from moldau.spark.history.stopped_node import logs_of
from moldau.spark.history.verifying import verify_files
from moldau.testing import Cluster, Node

Row = tuple[int, int, bytes | None, bytes | None, int, tuple[tuple[str, bytes], ...]]

SETTINGS = {
    "node.id": "1",
    "log.index.interval.bytes": "512",
    "offsets.topic.num.partitions": "1",
    "transaction.state.log.num.partitions": "1",
}


@pytest.fixture(scope="module")
def stopped(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, list[Row]]]:
    """The directory of a node that was stopped in order, and what consumers had read of it before."""
    directory = tmp_path_factory.mktemp("history") / "node-1"
    with Cluster(settings=SETTINGS) as cluster:
        _fill(cluster.bootstrap_servers)
        rows = {
            isolation: consumed(cluster.bootstrap_servers, isolation)
            for isolation in ("read_uncommitted", "read_committed")
        }
        cluster.nodes[0].stop()
        shutil.copytree(cluster.nodes[0].directory, directory)
    return directory, rows


@pytest.fixture
def node_directory(stopped: tuple[Path, dict[str, list[Row]]], tmp_path: Path) -> Path:
    """A copy to work on."""
    shutil.copytree(stopped[0], tmp_path / "node-1")
    return tmp_path / "node-1"


def _fill(bootstrap: str) -> None:
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        admin.create_topics([NewTopic("orders", 2, 1, topic_configs={"internal.segment.bytes": "15000"})])
    for codec in (None, "zstd"):
        with KafkaProducer(bootstrap_servers=bootstrap, linger_ms=5, compression_type=codec) as producer:
            for number in range(600):
                key = None if number % 10 == 0 else b"user-%d" % (number % 30)
                producer.send(
                    "orders", b'{"user": %d, "n": %d}' % (number % 30, number), key, [("h", b"1")], number % 2
                )
                if number % 15 == 14:
                    producer.flush()
    for round in range(6):
        with KafkaProducer(bootstrap_servers=bootstrap, transactional_id="writer", linger_ms=0) as producer:
            producer.init_transactions()
            producer.begin_transaction()
            for number in range(40):
                producer.send(
                    "orders", b'{"user": 7, "n": %d}' % number, b"user-7" if number % 2 else b"x", partition=0
                )
            producer.flush()
            producer.commit_transaction() if round % 2 else producer.abort_transaction()


def consumed(bootstrap: str, isolation: str) -> list[Row]:
    with KafkaConsumer(bootstrap_servers=bootstrap, isolation_level=isolation, group_id=None) as consumer:
        partitions = [TopicPartition("orders", number) for number in (0, 1)]
        consumer.assign(partitions)
        consumer.seek_to_beginning(*partitions)
        ends = consumer.end_offsets(partitions)
        rows: list[Row] = []
        while any(consumer.position(where) < ends[where] for where in partitions):
            for records in consumer.poll(1000).values():
                rows += [
                    (one.partition, one.offset, one.key, one.value, one.timestamp, tuple(one.headers))
                    for one in records
                ]
    return sorted(rows, key=lambda row: row[:2])


def started(directory: Path) -> Node:
    node = Node(1, directory)
    node.configure(SETTINGS)
    node.start()
    return node


def served(directory: Path) -> dict[str, list[Row]]:
    """What a node started on the directory gives to consumers; it also takes a record, and stops in order."""
    node = started(directory)
    try:
        rows = {isolation: consumed(node.address, isolation) for isolation in ("read_uncommitted", "read_committed")}
        with KafkaProducer(bootstrap_servers=node.address) as producer:
            producer.send("orders", b"one more", b"k", partition=0).get(10)
        node.stop()
        return rows
    finally:
        node.kill()


def without(rows: list[Row], goes: Callable[[Row], bool]) -> list[Row]:
    return [row for row in rows if not goes(row)]


@pytest.mark.parametrize(
    ("selection", "goes"),
    [
        (Selection(keys=[b"user-7", b"user-8"]), lambda row: row[2] in (b"user-7", b"user-8")),
        (Selection(key_prefix=b"user-1"), lambda row: (row[2] or b"").startswith(b"user-1")),
        (
            Selection(where="get_json_object(CAST(value AS STRING), '$.user') = '20' AND partition = 0"),
            lambda row: json.loads(row[3])["user"] == 20 and row[0] == 0,
        ),
    ],
    ids=["keys", "prefix", "expression"],
)
def test_erased_records_are_gone_and_the_rest_is_as_it_was(
    spark: Any,
    stopped: tuple[Path, dict[str, list[Row]]],
    node_directory: Path,
    selection: Selection,
    goes: Callable[[Row], bool],
) -> None:
    data, before = node_directory / "data", stopped[1]
    doomed = [row for row in before["read_uncommitted"] if goes(row)]
    assert len(doomed) > 10
    sizes = _sizes(data)
    dry = erase(spark, str(data), "orders", selection, dry_run=True)
    assert dry.totals["records_erased"] == len(doomed)
    assert _sizes(data) == sizes
    report = erase(spark, str(data), "orders", selection)
    assert report.totals["records_erased"] == len(doomed)
    assert sum(row["bytes_freed"] for row in report.rows) > 0
    if selection.keys:
        # A key stands behind its length; in the plain batches it can be looked for.
        assert b"\x0cuser-8" in _content(stopped[0] / "data")
        assert b"\x0cuser-8" not in _content(data)
        assert b"\x0cuser-9" in _content(data)
    assert moldau(["log", "verify", str(data), "--deep"]) == 0
    after = served(node_directory)
    assert after == {isolation: without(rows, goes) for isolation, rows in before.items()}
    assert moldau(["log", "verify", str(data), "--deep"]) == 0


def _content(data: Path) -> bytes:
    return b"".join(path.read_bytes() for path in data.glob("orders-*/*"))


def _sizes(data: Path) -> dict[str, int]:
    return {str(path): path.stat().st_size for path in sorted(data.glob("orders-*/*.log"))}


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD, Compression.LZ4])
def test_recompressed_records_are_the_same(
    stopped: tuple[Path, dict[str, list[Row]]], node_directory: Path, codec: Compression
) -> None:
    data = node_directory / "data"
    report = recompress(str(data), "orders", codec)
    assert report.totals["bytes_before"] != report.totals["bytes_after"]
    again = recompress(str(data), "orders", codec, dry_run=True)
    assert [row["segments_rewritten"] for row in again.rows] == [0, 0]
    assert moldau(["log", "verify", str(data), "--deep"]) == 0
    assert served(node_directory) == stopped[1]


_KILLED = """
import json, os, sys
from array import array
from moldau.runtime.disk import RealDisk
from moldau.spark.history.erasing import erase_offsets
from moldau.spark.history.stopped_node import held, logs_of
from moldau.types import TopicPartition

left = int(sys.argv[2])

class Mortal(RealDisk):
    pass

def counted(name):
    real = getattr(RealDisk, name)
    def call(self, *arguments, **options):
        global left
        left -= 1
        if left < 0:
            os._exit(9)
        return real(self, *arguments, **options)
    return call

for name in ("open", "rename", "remove", "sync_directory", "map"):
    setattr(Mortal, name, counted(name))

doomed = {TopicPartition("orders", int(n)): array("q", offsets) for n, offsets in json.load(sys.stdin).items()}
with held(sys.argv[1]) as path:
    erase_offsets(logs_of(path, "orders"), doomed, Mortal(), lambda records, size: None)
print(int(sys.argv[2]) - left)
"""


def test_a_job_killed_anywhere_is_finished_by_the_next(
    spark: Any, stopped: tuple[Path, dict[str, list[Row]]], tmp_path: Path
) -> None:
    """Killed after so many calls of the disk; what is left is the old or the new of each segment, never a mixture."""
    before = stopped[1]["read_uncommitted"]
    doomed = find(spark, str(stopped[0] / "data"), "orders", Selection(keys=[b"user-7"]))
    offsets = {str(where.partition): list(found) for where, found in doomed.items()}
    gone = {(where.partition, offset) for where, found in doomed.items() for offset in found}
    wanted = [row for row in before if row[:2] not in gone]

    def run(data: Path, calls: int) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-c", _KILLED, str(data), str(calls)]
        return subprocess.run(command, input=json.dumps(offsets), capture_output=True, text=True, check=False)

    whole = tmp_path / "whole"
    shutil.copytree(stopped[0] / "data", whole)
    calls = int(run(whole, 1_000_000).stdout)
    assert calls > 50
    for number, moment in enumerate(range(3, calls, max(1, calls // 7))):
        data = tmp_path / str(number)
        shutil.copytree(stopped[0] / "data", data)
        assert run(data, moment).returncode == 9
        started = tmp_path / f"{number}-started"
        shutil.copytree(data, started)
        found = _as_a_node_opens(started)
        assert set(wanted) <= set(found) <= set(before), moment
        report = erase(spark, str(data), "orders", Selection(keys=[b"user-7"])) if number == 2 else None
        if report is None:
            assert run(_tidied(data), 1_000_000).returncode == 0
        assert _as_a_node_opens(data) == wanted, moment
        assert verify_log_problems(data) == []


def _tidied(data: Path) -> Path:
    from moldau.spark.history.stopped_node import finish_interrupted, partitions_of

    finish_interrupted(str(data), partitions_of(str(data), "orders"))
    return data


def _as_a_node_opens(data: Path) -> list[Row]:
    """The records of the logs after the node's own opening of them."""
    from moldau.config.topic import LogConfig
    from moldau.protocol.records import decode_batch, scan_batches
    from moldau.runtime.clock import SystemClock
    from moldau.runtime.disk import RealDisk
    from moldau.storage.log import Log

    rows: list[Row] = []
    for number in (0, 1):
        log = Log.open(str(data / f"orders-{number}"), LogConfig(), RealDisk(), SystemClock())
        for segment in log.segments:
            content = segment.open_file().read(0, segment.size)
            position = 0
            for header in scan_batches(content):
                if not header.is_control:
                    rows += [
                        (number, one.offset, one.key, one.value, one.timestamp, tuple(one.headers))
                        for one in decode_batch(content, position, position + header.size)
                    ]
                position += header.size
        log.close()
    return sorted(rows, key=lambda row: row[:2])


def verify_log_problems(data: Path) -> list[str]:
    from moldau.cli.log_verify import ReadOnlyDisk
    from moldau.storage.verification import find_logs, verify_log

    logs = [log for log in find_logs(ReadOnlyDisk(), str(data)) if "orders" in log.path]
    return [problem for log in logs for problem in verify_log(ReadOnlyDisk(), log, deep=True).problems]


def test_a_directory_is_verified_in_parallel(spark: Any, node_directory: Path) -> None:
    data = node_directory / "data"
    report = verify_files(spark, str(data))
    assert report.totals["sound"] is True
    assert {"orders-0", "orders-1"} <= {row["log"] for row in report.rows}
    segment = min((data / "orders-1").glob("*.log"))
    content = bytearray(segment.read_bytes())
    content[len(content) // 2] ^= 0xFF
    segment.write_bytes(content)
    (data / "orders-0" / f"{'0' * 20}.index").write_bytes(b"\0" * 7)
    report = verify_files(spark, str(data), "orders")
    assert len([problem for problem in report.problems if problem.startswith("orders-1: ")]) >= 1
    assert len([problem for problem in report.problems if problem.startswith("orders-0: ")]) >= 1
    assert {row["state"] for row in report.rows} == {"damaged"}


def test_a_running_node_and_an_unclean_stop_are_refused(
    spark: Any, node_directory: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = str(node_directory / "data")
    node = started(node_directory)
    try:
        assert moldau(["history", "erase", "orders", "--data", data, "--key", "user-7"]) == 1
        assert f"A node is running on {data}: stop it first" in capsys.readouterr().err
        assert moldau(["history", "recompress", "orders", "--data", data, "--codec", "lz4"]) == 1
        assert f"A node is running on {data}: stop it first" in capsys.readouterr().err
        with pytest.raises(JobError, match="stop it first, or verify a topic through it"):
            verify_files(spark, data)
    finally:
        node.kill()
    assert moldau(["history", "recompress", "orders", "--data", data, "--codec", "lz4"]) == 1
    assert "was not clean: start it with" in capsys.readouterr().err
    assert moldau(["history", "erase", "orders", "--data", data]) == 2


def test_topics_of_the_node_itself_are_left_alone(node_directory: Path) -> None:
    data = str(node_directory / "data")
    with pytest.raises(JobError, match="belongs to the node itself"):
        recompress(data, "__consumer_offsets", Compression.LZ4)
    with pytest.raises(JobError, match="There is no log of the topic nothing"):
        recompress(data, "nothing", Compression.LZ4)
    assert [log.topic_partition.partition for log in logs_of(data, "orders")] == [0, 1]


def test_bytes_before_the_start_of_the_log_go_too(spark: Any, node_directory: Path) -> None:
    """They were deleted by their offsets, and are in the file as long as their segment has newer records."""
    data = node_directory / "data"
    segment = sorted((data / "orders-1").glob("*.log"))[0]
    with (data / "log-start-offset-checkpoint").open("w") as file:
        file.write("0\n1\norders 1 40\n")
    assert b'"n": 1}' in segment.read_bytes()
    report = erase(spark, str(data), "orders", Selection(keys=[b"nobody"]))
    assert report.totals["records_erased"] == 0
    assert b'"n": 1}' not in segment.read_bytes()
    assert moldau(["log", "verify", str(data), "--deep"]) == 0


def test_without_spark_one_sentence_says_what_to_install() -> None:
    script = "import sys; sys.modules['pyspark'] = None; from moldau.cli.main import main; sys.exit(main(sys.argv[1:]))"
    for arguments in (["verify", "x"], ["recompress", "x", "--data", "x", "--codec", "lz4"]):
        done = subprocess.run([sys.executable, "-c", script, "history", *arguments], capture_output=True, text=True)
        assert done.returncode == 1
        assert done.stderr == 'moldau: This needs Spark, which is not installed: pip install "moldau[spark]".\n'
