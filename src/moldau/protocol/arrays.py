"""Arrays on the wire: their lengths, and those of numbers, ids and strings.

Arrays of structs are read and written by the structs themselves; here is only how many follow.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import Final, TypeAlias, TypeVar

from moldau.errors import ProtocolError
from moldau.protocol.primitives import compact_string, fixed, null_sent, read_uvarint, string, truncated, uvarint
from moldau.types import Buffer, Uuid

B = TypeVar("B", bytes, memoryview)
T = TypeVar("T")

_pack_int32, _unpack_int32 = fixed("i")


def read_count(data: Buffer, pos: int, least: int) -> tuple[int, int]:
    """How many elements follow, each of at least `least` bytes; -1 for null."""
    count: int = _unpack_int32(data, pos)[0]
    pos += 4
    if count < -1 or count * least > len(data) - pos:
        raise ProtocolError(f"an array of {count} elements is announced where {len(data) - pos} bytes are left")
    return count, pos


def read_compact_count(data: Buffer, pos: int, least: int) -> tuple[int, int]:
    count = data[pos]
    if count < 0x80:
        pos += 1
    else:
        count, pos = read_uvarint(data, pos)
    count -= 1
    if count * least > len(data) - pos:
        raise ProtocolError(f"an array of {count} elements is announced where {len(data) - pos} bytes are left")
    return count, pos


def array_count(values: Sequence[object]) -> bytes:
    return _pack_int32(len(values))


def compact_array_count(values: Sequence[object]) -> bytes:
    return uvarint(len(values) + 1)


_SMALL_ARRAY: Final = 16
# Far above any honest array of numbers. They are read in one go, so this bounds how long that takes.
MOST_NUMBERS: Final = 1 << 18


IntegerReader: TypeAlias = Callable[[Buffer, int], tuple[list[int], int]]
NullableIntegerReader: TypeAlias = Callable[[Buffer, int], tuple[list[int] | None, int]]
IntegerWriter: TypeAlias = Callable[[Sequence[int]], bytes]


def _integer_array_readers(
    code: str, width: int
) -> tuple[IntegerReader, NullableIntegerReader, IntegerReader, NullableIntegerReader]:
    """The four ways an array of integers is sent.

    Replica lists are short and many, so the layouts of short arrays are prepared and tried before anything else.
    """
    layouts = [Struct(f">{count}{code}").unpack_from for count in range(_SMALL_ARRAY)]

    def nullable(data: Buffer, pos: int) -> tuple[list[int] | None, int]:
        count, pos = read_count(data, pos, width)
        if count < 0:
            return None, pos
        _check_numbers(count)
        layout = layouts[count] if count < _SMALL_ARRAY else Struct(f">{count}{code}").unpack_from
        return [*layout(data, pos)], pos + count * width

    def required(data: Buffer, pos: int) -> tuple[list[int], int]:
        count: int = _unpack_int32(data, pos)[0]
        if 0 <= count < _SMALL_ARRAY:
            return [*layouts[count](data, pos + 4)], pos + 4 + count * width
        values, pos = nullable(data, pos)
        if values is None:
            raise null_sent("an array")
        return values, pos

    def nullable_compact(data: Buffer, pos: int) -> tuple[list[int] | None, int]:
        count, pos = read_compact_count(data, pos, width)
        if count < 0:
            return None, pos
        _check_numbers(count)
        return [*Struct(f">{count}{code}").unpack_from(data, pos)], pos + count * width

    def required_compact(data: Buffer, pos: int) -> tuple[list[int], int]:
        count = data[pos] - 1
        if 0 <= count < _SMALL_ARRAY:
            return [*layouts[count](data, pos + 1)], pos + 1 + count * width
        values, pos = nullable_compact(data, pos)
        if values is None:
            raise null_sent("an array")
        return values, pos

    return required, nullable, required_compact, nullable_compact


def _check_numbers(count: int) -> None:
    if count > MOST_NUMBERS:
        raise ProtocolError(f"an array of {count} numbers is announced; at most {MOST_NUMBERS} are taken")


def _integer_array_writers(code: str) -> tuple[IntegerWriter, IntegerWriter]:
    layouts = [Struct(f">i{count}{code}").pack for count in range(_SMALL_ARRAY)]
    compact_layouts = [Struct(f">B{count}{code}").pack for count in range(_SMALL_ARRAY)]

    def write(values: Sequence[int]) -> bytes:
        count = len(values)
        if count < _SMALL_ARRAY:
            return layouts[count](count, *values)
        return Struct(f">i{count}{code}").pack(count, *values)

    def write_compact(values: Sequence[int]) -> bytes:
        count = len(values)
        if count < _SMALL_ARRAY:
            return compact_layouts[count](count + 1, *values)
        return uvarint(count + 1) + Struct(f">{count}{code}").pack(*values)

    return write, write_compact


read_int8s, read_nullable_int8s, read_compact_int8s, read_nullable_compact_int8s = _integer_array_readers("b", 1)
read_int16s, read_nullable_int16s, read_compact_int16s, read_nullable_compact_int16s = _integer_array_readers("h", 2)
read_int32s, read_nullable_int32s, read_compact_int32s, read_nullable_compact_int32s = _integer_array_readers("i", 4)
read_int64s, read_nullable_int64s, read_compact_int64s, read_nullable_compact_int64s = _integer_array_readers("q", 8)

int8s, compact_int8s = _integer_array_writers("b")
int16s, compact_int16s = _integer_array_writers("h")
int32s, compact_int32s = _integer_array_writers("i")
int64s, compact_int64s = _integer_array_writers("q")


def read_many(read: Callable[[B, int], tuple[T, int]], data: B, pos: int, count: int) -> tuple[list[T], int]:
    values = []
    for _ in range(count):
        value, pos = read(data, pos)
        values.append(value)
    return values, pos


def read_uuids(data: Buffer, pos: int, count: int) -> tuple[list[Uuid], int]:
    stop = pos + 16 * count
    if stop > len(data):
        raise truncated(16 * count, len(data) - pos)
    return [bytes(data[start : start + 16]) for start in range(pos, stop, 16)], stop


def uuids(values: Sequence[Uuid]) -> bytes:
    return array_count(values) + _joined_uuids(values)


def compact_uuids(values: Sequence[Uuid]) -> bytes:
    return compact_array_count(values) + _joined_uuids(values)


def _joined_uuids(values: Sequence[Uuid]) -> bytes:
    joined = b"".join(values)
    if any(len(value) != 16 for value in values):
        raise ProtocolError("an id is not 16 bytes long")
    return joined


def strings(values: Sequence[str]) -> bytes:
    return b"".join((array_count(values), *map(string, values)))


def compact_strings(values: Sequence[str]) -> bytes:
    return b"".join((compact_array_count(values), *map(compact_string, values)))
