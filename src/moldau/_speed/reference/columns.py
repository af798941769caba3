"""Records as columns in Arrow's memory layout: the specification of `columns.pyx`.

Analytic readers want all offsets, all keys, all values of many batches side by side, and never a Python object per
record. A column of bytes is three buffers: validity (one bit per row, lowest first), offsets (int32, one more than
rows) and the data; numbers are plain int64, all in the machine's byte order. Headers are a list column: offsets per
row into two columns of bytes, keys (never null) and values.

Readers that do not want keys or values say so, and these are then walked over and never copied; their buffers are
empty. Timestamps are Kafka's milliseconds, or microseconds for readers whose clocks count those.
"""

from __future__ import annotations

from array import array
from typing import Final, NamedTuple

from moldau._speed.reference.codec import BatchHeader, checked_range
from moldau._speed.reference.records import walk_records
from moldau.types import Buffer

_MAX_INT32: Final = (1 << 31) - 1
_MAX_INT64: Final = (1 << 63) - 1
_MIN_INT64: Final = -(1 << 63)


class HeaderColumns(NamedTuple):
    offsets: memoryview
    key_offsets: memoryview
    key_data: memoryview
    value_validity: memoryview
    value_offsets: memoryview
    value_data: memoryview


class Columns(NamedTuple):
    rows: int
    offset: memoryview
    timestamp: memoryview
    key_validity: memoryview
    key_offsets: memoryview
    key_data: memoryview
    value_validity: memoryview
    value_offsets: memoryview
    value_data: memoryview
    headers: HeaderColumns | None


_LEFT_OUT: Final = (memoryview(b""), memoryview(b""), memoryview(b""))


class _BytesColumn:
    """Rows of bytes or null."""

    __slots__ = ("data", "offsets", "valid")

    def __init__(self) -> None:
        self.data = bytearray()
        self.offsets = array("i", [0])
        self.valid: list[bool] = []

    def append(self, value: bytes | None) -> None:
        self.data += value or b""
        self.offsets.append(len(self.data))
        self.valid.append(value is not None)

    def cut(self, rows: int) -> None:
        del self.valid[rows:]
        del self.offsets[rows + 1 :]
        del self.data[self.offsets[-1] :]

    def sealed(self) -> tuple[memoryview, memoryview, memoryview]:
        return self.validity(), _sealed(self.offsets), _sealed(self.data)

    def validity(self) -> memoryview:
        bits = bytearray((len(self.valid) + 7) // 8)
        for row, valid in enumerate(self.valid):
            bits[row >> 3] |= valid << (row & 7)
        return _sealed(bits)


class ColumnBuilder:
    """Appends batches to one set of columns. A batch is taken whole or, if it is damaged, not at all."""

    __slots__ = (
        "_header_keys",
        "_header_offsets",
        "_header_values",
        "_keys",
        "_microseconds",
        "_offset",
        "_timestamp",
        "_values",
        "_with",
        "_with_keys",
        "_with_values",
    )

    def __init__(
        self, *, headers: bool = False, keys: bool = True, values: bool = True, microseconds: bool = False
    ) -> None:
        self._with = headers
        self._with_keys = keys
        self._with_values = values
        self._microseconds = microseconds
        self._reset()

    def _reset(self) -> None:
        self._offset = array("q")
        self._timestamp = array("q")
        self._keys = _BytesColumn()
        self._values = _BytesColumn()
        self._header_offsets = array("i", [0])
        self._header_keys = _BytesColumn()
        self._header_values = _BytesColumn()

    @property
    def rows(self) -> int:
        return len(self._offset)

    @property
    def size(self) -> int:
        """Bytes of keys, values and headers so far."""
        columns = (self._keys, self._values, self._header_keys, self._header_values)
        return sum(len(column.data) for column in columns)

    def append(
        self,
        header: BatchHeader,
        data: Buffer,
        start: int = 0,
        end: int | None = None,
        *,
        first_offset: int = 0,
        end_offset: int = _MAX_INT64,
    ) -> int:
        """Adds the records with first_offset <= offset < end_offset and returns how many those were.

        `data[start:end]` are the uncompressed records of the batch. OverflowError when a column could pass 2 GiB:
        finish it first.
        """
        start, end = checked_range(data, start, end)
        if self.size + (end - start) > _MAX_INT32 or self.rows + header.count >= _MAX_INT32:
            raise OverflowError("a column would pass 2 GiB")
        before = self.rows
        try:
            for offset, timestamp, record in walk_records(header, data, start, end, False):
                if first_offset <= offset < end_offset:
                    self._offset.append(offset)
                    self._timestamp.append(_as_microseconds(timestamp) if self._microseconds else timestamp)
                    if self._with_keys:
                        self._keys.append(record.key)
                    if self._with_values:
                        self._values.append(record.value)
                    if self._with:
                        for key, value in record.headers:
                            self._header_keys.append(key)
                            self._header_values.append(value)
                        self._header_offsets.append(len(self._header_keys.valid))
        except BaseException:
            self._cut(before)
            raise
        return self.rows - before

    def _cut(self, rows: int) -> None:
        del self._offset[rows:], self._timestamp[rows:]
        if self._with_keys:
            self._keys.cut(rows)
        if self._with_values:
            self._values.cut(rows)
        if self._with:
            del self._header_offsets[rows + 1 :]
            self._header_keys.cut(self._header_offsets[-1])
            self._header_values.cut(self._header_offsets[-1])

    def finish(self) -> Columns:
        """Hands the columns over and starts anew."""
        headers = None
        if self._with:
            headers = HeaderColumns(
                _sealed(self._header_offsets),
                _sealed(self._header_keys.offsets),
                _sealed(self._header_keys.data),
                self._header_values.validity(),
                _sealed(self._header_values.offsets),
                _sealed(self._header_values.data),
            )
        columns = Columns(
            self.rows,
            _sealed(self._offset),
            _sealed(self._timestamp),
            *(self._keys.sealed() if self._with_keys else _LEFT_OUT),
            *(self._values.sealed() if self._with_values else _LEFT_OUT),
            headers,
        )
        self._reset()
        return columns


def _as_microseconds(timestamp: int) -> int:
    """Times beyond what microseconds can say become the last ones they can."""
    return max(_MIN_INT64, min(timestamp * 1000, _MAX_INT64))


def _sealed(values: array[int] | bytearray) -> memoryview:
    return memoryview(bytes(values))
