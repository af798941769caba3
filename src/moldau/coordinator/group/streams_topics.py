"""What a topology comes to in this cluster: its tasks, and the topics of its own that have to be created.

A subtopology has as many tasks as the largest of the topics it reads has partitions. A repartition topic that leaves
its number open gets as many as the largest topic of those who write to it, or as its copartition group needs; a
changelog gets one for each task. Where that cannot be had, the group is not ready, and its members are told why.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.coordinator.group.streams_topology import InternalTopic, Subtopology, Topology
from moldau.dataclass import dataclass
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.slicing import Work

# Names that a sentence tells; the others are counted.
_MOST_NAMED: Final = 10
# Tasks of a group, which is assigned as a whole: a topic of ten thousand partitions through twenty subtopologies.
MOST_TASKS: Final = 200_000


class Status(IntEnum):
    """What the members of a group are told about it; the numbers are those of the protocol."""

    STALE_TOPOLOGY = 0
    MISSING_SOURCE_TOPICS = 1
    INCORRECTLY_PARTITIONED_TOPICS = 2
    MISSING_INTERNAL_TOPICS = 3
    SHUTDOWN_APPLICATION = 4
    ASSIGNMENT_DELAYED = 5


class Problem(NamedTuple):
    status: Status
    detail: str


@dataclass(slots=True, frozen=True)
class ConfiguredTopology:
    """The outcome; without a problem there are tasks."""

    topology: Topology
    problem: Problem | None = None
    # By subtopology, in their order.
    tasks: Mapping[str, int] = {}
    # Partitions of the application's own topics, by name.
    partitions: Mapping[str, int] = {}
    missing: Sequence[InternalTopic] = ()

    @property
    def is_ready(self) -> bool:
        return self.problem is None


class _Unfit(Exception):
    def __init__(self, status: Status, detail: str) -> None:
        super().__init__(detail)
        self.problem = Problem(status, detail)


def configure(topology: Topology, image: MetadataImage) -> Work[ConfiguredTopology]:
    """KafkaError(STREAMS_INVALID_TOPOLOGY) for one that fits no cluster."""
    try:
        return (yield from _configured(topology, image))
    except _Unfit as unfit:
        return ConfiguredTopology(topology, unfit.problem)


def _configured(topology: Topology, image: MetadataImage) -> Work[ConfiguredTopology]:
    counts = yield from _source_partitions(topology, image)
    yield from _decide_repartition_topics(topology, image, counts)
    own = {topic.name: topic for each in topology.subtopologies for topic in each.repartition_sources}
    yield
    for each in topology.subtopologies:
        for group in each.copartition_groups:
            _copartition(each.copartitioned(group), own, counts)
        yield
    tasks = {each.id: max(counts[name] for name in each.inputs()) for each in topology.subtopologies}
    if sum(tasks.values()) > MOST_TASKS:
        raise KafkaError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"The topology comes to {sum(tasks.values())} tasks; at most {MOST_TASKS} are assigned.",
        )
    yield
    for each in topology.subtopologies:
        for topic in each.repartition_sources:
            own[topic.name] = topic._replace(partitions=counts[topic.name])
        for topic in each.changelogs:
            own[topic.name] = topic._replace(partitions=tasks[each.id])
        yield
    missing = []
    for topic in own.values():
        known = image.topics.get(topic.name)
        if known is None:
            missing.append(topic)
        elif len(known.partitions) != topic.partitions:
            raise _Unfit(
                Status.INCORRECTLY_PARTITIONED_TOPICS,
                f"The topic {topic.name} has {len(known.partitions)} partitions and should have {topic.partitions}.",
            )
        yield
    problem = None
    if missing:
        detail = f"Internal topics are missing: {_listed(topic.name for topic in missing)}"
        problem = Problem(Status.MISSING_INTERNAL_TOPICS, detail)
    partitions = {name: topic.partitions for name, topic in own.items()}
    return ConfiguredTopology(topology, problem, tasks, partitions, missing)


def _source_partitions(topology: Topology, image: MetadataImage) -> Work[dict[str, int]]:
    counts: dict[str, int] = {}
    missing: set[str] = set()
    for each in topology.subtopologies:
        for name in each.source_topics:
            topic = image.topics.get(name)
            if topic is None:
                missing.add(name)
            else:
                counts[name] = len(topic.partitions)
        yield
    if missing:
        raise _Unfit(Status.MISSING_SOURCE_TOPICS, f"Source topics are missing: {_listed(missing)}")
    return counts


def _decide_repartition_topics(topology: Topology, image: MetadataImage, counts: dict[str, int]) -> Work[None]:
    """Adds to `counts`, along the way the records take; a circle of topics that all leave it open has no answer."""
    # What is there already decides for what comes after it; whether it is right is looked at later.
    decided = dict(counts)
    writers: dict[str, list[Subtopology]] = {}
    for each in topology.subtopologies:
        for topic in each.repartition_sources:
            known = image.topics.get(topic.name)
            if topic.partitions:
                counts[topic.name] = topic.partitions
            else:
                writers[topic.name] = []
            if known is not None or topic.partitions:
                decided[topic.name] = topic.partitions if known is None else len(known.partitions)
        yield
    for each in topology.subtopologies:
        for name in each.repartition_sinks:
            if name in writers:
                writers[name].append(each)
        yield
    undecided = yield from _along_the_way(topology, writers, decided, counts)
    if undecided:
        raise KafkaError(
            ErrorCode.STREAMS_INVALID_TOPOLOGY,
            f"Nothing decides how many partitions these topics have: {_listed(undecided)}.",
        )


def _along_the_way(
    topology: Topology, writers: Mapping[str, Sequence[Subtopology]], decided: dict[str, int], counts: dict[str, int]
) -> Work[list[str]]:
    """A topic is decided when all that its writers read is. Returns those that never are.

    Every subtopology and every topic is looked at once, however long the way is.
    """
    missing: dict[str, int] = {}
    waiting: dict[str, list[Subtopology]] = {}
    ready: deque[Subtopology] = deque()
    for each in topology.subtopologies:
        unknown = {name for name in each.inputs() if name not in decided}
        missing[each.id] = len(unknown)
        for name in unknown:
            waiting.setdefault(name, []).append(each)
        if not unknown:
            ready.append(each)
        yield
    left = {name: len(upstream) for name, upstream in writers.items()}
    widest = dict.fromkeys(writers, 0)
    for name, upstream in writers.items():
        if not upstream and name in decided:
            counts[name] = decided[name]
            del left[name]
    while ready:
        each = ready.popleft()
        width = max(decided[name] for name in each.inputs())
        for name in each.repartition_sinks:
            if name not in left:
                continue
            widest[name] = max(widest[name], width)
            left[name] -= 1
            if left[name]:
                continue
            del left[name]
            counts[name] = widest[name]
            decided.setdefault(name, widest[name])
            for reader in waiting.pop(name, ()):
                missing[reader.id] -= 1
                if not missing[reader.id]:
                    ready.append(reader)
        yield
    return list(left)


def _copartition(names: Sequence[str], own: Mapping[str, InternalTopic], counts: dict[str, int]) -> None:
    """Makes those that leave it open equal to the others, which must be equal to each other."""
    given = {name for name in names if name not in own or own[name].partitions}
    needed = {counts[name] for name in given} or {max((counts[name] for name in names), default=0)}
    if len(needed) > 1:
        sizes = ", ".join(f"{name} ({counts[name]})" for name in sorted(given)[:_MOST_NAMED])
        raise _Unfit(
            Status.INCORRECTLY_PARTITIONED_TOPICS, f"These topics must have the same number of partitions: {sizes}"
        )
    counts.update(dict.fromkeys(set(names) - given, needed.pop()))


def _listed(names: Iterable[str]) -> str:
    ordered = sorted(names)
    more = len(ordered) - _MOST_NAMED
    return ", ".join(ordered[:_MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
