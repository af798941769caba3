"""One batch without some of its records: what stays keeps its bytes, and the batch its offsets, sequences and epoch."""

from __future__ import annotations

from collections.abc import Callable
from struct import Struct
from typing import Final

from moldau._speed import BatchHeader, check_records, crc32c
from moldau._speed.layout import ATTRIBUTES_AT, COMPRESSION, CRC_AT, HEADER_SIZE, PREFIX_SIZE
from moldau._speed.reference.records import take_record
from moldau.protocol.records import batch_body
from moldau.storage.recompression import recompressed
from moldau.types import Buffer

_HEADER: Final = Struct(">qiibIhiqqqhii")
_CRC: Final = Struct(">I")
# What an empty batch still says: whose timestamps it had, and that it was part of a transaction.
_KEPT_WHEN_EMPTY: Final = 0x38


def thinned(header: BatchHeader, data: Buffer, position: int, dropped: Callable[[int], bool]) -> bytes | None:
    """The batch at `position` without the records at dropped offsets; None if it has none of them.

    As with Kafka's cleaner, a batch that loses all its records stays as a header: it carries the last sequence of its
    producer, and keeps the offsets of the log without a hole.
    """
    body, start, end = batch_body(header, data, position)
    check_records(header, body, start, end, consecutive=False)
    kept: list[Buffer] = []
    latest = -1
    at = start
    for _ in range(header.count):
        record, after = take_record(body, at, end)
        if not dropped(header.base_offset + record.offset_delta):
            kept.append(body[at:after])
            latest = max(latest, header.base_timestamp + record.timestamp_delta)
        at = after
    if len(kept) == header.count:
        return None
    if not kept:
        return _packed(header, b"", header.attributes & _KEPT_WHEN_EMPTY, -1, header.max_timestamp, 0)
    latest = header.max_timestamp if header.timestamp_type else latest
    plain = _packed(header, b"".join(kept), header.attributes & ~COMPRESSION, header.base_timestamp, latest, len(kept))
    return recompressed(plain, header.compression) if header.compression else plain


def _packed(
    header: BatchHeader, body: bytes, attributes: int, base_timestamp: int, max_timestamp: int, count: int
) -> bytes:
    batch = bytearray(
        _HEADER.pack(
            header.base_offset,
            HEADER_SIZE - PREFIX_SIZE + len(body),
            header.partition_leader_epoch,
            header.magic,
            0,
            attributes,
            header.last_offset_delta,
            base_timestamp,
            max_timestamp,
            header.producer_id,
            header.producer_epoch,
            header.base_sequence,
            count,
        )
    )
    batch += body
    _CRC.pack_into(batch, CRC_AT, crc32c(batch, ATTRIBUTES_AT))
    return bytes(batch)
