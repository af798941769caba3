"""Ranges of offsets, and the arithmetic on them: cut into tasks, and cut short by a limit. No IO.

The rules are those of Spark's own connector, so that a query which moves over keeps its tasks and its batches.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import ceil, floor
from typing import Final, NamedTuple, TypeAlias

from moldau.types import ZERO_UUID, TopicPartition, Uuid

Offsets: TypeAlias = dict[TopicPartition, int]

# A task costs Spark some hundredths of a second, and a range of so few records less than one: such ranges share a task,
# up to so many records, as long as there are more tasks than most machines have cores.
_SMALL: Final = 2_000
_SHARED: Final = 10_000
_LEAST_TASKS: Final = 8


class OffsetRange(NamedTuple):
    """The records of one partition with `start` <= offset < `end`, of the topic with this id if that is known."""

    topic: str
    partition: int
    start: int
    end: int
    topic_id: Uuid = ZERO_UUID

    @property
    def where(self) -> TopicPartition:
        return TopicPartition(self.topic, self.partition)

    @property
    def size(self) -> int:
        return self.end - self.start


Task: TypeAlias = tuple[OffsetRange, ...]


def offset_ranges(
    start: Mapping[TopicPartition, int], end: Mapping[TopicPartition, int], ids: Mapping[str, Uuid] | None = None
) -> list[OffsetRange]:
    """What lies between, by topic and partition; empty ranges are left out."""
    known = ids or {}
    ranges = [
        OffsetRange(*where, start[where], end[where], known.get(where.topic, ZERO_UUID))
        for where in sorted(end)
        if where in start
    ]
    return [each for each in ranges if each.size > 0]


def shared_tasks(ranges: list[OffsetRange], *, least: int | None = None, most: int | None = None) -> list[Task]:
    """Puts small ranges together, in order: not into fewer than `least` tasks, and none of more than `most` records."""
    least = max(least or 0, _LEAST_TASKS)
    small = [each for each in ranges if each.size <= _SMALL]
    groups = max(1, least - (len(ranges) - len(small)))
    if len(small) <= groups:
        return [(each,) for each in ranges]
    share = min(max(ceil(sum(each.size for each in small) / groups), 1), most or _SHARED, _SHARED)
    shared: list[Task] = []
    filling: list[OffsetRange] = []
    size = 0
    for left, each in zip(range(len(small), 0, -1), small, strict=True):
        if filling and (size + each.size > share or len(shared) + left < groups):
            shared.append(tuple(filling))
            filling, size = [], 0
        filling.append(each)
        size += each.size
    return [*((each,) for each in ranges if each.size > _SMALL), *shared, tuple(filling)]


def at_once(task: Task) -> list[Task]:
    """The parts of a task that can be read together: each has a partition only once."""
    parts: list[dict[TopicPartition, OffsetRange]] = [{}]
    for each in task:
        if each.where in parts[-1]:
            parts.append({})
        parts[-1][each.where] = each
    return [tuple(part.values()) for part in parts]


def split_ranges(
    ranges: Iterable[OffsetRange], *, min_partitions: int | None = None, max_records: int | None = None
) -> list[OffsetRange]:
    """Tasks: no range longer than `max_records`, and about `min_partitions` in all, the long ones cut first."""
    tasks = list(ranges)
    if max_records is not None:
        tasks = [part for each in tasks for part in _cut(each, ceil(each.size / max_records))]
    if min_partitions is None or len(tasks) >= min_partitions:
        return tasks
    total = sum(each.size for each in tasks)
    # Those too short to be cut stay whole and count as one each; the others share what remains.
    whole = {each for each in tasks if _share(each.size, total, min_partitions) == 1}
    remaining = total - sum(each.size for each in whole)
    parts = max(min_partitions - len(whole), 1)
    return [
        part
        for each in tasks
        for part in ([each] if each in whole else _cut(each, _share(each.size, remaining, parts)))
    ]


def _share(size: int, total: int, parts: int) -> int:
    return max(floor(size / total * parts + 0.5), 1)


def _cut(whole: OffsetRange, parts: int) -> list[OffsetRange]:
    """Pieces whose sizes differ by one at most; never an empty one."""
    parts = max(1, min(parts, whole.size))
    edges = [whole.start + whole.size * number // parts for number in range(parts + 1)]
    return [whole._replace(start=edges[number], end=edges[number + 1]) for number in range(parts)]


def limited(start: Offsets, latest: Offsets, most: int) -> Offsets:
    """Where a batch of about `most` records ends: every partition advances in proportion to how far it lags."""
    lags = {where: end - start[where] for where, end in latest.items() if where in start and end > start[where]}
    total = sum(lags.values())
    ends = dict(latest)
    for where, lag in lags.items():
        share = most * lag / total
        # At least one, so that a short partition beside long ones is not left behind for good.
        ends[where] = min(latest[where], start[where] + (ceil(share) if share < 1 else floor(share)))
    return ends


def lag(start: Mapping[TopicPartition, int], latest: Mapping[TopicPartition, int]) -> int:
    """How many offsets are waiting, counting partitions that are new from their beginning."""
    return sum(max(end - start.get(where, 0), 0) for where, end in latest.items())
