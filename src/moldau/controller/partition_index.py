"""Which partitions a broker is in sync for, which wait for a leader: so that a broker's coming or going costs what it
holds and not what the cluster has.

Kept by `replay` from the state of a partition before and after, in the same timeline. By topic and then by partition,
so that a topic of ten thousand partitions leaves in as many steps as there are brokers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from moldau.metadata.partition_registration import PartitionRegistration
from moldau.timeline import SnapshotRegistry, TimelineMap, TimelineSet
from moldau.types import NO_LEADER, Uuid


class PartitionKey(NamedTuple):
    topic_id: Uuid
    partition: int


class PartitionSet:
    """Not to be changed by anybody but the index; its order is that of the changes."""

    __slots__ = ("_registry", "_topics")

    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._topics: TimelineMap[Uuid, TimelineSet[int]] = TimelineMap(registry)

    def __iter__(self) -> Iterator[PartitionKey]:
        for topic_id, partitions in self._topics.items():
            for partition in partitions:
                yield PartitionKey(topic_id, partition)

    def add(self, key: PartitionKey) -> None:
        partitions = self._topics.get(key.topic_id)
        if partitions is None:
            partitions = self._topics[key.topic_id] = TimelineSet(self._registry)
        partitions.add(key.partition)

    def discard(self, key: PartitionKey) -> None:
        partitions = self._topics.get(key.topic_id)
        if partitions is not None:
            partitions.discard(key.partition)
            if not len(partitions):
                self._topics.pop(key.topic_id)

    def drop_topic(self, topic_id: Uuid) -> None:
        self._topics.pop(topic_id)


class PartitionIndex:
    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        # By broker. One that has none left keeps an empty set: brokers are few.
        self._in_sync: dict[int, PartitionSet] = {}
        self._eligible: dict[int, PartitionSet] = {}
        self.leaderless = PartitionSet(registry)
        # Led by another than the preferred leader.
        self.imbalanced = PartitionSet(registry)
        self.reassigning = PartitionSet(registry)
        # Those that have eligible leaders at all, or know who led last.
        self.recoverable = PartitionSet(registry)

    def in_sync(self, broker_id: int) -> PartitionSet:
        """Those whose in-sync set has the broker; it leads none of the others."""
        return self._of(self._in_sync, broker_id)

    def eligible(self, broker_id: int) -> PartitionSet:
        """Those whose eligible leaders have the broker."""
        return self._of(self._eligible, broker_id)

    def update(self, key: PartitionKey, before: PartitionRegistration | None, after: PartitionRegistration) -> None:
        old_isr, old_elr = ((), ()) if before is None else (before.isr, before.elr)
        if old_isr != after.isr:
            self._move(self._in_sync, key, old_isr, after.isr)
        if old_elr != after.elr:
            self._move(self._eligible, key, old_elr, after.elr)
        # A new partition is in none of these sets, and most never will be.
        did, does = _NONE if before is None else _belongings(before), _belongings(after)
        if did != does:
            sets = self.leaderless, self.imbalanced, self.reassigning, self.recoverable
            for members, was, belongs in zip(sets, did, does, strict=True):
                if belongs and not was:
                    members.add(key)
                elif was and not belongs:
                    members.discard(key)

    def drop_topic(self, topic_id: Uuid) -> None:
        for partitions in (
            *self._in_sync.values(),
            *self._eligible.values(),
            self.leaderless,
            self.imbalanced,
            self.reassigning,
            self.recoverable,
        ):
            partitions.drop_topic(topic_id)

    def _of(self, sets: dict[int, PartitionSet], broker_id: int) -> PartitionSet:
        members = sets.get(broker_id)
        if members is None:
            members = sets[broker_id] = PartitionSet(self._registry)
        return members

    def _move(
        self, sets: dict[int, PartitionSet], key: PartitionKey, before: tuple[int, ...], after: tuple[int, ...]
    ) -> None:
        for broker_id in before:
            if broker_id not in after:
                self._of(sets, broker_id).discard(key)
        for broker_id in after:
            if broker_id not in before:
                self._of(sets, broker_id).add(key)


_NONE: Final = (False, False, False, False)


def _belongings(state: PartitionRegistration) -> tuple[bool, bool, bool, bool]:
    """Whether it has no leader, is imbalanced, is being reassigned, and is recoverable."""
    leader, replicas = state.leader, state.replicas
    return (
        leader == NO_LEADER,
        leader != (replicas[0] if replicas else NO_LEADER),
        bool(state.removing_replicas or state.adding_replicas),
        bool(state.elr or state.last_known_elr),
    )
