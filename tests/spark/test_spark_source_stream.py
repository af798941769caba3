"""`spark.readStream.format("moldau")` on a real Spark: batches, restarts, partitions that come and data that goes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from filled_topics import rows, until, write, write_transaction
from pyspark.errors import StreamingQueryException
from pyspark.sql import functions as F

from moldau.admin import KafkaAdminClient, NewPartitions, NewTopic
from moldau.client.admin.groups import committed_positions
from moldau.client.admin.offsets import delete_records
from moldau.client.cluster import Cluster as Client
from moldau.spark import readable_progress
from moldau.spark.source.positions import from_position, query_in
from moldau.testing import Cluster
from moldau.types import TopicPartition


class Run:
    """A query whose batches end up in a dictionary, by batch id: which numbered records, by partition."""

    def __init__(self, spark: Any, node: Cluster, checkpoint: Path) -> None:
        self._spark = spark
        self._node = node
        self._checkpoint = checkpoint
        self.batches: dict[int, list[int]] = {}
        self.failing = False
        self.query: Any = None

    def start(self, *, now: bool = True, **options: Any) -> Run:
        reader = self._spark.readStream.format("moldau").option("kafka.bootstrap.servers", self._node.bootstrap_servers)
        reader = reader.options(**{name.replace("__", "."): value for name, value in options.items()})
        writer = reader.load().writeStream.foreachBatch(self._take).option("checkpointLocation", str(self._checkpoint))
        self.query = (writer.trigger(availableNow=True) if now else writer.trigger(processingTime="0 seconds")).start()
        return self

    def finish(self, **options: Any) -> list[int]:
        """Runs until all that is there was read; what was read in this run."""
        before = set(self.batches)
        self.start(**options).query.awaitTermination()
        return sorted(number for batch in self.batches if batch not in before for number in self.batches[batch])

    def failure(self, **options: Any) -> str:
        with pytest.raises(StreamingQueryException) as caught:
            self.finish(**options)
        return re.sub(r"\s+", " ", str(caught.value))

    def read(self) -> list[int]:
        return sorted(number for batch in self.batches.values() for number in batch)

    def _take(self, frame: Any, batch: int) -> None:
        found = [int(row.value[1:]) for row in frame.select(F.col("value").cast("string")).collect()]
        if self.failing:
            raise RuntimeError("the sink was told to fail")
        self.batches[batch] = found


@pytest.fixture
def run(spark: Any, node: Cluster, tmp_path: Path) -> Iterator[Run]:
    made = Run(spark, node, tmp_path / "checkpoint")
    yield made
    if made.query is not None:
        made.query.stop()


def test_batches_progress_and_restart(run: Run, node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic(2)
    write(node.bootstrap_servers, topic, 0, rows(30))
    write(node.bootstrap_servers, topic, 1, rows(10, first=30))
    options = {"subscribe": topic, "startingOffsets": "earliest", "maxOffsetsPerTrigger": 20, "groupIdPrefix": "lag"}
    assert run.finish(**options) == list(range(40))
    assert [len(batch) for batch in run.batches.values()] == [20, 20]
    last = run.query.lastProgress.sources[0]
    assert json.loads(last.latestOffset) == {topic: {"0": 30, "1": 10}}
    assert from_position(json.loads(last.endOffset)) == from_position(json.loads(last.latestOffset))
    assert [progress.numInputRows for progress in run.query.recentProgress if progress.numInputRows] == [20, 20]
    # Stopped, more comes, and it goes on where it was; a changed starting point has no meaning any more.
    write(node.bootstrap_servers, topic, 1, rows(7, first=40))
    assert run.finish(**{**options, "startingOffsets": "latest"}) == list(range(40, 47))
    # All of it is shown to lag tools, although Spark tells a source of its last batch only in the next run.
    with Client(node.bootstrap_servers) as client:
        query = query_in(json.loads(run.query.lastProgress.sources[0].endOffset))
        positions = client.run(committed_positions(f"lag-{topic}-{query}"))
    assert {where: each.offset for where, each in positions.items()} == {
        TopicPartition(topic, 0): 30,
        TopicPartition(topic, 1): 17,
    }
    (source,) = readable_progress(run.query.lastProgress)["sources"]
    assert source["description"] == f"moldau[{topic}; query {query}]"
    assert source["endOffset"] == source["latestOffset"] == {topic: {"0": 30, "1": 17}}
    assert source["metrics"]["maxOffsetsBehindLatest"] == "0"


def test_a_first_batch_that_failed_begins_at_the_same_place(
    run: Run, node: Cluster, create_topic: Callable[..., str]
) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(10))
    run.failing = True
    assert "told to fail" in run.failure(subscribe=topic, startingOffsets="latest")
    # While the query is down, records come; "latest" is now behind them.
    write(node.bootstrap_servers, topic, 0, rows(5, first=10))
    run.failing = False
    assert run.finish(subscribe=topic, startingOffsets="latest") == [10, 11, 12, 13, 14]


def test_a_running_query_sees_new_records_and_new_partitions(
    run: Run, node: Cluster, create_topic: Callable[..., str]
) -> None:
    topic, other = create_topic(), f"{create_topic()}-matched"
    write(node.bootstrap_servers, topic, 0, rows(3))
    run.start(now=False, subscribePattern=f"{topic}|{other}", startingOffsets="earliest", minPartitions=2)
    until(lambda: run.read() == [0, 1, 2])
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.create_partitions({topic: NewPartitions(3)})
    write(node.bootstrap_servers, topic, 0, rows(3, first=3))
    write(node.bootstrap_servers, topic, 2, rows(4, first=6))
    until(lambda: run.read() == list(range(10)))
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(other, 1, 1)])
    write(node.bootstrap_servers, other, 0, rows(2, first=10))
    until(lambda: run.read() == list(range(12)))
    until(lambda: set(json.loads(run.query.lastProgress.sources[0].latestOffset)) == {topic, other})


def test_a_truncated_topic(run: Run, node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    options = {"subscribe": topic, "startingOffsets": "earliest"}
    write(node.bootstrap_servers, topic, 0, rows(10))
    assert run.finish(**options) == list(range(10))
    write(node.bootstrap_servers, topic, 0, rows(10, first=10))
    with Client(node.bootstrap_servers) as client:
        client.run(delete_records({TopicPartition(topic, 0): 15}))
    sentence = run.failure(**options)
    assert f"Partition {topic}-0 begins at 15, and was to be read from 10" in sentence
    assert "set the option failOnDataLoss to false" in sentence
    assert run.finish(**options, failOnDataLoss=False) == [15, 16, 17, 18, 19]


def test_a_deleted_topic(run: Run, node: Cluster, create_topic: Callable[..., str]) -> None:
    stays, goes = create_topic(), create_topic()
    options = {"subscribe": f"{stays},{goes}", "startingOffsets": "earliest", "fetchOffset.retryIntervalMs": 10}
    write(node.bootstrap_servers, stays, 0, rows(3))
    write(node.bootstrap_servers, goes, 0, rows(3, first=3))
    assert run.finish(**options) == list(range(6))
    with KafkaAdminClient(bootstrap_servers=node.bootstrap_servers) as admin:
        admin.delete_topics([goes])
    write(node.bootstrap_servers, stays, 0, rows(2, first=6))
    assert f"Partitions {goes}-0 are no longer there" in run.failure(**options)
    assert run.finish(**options, failOnDataLoss="false") == [6, 7]


def test_committed_records_only(run: Run, node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write_transaction(node.bootstrap_servers, topic, 0, rows(3), commit=True)
    write_transaction(node.bootstrap_servers, topic, 0, rows(3, first=3), commit=False)
    write_transaction(node.bootstrap_servers, topic, 0, rows(3, first=6), commit=True)
    options = {"startingOffsets": "earliest", "kafka__isolation__level": "read_committed", "maxOffsetsPerTrigger": 5}
    assert run.finish(assign=f'{{"{topic}": [0]}}', **options) == [0, 1, 2, 6, 7, 8]


def test_every_other_option_of_streams(run: Run, node: Cluster, create_topic: Callable[..., str]) -> None:
    topic = create_topic()
    write(node.bootstrap_servers, topic, 0, rows(10))
    options = {
        "subscribe": topic,
        "startingOffsetsByTimestamp": json.dumps({topic: {"0": rows(10)[4][0]}}),
        "startingOffsetsByTimestampStrategy": "latest",
        "minOffsetsPerTrigger": 2,
        "maxTriggerDelay": "1s",
        "maxRecordsPerPartition": 4,
        "includeHeaders": "true",
        "kafkaConsumer.pollTimeoutMs": 5000,
        "fetchOffset.numRetries": 2,
        "kafka.group.id": f"group-{topic}",
    }
    assert run.finish(**options) == [4, 5, 6, 7, 8, 9]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"endingOffsets": "latest"}, "a stream has no end; trigger(availableNow=True) stops at what is there"),
        ({"startingTimestamp": "5000000000000"}, "startingOffsetsByTimestampStrategy=latest"),
    ],
)
def test_refusals_reach_the_user(
    run: Run, node: Cluster, create_topic: Callable[..., str], options: dict[str, Any], sentence: str
) -> None:
    assert sentence in run.failure(subscribe=create_topic(), **options)
