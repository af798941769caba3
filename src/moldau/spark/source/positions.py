"""Offsets as Spark keeps them: `{"rivers": {"0": 17, "1": 20}}`, the form of its own Kafka connector.

Because the form is the same, a checkpoint written by `format("kafka")` can be continued by `format("moldau")`. Beside
the topics stand notes, under names no topic can have: what a source in Python wants to find again after a restart has
to be in its offsets, there is no other place for it.

    @topics   the ids of the topics, by which one that was deleted and made anew is known
    @start    where the first batch began; only in the end of that batch
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, TypeAlias

from moldau.spark.source.ranges import Offsets
from moldau.types import ZERO_UUID, TopicPartition, Uuid, uuid_from_text, uuid_to_text

Position: TypeAlias = dict[str, Any]

START: Final = "@start"
TOPICS: Final = "@topics"


def to_position(offsets: Mapping[TopicPartition, int], ids: Mapping[str, Uuid] | None = None) -> Position:
    """In order of topic and partition: Spark compares positions as text."""
    position: Position = {}
    for where in sorted(offsets):
        position.setdefault(where.topic, {})[str(where.partition)] = offsets[where]
    known = {topic: uuid_to_text(ids[topic]) for topic in position if ids and ids.get(topic, ZERO_UUID) != ZERO_UUID}
    return {**position, TOPICS: known} if known else position


def from_position(position: Mapping[str, Any]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in position.items()
        if not topic.startswith("@")
        for partition, offset in partitions.items()
    }


def ids_in(position: Mapping[str, Any]) -> dict[str, Uuid]:
    """Empty for a checkpoint from before ids were kept, or of Spark's own connector."""
    return {topic: uuid_from_text(text) for topic, text in position.get(TOPICS, {}).items()}


def renewed(before: Mapping[str, Uuid], now: Mapping[str, Uuid]) -> set[str]:
    """The topics that are other ones under the same names."""
    return {topic for topic, id in before.items() if now.get(topic, id) != id}


def in_words(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(where) for where in sorted(partitions))
