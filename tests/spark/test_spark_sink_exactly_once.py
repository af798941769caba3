"""Exactly once: a stream that is interrupted at every step of the way, and batches that are repeated."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import fault_points
import pytest
from sink_topics import abort_open, open_transactions, records_of

from moldau.spark.sink.faults import POINTS
from moldau.testing import Cluster

CreateTopic = Callable[..., str]

DECIDED = ("decided", "half-ended", "ended")


class Stream:
    """Text files into a topic, in upper case, with a shuffle on the way so that there are several tasks."""

    def __init__(self, spark: Any, node: Cluster, topic: str, directory: Path) -> None:
        self.spark = spark
        self.node = node
        self.topic = topic
        self.source = directory / "in"
        self.source.mkdir()
        self.checkpoint = directory / "checkpoint"
        self.faults = directory / "faults"
        self.expected: list[str] = []
        self.query_id = ""

    def add(self, lines: list[str]) -> None:
        number = len(list(self.source.iterdir()))
        (self.source / f"{number:04}.txt").write_text("".join(line + "\n" for line in lines))
        self.expected += [line.upper() for line in lines]

    def run(self) -> str | None:
        """Writes what is new; what was said if it failed."""
        frame = self.spark.readStream.format("text").option("maxFilesPerTrigger", 1).load(str(self.source))
        query = (
            frame.selectExpr("upper(value) AS value", "value AS key")
            .repartition(3, "key")
            .writeStream.format(fault_points.FORMAT)
            .option("faults", str(self.faults))
            .options(**{"kafka.bootstrap.servers": self.node.bootstrap_servers, "topic": self.topic})
            .option("delivery", "exactly-once")
            .option("checkpointLocation", str(self.checkpoint))
            .trigger(availableNow=True)
            .start()
        )
        self.query_id = query.id
        try:
            query.awaitTermination()
        except Exception as error:
            return str(error)
        return None

    def committed(self) -> list[str]:
        return sorted(record.value.decode() for record in records_of(self.node.bootstrap_servers, self.topic))


@pytest.fixture
def stream(spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path) -> Stream:
    fault_points.register(spark)
    return Stream(spark, node, create_topic(partitions=2), tmp_path)


def test_a_stream_interrupted_at_every_step(stream: Stream) -> None:
    stream.add([f"first {line}" for line in range(20)])
    assert stream.run() is None
    for point in POINTS:
        stream.add([f"{point} {line}" for line in range(20)])
        # After a commit that failed Spark asks for an abort, which carries out what is decided: it is ended as well, so
        # that the next start finds everything as it was.
        stream.faults.write_text(f"{point} fenced" if point in DECIDED else point)
        assert stream.run() is not None, f"nobody came by {point}"
        assert not stream.faults.exists()
        # Whatever had happened by then: a reader sees the batch whole or not at all.
        assert len(stream.committed()) % 20 == 0 or point == "half-ended", point
        again = stream.run()
        assert again is None, f"after {point}: {again}"
        assert stream.committed() == sorted(stream.expected), f"after {point}"
    assert open_transactions(stream.node.bootstrap_servers, stream.query_id) == []


def test_ids_are_used_again(stream: Stream) -> None:
    from moldau.client.admin.transactions import list_transactions
    from moldau.client.cluster import Cluster as Client

    for number in range(5):
        stream.add([f"{number} {line}" for line in range(30)])
    assert stream.run() is None
    assert stream.committed() == sorted(stream.expected)
    with Client(stream.node.bootstrap_servers) as client:
        listed = client.run(list_transactions())
    ids = [entry.transactional_id for entry in listed if stream.query_id in entry.transactional_id]
    # Three tasks and the driver, for five batches.
    assert len(ids) == 4


def test_a_decision_whose_transactions_are_gone_is_taken_back(stream: Stream) -> None:
    bootstrap = stream.node.bootstrap_servers
    stream.add(["kept"])
    assert stream.run() is None
    stream.add([f"late {line}" for line in range(30)])
    stream.faults.write_text("decided fenced")
    assert stream.run() is not None
    abort_open(bootstrap, stream.query_id)
    words = stream.run() or ""
    assert "The transactions of batch 1 of" in words
    assert "the decision is taken back" in words
    assert stream.run() is None
    assert stream.committed() == sorted(stream.expected)


def test_a_batch_that_is_committed_in_part_says_so_and_stays(stream: Stream) -> None:
    bootstrap = stream.node.bootstrap_servers
    stream.add([f"late {line}" for line in range(30)])
    stream.faults.write_text("half-ended fenced")
    assert stream.run() is not None
    abort_open(bootstrap, stream.query_id)
    seen = stream.committed()
    assert 0 < len(seen) < 30
    for _ in range(2):
        assert "is committed in part only: 1 of its 3 transactions are" in (stream.run() or "")
    assert stream.committed() == seen


def test_a_replaced_driver_cannot_decide(stream: Stream) -> None:
    """Another run of the same query has decided a later batch; this one, from an older checkpoint, must not write."""
    stream.add(["one"])
    assert stream.run() is None
    kept = stream.checkpoint.with_name("kept")
    shutil.copytree(stream.checkpoint, kept)
    for line in ("two", "three"):
        stream.add([line])
    assert stream.run() is None
    shutil.rmtree(stream.checkpoint)
    shutil.copytree(kept, stream.checkpoint)
    assert "batch 2 has been committed already" in (stream.run() or "")
    assert stream.committed() == ["ONE", "THREE", "TWO"]


def test_a_checkpoint_one_batch_old_is_put_back_after_new_data_came(stream: Stream) -> None:
    stream.add(["one"])
    assert stream.run() is None
    kept = stream.checkpoint.with_name("kept")
    shutil.copytree(stream.checkpoint, kept)
    stream.add(["two"])
    assert stream.run() is None
    newest = stream.checkpoint.with_name("newest")
    stream.checkpoint.rename(newest)
    kept.rename(stream.checkpoint)
    (stream.source / "0001.txt").unlink()
    (stream.source / "0002.txt").write_text("four\n")
    words = stream.run() or ""
    assert "Batch 1 of" in words
    assert "was written before, with other rows: 1 rows then, 1 rows now" in words
    assert stream.committed() == ["ONE", "TWO"]
    shutil.rmtree(stream.checkpoint)
    newest.rename(stream.checkpoint)
    assert stream.run() is None
    assert stream.committed() == ["FOUR", "ONE", "TWO"]


def write(frame: Any, node: Cluster, topic: str, kind: str = "moldau", **options: str) -> None:
    frame.write.format(kind).mode("append").options(
        **{"kafka.bootstrap.servers": node.bootstrap_servers, "topic": topic, "delivery": "exactly-once", **options}
    ).save()


def test_a_batch_that_fails_leaves_nothing(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=3)
    broken = "CASE WHEN id = 2999 THEN raise_error('broken') ELSE CAST(id AS STRING) END AS value"
    with pytest.raises(Exception, match="broken"):
        write(spark.range(0, 3000, 1, 3).selectExpr(broken), node, topic)
    assert records_of(node.bootstrap_servers, topic) == []
    write(spark.range(0, 3000, 1, 3).selectExpr("CAST(id AS STRING) AS value"), node, topic)
    assert sorted(int(record.value) for record in records_of(node.bootstrap_servers, topic)) == list(range(3000))


def test_a_batch_with_a_name_is_written_once(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topic = create_topic(partitions=2)
    frame = spark.range(0, 100, 1, 2).selectExpr("CAST(id AS STRING) AS value")
    for version in (7, 7, 8):
        write(frame, node, topic, txnAppId=f"app-{topic}", txnVersion=str(version))
    assert len(records_of(node.bootstrap_servers, topic)) == 200
    with pytest.raises(Exception, match="batch 8 has been committed already"):
        write(frame, node, topic, txnAppId=f"app-{topic}", txnVersion="7")
    assert len(records_of(node.bootstrap_servers, topic, committed=False)) == 200


def test_a_batch_with_a_name_is_finished_by_its_repetition(
    spark: Any, node: Cluster, create_topic: CreateTopic, tmp_path: Path
) -> None:
    topic = create_topic(partitions=2)
    faults = tmp_path / "faults"
    fault_points.register(spark)
    frame = spark.range(0, 100, 1, 2).selectExpr("CAST(id AS STRING) AS value")
    for point in DECIDED:
        faults.write_text(f"{point} fenced")
        with pytest.raises(Exception, match=r"(?s)."):
            write(
                frame,
                node,
                topic,
                fault_points.FORMAT,
                faults=str(faults),
                txnAppId=f"{point}-{topic}",
                txnVersion="0",
            )
        assert not faults.exists()
        write(frame, node, topic, txnAppId=f"{point}-{topic}", txnVersion="0")
    assert len(records_of(node.bootstrap_servers, topic)) == 300


def test_a_topic_that_would_forget_is_refused(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    topic = create_topic()
    frame = spark.range(1).selectExpr("CAST(id AS STRING) AS value")
    with pytest.raises(Exception, match=r"has 2 partitions; it needs 8"):
        write(frame, node, topic, decisionsTopic=create_topic(partitions=2))
    with pytest.raises(Exception, match=r"has cleanup.policy=delete, which forgets them"):
        write(frame, node, topic, decisionsTopic=create_topic(partitions=8))
    own = create_topic(partitions=8, cleanup_policy="compact")
    write(frame, node, topic, decisionsTopic=own, transactionalIdPrefix="mine")
    assert len(records_of(node.bootstrap_servers, topic)) == 1


def test_a_timeout_the_broker_does_not_allow(spark: Any, node: Cluster, create_topic: CreateTopic) -> None:
    frame = spark.range(1).selectExpr("CAST(id AS STRING) AS value")
    with pytest.raises(Exception, match=r"set kafka.transaction.timeout.ms to what they allow"):
        write(frame, node, create_topic(), **{"kafka.transaction.timeout.ms": "3600000"})
