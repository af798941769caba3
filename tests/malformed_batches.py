"""Record batches that lie: every header and checksum is right, only a record inside is not.

Built by hand from the description of the format, so that no mistake of our own encoder can hide one. Each kind has a
good record before the bad one, and one behind it where the damage leaves a place for it.
"""

from __future__ import annotations

import struct
from typing import Final

from moldau.protocol.records import compress, crc32c

TIME: Final = 1_700_000_000_000


def varint(value: int) -> bytes:
    """Zigzag, as all integers inside a record are."""
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)


def sized(data: bytes | None) -> bytes:
    return varint(-1) if data is None else varint(len(data)) + data


def fields(
    offset_delta: bytes = varint(0),
    *,
    attributes: bytes = b"\0",
    timestamp_delta: bytes = varint(0),
    key: bytes = sized(b"key"),
    value: bytes = sized(b"value"),
    headers: bytes = varint(0),
) -> bytes:
    """What follows the length of a record, each part as the bytes it is to have."""
    return attributes + timestamp_delta + offset_delta + key + value + headers


def record(offset_delta: int = 0, **parts: bytes) -> bytes:
    return sized(fields(varint(offset_delta), **parts))


def batch_of(
    body: bytes,
    count: int,
    *,
    codec: int = 0,
    attributes: int = 0,
    base_timestamp: int = TIME,
    max_timestamp: int = TIME,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
) -> bytes:
    """The body under a header that fits it, with the checksum that fits both."""
    packed = compress(codec, body) if codec else body
    behind_checksum = struct.pack(
        ">hiqqqhii",
        codec | attributes,
        count - 1,
        base_timestamp,
        max_timestamp,
        producer_id,
        producer_epoch,
        base_sequence,
        count,
    )
    behind_checksum += packed
    return struct.pack(">qiibI", 0, 9 + len(behind_checksum), -1, 2, crc32c(behind_checksum)) + behind_checksum


_FIRST: Final = record(0)
_SECOND: Final = fields(varint(1))
_LAST: Final = record(2)


def _second(**parts: bytes) -> bytes:
    """Three records, the second of which has the given parts."""
    return _FIRST + record(1, **parts) + _LAST


# By name: the bytes of the records, and how many the header announces.
KINDS: Final[dict[str, tuple[bytes, int]]] = {
    "length beyond the batch": (_FIRST + varint(len(_SECOND) + 1) + _SECOND, 2),
    "length beyond the record": (_FIRST + varint(len(_SECOND) + 1) + _SECOND + _LAST, 3),
    "length short of the record": (_FIRST + varint(len(_SECOND) - 1) + _SECOND + _LAST, 3),
    "length zero": (_FIRST + varint(0) + _LAST + _LAST, 3),
    "length negative": (_FIRST + varint(-1) + _SECOND + _LAST, 3),
    "length of six bytes": (_FIRST + b"\xff\xff\xff\xff\xff\x01" + _SECOND + _LAST, 3),
    "fewer records than announced": (_FIRST + sized(_SECOND) + _LAST, 4),
    "more records than announced": (_FIRST + sized(_SECOND) + _LAST, 2),
    "a byte behind the last record": (_FIRST + sized(_SECOND) + _LAST + b"\0", 3),
    "no records": (b"", 1),
    "a record that ends after its attributes": (_FIRST + varint(1) + b"\0", 2),
    "a timestamp of eleven bytes": (_second(timestamp_delta=b"\xff" * 10 + b"\x01"), 3),
    "an offset of six bytes": (_FIRST + sized(fields(b"\xff" * 5 + b"\x01")) + _LAST, 3),
    "a key beyond the record": (_second(key=varint(100) + b"key"), 3),
    "a value beyond the record": (_second(value=varint(100) + b"value"), 3),
    "a key shorter than its bytes": (_second(key=varint(2) + b"key"), 3),
    "a value shorter than its bytes": (_second(value=varint(3) + b"value"), 3),
    "headers fewer than none": (_second(headers=varint(-1)), 3),
    "headers that are not there": (_second(headers=varint(1)), 3),
    "headers more than bytes": (_second(headers=varint(1 << 30)), 3),
    "headers more than announced": (_second(headers=varint(1) + 2 * (sized(b"h") + sized(b"v"))), 3),
    "a header without a key": (_second(headers=varint(1) + varint(-1) + sized(b"v")), 3),
    "a header's key beyond the record": (_second(headers=varint(1) + varint(100) + b"h" + sized(b"v")), 3),
    "a header's value beyond the record": (_second(headers=varint(1) + sized(b"h") + varint(100) + b"v"), 3),
    "a key of less than no length": (_second(key=varint(-2)), 3),
    "a value of less than no length": (_second(value=varint(-2)), 3),
    "a header's value of less than no length": (_second(headers=varint(1) + sized(b"h") + varint(-2)), 3),
    "an offset twice": (_FIRST + record(0) + _LAST, 3),
    "an offset left out": (_FIRST + record(2) + record(3), 3),
    "an offset below the first": (_FIRST + record(-1) + _LAST, 3),
    "offsets backwards": (record(2) + record(1) + record(0), 3),
    "offsets that begin at one": (record(1) + record(2) + record(3), 3),
}
