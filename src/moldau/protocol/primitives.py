"""The smallest pieces of the wire, as functions: what the generated messages are made of.

Reading takes `(data, pos)` and returns `(value, pos behind it)`; writing takes a value and returns bytes. Functions
instead of methods on a cursor, because the position then stays in a local variable of the generated code. `wire` has
the same vocabulary as a Reader and a Writer for code that is written by hand; `arrays` and `tagged_fields` build on it.

Damaged input shows itself as ProtocolError, IndexError, struct.error or UnicodeDecodeError; whoever calls from outside
(`Message.decode`, `Reader`) turns the last three into ProtocolError. A length is checked against what is left of the
input before anything of that size is made.
"""

from __future__ import annotations

from codecs import utf_8_decode
from collections.abc import Callable
from functools import cache
from struct import Struct, error
from typing import Any, Final, TypeAlias, TypeVar

from moldau.errors import ProtocolError
from moldau.types import Buffer

MALFORMED: Final = (IndexError, error, UnicodeDecodeError)
MAX_STRING: Final = 0x7FFF

Pack: TypeAlias = Callable[..., bytes]
UnpackFrom: TypeAlias = Callable[[Any, int], tuple[Any, ...]]
B = TypeVar("B", bytes, memoryview)


@cache
def fixed(format: str) -> tuple[Pack, UnpackFrom]:
    """Both directions of a run of fields of fixed size; shared by all messages that have the same run."""
    layout = Struct(">" + format)
    return layout.pack, layout.unpack_from


_pack_int16, _unpack_int16 = fixed("h")
_pack_int32, _unpack_int32 = fixed("i")


def truncated(wanted: int, left: int) -> ProtocolError:
    return ProtocolError(f"the message ends early: {wanted} bytes are announced where {left} are left")


def null_sent(what: str) -> ProtocolError:
    return ProtocolError(f"null was sent for {what} that must not be null")


# ------------------------------------------------------------------------------------------------- varints


def read_uvarint(data: Buffer, pos: int) -> tuple[int, int]:
    """An unsigned 32-bit number, seven bits a byte, lowest first."""
    byte = data[pos]
    if byte < 0x80:
        return byte, pos + 1
    value = byte & 0x7F
    for shift in (7, 14, 21, 28):
        pos += 1
        byte = data[pos]
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFF:
                break
            return value, pos + 1
    raise ProtocolError("a varint does not fit into 32 bits")


def read_uvarlong(data: Buffer, pos: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        byte = data[pos]
        pos += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            if value > 0xFFFFFFFFFFFFFFFF:
                break
            return value, pos
    raise ProtocolError("a varlong does not fit into 64 bits")


def read_varint(data: Buffer, pos: int) -> tuple[int, int]:
    value, pos = read_uvarint(data, pos)
    return (value >> 1) ^ -(value & 1), pos


def read_varlong(data: Buffer, pos: int) -> tuple[int, int]:
    value, pos = read_uvarlong(data, pos)
    return (value >> 1) ^ -(value & 1), pos


_SHORT_UVARINTS: Final = [bytes((value,)) for value in range(0x80)]


def uvarint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return _SHORT_UVARINTS[value]
    if value < 0:
        raise ValueError(f"{value} is negative and cannot be an unsigned varint")
    encoded = bytearray()
    while value > 0x7F:
        encoded.append(value & 0x7F | 0x80)
        value >>= 7
    encoded.append(value)
    return bytes(encoded)


def varint(value: int) -> bytes:
    return uvarint((value << 1) ^ (value >> 31))


def varlong(value: int) -> bytes:
    return uvarint((value << 1) ^ (value >> 63))


NULL_STRING: Final = b"\xff\xff"
NULL: Final = b"\xff\xff\xff\xff"
COMPACT_NULL: Final = b"\x00"


# ------------------------------------------------------------------------------------------------- strings


def _text(data: memoryview) -> str:
    return utf_8_decode(data, "strict", True)[0]


def _string_readers(
    decode: Callable[[B], str],
) -> tuple[
    Callable[[B, int], tuple[str, int]],
    Callable[[B, int], tuple[str | None, int]],
    Callable[[B, int], tuple[str, int]],
    Callable[[B, int], tuple[str | None, int]],
]:
    """The four ways a string is sent, for one kind of buffer: slicing bytes is twice as fast as slicing a view."""

    def nullable_string(data: B, pos: int) -> tuple[str | None, int]:
        size = data[pos] << 8 | data[pos + 1]
        pos += 2
        stop = pos + size
        if size > MAX_STRING:
            if size != 0xFFFF:
                raise ProtocolError("a string has a negative length")
            return None, pos
        if stop > len(data):
            raise truncated(size, len(data) - pos)
        return decode(data[pos:stop]), stop

    def string(data: B, pos: int) -> tuple[str, int]:
        size = data[pos] << 8 | data[pos + 1]
        stop = pos + 2 + size
        if size > MAX_STRING:
            raise null_sent("a string")
        if stop > len(data):
            raise truncated(size, len(data) - pos - 2)
        return decode(data[pos + 2 : stop]), stop

    def nullable_compact_string(data: B, pos: int) -> tuple[str | None, int]:
        size = data[pos]
        if size < 0x80:
            pos += 1
        else:
            size, pos = read_uvarint(data, pos)
        if size == 0:
            return None, pos
        stop = pos + size - 1
        if stop > len(data):
            raise truncated(size - 1, len(data) - pos)
        if size > MAX_STRING + 1:
            raise ProtocolError(f"a string of {size - 1} bytes is longer than {MAX_STRING}")
        return decode(data[pos:stop]), stop

    def compact_string(data: B, pos: int) -> tuple[str, int]:
        size = data[pos]
        if 0 < size < 0x80:
            stop = pos + size
            if stop > len(data):
                raise truncated(size - 1, len(data) - pos - 1)
            return decode(data[pos + 1 : stop]), stop
        value, pos = nullable_compact_string(data, pos)
        if value is None:
            raise null_sent("a string")
        return value, pos

    return string, nullable_string, compact_string, nullable_compact_string


read_string, read_nullable_string, read_compact_string, read_nullable_compact_string = _string_readers(bytes.decode)
view_string, view_nullable_string, view_compact_string, view_nullable_compact_string = _string_readers(_text)


def _encode(value: str) -> bytes:
    encoded = value.encode()
    if len(encoded) > MAX_STRING:
        raise ProtocolError(f"a string of {len(encoded)} bytes is longer than the {MAX_STRING} a message can carry")
    return encoded


def string(value: str) -> bytes:
    encoded = _encode(value)
    return _pack_int16(len(encoded)) + encoded


def nullable_string(value: str | None) -> bytes:
    return NULL_STRING if value is None else string(value)


def compact_string(value: str) -> bytes:
    encoded = value.encode()
    size = len(encoded)
    if size < 0x7F:
        return _SHORT_UVARINTS[size + 1] + encoded
    return uvarint(size + 1) + _encode(value)


def nullable_compact_string(value: str | None) -> bytes:
    return COMPACT_NULL if value is None else compact_string(value)


# --------------------------------------------------------------------------------------------------- bytes


def _read_span(data: Buffer, pos: int) -> tuple[int, int]:
    """Where bytes begin and end; the end is -1 for null."""
    size: int = _unpack_int32(data, pos)[0]
    pos += 4
    if size < 0:
        if size != -1:
            raise ProtocolError(f"bytes have the negative length {size}")
        return pos, -1
    if pos + size > len(data):
        raise truncated(size, len(data) - pos)
    return pos, pos + size


def _read_compact_span(data: Buffer, pos: int) -> tuple[int, int]:
    size = data[pos]
    if size < 0x80:
        pos += 1
    else:
        size, pos = read_uvarint(data, pos)
    if size == 0:
        return pos, -1
    if pos + size - 1 > len(data):
        raise truncated(size - 1, len(data) - pos)
    return pos, pos + size - 1


def read_bytes(data: Buffer, pos: int) -> tuple[bytes, int]:
    start, stop = _read_span(data, pos)
    if stop < 0:
        raise null_sent("bytes")
    return bytes(data[start:stop]), stop


def read_nullable_bytes(data: Buffer, pos: int) -> tuple[bytes | None, int]:
    start, stop = _read_span(data, pos)
    return (None, start) if stop < 0 else (bytes(data[start:stop]), stop)


def read_compact_bytes(data: Buffer, pos: int) -> tuple[bytes, int]:
    start, stop = _read_compact_span(data, pos)
    if stop < 0:
        raise null_sent("bytes")
    return bytes(data[start:stop]), stop


def read_nullable_compact_bytes(data: Buffer, pos: int) -> tuple[bytes | None, int]:
    start, stop = _read_compact_span(data, pos)
    return (None, start) if stop < 0 else (bytes(data[start:stop]), stop)


# Records are the same on the wire but stay a view into the input: they are large and go to disk as they came.


def read_records(data: memoryview, pos: int) -> tuple[memoryview, int]:
    start, stop = _read_span(data, pos)
    if stop < 0:
        raise null_sent("records")
    return data[start:stop], stop


def read_nullable_records(data: memoryview, pos: int) -> tuple[memoryview | None, int]:
    start, stop = _read_span(data, pos)
    return (None, start) if stop < 0 else (data[start:stop], stop)


def read_compact_records(data: memoryview, pos: int) -> tuple[memoryview, int]:
    start, stop = _read_compact_span(data, pos)
    if stop < 0:
        raise null_sent("records")
    return data[start:stop], stop


def read_nullable_compact_records(data: memoryview, pos: int) -> tuple[memoryview | None, int]:
    start, stop = _read_compact_span(data, pos)
    return (None, start) if stop < 0 else (data[start:stop], stop)


def bytes_(value: Buffer) -> bytes:
    return b"".join((_pack_int32(len(value)), value))


def nullable_bytes(value: Buffer | None) -> bytes:
    return NULL if value is None else bytes_(value)


def compact_bytes(value: Buffer) -> bytes:
    return b"".join((uvarint(len(value) + 1), value))


def nullable_compact_bytes(value: Buffer | None) -> bytes:
    return COMPACT_NULL if value is None else compact_bytes(value)
