"""The share partitions of one partition of `__share_group_state`.

An operation decides about some share partitions at once; each of them is answered for itself, with a code of its own.
Whoever leads the share partition names his leader epoch, and whoever looks after the group the epoch of its state: an
older one than is known is fenced. What was never initialised is neither read nor written.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from moldau.coordinator.shard import CoordinatorRecord, Result, ShardContext
from moldau.coordinator.share.settings import ShareCoordinatorSettings
from moldau.coordinator.share.state import (
    UNCHANGED,
    ShareGroupOffset,
    SharePartitionKey,
    of_snapshot,
    partition_key,
    snapshot_record,
    tombstone,
    update_record,
    updated,
)
from moldau.coordinator.share.state_batches import Batch, combined
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.protocol.messages.share_snapshot_key import ShareSnapshotKey
from moldau.protocol.messages.share_snapshot_value import ShareSnapshotValue
from moldau.protocol.messages.share_update_key import ShareUpdateKey
from moldau.protocol.messages.share_update_value import ShareUpdateValue
from moldau.slicing import Work
from moldau.timeline import TimelineMap
from moldau.types import NO_EPOCH, NO_OFFSET, Uuid

_COLD_TIMER: Final = "snapshot what has not changed for long"
# Between two pauses.
_PIECE: Final = 64
# So many batches are written down in one go.
_SHORT: Final = 32


class Change(NamedTuple):
    """What the leader of a share partition has to say; UNCHANGED where it says nothing of it."""

    state_epoch: int
    leader_epoch: int
    start_offset: int
    delivery_complete_count: int
    batches: Sequence[Batch]


class Outcome(NamedTuple):
    """Of one share partition: how it stands, or why it is not done."""

    state: ShareGroupOffset | None = None
    error: KafkaError | None = None


_DONE: Final = Outcome()
_FENCED_LEADER: Final = Outcome(error=KafkaError(ErrorCode.FENCED_LEADER_EPOCH))
_FENCED_STATE: Final = Outcome(error=KafkaError(ErrorCode.FENCED_STATE_EPOCH))
_NO_PARTITION: Final = Outcome(error=KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
_NEVER_INITIALIZED: Final = Outcome(
    error=KafkaError(ErrorCode.INVALID_REQUEST, "The share partition has not been initialized.")
)
_NO_STATE: Final = Outcome(ShareGroupOffset(0, 0, 0, NO_OFFSET, UNCHANGED, 0, 0))


class ShareShard:
    def __init__(self, context: ShardContext, settings: ShareCoordinatorSettings) -> None:
        self.partition = context.partition.partition
        self.image: MetadataImage = EMPTY_IMAGE
        self._settings = settings
        self._timers = context.timers
        self._states: TimelineMap[SharePartitionKey, ShareGroupOffset] = TimelineMap(context.registry)
        # Where the last snapshot of each stands: what is before all of them is not needed any more.
        self._snapshots: TimelineMap[SharePartitionKey, int] = TimelineMap(context.registry)

    # ----------------------------------------------------------------------------------------------------- reading

    def get(self, key: SharePartitionKey) -> ShareGroupOffset | None:
        return self._states.get(key)

    def __len__(self) -> int:
        return len(self._states)

    def summary(self, key: SharePartitionKey, committed: int) -> Outcome:
        if not self._exists(key):
            return _NO_PARTITION
        state = self._states.get_at(key, committed)
        return _NO_STATE if state is None else Outcome(state)

    def needed_from(self, committed: int) -> int:
        """The first offset that is still needed."""
        now, before = self._snapshots.values(), self._snapshots.snapshot_at(committed).values()
        return min(min(now, default=committed), min(before, default=committed))

    # -------------------------------------------------------------------------------------------------- operations

    def initialize(self, asked: Mapping[SharePartitionKey, Change], now_ms: int) -> Result[list[Outcome]]:
        """Of each only epoch and start offset count."""
        records, outcomes = [], []
        for key, change in asked.items():
            state = self._states.get(key)
            if state is not None and change.state_epoch != UNCHANGED and state.state_epoch > change.state_epoch:
                outcomes.append(_FENCED_STATE)
            elif not self._exists(key):
                outcomes.append(_NO_PARTITION)
            else:
                outcomes.append(_DONE)
                fresh = ShareGroupOffset(
                    snapshot_epoch=0 if state is None else state.snapshot_epoch + 1,
                    state_epoch=change.state_epoch,
                    leader_epoch=0,
                    start_offset=change.start_offset,
                    delivery_complete_count=0 if change.start_offset != NO_OFFSET else UNCHANGED,
                    created_ms=now_ms,
                    written_ms=now_ms,
                )
                records.append(snapshot_record(key, fresh))
        return Result(records, outcomes)

    def write(self, asked: Mapping[SharePartitionKey, Change], now_ms: int) -> Result[list[Outcome]]:
        records, outcomes = [], []
        for key, change in asked.items():
            state = self._states.get(key)
            refused = self._why_not(key, state, change.leader_epoch)
            if refused is None and state is not None and change.state_epoch not in (UNCHANGED, state.state_epoch):
                refused = _FENCED_STATE if state.state_epoch > change.state_epoch else None
            outcomes.append(refused or _DONE)
            if refused is None and state is not None:
                records.append(self._record(key, state, change, now_ms))
        return Result(records, outcomes)

    def short_update(self, key: SharePartitionKey, change: Change) -> CoordinatorRecord | None:
        """What `write` would decide, if that is one short record; None if it is more, or something is wrong with it."""
        state = self._states.get(key)
        if state is None or len(change.batches) > _SHORT or state.updates >= self._settings.updates_per_snapshot:
            return None
        if change.state_epoch not in (UNCHANGED, state.state_epoch):
            return None
        return self._record(key, state, change, 0) if self._why_not(key, state, change.leader_epoch) is None else None

    def read(self, asked: Mapping[SharePartitionKey, int], now_ms: int) -> Result[list[Outcome]]:
        """By leader epoch: from now on those before are fenced."""
        records, outcomes = [], []
        for key, leader_epoch in asked.items():
            state = self._states.get(key)
            refused = self._why_not(key, state, leader_epoch)
            outcomes.append(refused or Outcome(state))
            if refused is None and state is not None and leader_epoch not in (NO_EPOCH, state.leader_epoch):
                known = Change(state.state_epoch, leader_epoch, state.start_offset, state.delivery_complete_count, ())
                records.append(self._record(key, state, known, now_ms))
        return Result(records, outcomes)

    def delete(self, asked: Iterable[SharePartitionKey]) -> Result[list[Outcome]]:
        keys = list(asked)
        exist = [self._exists(key) for key in keys]
        found = [tombstone(key) for key, exists in zip(keys, exist, strict=True) if exists and key in self._states]
        return Result(found, [_DONE if exists else _NO_PARTITION for exists in exist])

    def forget_topics(self, topic_ids: frozenset[Uuid]) -> Result[None]:
        return Result((), None, atomic=False, stream=self._of_topics(topic_ids))

    def _of_topics(self, topic_ids: frozenset[Uuid]) -> Iterator[CoordinatorRecord | None]:
        for number, key in enumerate(list(self._states), 1):
            if key.topic_id in topic_ids:
                yield tombstone(key)
            elif not number % _PIECE:
                yield None

    def snapshot_cold(self, now_ms: int) -> Result[None]:
        """What changes rarely must not hold back the start of the log: it is written again."""
        self._timers.schedule(_COLD_TIMER, self._settings.cold_snapshot_ms, self.snapshot_cold)
        if all(state.created_ms != state.written_ms for state in self._states.values()):
            return Result((), None)
        return Result((), None, atomic=False, stream=self._cold(now_ms))

    def _cold(self, now_ms: int) -> Iterator[CoordinatorRecord | None]:
        for number, (key, state) in enumerate(list(self._states.items()), 1):
            if now_ms - state.written_ms >= self._settings.cold_snapshot_ms:
                again = state._replace(snapshot_epoch=state.snapshot_epoch + 1, written_ms=now_ms)
                yield snapshot_record(key, again)
            elif not number % _PIECE:
                yield None

    # ------------------------------------------------------------------------------------------------------ replay

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int, producer_epoch: int) -> None:
        assert isinstance(record.key, ShareSnapshotKey | ShareUpdateKey)
        key, value = partition_key(record.key), record.value
        if isinstance(value, ShareSnapshotValue):
            self._states[key] = of_snapshot(value)
            self._snapshots[key] = offset
        elif isinstance(value, ShareUpdateValue):
            state = self._states.get(key)
            if state is not None:
                self._states[key] = updated(state, value)
        else:
            self._states.pop(key)
            self._snapshots.pop(key)

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """Nobody writes to this topic in a transaction."""

    def on_loaded(self, image: MetadataImage) -> None:
        self.image = image
        self._timers.schedule(_COLD_TIMER, self._settings.cold_snapshot_ms, self.snapshot_cold)

    def on_unloaded(self) -> Work[None] | None:
        return None

    def on_new_image(self, image: MetadataImage, delta: MetadataDelta) -> Work[None] | None:
        self.image = image
        return None

    # ----------------------------------------------------------------------------------------------------- details

    def _exists(self, key: SharePartitionKey) -> bool:
        topic = self.image.topics.by_id(key.topic_id)
        return topic is not None and key.partition in topic.partitions

    def _why_not(self, key: SharePartitionKey, state: ShareGroupOffset | None, leader_epoch: int) -> Outcome | None:
        if state is None:
            return _NEVER_INITIALIZED
        if leader_epoch != NO_EPOCH and state.leader_epoch > leader_epoch:
            return _FENCED_LEADER
        return None if self._exists(key) else _NO_PARTITION

    def _record(
        self, key: SharePartitionKey, state: ShareGroupOffset, change: Change, now_ms: int
    ) -> CoordinatorRecord:
        leader_epoch = state.leader_epoch if change.leader_epoch == UNCHANGED else change.leader_epoch
        if state.updates < self._settings.updates_per_snapshot:
            batches = combined((), change.batches, change.start_offset)
            difference = state._replace(
                leader_epoch=leader_epoch,
                start_offset=change.start_offset,
                delivery_complete_count=change.delivery_complete_count,
                batches=batches,
            )
            return update_record(key, difference)
        start = state.start_offset if change.start_offset == UNCHANGED else change.start_offset
        whole = state._replace(
            snapshot_epoch=state.snapshot_epoch + 1,
            leader_epoch=leader_epoch,
            start_offset=start,
            delivery_complete_count=change.delivery_complete_count,
            created_ms=now_ms,
            written_ms=now_ms,
            batches=combined(state.batches, change.batches, start),
        )
        return snapshot_record(key, whole)
