"""A cursor to read messages with and a buffer to write them into.

The Reader never looks beyond its range and answers damage with ProtocolError only. The Writer keeps records apart that
lie in a file or are large, so that they reach the socket without having been copied.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final, TypeAlias, TypeVar, Union

from moldau.errors import ProtocolError
from moldau.protocol import arrays, primitives, tagged_fields
from moldau.protocol.primitives import fixed, uvarint
from moldau.types import Buffer, Uuid

if TYPE_CHECKING:
    from moldau.runtime.ports import Chunk, FileSlice

# What a `records` field may be set to. Decoded ones are views.
Records: TypeAlias = Union[bytes, bytearray, memoryview, "FileSlice"]

T = TypeVar("T")

# Bytes of records from which copying them into the buffer costs more than sending one piece more.
_OWN_CHUNK: Final = 4096

_pack_int8, _unpack_int8 = fixed("b")
_pack_int16, _unpack_int16 = fixed("h")
_pack_int32, _unpack_int32 = fixed("i")
_pack_int64, _unpack_int64 = fixed("q")
_pack_uint16, _unpack_uint16 = fixed("H")
_pack_uint32, _unpack_uint32 = fixed("I")
_pack_float64, _unpack_float64 = fixed("d")
_pack_bool, _unpack_bool = fixed("?")
_pack_uuid, _unpack_uuid = fixed("16s")


class Reader:
    """Reads `data[start:end]` from front to back."""

    __slots__ = ("data", "pos")

    def __init__(self, data: Buffer, start: int = 0, end: int | None = None) -> None:
        self.data = memoryview(data)[start:end]
        self.pos = 0

    @property
    def remaining(self) -> int:
        return len(self.data) - self.pos

    def rest(self) -> memoryview:
        """All that is left, without copying; the reader stands at the end afterwards."""
        rest = self.data[self.pos :]
        self.pos = len(self.data)
        return rest

    def take(self, size: int) -> memoryview:
        """The next `size` bytes, without copying."""
        if size < 0 or size > self.remaining:
            raise primitives.truncated(size, self.remaining)
        self.pos += size
        return self.data[self.pos - size : self.pos]

    def _read(self, read: Callable[[Any, int], tuple[T, int]]) -> T:
        try:
            value, self.pos = read(self.data, self.pos)
        except primitives.MALFORMED as error:
            raise malformed(error) from error
        return value

    def _fixed(self, unpack: primitives.UnpackFrom, size: int) -> Any:
        if size > self.remaining:
            raise primitives.truncated(size, self.remaining)
        value = unpack(self.data, self.pos)[0]
        self.pos += size
        return value

    def int8(self) -> int:
        value: int = self._fixed(_unpack_int8, 1)
        return value

    def int16(self) -> int:
        value: int = self._fixed(_unpack_int16, 2)
        return value

    def int32(self) -> int:
        value: int = self._fixed(_unpack_int32, 4)
        return value

    def int64(self) -> int:
        value: int = self._fixed(_unpack_int64, 8)
        return value

    def uint16(self) -> int:
        value: int = self._fixed(_unpack_uint16, 2)
        return value

    def uint32(self) -> int:
        value: int = self._fixed(_unpack_uint32, 4)
        return value

    def float64(self) -> float:
        value: float = self._fixed(_unpack_float64, 8)
        return value

    def bool(self) -> builtins.bool:
        value: builtins.bool = self._fixed(_unpack_bool, 1)
        return value

    def uuid(self) -> Uuid:
        value: Uuid = self._fixed(_unpack_uuid, 16)
        return value

    def unsigned_varint(self) -> int:
        return self._read(primitives.read_uvarint)

    def varint(self) -> int:
        return self._read(primitives.read_varint)

    def varlong(self) -> int:
        return self._read(primitives.read_varlong)

    def string(self) -> str:
        return self._read(primitives.view_string)

    def nullable_string(self) -> str | None:
        return self._read(primitives.view_nullable_string)

    def compact_string(self) -> str:
        return self._read(primitives.view_compact_string)

    def nullable_compact_string(self) -> str | None:
        return self._read(primitives.view_nullable_compact_string)

    def bytes(self) -> builtins.bytes:
        return self._read(primitives.read_bytes)

    def nullable_bytes(self) -> builtins.bytes | None:
        return self._read(primitives.read_nullable_bytes)

    def compact_bytes(self) -> builtins.bytes:
        return self._read(primitives.read_compact_bytes)

    def nullable_compact_bytes(self) -> builtins.bytes | None:
        return self._read(primitives.read_nullable_compact_bytes)

    def records(self) -> memoryview:
        return self._read(primitives.read_records)

    def nullable_records(self) -> memoryview | None:
        return self._read(primitives.read_nullable_records)

    def compact_records(self) -> memoryview:
        return self._read(primitives.read_compact_records)

    def nullable_compact_records(self) -> memoryview | None:
        return self._read(primitives.read_nullable_compact_records)

    def count(self, least: int = 1) -> int:
        """The length of an array whose elements take at least `least` bytes each; -1 for null."""
        return self._read(lambda data, pos: arrays.read_count(data, pos, least))

    def tags(self) -> dict[int, builtins.bytes] | None:
        """The tagged fields of a struct, as they are."""
        return self._read(tagged_fields.read_unknown_tags)


def malformed(error: BaseException) -> ProtocolError:
    if isinstance(error, UnicodeDecodeError):
        return ProtocolError("a string is not valid UTF-8")
    return ProtocolError("the message ends early")


class Writer:
    """Collects a message. `buffer` is what is being filled; code that appends to it looks it up again after records."""

    __slots__ = ("_done", "_done_length", "buffer")

    def __init__(self) -> None:
        self.buffer = bytearray()
        self._done: list[Chunk] = []
        self._done_length = 0

    def __len__(self) -> int:
        return self._done_length + len(self.buffer)

    def chunks(self) -> list[Chunk]:
        """The message as a sequence of buffers and file slices; what is written later is not part of it."""
        return [*self._done, self.buffer] if self.buffer else list(self._done)

    def bytes(self) -> builtins.bytes:
        """The message in one piece; file slices are read."""
        if not self._done:
            return bytes(self.buffer)
        return b"".join(
            chunk if isinstance(chunk, bytes | bytearray | memoryview) else chunk.read() for chunk in self.chunks()
        )

    def raw(self, data: Buffer) -> None:
        self.buffer += data

    def int8(self, value: int) -> None:
        self.buffer += _pack_int8(value)

    def int16(self, value: int) -> None:
        self.buffer += _pack_int16(value)

    def int32(self, value: int) -> None:
        self.buffer += _pack_int32(value)

    def int64(self, value: int) -> None:
        self.buffer += _pack_int64(value)

    def uint16(self, value: int) -> None:
        self.buffer += _pack_uint16(value)

    def uint32(self, value: int) -> None:
        self.buffer += _pack_uint32(value)

    def float64(self, value: float) -> None:
        self.buffer += _pack_float64(value)

    def bool(self, value: builtins.bool) -> None:
        self.buffer += _pack_bool(value)

    def uuid(self, value: Uuid) -> None:
        self.buffer += _pack_uuid(value)

    def unsigned_varint(self, value: int) -> None:
        self.buffer += uvarint(value)

    def varint(self, value: int) -> None:
        self.buffer += primitives.varint(value)

    def varlong(self, value: int) -> None:
        self.buffer += primitives.varlong(value)

    def string(self, value: str) -> None:
        self.buffer += primitives.string(value)

    def nullable_string(self, value: str | None) -> None:
        self.buffer += primitives.nullable_string(value)

    def compact_string(self, value: str) -> None:
        self.buffer += primitives.compact_string(value)

    def nullable_compact_string(self, value: str | None) -> None:
        self.buffer += primitives.nullable_compact_string(value)

    def bytes_(self, value: Buffer) -> None:
        self.buffer += primitives.bytes_(value)

    def nullable_bytes(self, value: Buffer | None) -> None:
        self.buffer += primitives.nullable_bytes(value)

    def compact_bytes(self, value: Buffer) -> None:
        self.buffer += primitives.compact_bytes(value)

    def nullable_compact_bytes(self, value: Buffer | None) -> None:
        self.buffer += primitives.nullable_compact_bytes(value)

    def records(self, value: Records) -> None:
        self.buffer += _pack_int32(len(value))
        self._append(value)

    def nullable_records(self, value: Records | None) -> None:
        if value is None:
            self.buffer += primitives.NULL
        else:
            self.records(value)

    def compact_records(self, value: Records) -> None:
        self.buffer += uvarint(len(value) + 1)
        self._append(value)

    def nullable_compact_records(self, value: Records | None) -> None:
        if value is None:
            self.buffer += primitives.COMPACT_NULL
        else:
            self.compact_records(value)

    def _append(self, value: Records) -> None:
        if isinstance(value, bytearray | memoryview) or (isinstance(value, bytes) and len(value) < _OWN_CHUNK):
            # A view may be of a receive buffer that is filled again before this message has left.
            self.buffer += value
        elif len(value):
            self._done += (self.buffer, value)
            self._done_length += len(self.buffer) + len(value)
            self.buffer = bytearray()
