"""Metadata records as record batches, and back.

The batches are those of any other log: format 2, not compressed, no keys, the leader's epoch in the header. Control
batches carry what the quorum says to itself: a new leader, its voters, the two ends of a snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise
from typing import Final

from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.metadata.committed import CommittedBatch
from moldau.metadata.records import VersionedRecord, decode_record, encode_record
from moldau.protocol.message import Message
from moldau.protocol.records import BatchBuilder, control_record, decode_batch, encode_batch, scan_batches
from moldau.raft.control_records import ControlRecord, encoded, leader_change, read_change
from moldau.raft.log_view import Entries, EpochOffset
from moldau.raft.voters import VoterChange
from moldau.slicing import pieces
from moldau.types import Buffer

# What Kafka allows for one batch of the metadata log.
MAX_BATCH_BYTES: Final = 8 << 20


def metadata_batch(records: Sequence[VersionedRecord], base_offset: int, epoch: int, timestamp: int) -> bytes:
    builder = BatchBuilder()
    builder.extend((timestamp, None, encode_record(record), ()) for record in records)
    return builder.build(base_offset=base_offset, partition_leader_epoch=epoch)


def change_batch(records: Sequence[VersionedRecord], base_offset: int, epoch: int, timestamp: int) -> bytes:
    """The same for what is decided at once; KafkaError if that is too much."""
    batch = metadata_batch(records, base_offset, epoch, timestamp)
    if len(batch) > MAX_BATCH_BYTES:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"The change has {len(batch)} bytes; at most {MAX_BATCH_BYTES} are allowed."
        )
    return batch


def control_batch(records: Sequence[ControlRecord], base_offset: int, epoch: int, timestamp: int) -> bytes:
    values = [control_record(record[0], encoded(record), timestamp) for record in records]
    return encode_batch(values, base_offset=base_offset, partition_leader_epoch=epoch, is_control=True)


def leader_change_batch(
    leader_id: int, voters: Sequence[int], granted_by: Sequence[int], base_offset: int, epoch: int, timestamp: int
) -> bytes:
    """The first batch of an epoch in a quorum whose voters do not change."""
    return control_batch([leader_change(leader_id, voters, granted_by)], base_offset, epoch, timestamp)


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


def decode_pieces(data: Buffer, size: int) -> Iterator[Sequence[Message]]:
    """What the batches in `data`, which have been checked, say, some records at a time: a batch may hold very many."""
    position = 0
    for header in scan_batches(data, 0, len(data), check_crc=False):
        if not header.is_control:
            for piece in pieces(decode_batch(data, position, position + header.size, check_crc=False), size):
                decoded = [decode_record(record.value) for record in piece if record.value is not None]
                yield [each.message for each in decoded if each is not None]
        position += header.size


def voter_changes(data: Buffer, *, check_crc: bool = True) -> Iterator[VoterChange]:
    """What the control records in `data` say about the voters."""
    position = 0
    for header in scan_batches(data, 0, len(data), check_crc=check_crc, allow_partial=True):
        if header.is_control:
            for record in decode_batch(data, position, position + header.size, check_crc=False):
                change = read_change(record, record.offset)
                if change is not None:
                    yield change
        position += header.size


def received_entries(data: Buffer) -> Entries | None:
    """What a leader sent, checked: whole batches that follow each other. None if there is no whole one."""
    headers = scan_batches(data, 0, len(data), check_crc=True, allow_partial=True)
    if not headers:
        return None
    for before, header in pairwise(headers):
        if header.base_offset != before.next_offset or header.partition_leader_epoch < before.partition_leader_epoch:
            raise ProtocolError(f"the batch at offset {header.base_offset} does not follow the one before it")
    whole = bytes(memoryview(data)[: sum(header.size for header in headers)])
    end = EpochOffset(headers[-1].partition_leader_epoch, headers[-1].next_offset)
    has_control = any(header.is_control for header in headers)
    changes = tuple(voter_changes(whole, check_crc=False)) if has_control else ()
    return Entries(whole, headers[0].base_offset, end, changes)
