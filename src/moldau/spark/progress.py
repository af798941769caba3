"""What a query's progress says about topics: Spark's report, without the notes of the source, in numbers.

Spark's own connector describes its source in a query's progress and adds metrics. Spark takes neither from a source in
Python, and prints the name of a class of its own, so they are worked out here, from the offsets that are there.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from moldau.spark.source.positions import query_in

# The class of Spark's that stands for every source in Python, and a number after it.
_PYTHON: Final = "PythonMicroBatchStream"

Offsets: TypeAlias = dict[str, dict[str, int]]


def offsets_behind(progress: Any) -> list[dict[str, float]]:
    """For each source of a progress that reads topics, how far its partitions are behind the latest offset:
    `avgOffsetsBehindLatest`, `maxOffsetsBehindLatest` and `minOffsetsBehindLatest`, as Spark's connector names them.

    `progress` is `query.lastProgress` or what a listener is given.
    """
    return [found for source in as_plain(progress).get("sources") or [] if (found := source_behind(source))]


def readable_progress(progress: Any) -> dict[str, Any]:
    """A progress as Spark's connector would have reported it, for logs and dashboards: a source says what it reads and
    under which name its query goes, its offsets hold nothing else, and its metrics say how far behind it is."""
    report = dict(as_plain(progress))
    report["sources"] = [_readable_source(source) for source in report.get("sources") or []]
    return report


def _readable_source(source: Mapping[str, Any]) -> dict[str, Any]:
    readable = dict(source)
    end = topic_offsets(source.get("endOffset"))
    if not end:
        return readable
    for name in ("startOffset", "endOffset", "latestOffset"):
        if name in source:
            readable[name] = topic_offsets(source[name]) or None
    if _PYTHON in source.get("description", ""):
        query = query_in(_parsed(source["endOffset"]))
        readable["description"] = f"moldau[{', '.join(end)}{f'; query {query}' if query else ''}]"
    metrics = {name: str(value) for name, value in source_behind(source).items()}
    readable["metrics"] = {**(source.get("metrics") or {}), **metrics}
    return readable


def source_behind(source: Mapping[str, Any]) -> dict[str, float]:
    """The same for one source; empty for one that reads no topics."""
    end, latest = topic_offsets(source.get("endOffset")), topic_offsets(source.get("latestOffset"))
    distances = [
        max(0, last - end.get(topic, {}).get(partition, 0))
        for topic, partitions in latest.items()
        for partition, last in partitions.items()
    ]
    if not end or not distances:
        return {}
    return {
        "avgOffsetsBehindLatest": sum(distances) / len(distances),
        "maxOffsetsBehindLatest": max(distances),
        "minOffsetsBehindLatest": min(distances),
    }


def topic_offsets(value: Any) -> Offsets:
    """`{topic: {partition: offset}}` from what a source of topics reports; other sources report something else."""
    value = _parsed(value)
    if isinstance(value, dict) and isinstance(value.get("offsets"), dict):
        value = value["offsets"]
    if not isinstance(value, dict):
        return {}
    found: Offsets = {}
    for topic, partitions in value.items():
        if topic.startswith("@"):  # no topic: a note of the source to itself
            continue
        if not isinstance(partitions, dict) or not all(isinstance(each, int) for each in partitions.values()):
            return {}
        found[topic] = {str(partition): offset for partition, offset in partitions.items()}
    return found


def _parsed(value: Any) -> Any:
    """Offsets are text in Spark's own objects and parsed in their JSON."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except json.JSONDecodeError:
        return None


def as_plain(progress: Any) -> Mapping[str, Any]:
    """A progress as the mapping it is in JSON, whatever object Spark made of it."""
    content = getattr(progress, "json", None)
    parsed: Mapping[str, Any] = json.loads(content) if isinstance(content, str) else progress
    return parsed
