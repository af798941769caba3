"""What a running query tells about itself, in the few numbers people ask for.

Spark reports each batch as a page of JSON; kept of it: rows and rates, how long a batch took, how large the state is,
how far the watermark is, and the lag, which is the distance between where the source ends and what has been read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from moldau.spark.progress import Offsets, source_behind, topic_offsets


@dataclass(slots=True)
class Measure:
    """Of one query. `positions` are by source topic and partition, where the query reads topics."""

    query: str
    state: str = "starting"
    batch: int = -1
    rows: int = 0
    rows_per_second: float = 0.0
    batch_seconds: float = 0.0
    state_rows: int = 0
    state_bytes: int = 0
    late_rows: int = 0
    watermark: str | None = None
    lag: int | None = None
    # How far single partitions are behind, of the source that was reported last.
    behind: dict[str, float] = field(default_factory=dict)
    positions: Offsets = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        return asdict(self)


def add_progress(measure: Measure, progress: Mapping[str, Any]) -> None:
    """Takes in one more report."""
    measure.rows += progress.get("numInputRows") or 0
    measure.batch = progress["batchId"]
    measure.state = "running"
    durations = progress.get("durationMs") or {}
    measure.batch_seconds = durations.get("triggerExecution", 0) / 1000
    # Rows of this batch by the time it took; Spark's own rate is null for the first batch and 0 for an empty one.
    rows = progress.get("numInputRows") or 0
    measure.rows_per_second = rows / measure.batch_seconds if measure.batch_seconds else 0.0
    operators = progress.get("stateOperators") or []
    measure.state_rows = sum(each.get("numRowsTotal") or 0 for each in operators)
    measure.state_bytes = sum(each.get("memoryUsedBytes") or 0 for each in operators)
    measure.late_rows += sum(each.get("numRowsDroppedByWatermark") or 0 for each in operators)
    measure.watermark = (progress.get("eventTime") or {}).get("watermark")
    lags = []
    for source in progress.get("sources") or []:
        end, latest = topic_offsets(source.get("endOffset")), topic_offsets(source.get("latestOffset"))
        merge(measure.positions, end)
        if end and latest:
            lags.append(distance(end, latest))
            measure.behind = source_behind(source)
    measure.lag = sum(lags) if lags else None


def distance(positions: Offsets, ends: Offsets) -> int:
    """Records between the positions and the ends; a partition without a position counts whole."""
    return sum(
        max(0, end - positions.get(topic, {}).get(partition, 0))
        for topic, partitions in ends.items()
        for partition, end in partitions.items()
    )


def merge(positions: Offsets, further: Offsets) -> None:
    """Takes over positions; where a source is read twice by one query, the one that is behind counts."""
    for topic, partitions in further.items():
        positions[topic] = {**positions.get(topic, {}), **partitions}
