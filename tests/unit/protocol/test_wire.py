"""The primitives of the wire through Reader and Writer: known bytes, edges, round trips, damage."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau.errors import ProtocolError
from moldau.protocol.wire import Reader, Writer

# What is written, with which method, and the bytes the protocol guide gives for it.
KNOWN = [
    ("int8", -1, "ff"),
    ("int16", -2, "fffe"),
    ("int32", 1, "00000001"),
    ("int64", -(2**63), "8000000000000000"),
    ("uint16", 65535, "ffff"),
    ("uint32", 2**32 - 1, "ffffffff"),
    ("float64", 1.5, "3ff8000000000000"),
    ("bool", True, "01"),
    ("uuid", bytes(range(16)), "000102030405060708090a0b0c0d0e0f"),
    ("unsigned_varint", 0, "00"),
    ("unsigned_varint", 127, "7f"),
    ("unsigned_varint", 128, "8001"),
    ("unsigned_varint", 2**32 - 1, "ffffffff0f"),
    ("varint", -1, "01"),
    ("varint", 2**31 - 1, "feffffff0f"),
    ("varint", -(2**31), "ffffffff0f"),
    ("varlong", 2**63 - 1, "feffffffffffffffff01"),
    ("varlong", -(2**63), "ffffffffffffffffff01"),
    ("string", "aü", "000361c3bc"),
    ("nullable_string", None, "ffff"),
    ("compact_string", "a", "0261"),
    ("compact_string", "", "01"),
    ("nullable_compact_string", None, "00"),
    ("nullable_bytes", None, "ffffffff"),
    ("nullable_bytes", b"\x01", "0000000101"),
    ("compact_bytes", b"\x01", "0201"),
    ("nullable_compact_bytes", None, "00"),
    ("records", b"\x07", "0000000107"),
    ("nullable_records", None, "ffffffff"),
    ("compact_records", b"\x07", "0207"),
    ("nullable_compact_records", None, "00"),
]


@pytest.mark.parametrize(("method", "value", "encoded"), KNOWN)
def test_known_bytes_in_both_directions(method: str, value: Any, encoded: str) -> None:
    out = Writer()
    getattr(out, method)(value)
    assert out.bytes().hex() == encoded
    source = Reader(bytes.fromhex(encoded))
    assert getattr(source, method)() == value
    assert source.remaining == 0


@pytest.mark.parametrize(("method", "value", "encoded"), KNOWN)
def test_every_truncation_is_a_protocol_error(method: str, value: Any, encoded: str) -> None:
    data = bytes.fromhex(encoded)
    for length in range(len(data)):
        with pytest.raises(ProtocolError):
            getattr(Reader(data[:length]), method)()


@given(st.integers(0, 2**32 - 1), st.integers(-(2**31), 2**31 - 1), st.integers(-(2**63), 2**63 - 1))
def test_varints_come_back(unsigned: int, signed: int, long: int) -> None:
    out = Writer()
    out.unsigned_varint(unsigned)
    out.varint(signed)
    out.varlong(long)
    source = Reader(out.bytes())
    assert (source.unsigned_varint(), source.varint(), source.varlong()) == (unsigned, signed, long)


@given(st.text(max_size=300), st.none() | st.text(max_size=300), st.binary(max_size=300))
def test_texts_and_bytes_come_back(text: str, maybe: str | None, data: bytes) -> None:
    out = Writer()
    out.string(text)
    out.compact_string(text)
    out.nullable_string(maybe)
    out.nullable_compact_string(maybe)
    out.bytes_(data)
    out.compact_bytes(data)
    source = Reader(out.bytes())
    assert (source.string(), source.compact_string()) == (text, text)
    assert (source.nullable_string(), source.nullable_compact_string()) == (maybe, maybe)
    assert (source.bytes(), source.compact_bytes()) == (data, data)


@pytest.mark.parametrize(
    ("encoded", "read"),
    [
        pytest.param("ffffffffff01", Reader.unsigned_varint, id="a varint of six bytes"),
        pytest.param("ffffffff1f", Reader.unsigned_varint, id="a varint of 33 bits"),
        pytest.param("ffffffffffffffffffff01", Reader.varlong, id="a varlong of eleven bytes"),
        pytest.param("ffffffffffffffffff03", Reader.varlong, id="a varlong of 65 bits"),
        pytest.param("8000", Reader.string, id="a negative length"),
        pytest.param("8000", Reader.nullable_string, id="a negative length other than -1"),
        pytest.param("ffff", Reader.string, id="null where a string must be"),
        pytest.param("00", Reader.compact_string, id="null where a compact string must be"),
        pytest.param("00", Reader.compact_bytes, id="null where compact bytes must be"),
        pytest.param("00", Reader.compact_records, id="null where compact records must be"),
        pytest.param("ffffffff", Reader.bytes, id="null where bytes must be"),
        pytest.param("ffffffff", Reader.records, id="null where records must be"),
        pytest.param("fffffffe", Reader.nullable_bytes, id="bytes of length -2"),
        pytest.param("7fffffff00", Reader.bytes, id="two gigabytes announced, one byte sent"),
        pytest.param("ffffffff0f00", Reader.compact_bytes, id="four gigabytes announced, one byte sent"),
        pytest.param("7fffffff00", Reader.count, id="two billion elements announced, one byte sent"),
        pytest.param("fffffffe", Reader.count, id="-2 elements"),
        pytest.param("0002c3", Reader.string, id="longer than what is left"),
        pytest.param("0001c3", Reader.string, id="half a UTF-8 character"),
        pytest.param("0003eda080", Reader.string, id="a surrogate"),
        pytest.param("02ff", Reader.compact_string, id="not UTF-8"),
        pytest.param("ffffffff0f", Reader.tags, id="four billion tagged fields"),
        pytest.param("0105ff", Reader.tags, id="a tagged field longer than what is left"),
        pytest.param("0205000500", Reader.tags, id="the same tag twice"),
    ],
)
def test_damage_is_a_protocol_error(encoded: str, read: Callable[[Reader], object]) -> None:
    with pytest.raises(ProtocolError):
        read(Reader(bytes.fromhex(encoded)))


def test_a_string_ends_at_32767_bytes_in_both_encodings() -> None:
    out = Writer()
    out.compact_string("x" * 32767)
    assert Reader(out.bytes()).compact_string() == "x" * 32767
    for write in (out.string, out.compact_string):
        with pytest.raises(ProtocolError, match="32768"):
            write("x" * 32768)
    too_long = Writer()
    too_long.unsigned_varint(32769)
    too_long.raw(b"x" * 32768)
    with pytest.raises(ProtocolError, match="32768"):
        Reader(too_long.bytes()).compact_string()


def test_a_reader_stays_inside_its_range() -> None:
    source = Reader(bytes.fromhex("aa 0002 6162 bb"), 1, 5)
    assert source.string() == "ab"
    with pytest.raises(ProtocolError):
        source.int8()
    assert bytes(Reader(b"abcdef", 2).rest()) == b"cdef"
    with pytest.raises(ProtocolError):
        Reader(b"abc", 0, 2).take(3)


def test_records_are_a_view_of_the_input_and_bytes_are_not() -> None:
    data = bytearray.fromhex("00000002 0102 00000002 0304")
    source = Reader(data)
    records, copied = source.records(), source.bytes()
    data[4] = data[10] = 0xFF
    assert (bytes(records), copied) == (b"\xff\x02", b"\x03\x04")


class Slice:
    """Bytes in a file, as the storage hands them out."""

    def __init__(self, path: Path, position: int, length: int) -> None:
        self.path, self.position, self.length = path, position, length

    def __len__(self) -> int:
        return self.length

    def read(self) -> bytes:
        return self.path.read_bytes()[self.position :][: self.length]


def test_a_slice_of_a_file_stays_its_own_chunk(tmp_path: Path) -> None:
    path = tmp_path / "segment"
    path.write_bytes(b"0123456789")
    stored: Any = Slice(path, 2, 3)
    out = Writer()
    out.int16(1)
    out.compact_records(stored)
    out.int16(2)
    assert len(out) == 8
    assert out.chunks() == [b"\x00\x01\x04", stored, b"\x00\x02"]
    assert out.bytes() == b"\x00\x01\x04234\x00\x02"


def test_large_bytes_are_not_copied_but_views_are() -> None:
    large, out = bytes(10_000), Writer()
    out.records(large)
    assert out.chunks()[1] is large
    reused, out = bytearray(10_000), Writer()
    out.records(memoryview(reused))
    reused[0] = 1
    assert out.bytes() == (10_000).to_bytes(4) + bytes(10_000)


def test_an_empty_slice_adds_no_chunk(tmp_path: Path) -> None:
    empty: Any = Slice(tmp_path / "segment", 0, 0)
    out = Writer()
    out.nullable_records(empty)
    assert out.chunks() == [b"\x00\x00\x00\x00"]
    assert out.bytes() == bytes(4)
