"""What a custom partitioner is told: the cluster as kafka-python shows it, over our view."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

from moldau.client.metadata import BrokerView, ClusterView
from moldau.client.partitioner import partition_for_key


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


class KeyHashPartitioner(Partitioner):
    """The default's rule for keys, to build others upon."""

    def partition(
        self,
        topic: str,
        key: Any,
        serialized_key: bytes | None,
        value: Any,
        serialized_value: bytes | None,
        cluster: ClusterMetadata,
    ) -> int:
        return partition_for_key(serialized_key or b"", len(cluster.partitions_for_topic(topic) or ()))
