"""Putting records together to a batch: what producers, coordinators and the metadata log write with."""

from __future__ import annotations

from collections.abc import Iterable
from enum import IntEnum
from typing import TypedDict, Unpack

from moldau._speed import Record, RecordData, RecordWriter
from moldau.protocol.records.compression import Compression, compress


class TimestampType(IntEnum):
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class BatchFields(TypedDict, total=False):
    """What a batch says besides its records; everything has a default."""

    base_offset: int
    partition_leader_epoch: int
    compression: int
    level: int | None
    timestamp_type: int
    is_transactional: bool
    is_control: bool
    has_delete_horizon: bool
    producer_id: int
    producer_epoch: int
    base_sequence: int
    max_timestamp: int | None  # given with LogAppendTime, else that of the records
    last_offset_delta: int | None  # given where compaction took the last offsets, else that of the records


class BatchBuilder(RecordWriter):
    """Records go in by `append` or `extend` (the kernel's own methods, no Python in between), `build` packs them.

    `build` may be called again: a producer that was given a new epoch sends the same records under new numbers.
    """

    __slots__ = ()

    def build(
        self,
        *,
        compression: int = Compression.NONE,
        level: int | None = None,
        timestamp_type: int = TimestampType.CREATE_TIME,
        is_transactional: bool = False,
        is_control: bool = False,
        has_delete_horizon: bool = False,
        base_offset: int = 0,
        partition_leader_epoch: int = -1,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        max_timestamp: int | None = None,
        last_offset_delta: int | None = None,
    ) -> bytes:
        """The batch; see `BatchFields`."""
        if not self.count:
            if last_offset_delta is None:
                raise ValueError("a batch without records must say which offsets it stands for")
            compression = Compression.NONE
        attributes = compression | timestamp_type << 3 | is_transactional << 4 | is_control << 5
        return self.pack(
            body=compress(compression, self.body(), level) if compression else None,
            attributes=attributes | has_delete_horizon << 6,
            base_offset=base_offset,
            partition_leader_epoch=partition_leader_epoch,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=base_sequence,
            max_timestamp=max_timestamp,
            last_offset_delta=last_offset_delta,
        )


def encode_batch(
    records: Iterable[Record | RecordData],
    *,
    keep_offsets: bool = False,
    base_timestamp: int | None = None,
    **fields: Unpack[BatchFields],
) -> bytes:
    """One batch of all `records`, `Record`s or (timestamp, key, value, headers), numbered from `base_offset` on.

    With `keep_offsets` they are `Record`s that keep their offsets, as compaction needs it.
    """
    builder = BatchBuilder(base_timestamp=base_timestamp)
    if keep_offsets:
        base_offset = fields.get("base_offset", 0)
        for record in records:
            if not isinstance(record, Record):
                raise TypeError("only a Record has an offset to keep")
            builder.append_at(record.offset - base_offset, record.timestamp, record.key, record.value, record.headers)
    else:
        builder.extend(records)
    return builder.build(**fields)
