"""The record of a committed offset."""

from __future__ import annotations

from typing import Final

from moldau.coordinator.group.offset_store import CommittedOffset
from moldau.coordinator.shard import CoordinatorRecord
from moldau.protocol.messages.offset_commit_key import OffsetCommitKey
from moldau.protocol.messages.offset_commit_value import OffsetCommitValue
from moldau.types import ZERO_UUID, TopicPartition

_WITH_EXPIRY: Final = 1
_WITH_LEADER_EPOCH: Final = 3
_WITH_TOPIC_ID: Final = 4


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
