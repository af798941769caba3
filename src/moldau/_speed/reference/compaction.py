"""Compaction of record batches: the specification of `compaction.pyx`.

Two passes over a log. The first notes the latest offset of every key (`OffsetMap`), the second writes the batches
again without the records that a later one has replaced (`BatchFilter`). Both take plain batches in runs; a batch that
is compressed, belongs to a transaction or is a control batch needs a decision from above, so the runs stop there.

Batches keep their offsets, sequences and epochs whatever is left in them. A tombstone must stay for a while, so that
readers learn of the deletion; the batch that holds one gets a delete horizon: the time from which it may go, written
where the base timestamp was, with the records' timestamps counted from it.
"""

from __future__ import annotations

from collections.abc import Iterable
from struct import Struct
from typing import Final, NamedTuple

from moldau._speed.faults import Fault, fault
from moldau._speed.layout import (
    COMPRESSION,
    CONTROL,
    DELETE_HORIZON,
    HEADER,
    HEADER_SIZE,
    PREFIX_SIZE,
    TIMESTAMP_TYPE,
    TRANSACTIONAL,
)
from moldau._speed.reference.codec import BatchHeader, crc32c, read_header, scan_batches
from moldau._speed.reference.records import RecordParts, take_record, walk_records
from moldau.errors import ProtocolError
from moldau.types import Buffer

# Attributes that need more than the map to decide: a codec, a transaction, a control batch.
_SPECIAL: Final = COMPRESSION | TRANSACTIONAL | CONTROL
_KEPT_WHEN_EMPTY: Final = TIMESTAMP_TYPE | TRANSACTIONAL | CONTROL
_UINT32: Final = Struct(">I")
_MAX_INT64: Final = (1 << 63) - 1


class Mark(NamedTuple):
    """An entry for the indexes of the new segment: the batch at `position` ends with `last_offset`."""

    last_offset: int
    position: int
    max_timestamp: int  # the latest up to and with this batch
    max_timestamp_offset: int


class OffsetMap:
    """The latest offset of every key, in bounded memory: 24 bytes a slot, of which at most `limit` are used.

    Only a hash of 128 bits is kept of a key. It is seeded, so that nobody can choose two keys that collide.
    """

    def __init__(self, slots: int, limit: int, seed: bytes) -> None:
        if slots < 1 or not 1 <= limit <= slots or len(seed) != 16:
            raise ValueError(f"a map of {slots} slots cannot take {limit} keys with this seed")
        self._seed = seed
        self._offsets: dict[bytes, int] = {}
        self.slots = slots
        self.limit = limit
        self.full = False

    @property
    def size(self) -> int:
        return len(self._offsets)

    def put(self, key: bytes, offset: int) -> bool:
        """False if there is no room for another key."""
        digest = self._hash(key)
        known = self._offsets.get(digest, -1)
        if known < 0 and len(self._offsets) >= self.limit:
            return False
        self._offsets[digest] = max(known, offset)
        return True

    def get(self, key: bytes) -> int:
        """-1 for a key that is not in the map."""
        return self._offsets.get(self._hash(key), -1)

    def close(self) -> None:
        """Gives the memory back; the map is empty and full from now on. Many megabytes of it take their time."""
        self._offsets.clear()
        self.slots = self.limit = 0

    def index_batches(self, data: Buffer, start: int, end: int, first_offset: int) -> int:
        """Enters the keys of plain batches; the position of the first batch that is special, cut off or too much.

        `full` says that it was too much. Some of its keys may be in the map then: that does no harm, because it is
        not counted as indexed, and its records stay whatever the map says of them.
        """
        position = start
        while position < end:
            header = _plain_batch(data, position, end)
            if header is None:
                break
            if not self.index_records(header, data, position + HEADER_SIZE, position + header.size, first_offset):
                break
            position += header.size
        return position

    def index_records(self, header: BatchHeader, data: Buffer, start: int, end: int, first_offset: int) -> bool:
        """Enters the keys of one batch from its uncompressed records; False if there was no room for all of them."""
        for offset, _, record in walk_records(header, data, start, end, False):
            if record.key is not None and offset >= first_offset and not self.put(record.key, offset):
                self.full = True
                return False
        return True

    def _hash(self, key: bytes) -> bytes:
        from hashlib import blake2b  # here, because it brings OpenSSL, and the compiled twin has a hash of its own

        return blake2b(key, digest_size=16, key=self._seed).digest()


class BatchFilter:
    """Writes what stays of a run of segments, as the content of one new segment.

    `latest_offset` is as far as the map knows; records behind it stay. `kept_empty` holds the last offsets of the
    batches that stay even without records, because they carry the last sequence of a producer or the end of a range.
    """

    def __init__(
        self,
        map: OffsetMap,
        latest_offset: int,
        kept_empty: Iterable[int],
        *,
        now_ms: int,
        delete_retention_ms: int,
        index_interval: int,
    ) -> None:
        self._map = map
        self._latest_offset = latest_offset
        self._kept_empty = frozenset(kept_empty)
        self._now_ms = now_ms
        self._delete_retention_ms = delete_retention_ms
        self._index_interval = index_interval
        self._output = bytearray()
        self._marks: list[Mark] = []
        self._since_mark = 0
        self.position = 0
        self.last_offset = -1
        self.max_timestamp = -1
        self.max_timestamp_offset = -1
        self.records_read = 0
        self.records_kept = 0

    @property
    def pending(self) -> int:
        """The bytes that wait to be taken."""
        return len(self._output)

    def take(self) -> tuple[memoryview, list[Mark]]:
        """What was written since the last `take`, valid until the next batch is added, and the marks in it."""
        output, self._output = self._output, bytearray()
        marks, self._marks = self._marks, []
        return memoryview(output).toreadonly(), marks

    def add_batches(self, data: Buffer, start: int, end: int) -> int:
        """Filters plain batches; the position of the first that is special or cut off."""
        position = start
        while position < end:
            header = _plain_batch(data, position, end)
            if header is None:
                break
            self._add(header, data, position)
            position += header.size
        return position

    def add_batch(
        self,
        data: Buffer,
        start: int,
        end: int,
        *,
        discard: bool = False,
        keep_records: bool = False,
        set_horizon: bool = False,
        keep_empty: bool = False,
    ) -> None:
        """Filters one uncompressed batch of any kind; its checksum was looked at before.

        `discard` drops all its records unseen, compressed or not, `keep_records` none; `set_horizon` starts the time
        after which it may go;
        `keep_empty` leaves an empty batch in its place if no record stays.
        """
        header = scan_batches(data, start, end, check_crc=False)[0]
        self._add(header, data, start, discard, keep_records, set_horizon, keep_empty)

    def copy_batch(self, data: Buffer, start: int, end: int) -> None:
        """Takes a batch over as it is."""
        scan_batches(data, start, end, check_crc=False)
        self._write(bytes(data[start:end]))

    def select_batch(self, data: Buffer, start: int, end: int) -> bytes | None:
        """What `add_batch` would write, without writing it; None if the batch stays as it is."""
        part = BatchFilter(
            self._map,
            self._latest_offset,
            (),
            now_ms=self._now_ms,
            delete_retention_ms=self._delete_retention_ms,
            index_interval=_MAX_INT64,
        )
        part.add_batch(data, start, end)
        self.records_read += part.records_read
        self.records_kept += part.records_kept
        selected = bytes(part.take()[0])
        return None if selected == bytes(data[start:end]) else selected

    # ---------------------------------------------------------------------------------------------------- details

    def _add(
        self,
        header: BatchHeader,
        data: Buffer,
        start: int,
        discard: bool = False,
        keep_records: bool = False,
        set_horizon: bool = False,
        keep_empty: bool = False,
    ) -> None:
        end = start + header.size
        chosen = []
        if not discard:
            for offset, timestamp, record in walk_records(header, data, start + HEADER_SIZE, end, False):
                chosen.append((keep_records or self._retains(header, offset, record), timestamp, record))
        kept = [(timestamp, record) for keeps, timestamp, record in chosen if keeps]
        self.records_read += header.count
        self.records_kept += len(kept)
        if not kept:
            if keep_empty or header.last_offset in self._kept_empty:
                self._write(_empty(header))
            return
        # A control record is no tombstone, whatever its value.
        has_tombstones = not keep_records and any(record.value is None for _, record in kept)
        sets_horizon = not header.has_delete_horizon and (set_horizon or has_tombstones)
        if len(kept) == header.count and not sets_horizon:
            self._write(bytes(data[start:end]))
            return
        horizon = self._now_ms + self._delete_retention_ms if sets_horizon else None
        latest = header.max_timestamp if header.timestamp_type else max(timestamp for timestamp, _ in kept)
        body = _records(data, start + HEADER_SIZE, end, header, [keeps for keeps, _, _ in chosen], horizon)
        self._write(_rebuilt(header, body, len(kept), latest, horizon))

    def _retains(self, header: BatchHeader, offset: int, record: RecordParts) -> bool:
        if offset > self._latest_offset:
            return True
        if record.key is None:
            return False
        if record.value is None and header.has_delete_horizon and self._now_ms >= header.base_timestamp:
            return False
        return offset >= self._map.get(record.key)

    def _write(self, batch: bytes) -> None:
        header = read_header(batch)
        self.last_offset = header.last_offset
        if header.max_timestamp > self.max_timestamp:
            self.max_timestamp, self.max_timestamp_offset = header.max_timestamp, header.last_offset
        if self._since_mark > self._index_interval:
            self._marks.append(Mark(header.last_offset, self.position, self.max_timestamp, self.max_timestamp_offset))
            self._since_mark = 0
        self._since_mark += len(batch)
        self.position += len(batch)
        self._output += batch


def _plain_batch(data: Buffer, position: int, end: int) -> BatchHeader | None:
    """The header of the batch at `position`, None if it is special or cut off; damage is a ProtocolError."""
    left = end - position
    if left >= HEADER_SIZE:
        size = int.from_bytes(bytes(data[position + 8 : position + 12]), "big", signed=True) + PREFIX_SIZE
        end = min(end, position + max(size, HEADER_SIZE))
    headers = scan_batches(data, position, end, allow_partial=True)
    return headers[0] if headers and not headers[0].attributes & _SPECIAL else None


def _records(
    data: Buffer, position: int, end: int, header: BatchHeader, chosen: list[bool], horizon: int | None
) -> bytes:
    """The bytes of the chosen records; they change only with a new base timestamp."""
    body = bytearray()
    for keeps in chosen:
        record, after = take_record(data, position, end)
        if keeps and horizon is None:
            body += data[position:after]
        elif keeps and horizon is not None:
            body += _restamped(bytes(data[position:after]), header.base_timestamp, record.timestamp_delta, horizon)
        position = after
    return bytes(body)


def _restamped(record: bytes, base_timestamp: int, timestamp_delta: int, horizon: int) -> bytes:
    delta = base_timestamp + timestamp_delta - horizon
    if not -_MAX_INT64 - 1 <= delta <= _MAX_INT64:
        raise fault(Fault.TIMESTAMP, 0)
    attributes = _after_varint(record, 0)
    rest = record[attributes:][:1] + _varlong(delta) + record[_after_varint(record, attributes + 1) :]
    return _varlong(len(rest)) + rest


def _rebuilt(header: BatchHeader, body: bytes, count: int, max_timestamp: int, horizon: int | None) -> bytes:
    attributes = header.attributes if horizon is None else header.attributes | DELETE_HORIZON
    base_timestamp = header.base_timestamp if horizon is None else horizon
    return _packed(header, body, attributes, base_timestamp, max_timestamp, count)


def _empty(header: BatchHeader) -> bytes:
    return _packed(header, b"", header.attributes & _KEPT_WHEN_EMPTY, -1, header.max_timestamp, 0)


def _packed(
    header: BatchHeader, body: bytes, attributes: int, base_timestamp: int, max_timestamp: int, count: int
) -> bytes:
    """A batch with the offsets, sequences and epochs of `header`."""
    length = HEADER_SIZE - PREFIX_SIZE + len(body)
    if length >= 1 << 31:
        raise ProtocolError("the batch is larger than a batch can be")
    batch = bytearray(
        HEADER.pack(
            header.base_offset,
            length,
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
    _UINT32.pack_into(batch, 17, crc32c(batch, 21))
    return bytes(batch)


def _after_varint(data: bytes, position: int) -> int:
    while data[position] >= 0x80:
        position += 1
    return position + 1


def _varlong(value: int) -> bytes:
    raw = (value << 1) ^ (value >> 63)
    out = bytearray()
    while raw >= 0x80:
        out.append(raw & 0x7F | 0x80)
        raw >>= 7
    out.append(raw)
    return bytes(out)
