"""Which partition a record goes to, and what a partitioner of the application is told.

The key's hash is exactly what the Java client computes, because it must be the same everywhere: two producers in two
languages that disagree put one key into two partitions. The cluster is shown as kafka-python shows it, over our view.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any

from moldau._speed.reference.accumulator import murmur2
from moldau.client.chance import randrange
from moldau.client.metadata import BrokerView, ClusterView
from moldau.types import Buffer

__all__ = [
    "ClusterMetadata",
    "DefaultPartitioner",
    "Partitioner",
    "StickyPartitioner",
    "murmur2",
    "partition_for_key",
]


def partition_for_key(key: Buffer, partitions: int) -> int:
    """Java masks the sign bit away instead of taking the absolute value; so do we."""
    return (murmur2(key) & 0x7FFFFFFF) % partitions


class Partitioner(ABC):
    @abstractmethod
    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: ClusterMetadata,
    ) -> int: ...


class ClusterMetadata:
    """A snapshot: what was known when it was made."""

    def __init__(self, view: ClusterView) -> None:
        self._view = view

    def topics(self) -> set[str]:
        return set(self._view.topics)

    def brokers(self) -> set[BrokerView]:
        return set(self._view.brokers.values())

    def partitions_for_topic(self, topic: str) -> set[int] | None:
        found = self._view.topics.get(topic)
        return set(found.partitions) if found is not None and found.partitions else None

    def available_partitions_for_topic(self, topic: str) -> set[int] | None:
        found = self._view.topics.get(topic)
        if found is None:
            return None
        return {index for index, entry in found.partitions.items() if entry.leader in self._view.brokers}

    def leader_for_partition(self, partition: tuple[str, int]) -> int | None:
        found = self._view.topics.get(partition[0])
        entry = None if found is None else found.partitions.get(partition[1])
        return None if entry is None else entry.leader


class DefaultPartitioner(Partitioner):
    """By the hash of the key as Java computes it, and without a key at random among those that can be written. May also
    be called with a key and partitions, which is how aiokafka asks."""

    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        everything = cluster.partitions_for_topic(topic)
        if not everything:
            raise ValueError(f"topic {topic!r} is not known")
        return self(serialized_key, sorted(everything), sorted(cluster.available_partitions_for_topic(topic) or ()))

    def __call__(self, key: bytes | None, all_partitions: Sequence[int], available: Sequence[int]) -> int:
        if key is not None:
            return all_partitions[partition_for_key(key, len(all_partitions))]
        among = available or all_partitions
        return among[randrange(len(among))]


class StickyPartitioner(DefaultPartitioner):
    """What the producer does by itself: without a key one partition until a batch is full, then another. A producer
    that is given exactly this goes its own way, which is the fast one; derived classes are asked."""
