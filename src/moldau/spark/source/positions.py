"""Offsets as Spark keeps them: `{"rivers": {"0": 17, "1": 20}}`, the form of its own Kafka connector.

Because the form is the same, a checkpoint written by `format("kafka")` can be continued by `format("moldau")`, and the
other way round. But what a source in Python wants to find again after a restart has to be in its offsets: Spark tells
it neither the id of the query nor where the checkpoint lies. So notes stand beside the topics, in a form that is
nothing to those who look for offsets: all is in the name, which no topic can have, and no partitions are under it.

    "@query 5f0c8a12": {}                          names the query: which group shows its positions to lag tools
    "@topic rivers dGhlIGlkIG9mIGE...": {}         the id of a topic, by which one deleted and made anew is known
    "@start rivers 0:12 1:14": {}                  where the first batch began; only in the end of that batch

Former ones, `"@topics": {"rivers": "ID"}` and `"@start": {"rivers": {"0": 12}}`, are still read.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, TypeAlias

from moldau.spark.source.ranges import Offsets
from moldau.types import ZERO_UUID, TopicPartition, Uuid, uuid_from_text, uuid_to_text

Position: TypeAlias = dict[str, Any]

_QUERY: Final = "@query"
_TOPIC: Final = "@topic"
_START: Final = "@start"
_TOPICS_BEFORE: Final = "@topics"


def to_position(
    offsets: Mapping[TopicPartition, int],
    ids: Mapping[str, Uuid] | None = None,
    *,
    query: str = "",
    start: Mapping[TopicPartition, int] | None = None,
) -> Position:
    """In order of topic and partition: Spark compares positions as text."""
    position = _by_topic(offsets)
    notes = [f"{_QUERY} {query}"] if query else []
    if start is not None and not start:
        notes.append(_START)  # there was nothing to read yet, which is not the same as not to know where it began
    for topic, partitions in _by_topic(start or {}).items():
        notes.append(" ".join([_START, topic, *(f"{number}:{offset}" for number, offset in partitions.items())]))
    known = {topic: ids[topic] for topic in position if ids and ids.get(topic, ZERO_UUID) != ZERO_UUID}
    notes += [f"{_TOPIC} {topic} {uuid_to_text(id)}" for topic, id in known.items()]
    return {**position, **{note: {} for note in notes}}


def _by_topic(offsets: Mapping[TopicPartition, int]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for where in sorted(offsets):
        found.setdefault(where.topic, {})[str(where.partition)] = offsets[where]
    return found


def from_position(position: Mapping[str, Any]) -> Offsets:
    return {
        TopicPartition(topic, int(partition)): int(offset)
        for topic, partitions in position.items()
        if not topic.startswith("@")
        for partition, offset in partitions.items()
    }


def ids_in(position: Mapping[str, Any]) -> dict[str, Uuid]:
    """Empty for a checkpoint from before ids were kept, or of Spark's own connector."""
    texts = dict(position.get(_TOPICS_BEFORE, {})) | {words[0]: words[1] for words in _notes(position, _TOPIC)}
    return {topic: uuid_from_text(text) for topic, text in texts.items()}


def query_in(position: Mapping[str, Any]) -> str:
    """Empty before the first batch has ended."""
    return next((words[0] for words in _notes(position, _QUERY)), "")


def start_in(position: Mapping[str, Any]) -> Offsets | None:
    """Where the batch that ends here began, if it is the first one and its end says so."""
    if _START in position:
        return from_position(position[_START])
    found = {
        TopicPartition(topic, int(number)): int(offset)
        for topic, *partitions in _notes(position, _START)
        for number, _, offset in (each.partition(":") for each in partitions)
    }
    return found or None


def _notes(position: Mapping[str, Any], kind: str) -> Iterator[list[str]]:
    """What the notes of a kind say, word by word."""
    for name in position:
        first, *words = name.split(" ")
        if first == kind and words:
            yield words


def renewed(before: Mapping[str, Uuid], now: Mapping[str, Uuid]) -> set[str]:
    """The topics that are other ones under the same names."""
    return {topic for topic, id in before.items() if now.get(topic, id) != id}


def in_words(partitions: Iterable[TopicPartition]) -> str:
    return ", ".join(str(where) for where in sorted(partitions))
