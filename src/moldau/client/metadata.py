"""What a client knows of the cluster: brokers, topics, leaders and leader epochs. Immutable; an answer makes a new one.

Answers can come from brokers that lag behind. So a partition's entry is replaced only by one with the same or a newer
leader epoch, unless the topic itself is another one (deleted and created again: its id differs).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.addresses import Address
from moldau.protocol.messages.metadata import MetadataResponse, MetadataResponsePartition, MetadataResponseTopic
from moldau.types import NO_EPOCH, NO_LEADER, ZERO_UUID, TopicPartition, Uuid


@dataclass(slots=True, frozen=True)
class BrokerView:
    id: int
    host: str
    port: int
    rack: str | None = None

    @property
    def address(self) -> Address:
        return Address(self.host, self.port)


@dataclass(slots=True, frozen=True)
class PartitionView:
    index: int
    leader: int = NO_LEADER
    leader_epoch: int = NO_EPOCH
    replicas: tuple[int, ...] = ()
    isr: tuple[int, ...] = ()
    offline: tuple[int, ...] = ()
    error: ErrorCode = ErrorCode.NONE


@dataclass(slots=True, frozen=True)
class TopicView:
    name: str
    id: Uuid = ZERO_UUID
    internal: bool = False
    partitions: Mapping[int, PartitionView] = field(default_factory=dict)
    error: ErrorCode = ErrorCode.NONE

    @property
    def replication_factor(self) -> int:
        return max((len(partition.replicas) for partition in self.partitions.values()), default=0)


@dataclass(slots=True, frozen=True)
class ClusterView:
    cluster_id: str | None = None
    controller_id: int = -1
    brokers: Mapping[int, BrokerView] = field(default_factory=dict)
    topics: Mapping[str, TopicView] = field(default_factory=dict)

    def topic(self, name: str) -> TopicView:
        """The topic, or the reason it cannot be used as a KafkaError."""
        topic = self.topics.get(name)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name!r}.")
        if topic.error is not ErrorCode.NONE:
            raise KafkaError(topic.error, _topic_problem(topic))
        return topic

    def partition(self, where: TopicPartition) -> PartitionView:
        topic = self.topic(where.topic)
        partition = topic.partitions.get(where.partition)
        if partition is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"Topic {where.topic!r} has no partition {where.partition}; it has {len(topic.partitions)}.",
            )
        return partition

    def leader(self, where: TopicPartition) -> int:
        """The node that leads a partition; LEADER_NOT_AVAILABLE (worth another try) while there is none."""
        partition = self.partition(where)
        if partition.leader not in self.brokers:
            raise KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"Partition {where} has no leader at the moment.")
        return partition.leader

    def topic_by_id(self, topic_id: Uuid) -> TopicView | None:
        return next((topic for topic in self.topics.values() if topic.id == topic_id), None)

    def after(self, response: MetadataResponse, asked: Iterable[str] | None) -> ClusterView:
        """This view with an answer worked in; `asked` are the names asked for, None for all topics."""
        brokers = {
            broker.node_id: BrokerView(broker.node_id, broker.host, broker.port, broker.rack)
            for broker in response.brokers
        }
        names = None if asked is None else frozenset(asked)
        topics = {} if names is None else {name: view for name, view in self.topics.items() if name not in names}
        for answer in response.topics:
            if answer.name is not None:
                topics[answer.name] = _newer(self.topics.get(answer.name), _topic(answer))
        return replace(
            self,
            cluster_id=response.cluster_id or self.cluster_id,
            controller_id=response.controller_id,
            brokers=brokers,
            topics=topics,
        )


def _topic(answer: MetadataResponseTopic) -> TopicView:
    return TopicView(
        name=answer.name or "",
        id=answer.topic_id,
        internal=answer.is_internal,
        partitions={entry.partition_index: _partition(entry) for entry in sorted(answer.partitions, key=_index)},
        error=error_code(answer.error_code),
    )


def _index(entry: MetadataResponsePartition) -> int:
    return entry.partition_index


def _partition(entry: MetadataResponsePartition) -> PartitionView:
    return PartitionView(
        index=entry.partition_index,
        leader=entry.leader_id,
        leader_epoch=entry.leader_epoch,
        replicas=tuple(entry.replica_nodes),
        isr=tuple(entry.isr_nodes),
        offline=tuple(entry.offline_replicas),
        error=error_code(entry.error_code),
    )


def _newer(known: TopicView | None, answer: TopicView) -> TopicView:
    if known is None or known.id != answer.id:
        return answer
    partitions = dict(answer.partitions)
    for index, before in known.partitions.items():
        after = partitions.get(index)
        if after is not None and NO_EPOCH < after.leader_epoch < before.leader_epoch:
            partitions[index] = before
    return replace(answer, partitions=partitions)


def _topic_problem(topic: TopicView) -> str:
    if topic.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
        return f"There is no topic {topic.name!r}."
    if topic.error is ErrorCode.INVALID_TOPIC_EXCEPTION:
        return f"{topic.name!r} is not a valid topic name."
    return f"Topic {topic.name!r}: {topic.error.text}"


_LEGAL: Final = re.compile(r"[A-Za-z0-9._-]+")
_LONGEST: Final = 249


def check_topic(name: Any) -> None:
    """TypeError and ValueError, as kafka-python raises them, for what no topic can be called."""
    if not isinstance(name, str):
        raise TypeError(f"a topic is named by a str, not {type(name).__name__}")
    if name in ("", ".", "..") or len(name) > _LONGEST or _LEGAL.fullmatch(name) is None:
        raise ValueError(f"{name!r} cannot be the name of a topic: 1 to {_LONGEST} letters, digits, '.', '_' and '-'")
