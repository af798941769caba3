"""All groups of one shard, by id."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from moldau.coordinator.group.classic_group import ClassicGroup
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.share_group import ShareGroup
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.timeline import SnapshotRegistry, TimelineMap

Group: TypeAlias = ClassicGroup | ConsumerGroup | ShareGroup | StreamsGroup


class Groups:
    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._by_id: TimelineMap[str, Group] = TimelineMap(registry)

    def __len__(self) -> int:
        return len(self._by_id)

    def __iter__(self) -> Iterator[Group]:
        return iter(list(self._by_id.values()))

    def __contains__(self, group_id: object) -> bool:
        return group_id in self._by_id

    def get(self, group_id: str) -> Group | None:
        return self._by_id.get(group_id)

    def get_at(self, group_id: str, offset: int) -> Group | None:
        return self._by_id.get_at(group_id, offset)

    def at(self, offset: int) -> list[Group]:
        return list(self._by_id.snapshot_at(offset).values())

    def classic(self, group_id: str) -> ClassicGroup | None:
        group = self._by_id.get(group_id)
        return group if isinstance(group, ClassicGroup) else None

    def consumer(self, group_id: str) -> ConsumerGroup | None:
        group = self._by_id.get(group_id)
        return group if isinstance(group, ConsumerGroup) else None

    def put(self, group: Group) -> None:
        self._by_id[group.group_id] = group

    def remove(self, group_id: str) -> None:
        self._by_id.pop(group_id)

    def classic_for_offsets(self, group_id: str) -> Group:
        """The group an offset belongs to: one that nobody ever joined comes into being with its first offset."""
        group = self._by_id.get(group_id)
        if group is None:
            group = self._by_id[group_id] = ClassicGroup(group_id)
        return group

    def consumer_for_replay(self, group_id: str) -> ConsumerGroup:
        """The consumer group a record belongs to. A classic group without members may stand in its place: offsets
        that were replayed before, or the tombstone of the classic group was compacted away."""
        group = self._by_id.get(group_id)
        if not isinstance(group, ConsumerGroup):
            group = self._by_id[group_id] = ConsumerGroup(group_id, self._registry)
        return group

    def share(self, group_id: str) -> ShareGroup | None:
        group = self._by_id.get(group_id)
        return group if isinstance(group, ShareGroup) else None

    def share_for_replay(self, group_id: str) -> ShareGroup:
        """The share group a record belongs to; it comes into being with its first one."""
        group = self._by_id.get(group_id)
        if not isinstance(group, ShareGroup):
            group = self._by_id[group_id] = ShareGroup(group_id, self._registry)
        return group

    def streams(self, group_id: str) -> StreamsGroup | None:
        group = self._by_id.get(group_id)
        return group if isinstance(group, StreamsGroup) else None

    def streams_for_replay(self, group_id: str) -> StreamsGroup:
        """The streams group a record belongs to. A classic group without members may stand in its place: offsets that
        were replayed before."""
        group = self._by_id.get(group_id)
        if not isinstance(group, StreamsGroup):
            group = self._by_id[group_id] = StreamsGroup(group_id, self._registry)
        return group
