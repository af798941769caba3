"""Columns of records into batches: the specification of `packing.pyx`, and the way back from `columns`.

A data frame comes as Arrow arrays: keys and values as columns of bytes (validity bits, int32 offsets, data), headers as
a list column over two of those, partitions as int32, timestamps as int64 (microseconds). `RowPacker` decides where each
row goes and writes the rows of a partition into the partition's batch, without a Python object per row. An array may be
a slice of a larger one: `start` is where its first row lies in the buffers. Buffers that contradict themselves are
refused before anything is written, with ValueError.

Where a row goes: to the partition it names, else to Java's choice for its key. A row with neither follows the others of
its kind to one partition until `stick` bytes are there, and then to the next, so that batches become large.
"""

from __future__ import annotations

import sys
from array import array
from collections.abc import Sequence
from typing import Final, Literal, NamedTuple

from moldau._speed.reference.accumulator import murmur2
from moldau._speed.reference.writer import RecordWriter
from moldau.types import Buffer

# What a row without key, value and headers takes up; only to tell when a partition has had its share.
_ROW_OVERHEAD: Final = 8

_MAX_INT32: Final = (1 << 31) - 1
_ALL_BITS: Final = (1 << 64) - 1


class BytesBuffers(NamedTuple):
    validity: Buffer | None
    offsets: Buffer
    data: Buffer
    start: int = 0


class NumberBuffers(NamedTuple):
    validity: Buffer | None
    data: Buffer
    start: int = 0


class HeaderBuffers(NamedTuple):
    """`offsets` say for each row which of the `entries` in `keys` and `values` are its headers."""

    validity: Buffer | None
    offsets: Buffer
    keys: BytesBuffers
    values: BytesBuffers
    entries: int
    start: int = 0


class NoSuchPartition(ValueError):
    def __init__(self, partition: int, count: int) -> None:
        super().__init__(f"there is no partition {partition}; the topic has {count}")
        self.partition = partition
        self.count = count


class RowPacker:
    """The rows of one topic. `assign` once, then `fill` the batches of each partition that has `left` any."""

    def __init__(
        self,
        rows: int,
        key: BytesBuffers | None,
        value: BytesBuffers | None,
        headers: HeaderBuffers | None = None,
        partition: NumberBuffers | None = None,
        select: Buffer | None = None,
        timestamp: NumberBuffers | None = None,
    ) -> None:
        if not 0 <= rows < _MAX_INT32:
            raise ValueError("a batch of columns has fewer than 2 billion rows")
        self._keys = None if key is None else _BytesReader(rows, key)
        self._values = None if value is None else _BytesReader(rows, value)
        self._headers = None if headers is None else _HeaderReader(rows, headers)
        self._partitions = None if partition is None else _NumberReader(rows, partition, "i")
        self._timestamps = None if timestamp is None else _NumberReader(rows, timestamp, "q")
        self._select: Sequence[int] = range(rows) if select is None else _numbers(select)
        if any(not 0 <= row < rows for row in self._select):
            raise ValueError("a row is selected that is not there")
        self._rows: list[list[int]] = []
        self._taken: list[int] = []

    def assign(
        self, count: int, sticky: Sequence[int], turn: int, room: int, stick: int, by_key: bool = True
    ) -> tuple[int, int]:
        """Decides for each row among `count` partitions; `sticky` are those for rows that say nothing.

        `turn` is the place in `sticky` to go on with and `room` what still fits there; returns both as they are
        afterwards. NoSuchPartition if a row names one.
        """
        if not 0 < count <= _MAX_INT32:
            raise ValueError("a topic has at least one partition")
        if not sticky or any(not 0 <= one < count for one in sticky) or not 0 <= turn < len(sticky):
            raise ValueError("rows without a key need partitions to go to")
        assigned: list[list[int]] = [[] for _ in range(count)]
        for row in self._select:
            named = None if self._partitions is None else self._partitions.get(row)
            key = None if self._keys is None else self._keys.get(row)
            if named is not None:
                if not 0 <= named < count:
                    raise NoSuchPartition(named, count)
                where = named
            elif key is not None and by_key:
                where = (murmur2(key) & 0x7FFFFFFF) % count
            else:
                if room <= 0:
                    turn, room = (turn + 1) % len(sticky), stick
                where = sticky[turn]
                value = None if self._values is None else self._values.get(row)
                room -= len(value or b"") + _ROW_OVERHEAD
            assigned[where].append(row)
        self._rows = assigned
        self._taken = [0] * count
        return turn, room

    def left(self, partition: int) -> int:
        """How many rows of a partition have not been written yet."""
        self._check(partition)
        return len(self._rows[partition]) - self._taken[partition]

    def fill(self, partition: int, writer: RecordWriter, timestamp: int) -> int:
        """Appends rows of the partition, in order, until there are no more or one does not fit; returns how many.

        `timestamp` is for rows that have none of their own. OverflowError if they lie too far apart for a batch.
        """
        self._check(partition)
        taken = 0
        for row in self._rows[partition][self._taken[partition] :]:
            key = None if self._keys is None else self._keys.get(row)
            value = None if self._values is None else self._values.get(row)
            headers = None if self._headers is None else self._headers.get(row)
            given = None if self._timestamps is None else self._timestamps.get(row)
            # Rounded down, also before 1970.
            if not writer.append(timestamp if given is None else given // 1000, key, value, headers):
                break
            taken += 1
        self._taken[partition] += taken
        return taken

    def digest(self, seed: int) -> tuple[int, int]:
        """How many rows there are, and a number that the same rows give in any order, in any pieces added up."""
        return len(self._select), sum(self._digest_of(row, seed) for row in self._select) & _ALL_BITS

    def _digest_of(self, row: int, state: int) -> int:
        state = _mix_bytes(state, None if self._keys is None else self._keys.get(row))
        state = _mix_bytes(state, None if self._values is None else self._values.get(row))
        headers = [] if self._headers is None else self._headers.get(row)
        state = _mix(state, len(headers))
        for name, value in headers:
            state = _mix_bytes(_mix_bytes(state, name.encode("utf-8", "surrogateescape")), value)
        for column in (self._partitions, self._timestamps):
            number = None if column is None else column.get(row)
            state = state if number is None else _mix(state, number)
        return _mix(state, state >> 29)

    def _check(self, partition: int) -> None:
        if not 0 <= partition < len(self._rows):
            raise ValueError("rows have not been assigned to this partition")


def _mix(state: int, word: int) -> int:
    state = ((state ^ (word & _ALL_BITS)) * 0x9E3779B97F4A7C15) & _ALL_BITS
    return state ^ (state >> 32)


def _mix_bytes(state: int, content: bytes | None) -> int:
    """The size first, -1 for nothing at all, and then words of eight bytes, the last one filled up with zeros."""
    state = _mix(state, -1 if content is None else len(content))
    data = content or b""
    for at in range(0, len(data), 8):
        state = _mix(state, int.from_bytes(data[at : at + 8].ljust(8, b"\0"), sys.byteorder))
    return state


class _BytesReader:
    def __init__(self, rows: int, column: BytesBuffers) -> None:
        self._start = column.start
        self._valid = _checked_validity(rows, column.validity, column.start)
        self._offsets = _checked_offsets(rows, column.offsets, column.start, len(column.data))
        self._data = column.data

    def get(self, row: int) -> bytes | None:
        if not _is_valid(self._valid, self._start + row):
            return None
        return bytes(self._data[self._offsets[self._start + row] : self._offsets[self._start + row + 1]])


class _NumberReader:
    def __init__(self, rows: int, column: NumberBuffers, kind: Literal["i", "q"]) -> None:
        if column.start < 0 or len(column.data) < array(kind).itemsize * (column.start + rows):
            raise ValueError("a column of numbers ends too early")
        self._start = column.start
        self._valid = _checked_validity(rows, column.validity, column.start)
        self._values = _numbers(column.data, kind)

    def get(self, row: int) -> int | None:
        return self._values[self._start + row] if _is_valid(self._valid, self._start + row) else None


class _HeaderReader:
    def __init__(self, rows: int, column: HeaderBuffers) -> None:
        self._start = column.start
        self._valid = _checked_validity(rows, column.validity, column.start)
        if column.entries < 0:
            raise ValueError("a column of bytes ends too early")
        self._offsets = _checked_offsets(rows, column.offsets, column.start, column.entries)
        self._keys = _BytesReader(column.entries, column.keys)
        self._values = _BytesReader(column.entries, column.values)
        # Looked at before anything is written; entries that no row refers to may be anything.
        for row in range(rows):
            self.get(row)

    def get(self, row: int) -> list[tuple[str, bytes | None]]:
        if not _is_valid(self._valid, self._start + row):
            return []
        headers = []
        for entry in range(self._offsets[self._start + row], self._offsets[self._start + row + 1]):
            name = self._keys.get(entry)
            if name is None:
                raise ValueError("a header has no key")
            headers.append((name.decode("utf-8", "surrogateescape"), self._values.get(entry)))
        return headers


def _numbers(data: Buffer, kind: Literal["i", "q"] = "i") -> Sequence[int]:
    numbers = array(kind)
    numbers.frombytes(bytes(data[: len(data) // numbers.itemsize * numbers.itemsize]))
    return numbers


def _checked_validity(rows: int, validity: Buffer | None, start: int) -> Buffer | None:
    if start < 0 or (validity is not None and 8 * len(validity) < start + rows):
        raise ValueError("the validity bits of a column end too early")
    return validity


def _checked_offsets(rows: int, offsets: Buffer, start: int, size: int) -> Sequence[int]:
    numbers = _numbers(offsets)
    if not rows:
        return numbers
    if len(numbers) < start + rows + 1:
        raise ValueError("a column of bytes ends too early")
    before = 0
    for position in range(start, start + rows + 1):
        if not before <= numbers[position] <= size:
            raise ValueError("the offsets of a column point outside its data")
        before = numbers[position]
    return numbers


def _is_valid(validity: Buffer | None, position: int) -> bool:
    return validity is None or bool(validity[position >> 3] >> (position & 7) & 1)
