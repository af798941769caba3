"""Metadata records as record batches, and back.

The batches are those of any other log: format 2, not compressed, no keys, the leader's epoch in the header. Control
batches carry what the quorum says to itself: a new leader, the two ends of a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from moldau.metadata.committed import CommittedBatch
from moldau.metadata.records import VersionedRecord, decode_record, encode_record
from moldau.protocol.message import Message
from moldau.protocol.messages.leader_change_message import LeaderChangeMessage, Voter
from moldau.protocol.records import BatchBuilder, ControlType, control_record, decode_batch, encode_batch, scan_batches
from moldau.types import Buffer

# What Kafka allows for one batch of the metadata log.
MAX_BATCH_BYTES: Final = 8 << 20
_CONTROL_VERSION: Final = 0


def metadata_batch(records: Sequence[VersionedRecord], base_offset: int, epoch: int, timestamp: int) -> bytes:
    builder = BatchBuilder()
    builder.extend((timestamp, None, encode_record(record), ()) for record in records)
    return builder.build(base_offset=base_offset, partition_leader_epoch=epoch)


def control_batch(type: ControlType, message: Message, base_offset: int, epoch: int, timestamp: int) -> bytes:
    record = control_record(type, message.encode(_CONTROL_VERSION), timestamp)
    return encode_batch([record], base_offset=base_offset, partition_leader_epoch=epoch, is_control=True)


def leader_change_batch(
    leader_id: int, voters: Sequence[int], granted_by: Sequence[int], base_offset: int, epoch: int, timestamp: int
) -> bytes:
    """The first batch of every epoch: an epoch is not settled before something in it is committed."""
    message = LeaderChangeMessage(
        leader_id=leader_id,
        voters=[Voter(voter_id=voter) for voter in voters],
        granting_voters=[Voter(voter_id=voter) for voter in granted_by],
    )
    return control_batch(ControlType.LEADER_CHANGE, message, base_offset, epoch, timestamp)


def decode_batches(data: Buffer, *, check_crc: bool = True) -> Iterator[CommittedBatch]:
    """Every whole batch in `data`; ProtocolError or MetadataError for one that cannot be read."""
    position = 0
    for header in scan_batches(data, 0, len(data), check_crc=check_crc, allow_partial=True):
        records: list[Message] = []
        if not header.is_control:
            for record in decode_batch(data, position, position + header.size, check_crc=False):
                decoded = None if record.value is None else decode_record(record.value)
                if decoded is not None:
                    records.append(decoded.message)
        yield CommittedBatch(
            header.base_offset, header.last_offset, header.partition_leader_epoch, header.max_timestamp, records
        )
        position += header.size
