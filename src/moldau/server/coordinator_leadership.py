"""Which partitions of the internal topics this broker leads, and so coordinates: from the metadata to the coordinators.

A publisher behind the replica manager: when a coordinator is told to load a partition, its log is open already, and
this broker leads it in that epoch. Those that are opened later, because there are many or because their disk was full,
it is told of when they are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition


class Coordinator(Protocol):
    def load(self, partition: int, leader_epoch: int) -> None: ...

    def unload(self, partition: int, leader_epoch: int | None) -> None: ...

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None: ...


class CoordinatorLeadership:
    def __init__(self, broker_id: int, coordinators: Mapping[str, Coordinator], replicas: ReplicaManager) -> None:
        self._broker_id = broker_id
        self._coordinators = coordinators
        self._replicas = replicas
        replicas.arrivals.opened_late = self.opened_late

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        for coordinator in self._coordinators.values():
            coordinator.on_image(delta, image)
        for gone in delta.topics.deleted.values():
            if gone.name in self._coordinators:
                for index in gone.partitions:
                    self._coordinators[gone.name].unload(index, None)
        for topic in delta.topics.changed.values():
            if topic.name not in self._coordinators:
                continue
            coordinator = self._coordinators[topic.name]
            for index, state in topic.partitions.items():
                if state.leader == self._broker_id:
                    held = self._replicas.find(topic.name, index)
                    if held is not None and held.is_leader and held.leader_epoch == state.leader_epoch:
                        coordinator.load(index, state.leader_epoch)
                else:
                    coordinator.unload(index, state.leader_epoch)

    def opened_late(self, partition: Partition) -> None:
        """A partition is open that was not when the metadata told of it."""
        coordinator = self._coordinators.get(partition.topic_partition.topic)
        if coordinator is not None and partition.is_leader:
            coordinator.load(partition.topic_partition.partition, partition.leader_epoch)
