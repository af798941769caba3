"""The offsets committed in one shard, those of transactions that have not ended, and the records of both.

An offset committed in a transaction waits until the marker of its producer says whether it counts. If both kinds are
committed for one partition, the one that stands later in the log wins: that is what compaction keeps, so nothing else
would survive a reload.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from moldau.coordinator.shard import CoordinatorRecord
from moldau.protocol.messages.offset_commit_key import OffsetCommitKey
from moldau.protocol.messages.offset_commit_value import OffsetCommitValue
from moldau.slicing import Work, pieces
from moldau.timeline import SnapshotRegistry, TimelineMap
from moldau.types import ZERO_UUID, TopicPartition, Uuid

# Offsets that are looked at between two pauses.
_PIECE: Final = 64
# Versions of the value of an offset, by what they can say.
_WITH_EXPIRY: Final = 1
_WITH_LEADER_EPOCH: Final = 3
_WITH_TOPIC_ID: Final = 4


class CommittedOffset(NamedTuple):
    offset: int
    leader_epoch: int
    metadata: str
    commit_timestamp: int
    # Only where an old client asked for a retention of its own.
    expire_timestamp: int | None = None
    topic_id: Uuid = ZERO_UUID
    # Where its record stands in the log.
    record_offset: int = -1


class _PendingKey(NamedTuple):
    group_id: str
    partition: TopicPartition


class OffsetStore:
    def __init__(self, registry: SnapshotRegistry) -> None:
        self._registry = registry
        self._groups: TimelineMap[str, TimelineMap[TopicPartition, CommittedOffset]] = TimelineMap(registry)
        self._pending: TimelineMap[int, TimelineMap[_PendingKey, CommittedOffset]] = TimelineMap(registry)
        # By group, the producers with pending offsets in it.
        self._producers: TimelineMap[str, frozenset[int]] = TimelineMap(registry)

    def __len__(self) -> int:
        return sum(len(offsets) for offsets in self._groups.values())

    # ------------------------------------------------------------------------------------------------------ reading

    def get(self, group_id: str, partition: TopicPartition, at: int | None = None) -> CommittedOffset | None:
        """As of the snapshot `at`, or the newest."""
        offsets = self._groups.get(group_id) if at is None else self._groups.get_at(group_id, at)
        if offsets is None:
            return None
        return offsets.get(partition) if at is None else offsets.get_at(partition, at)

    def of_group(self, group_id: str, at: int | None = None) -> Mapping[TopicPartition, CommittedOffset]:
        offsets = self._groups.get(group_id) if at is None else self._groups.get_at(group_id, at)
        if offsets is None:
            return {}
        return dict(offsets.items()) if at is None else offsets.snapshot_at(at)

    def is_pending(self, group_id: str, partition: TopicPartition) -> bool:
        """Whether a transaction that is still open has committed an offset for the partition."""
        key = _PendingKey(group_id, partition)
        return any(key in self._pending[producer] for producer in self._producers.get(group_id, ()))

    def has_open_transactions(self, group_id: str) -> bool:
        return group_id in self._producers

    def pending(self) -> Iterator[tuple[int, str, TopicPartition, CommittedOffset]]:
        for producer_id, offsets in self._pending.items():
            for key, committed in offsets.items():
                yield producer_id, key.group_id, key.partition, committed

    def of_topics(self, topics: set[str]) -> Iterator[tuple[str, TopicPartition] | None]:
        """Every group and partition of these topics with an offset, pending ones included; None now and then. Whoever
        asks may remove what was found on the way."""
        for group_id, offsets in list(self._groups.items()):
            for number, partition in enumerate(list(offsets), 1):
                if partition.topic in topics:
                    yield group_id, partition
                elif not number % _PIECE:
                    yield None
            yield None
        for pending in list(self._pending.values()):
            for number, (group_id, partition) in enumerate(list(pending), 1):
                if partition.topic in topics and self.get(group_id, partition) is None:
                    yield group_id, partition
                elif not number % _PIECE:
                    yield None

    # ------------------------------------------------------------------------------------------------------- replay

    def put(self, group_id: str, partition: TopicPartition, committed: CommittedOffset) -> None:
        offsets = self._groups.get(group_id)
        if offsets is None:
            offsets = self._groups[group_id] = TimelineMap(self._registry)
        offsets[partition] = committed

    def put_pending(
        self, producer_id: int, group_id: str, partition: TopicPartition, committed: CommittedOffset
    ) -> None:
        offsets = self._pending.get(producer_id)
        if offsets is None:
            offsets = self._pending[producer_id] = TimelineMap(self._registry)
        offsets[_PendingKey(group_id, partition)] = committed
        producers = self._producers.get(group_id, frozenset())
        if producer_id not in producers:
            self._producers[group_id] = producers | {producer_id}

    def remove(self, group_id: str, partition: TopicPartition) -> None:
        """A tombstone: also what open transactions have committed before it."""
        offsets = self._groups.get(group_id)
        if offsets is not None:
            offsets.pop(partition)
            if not offsets:
                del self._groups[group_id]
        for producer_id in self._producers.get(group_id, ()):
            self._pending[producer_id].pop(_PendingKey(group_id, partition))

    def end_transaction(self, producer_id: int, committed: bool) -> Work[list[str]]:
        """The pending offsets of the producer count, or never will; the groups they belong to."""
        ended = self._pending.pop(producer_id)
        touched: list[str] = []
        for some in pieces(list(self._producers.items())):
            touched += [group_id for group_id, producers in some if producer_id in producers]
            yield
        for group_id in touched:
            left = self._producers[group_id] - {producer_id}
            if left:
                self._producers[group_id] = left
            else:
                del self._producers[group_id]
        if ended is None:
            return []
        for rows in pieces(ended.items() if committed else ()):
            for key, pending in rows:
                current = self.get(key.group_id, key.partition)
                if current is None or pending.record_offset > current.record_offset:
                    self.put(key.group_id, key.partition, pending)
            yield
        return list({key.group_id for key in ended})


# -------------------------------------------------------------------------------------------------------------- records


def offset_record(group_id: str, partition: TopicPartition, committed: CommittedOffset) -> CoordinatorRecord:
    """In the oldest version that can say it, so that as many brokers as possible can read it."""
    if committed.expire_timestamp is not None:
        version = _WITH_EXPIRY
    else:
        version = _WITH_LEADER_EPOCH if committed.topic_id == ZERO_UUID else _WITH_TOPIC_ID
    value = OffsetCommitValue(
        offset=committed.offset,
        leader_epoch=committed.leader_epoch,
        metadata=committed.metadata,
        commit_timestamp=committed.commit_timestamp,
        expire_timestamp=-1 if committed.expire_timestamp is None else committed.expire_timestamp,
        topic_id=committed.topic_id,
    )
    return CoordinatorRecord(_key(group_id, partition), value, version)


def offset_tombstone(group_id: str, partition: TopicPartition) -> CoordinatorRecord:
    return CoordinatorRecord(_key(group_id, partition), None)


def offset_from_record(value: OffsetCommitValue, record_offset: int) -> CommittedOffset:
    return CommittedOffset(
        value.offset,
        value.leader_epoch,
        value.metadata,
        value.commit_timestamp,
        None if value.expire_timestamp == -1 else value.expire_timestamp,
        value.topic_id,
        record_offset,
    )


def _key(group_id: str, partition: TopicPartition) -> OffsetCommitKey:
    return OffsetCommitKey(group=group_id, topic=partition.topic, partition=partition.partition)
