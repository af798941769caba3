"""The topology of a streams application as its group keeps it: what each subtopology reads, writes and remembers.

It comes with the first member and is the same for all of them; its epoch says which one it is. What it leaves open,
how many partitions its own topics get, is decided in `streams_topics`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import streams_group_describe as description
from moldau.protocol.messages import streams_group_heartbeat as heartbeat
from moldau.protocol.messages import streams_group_topology_value as stored
from moldau.slicing import Work

# Of subtopologies, names of topics, their settings and places in copartition groups: some hundreds in a large
# application.
MOST_PARTS: Final = 10_000


class InternalTopic(NamedTuple):
    """A topic the application has for itself: between two subtopologies, or for what a store remembers."""

    name: str
    # 0 where it depends on the topics the subtopology reads.
    partitions: int = 0
    # 0 for the one the broker is set to.
    replication_factor: int = 0
    configs: tuple[tuple[str, str], ...] = ()


class CopartitionGroup(NamedTuple):
    """Topics that must have the same number of partitions, as places in the lists of their subtopology."""

    source_topics: tuple[int, ...]
    patterns: tuple[int, ...]
    repartition_sources: tuple[int, ...]


class Subtopology(NamedTuple):
    id: str
    source_topics: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    repartition_sinks: tuple[str, ...] = ()
    repartition_sources: tuple[InternalTopic, ...] = ()
    changelogs: tuple[InternalTopic, ...] = ()
    copartition_groups: tuple[CopartitionGroup, ...] = ()

    @property
    def is_stateful(self) -> bool:
        return bool(self.changelogs)

    def inputs(self) -> Iterator[str]:
        """The topics whose partitions make its tasks."""
        yield from self.source_topics
        for topic in self.repartition_sources:
            yield topic.name

    def copartitioned(self, group: CopartitionGroup) -> list[str]:
        names = [self.source_topics[place] for place in group.source_topics]
        return names + [self.repartition_sources[place].name for place in group.repartition_sources]


class Topology(NamedTuple):
    epoch: int
    subtopologies: tuple[Subtopology, ...]
    # By name: the subtopology that reads it.
    readers: Mapping[str, str]
    # Every topic the application reads or keeps to itself.
    topics: frozenset[str]


def topology(epoch: int, subtopologies: Iterable[Subtopology]) -> Topology:
    ordered = tuple(sorted(subtopologies))
    readers = {name: each.id for each in ordered for name in each.inputs()}
    changelogs = {topic.name for each in ordered for topic in each.changelogs}
    return Topology(epoch, ordered, readers, frozenset(readers.keys() | changelogs))


def check_size(given: heartbeat.Topology) -> None:
    """KafkaError for one that is larger than any application's: it is stored and compared as a whole."""
    parts = 0
    for each in given.subtopologies:
        topics = (*each.state_changelog_topics, *each.repartition_source_topics)
        parts += 1 + len(each.source_topics) + len(each.source_topic_regex) + len(each.repartition_sink_topics)
        parts += sum(1 + len(topic.topic_configs) for topic in topics)
        parts += sum(
            1 + len(group.source_topics) + len(group.source_topic_regex) + len(group.repartition_source_topics)
            for group in each.copartition_groups
        )
    if parts > MOST_PARTS:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"A topology of {parts} parts is not taken, {MOST_PARTS} are.")


def check_topology(given: heartbeat.Topology) -> None:
    """KafkaError for one that no application could mean."""
    if given.epoch < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The epoch of a topology is not negative.")
    seen: set[str] = set()
    for each in given.subtopologies:
        if each.subtopology_id in seen:
            raise _invalid(f"The subtopology {each.subtopology_id} is there twice.")
        seen.add(each.subtopology_id)
        if not each.source_topics and not each.repartition_source_topics:
            raise _invalid(f"The subtopology {each.subtopology_id} reads no topic.")
        for topic in each.state_changelog_topics:
            if topic.partitions:
                raise _invalid(
                    f"The changelog topic {topic.name} must leave its number of partitions open, but has "
                    f"{topic.partitions}."
                )
        for topic in each.repartition_source_topics:
            if topic.partitions < 0:
                raise _invalid(f"The repartition topic {topic.name} cannot have {topic.partitions} partitions.")
        for group in each.copartition_groups:
            places = (
                (group.source_topics, each.source_topics),
                (group.source_topic_regex, each.source_topic_regex),
                (group.repartition_source_topics, each.repartition_source_topics),
            )
            if any(not 0 <= place < len(topics) for numbers, topics in places for place in numbers):
                raise _invalid(f"A copartition group of the subtopology {each.subtopology_id} has a topic it has not.")


def _invalid(why: str) -> KafkaError:
    return KafkaError(ErrorCode.STREAMS_INVALID_TOPOLOGY, why)


# ------------------------------------------------------------------------------------------- from and to the messages


def topology_of(value: heartbeat.Topology | stored.StreamsGroupTopologyValue) -> Work[Topology]:
    subtopologies = []
    for each in value.subtopologies:
        subtopologies.append(
            Subtopology(
                each.subtopology_id,
                tuple(each.source_topics),
                tuple(each.source_topic_regex),
                tuple(each.repartition_sink_topics),
                tuple(_internal(topic) for topic in each.repartition_source_topics),
                tuple(_internal(topic) for topic in each.state_changelog_topics),
                tuple(
                    CopartitionGroup(
                        tuple(group.source_topics),
                        tuple(group.source_topic_regex),
                        tuple(group.repartition_source_topics),
                    )
                    for group in each.copartition_groups
                ),
            )
        )
        yield
    return topology(value.epoch, subtopologies)


def _internal(topic: heartbeat.TopicInfo | stored.TopicInfo) -> InternalTopic:
    configs = tuple(sorted((row.key, row.value) for row in topic.topic_configs))
    return InternalTopic(topic.name, topic.partitions, topic.replication_factor, configs)


def topology_value(kept: Topology) -> Work[stored.StreamsGroupTopologyValue]:
    value = stored.StreamsGroupTopologyValue(epoch=kept.epoch)
    for each in kept.subtopologies:
        value.subtopologies.append(
            stored.Subtopology(
                subtopology_id=each.id,
                source_topics=list(each.source_topics),
                source_topic_regex=list(each.patterns),
                state_changelog_topics=[_stored(topic) for topic in each.changelogs],
                repartition_sink_topics=list(each.repartition_sinks),
                repartition_source_topics=[_stored(topic) for topic in each.repartition_sources],
                copartition_groups=[
                    stored.CopartitionGroup(
                        source_topics=list(group.source_topics),
                        source_topic_regex=list(group.patterns),
                        repartition_source_topics=list(group.repartition_sources),
                    )
                    for group in each.copartition_groups
                ],
            )
        )
        yield
    return value


def _stored(topic: InternalTopic) -> stored.TopicInfo:
    return stored.TopicInfo(
        name=topic.name,
        partitions=topic.partitions,
        replication_factor=topic.replication_factor,
        topic_configs=[stored.TopicConfig(key=key, value=value) for key, value in topic.configs],
    )


def described_topology(kept: Topology, partitions: Mapping[str, int]) -> Work[description.Topology]:
    """`partitions` are those of its own topics, by name, as far as they are decided."""
    described = description.Topology(epoch=kept.epoch, subtopologies=[])
    assert described.subtopologies is not None
    for each in kept.subtopologies:
        described.subtopologies.append(
            description.Subtopology(
                subtopology_id=each.id,
                source_topics=sorted(each.source_topics),
                repartition_sink_topics=sorted(each.repartition_sinks),
                state_changelog_topics=_described(each.changelogs, partitions),
                repartition_source_topics=_described(each.repartition_sources, partitions),
            )
        )
        yield
    return described


def _described(topics: Iterable[InternalTopic], partitions: Mapping[str, int]) -> list[description.TopicInfo]:
    return [
        description.TopicInfo(
            name=topic.name,
            partitions=partitions.get(topic.name, topic.partitions),
            replication_factor=topic.replication_factor,
            topic_configs=[description.KeyValue(key=key, value=value) for key, value in topic.configs],
        )
        for topic in sorted(topics)
    ]
