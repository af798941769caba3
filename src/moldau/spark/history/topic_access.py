"""A topic as a job reads it: through the brokers, or from the files of a data directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from moldau.client.cluster import Cluster
from moldau.errors import ErrorCode, KafkaError
from moldau.spark.history.report import JobError
from moldau.spark.security import security_options
from moldau.spark.segments.bounds import scan_ranges
from moldau.spark.segments.read_only_disk import is_in_use
from moldau.spark.segments.scan_options import parse_options
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Partition → (first offset, end).
Ranges = dict[int, tuple[int, int]]


class TopicAccess(Protocol):
    def ranges(self, topic: str, isolation: str) -> Ranges:
        """What can be read now."""
        ...

    def frame(self, spark: SparkSession, topic: str, isolation: str, ranges: Ranges) -> DataFrame:
        """The records of these ranges, with headers."""
        ...


class ThroughBrokers:
    """`security` is what else a client has to be told, by the names of Java's clients."""

    def __init__(self, bootstrap: str, security: Mapping[str, str] | None = None) -> None:
        self.bootstrap = bootstrap
        self._security = dict(security or {})

    @property
    def options(self) -> dict[str, str]:
        """For Spark's source and sink."""
        told = {f"kafka.{name}": value for name, value in self._security.items()}
        return {"kafka.bootstrap.servers": self.bootstrap, **told}

    def cluster(self, client_id: str) -> Cluster:
        return Cluster(self.bootstrap, client_id=client_id, security=security_options(self._security).open())

    def ranges(self, topic: str, isolation: str) -> Ranges:
        from moldau.client.consumer.face import KafkaConsumer

        told = security_options(self._security).client()
        with KafkaConsumer(
            bootstrap_servers=self.bootstrap, group_id=None, isolation_level=isolation, **told
        ) as consumer:
            numbers = consumer.partitions_for_topic(topic)
            if not numbers:
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {topic}.")
            partitions = [TopicPartition(topic, number) for number in sorted(numbers)]
            first, end = consumer.beginning_offsets(partitions), consumer.end_offsets(partitions)
            return {where.partition: (first[where], end[where]) for where in partitions}

    def frame(self, spark: SparkSession, topic: str, isolation: str, ranges: Ranges) -> DataFrame:
        return (
            spark.read.format("moldau")
            .options(
                **{
                    **self.options,
                    "kafka.isolation.level": isolation,
                    "minPartitions": str(2 * spark.sparkContext.defaultParallelism),
                    **_bounds(topic, ranges),
                }
            )
            .load()
        )


class FromFiles:
    """Sealed segments while a node runs; everything once it is stopped."""

    def __init__(self, directory: str) -> None:
        self.directory = directory

    def ranges(self, topic: str, isolation: str) -> Ranges:
        options = {"path": self.directory, "topic": topic, "isolation": isolation, **self._active()}
        found = {
            scanned.log.topic_partition.partition: (scanned.first_offset, scanned.end_offset)
            for scanned in scan_ranges(parse_options(options))
        }
        if not found:
            raise JobError(f"There is no log of the topic {topic} in {self.directory}.")
        return found

    def frame(self, spark: SparkSession, topic: str, isolation: str, ranges: Ranges) -> DataFrame:
        return (
            spark.read.format("moldau-log")
            .options(isolation=isolation, **self._active(), **_bounds(topic, ranges))
            .load(self.directory)
        )

    def _active(self) -> dict[str, str]:
        return {"includeActiveSegment": "false" if is_in_use(self.directory) else "true"}


def _bounds(topic: str, ranges: Ranges) -> dict[str, str]:
    return {
        "assign": json.dumps({topic: sorted(ranges)}),
        "startingOffsets": json.dumps({topic: {str(number): first for number, (first, _) in ranges.items()}}),
        "endingOffsets": json.dumps({topic: {str(number): end for number, (_, end) in ranges.items()}}),
        "includeHeaders": "true",
    }
