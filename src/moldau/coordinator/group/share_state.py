"""Which share partitions of a group have a state, and what becomes of it: decided here, carried out elsewhere.

The state itself is with the share coordinator. Here stands what was asked of it and what it has confirmed; every
function makes a record of that for the group, which the answer to whoever asked waits for.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from typing import Final, NamedTuple

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.share_group import (
    NO_STATE,
    ShareGroup,
    StatePartitions,
    TopicState,
    TopicStates,
    combined,
    without,
)
from moldau.coordinator.group.share_records import share_group_tombstones, state_partitions_record
from moldau.coordinator.shard import CoordinatorRecord, Result
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.timeline import SnapshotRegistry
from moldau.types import Uuid

Confirmed = Mapping[Uuid, Set[int]]


class StartOffsets(NamedTuple):
    """Where a group is to begin: by topic, the offsets of its partitions."""

    topics: Mapping[Uuid, Mapping[int, int]]
    state_epoch: int


class Deletion(NamedTuple):
    """What is to be deleted, and what of the request there is nothing to delete of: by topic, why not."""

    topics: TopicStates
    refused: Mapping[str, KafkaError] = {}


_NOTHING: Final[Result[None]] = Result((), None)


class ShareStates:
    def __init__(self, groups: Groups, config: BrokerConfig, image: Callable[[], MetadataImage]) -> None:
        self._groups = groups
        self._retry_ms = config.group_share_initialize_retry_interval_ms
        self._image = image

    # ---------------------------------------------------------------------------------------------- initialisation

    def to_initialize(self, group: ShareGroup, topics: Iterable[str], now_ms: int) -> dict[Uuid, TopicState]:
        """Partitions of these topics without a state; those that were asked for lately are waited for."""
        known = group.state_partitions
        waiting = {
            topic_id: state
            for topic_id, state in known.initializing.items()
            if 0 <= now_ms - group.asked_ms.get(topic_id, -self._retry_ms) < self._retry_ms
        }
        done = combined(known.initialized, waiting)
        missing: dict[Uuid, TopicState] = {}
        for name in topics:
            topic = self._image().topics.get(name)
            if topic is None:
                continue
            there = done[topic.id].partitions if topic.id in done else frozenset[int]()
            partitions = frozenset(range(len(topic.partitions))) - there
            if partitions:
                missing[topic.id] = TopicState(name, partitions)
        return missing

    def initializing(self, group: ShareGroup, topics: TopicStates, now_ms: int) -> CoordinatorRecord:
        known = group.state_partitions
        live = self._groups.share(group.group_id) or group
        live.asked_ms.update(dict.fromkeys(topics, now_ms))
        deleting = {topic_id: name for topic_id, name in known.deleting.items() if topic_id not in topics}
        after = StatePartitions(combined(known.initializing, topics), known.initialized, deleting)
        return state_partitions_record(group.group_id, after)

    def initialized(self, group_id: str, partitions: Confirmed) -> Result[None]:
        """The share coordinator has their state."""
        group = self._groups.share(group_id)
        if group is None or not partitions:
            return _NOTHING
        known = group.state_partitions
        names = {topic_id: self._name(topic_id, known) for topic_id in partitions}
        there = {
            topic_id: TopicState(name, frozenset(partitions[topic_id]))
            for topic_id, name in names.items()
            if name is not None
        }
        after = StatePartitions(
            without(known.initializing, partitions), combined(known.initialized, there), known.deleting
        )
        return Result([state_partitions_record(group_id, after)], None)

    def not_initialized(self, group_id: str, partitions: Confirmed) -> Result[None]:
        """It could not be done; the next heartbeat asks again."""
        group = self._groups.share(group_id)
        if group is None or not partitions or not group.state_partitions.initializing:
            return _NOTHING
        known = group.state_partitions
        for topic_id in partitions:
            group.asked_ms.pop(topic_id, None)
        after = known._replace(initializing=without(known.initializing, partitions))
        return Result([state_partitions_record(group_id, after)], None)

    def _name(self, topic_id: Uuid, known: StatePartitions) -> str | None:
        topic = self._image().topics.by_id(topic_id)
        if topic is not None:
            return topic.name
        state = known.initializing.get(topic_id)
        return None if state is None else state.name

    # ------------------------------------------------------------------------------------------------- from outside

    def alter(self, group_id: str, wanted: Mapping[str, Mapping[int, int]], now_ms: int) -> Result[StartOffsets]:
        """Start offsets, which the share coordinator takes as an initialisation; topics and partitions exist."""
        group = self._groups.get(group_id)
        if group is None:
            group = ShareGroup(group_id, SnapshotRegistry())
        elif not isinstance(group, ShareGroup):
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"Group {group_id} is not a share group.")
        if not group.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        by_id: dict[Uuid, Mapping[int, int]] = {}
        states: dict[Uuid, TopicState] = {}
        for name, offsets in wanted.items():
            topic = self._image().topics.get(name)
            if topic is not None and offsets:
                by_id[topic.id] = offsets
                states[topic.id] = TopicState(name, frozenset(offsets))
        records = [self.initializing(group, states, now_ms)] if states else []
        return Result(records, StartOffsets(by_id, group.epoch))

    def delete(self, group_id: str, topics: Iterable[str]) -> Result[Deletion]:
        """The state of whole topics; they are `deleting` until it is confirmed."""
        group = self._groups.share(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"There is no share group {group_id}.")
        if not group.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        known = group.state_partitions
        initialized, deleting = dict(known.initialized), dict(known.deleting)
        chosen: dict[Uuid, TopicState] = {}
        refused: dict[str, KafkaError] = {}
        for name in topics:
            topic = self._image().topics.get(name)
            if topic is None:
                refused[name] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {name}.")
            elif topic.id in initialized:
                chosen[topic.id] = initialized.pop(topic.id)
                deleting[topic.id] = name
            elif topic.id in deleting:
                # It was asked for before and not confirmed.
                chosen[topic.id] = TopicState(name, frozenset(range(len(topic.partitions))))
            else:
                refused[name] = KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"The group has no offsets of {name} to delete."
                )
        after = StatePartitions(known.initializing, initialized, deleting)
        records = [] if after == known else [state_partitions_record(group_id, after)]
        return Result(records, Deletion(chosen, refused))

    def deleted(self, group_id: str, topics: Iterable[Uuid]) -> Result[None]:
        """The share coordinator has forgotten them."""
        group = self._groups.share(group_id)
        if group is None:
            return _NOTHING
        known, gone = group.state_partitions, set(topics)
        left = {topic_id: name for topic_id, name in known.deleting.items() if topic_id not in gone}
        if left == known.deleting:
            return _NOTHING
        return Result([state_partitions_record(group_id, known._replace(deleting=left))], None)

    def delete_all(self, group_id: str) -> Result[TopicStates]:
        """Everything the group has, before the group itself is deleted; KafkaError if that cannot be."""
        group = self._groups.share(group_id)
        if group is None:
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
        if not group.is_empty:
            raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
        known = group.state_partitions
        if known == NO_STATE:
            return Result((), {})
        again: dict[Uuid, TopicState] = {}
        for topic_id, name in known.deleting.items():
            topic = self._image().topics.by_id(topic_id)
            if topic is not None:
                again[topic_id] = TopicState(name, frozenset(range(len(topic.partitions))))
        everything = combined(combined(known.initialized, known.initializing), again)
        after = StatePartitions(deleting={topic_id: state.name for topic_id, state in everything.items()})
        records = [] if after == known else [state_partitions_record(group_id, after)]
        return Result(records, everything)

    def tombstones(self, group: ShareGroup) -> list[CoordinatorRecord]:
        return share_group_tombstones(group)

    def forget_topics(self, topic_ids: Set[Uuid]) -> Iterator[CoordinatorRecord | None]:
        """The topics were deleted; what the share coordinator has of them it forgets by itself."""
        for group in self._groups:
            record = None
            if isinstance(group, ShareGroup):
                known = group.state_partitions
                after = StatePartitions(
                    {each: state for each, state in known.initializing.items() if each not in topic_ids},
                    {each: state for each, state in known.initialized.items() if each not in topic_ids},
                    {each: name for each, name in known.deleting.items() if each not in topic_ids},
                )
                if after != known:
                    record = state_partitions_record(group.group_id, after)
            yield record
