"""Reading record batches: the kernels know headers and records, this file adds what lies between them, compression."""

from __future__ import annotations

from typing import Final

from moldau._speed import (
    BatchHeader,
    ColumnBuilder,
    Columns,
    Record,
    RecordsSummary,
    check_records,
    decode_records,
    scan_batches,
)
from moldau._speed.layout import HEADER_SIZE
from moldau.errors import ProtocolError
from moldau.protocol.records.compression import MAX_DECOMPRESSED, decompress
from moldau.protocol.records.legacy import decode_message_set, message_set_end, up_convert
from moldau.types import Buffer

_MAX_OFFSET: Final = (1 << 63) - 1


def batch_body(
    header: BatchHeader, data: Buffer, position: int, max_bytes: int = MAX_DECOMPRESSED
) -> tuple[Buffer, int, int]:
    """The uncompressed records of the batch at `position`: a buffer and the range in it. Copies only to decompress."""
    start, end = position + HEADER_SIZE, position + header.size
    if end > len(data):
        raise ProtocolError(f"the bytes end inside the record batch (position {position})")
    if not header.compression or start == end:
        return data, start, end
    body = decompress(header.compression, memoryview(data)[start:end], max_bytes)
    return body, 0, len(body)


def decode_batch(
    data: Buffer, start: int = 0, end: int | None = None, *, check_crc: bool = True, max_bytes: int = MAX_DECOMPRESSED
) -> list[Record]:
    """The records of all batches in the range, of any format, control records included.

    `max_bytes` bounds what one batch may become when it is decompressed.
    """
    records: list[Record] = []
    position = message_set_end(data, start, end)
    if position > start:
        records = decode_message_set(data, start, position, check_crc=check_crc, max_bytes=max_bytes)
    for header in scan_batches(data, position, end, check_crc=check_crc):
        records += decode_records(header, *batch_body(header, data, position, max_bytes))
        position += header.size
    return records


def validate_batch(
    header: BatchHeader, data: Buffer, position: int, *, max_bytes: int = MAX_DECOMPRESSED
) -> RecordsSummary:
    """Opens the batch of a producer and checks what its header and checksum cannot show.

    As many records as offsets, numbered without gaps, each fitting its length to the byte: InvalidRecordError
    otherwise. What is allowed (keys, timestamps) is for the caller to judge from the summary.
    """
    return check_records(header, *batch_body(header, data, position, max_bytes))


def to_columns(
    data: Buffer,
    start: int = 0,
    end: int | None = None,
    *,
    headers: bool = False,
    first_offset: int = 0,
    end_offset: int = _MAX_OFFSET,
    check_crc: bool = True,
    max_bytes: int = MAX_DECOMPRESSED,
) -> Columns:
    """The records of all batches in the range as one set of columns, control batches left out."""
    if message_set_end(data, start, end) > start:
        data = up_convert(data, start, end, check_crc=check_crc, max_bytes=max_bytes)
        start, end = 0, None
    builder = ColumnBuilder(headers=headers)
    position = start
    for header in scan_batches(data, start, end, check_crc=check_crc):
        if not header.is_control and header.last_offset >= first_offset and header.base_offset < end_offset:
            body, first, last = batch_body(header, data, position, max_bytes)
            builder.append(header, body, first, last, first_offset=first_offset, end_offset=end_offset)
        position += header.size
    return builder.finish()
