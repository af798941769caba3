"""CRC-32C: published vectors, every way to compute it, ranges and buffers."""

from __future__ import annotations

from typing import Any

import crc32c as crc32c_package
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau._speed import crc32c, reference

# RFC 3720, appendix B.4, and the check value of the CRC catalogue.
VECTORS = [
    (b"", 0),
    (b"123456789", 0xE3069283),
    (bytes(32), 0x8A9136AA),
    (b"\xff" * 32, 0x62A8AB43),
    (bytes(range(32)), 0x46DD794E),
    (bytes(range(31, -1, -1)), 0x113FDB5C),
]


@pytest.mark.parametrize(("data", "value"), VECTORS)
def test_published_vectors(speed: Any, data: bytes, value: int) -> None:
    assert speed.crc32c(data) == value


@pytest.mark.parametrize(
    "size", [1, 7, 8, 9, 63, 255, 767, 768, 769, 1023, 1024, 1025, 1279, 1280, 1281, 1535, 24575, 24576, 24577, 100_003]
)
def test_sizes_around_the_stripes(size: int) -> None:
    data = bytes(n * 7 % 251 for n in range(size))
    value = crc32c_package.crc32c(data)
    assert crc32c(data) == value
    assert crc32c(data, size // 3, None, crc32c(data, 0, size // 3)) == value


def test_the_way_without_the_instruction(compiled: Any) -> None:
    codec = pytest.importorskip("moldau._speed.codec")
    for data, value in VECTORS:
        assert codec.crc32c_without_instruction(data) == value
    data = bytes(n * 31 % 253 for n in range(5000))
    for start in range(20):
        assert codec.crc32c_without_instruction(data[start:]) == compiled.crc32c(data, start)


def test_the_way_of_the_instruction_alone(compiled: Any) -> None:
    codec = pytest.importorskip("moldau._speed.codec")
    for size in (0, 7, 8, 767, 768, 1025, 24575, 24576, 24577, 60_000):
        data = bytes(n * 31 % 253 for n in range(size))
        assert codec.crc32c_by_instruction(data) == compiled.crc32c(data)


@given(st.binary(max_size=200), st.data())
@settings(max_examples=60, deadline=None)
def test_ranges_and_continuation(data: bytes, draw: st.DataObject) -> None:
    start = draw.draw(st.integers(0, len(data)))
    end = draw.draw(st.integers(start, len(data)))
    middle = draw.draw(st.integers(start, end))
    expected = crc32c_package.crc32c(data[start:end])
    for function in (crc32c, reference.crc32c):
        assert function(data, start, end) == expected
        assert function(data, middle, end, function(data, start, middle)) == expected


def test_every_kind_of_buffer(speed: Any) -> None:
    data = bytearray(b"x123456789x")
    assert speed.crc32c(data, 1, 10) == 0xE3069283
    data.append(1)  # no view is held after the call
    for buffer in (memoryview(data), memoryview(bytes(data)), memoryview(data).toreadonly()):
        assert speed.crc32c(buffer, 1, 10) == 0xE3069283


def test_mistakes_of_the_caller(speed: Any) -> None:
    for start, end in ((-1, 2), (2, 1), (0, 4), (4, None)):
        with pytest.raises(ValueError, match="outside a buffer of 3 bytes"):
            speed.crc32c(b"abc", start, end)
    for wrong in ("text", None, 3):
        with pytest.raises(TypeError):
            speed.crc32c(wrong)
