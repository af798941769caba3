"""Offsets as Spark keeps them: `{"rivers": {"0": 17, "1": 20}}`, the form of its own Kafka connector.

Because the form is the same, a checkpoint written by `format("kafka")` can be continued by `format("moldau")`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

from moldau.spark.source.ranges import Offsets
from moldau.types import TopicPartition

Position: TypeAlias = dict[str, dict[str, int]]


def to_position(offsets: Mapping[TopicPartition, int]) -> Position:
    """In order of topic and partition: Spark compares positions as text."""
    position: Position = {}
    for where in sorted(offsets):
        position.setdefault(where.topic, {})[str(where.partition)] = offsets[where]
    return position


def from_position(position: Mapping[str, Any]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in position.items()
        for partition, offset in partitions.items()
    }


def in_words(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(where) for where in sorted(partitions))
