"""The producers of a partition in a file: `<offset>.snapshot`, the state as of that offset.

Version 1 of Kafka's format: version, CRC-32C of what follows it, then one entry per producer with its last batch.
With a snapshot at the start of each segment, opening a log needs only the batches behind the newest one. A snapshot
that is damaged is worth nothing and loses nothing: the log still holds what it summed up.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from struct import error as struct_error

from moldau._speed import crc32c
from moldau.storage.producer_entry import ProducerEntry, WrittenBatch

_HEAD = Struct(">hI")
_COUNT = Struct(">i")
_ENTRY = Struct(">qhiqiqiq")
_VERSION = 1


class CorruptSnapshot(Exception):
    """The file is not a snapshot; never leaves this package."""


def encode_snapshot(entries: Iterable[ProducerEntry]) -> bytes:
    rows = [_encode(entry) for entry in entries]
    body = _COUNT.pack(len(rows)) + b"".join(rows)
    return _HEAD.pack(_VERSION, crc32c(body)) + body


def decode_snapshot(data: bytes) -> list[ProducerEntry]:
    try:
        version, crc = _HEAD.unpack_from(data)
        (count,) = _COUNT.unpack_from(data, _HEAD.size)
    except struct_error as error:
        raise CorruptSnapshot("it ends too early") from error
    if version != _VERSION:
        raise CorruptSnapshot(f"its version is {version}")
    if crc32c(data, _HEAD.size) != crc:
        raise CorruptSnapshot("its checksum does not fit")
    rows = data[_HEAD.size + _COUNT.size :]
    if len(rows) != count * _ENTRY.size:
        raise CorruptSnapshot(f"it announces {count} producers and has room for {len(rows) // _ENTRY.size}")
    return [_decode(*fields) for fields in _ENTRY.iter_unpack(rows)]


def _encode(entry: ProducerEntry) -> bytes:
    last = entry.batches[-1] if entry.batches else WrittenBatch(-1, -1, 0, -1)
    return _ENTRY.pack(
        entry.producer_id,
        entry.epoch,
        last.last_sequence,
        last.last_offset,
        last.offset_delta,
        entry.last_timestamp,
        entry.coordinator_epoch,
        entry.transaction_start,
    )


def _decode(
    producer_id: int,
    epoch: int,
    last_sequence: int,
    last_offset: int,
    offset_delta: int,
    timestamp: int,
    coordinator_epoch: int,
    transaction_start: int,
) -> ProducerEntry:
    entry = ProducerEntry(producer_id, epoch)
    if last_offset >= 0:
        entry.add(WrittenBatch(last_sequence, last_offset, offset_delta, timestamp))
    entry.last_timestamp = timestamp
    entry.coordinator_epoch = coordinator_epoch
    entry.transaction_start = transaction_start
    return entry
