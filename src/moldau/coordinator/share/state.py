"""What is kept of a share partition, and its records: a snapshot holds all of it, an update what has changed since."""

from __future__ import annotations

from typing import Final, NamedTuple, TypeAlias

from moldau.coordinator.record_framing import RecordType, RecordTypes
from moldau.coordinator.shard import CoordinatorRecord
from moldau.coordinator.share.state_batches import Batch, combined
from moldau.protocol.messages import share_snapshot_value, share_update_value
from moldau.protocol.messages.share_snapshot_key import ShareSnapshotKey
from moldau.protocol.messages.share_snapshot_value import ShareSnapshotValue
from moldau.protocol.messages.share_update_key import ShareUpdateKey
from moldau.protocol.messages.share_update_value import ShareUpdateValue
from moldau.types import Uuid, uuid_to_text

SHARE_STATE_TOPIC: Final = "__share_group_state"
RECORD_TYPES: Final[RecordTypes] = {
    ShareSnapshotKey.API_KEY: RecordType(ShareSnapshotKey, ShareSnapshotValue),
    ShareUpdateKey.API_KEY: RecordType(ShareUpdateKey, ShareUpdateValue),
}
# Of an offset, an epoch or a count: as it was.
UNCHANGED: Final = -1


class SharePartitionKey(NamedTuple):
    group_id: str
    topic_id: Uuid
    partition: int

    def __str__(self) -> str:
        """As the coordinator of it is looked for."""
        return f"{self.group_id}:{uuid_to_text(self.topic_id)}:{self.partition}"


StateKey: TypeAlias = ShareSnapshotKey | ShareUpdateKey


def partition_key(key: StateKey) -> SharePartitionKey:
    return SharePartitionKey(key.group_id, key.topic_id, key.partition)


class ShareGroupOffset(NamedTuple):
    """The state of a share partition."""

    snapshot_epoch: int
    state_epoch: int
    leader_epoch: int
    start_offset: int
    # Records behind the start offset that are done with; -1 where nobody has said.
    delivery_complete_count: int
    created_ms: int
    written_ms: int
    batches: tuple[Batch, ...] = ()
    # Updates since the last snapshot; counted while they are replayed.
    updates: int = 0


def snapshot_record(key: SharePartitionKey, state: ShareGroupOffset) -> CoordinatorRecord:
    value = ShareSnapshotValue(
        snapshot_epoch=state.snapshot_epoch,
        state_epoch=state.state_epoch,
        leader_epoch=state.leader_epoch,
        start_offset=state.start_offset,
        delivery_complete_count=state.delivery_complete_count,
        create_timestamp=state.created_ms,
        write_timestamp=state.written_ms,
        state_batches=[
            share_snapshot_value.StateBatch(
                first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count
            )
            for first, last, delivery_state, count in state.batches
        ],
    )
    return CoordinatorRecord(_snapshot_key(key), value)


def update_record(key: SharePartitionKey, change: ShareGroupOffset) -> CoordinatorRecord:
    """What has changed: the batches of `change` only, and UNCHANGED where its numbers say so."""
    value = ShareUpdateValue(
        snapshot_epoch=change.snapshot_epoch,
        leader_epoch=change.leader_epoch,
        start_offset=change.start_offset,
        delivery_complete_count=change.delivery_complete_count,
        state_batches=[
            share_update_value.StateBatch(
                first_offset=first, last_offset=last, delivery_state=delivery_state, delivery_count=count
            )
            for first, last, delivery_state, count in change.batches
        ],
    )
    return CoordinatorRecord(
        ShareUpdateKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition), value
    )


def tombstone(key: SharePartitionKey) -> CoordinatorRecord:
    return CoordinatorRecord(_snapshot_key(key), None)


def _snapshot_key(key: SharePartitionKey) -> ShareSnapshotKey:
    return ShareSnapshotKey(group_id=key.group_id, topic_id=key.topic_id, partition=key.partition)


def of_snapshot(value: ShareSnapshotValue) -> ShareGroupOffset:
    return ShareGroupOffset(
        value.snapshot_epoch,
        value.state_epoch,
        value.leader_epoch,
        value.start_offset,
        value.delivery_complete_count,
        value.create_timestamp,
        value.write_timestamp,
        tuple(
            Batch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
            for batch in value.state_batches
        ),
    )


def updated(state: ShareGroupOffset, value: ShareUpdateValue) -> ShareGroupOffset:
    """The state after the update."""
    start = state.start_offset if value.start_offset == UNCHANGED else value.start_offset
    changes = [
        Batch(batch.first_offset, batch.last_offset, batch.delivery_state, batch.delivery_count)
        for batch in value.state_batches
    ]
    return state._replace(
        leader_epoch=state.leader_epoch if value.leader_epoch == UNCHANGED else value.leader_epoch,
        start_offset=start,
        delivery_complete_count=value.delivery_complete_count,
        batches=combined(state.batches, changes, start),
        updates=state.updates + 1,
    )
