"""Headers in a segment file: where a read ends, and where the format changes from one batch to the next."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from struct import pack
from zlib import crc32

import pytest
from storage_kit import batch

from moldau.errors import ProtocolError
from moldau.protocol.records import assign_offsets
from moldau.runtime.disk import RealDisk
from moldau.runtime.ports import File
from moldau.storage.file_batches import batches_in, find_offset

CHUNK = 5120


def message(offset: int, magic: int, value: bytes) -> bytes:
    """As an old Kafka wrote it."""
    body = pack(">bb", magic, 0) + (pack(">q", 1000 + offset) if magic else b"") + pack(">i", -1)
    body += pack(">i", len(value)) + value
    return pack(">qiI", offset, len(body) + 4, crc32(body)) + body


def new_batch(offset: int, value: bytes) -> bytes:
    data = bytearray(batch(value))
    assign_offsets(data, 0, len(data), offset, 0)
    return bytes(data)


@pytest.fixture
def file(tmp_path: Path) -> Iterator[File]:
    file = RealDisk().open(str(tmp_path / f"{0:020d}.log"), create=True)
    yield file
    file.close()


def walked(file: File) -> list[tuple[int, int, int]]:
    return [(at, header.base_offset, header.magic) for at, header in batches_in(file, 0, file.size())]


@pytest.mark.parametrize("order", [(0, 1, 2), (2, 1, 0), (1, 2, 1)])
@pytest.mark.parametrize("cut", [*range(-70, 71), 200])
def test_wherever_a_read_ends_every_header_is_found(file: File, cut: int, order: tuple[int, ...]) -> None:
    """The end of the first read falls before, into and behind each part of the batch that stands there."""
    first, middle, last = order
    data, expected = b"", []
    # What fills the first read up to `cut` bytes before its end, in pieces of one batch each.
    fill = CHUNK - cut - len(_of(first, 0, b""))
    for offset, (magic, value) in enumerate([(first, b"x" * fill), (middle, b"y" * 40), (last, b"z" * 90)]):
        expected.append((len(data), offset, magic))
        data += _of(magic, offset, value)
    file.write(data, 0)
    assert walked(file) == expected
    for offset, (position, _, _) in enumerate(expected):
        found = find_offset(file, 0, file.size(), offset)
        assert found is not None
        assert (found.position, found.header.base_offset) == (position, offset)
    assert find_offset(file, 0, file.size(), 3) is None


def _of(magic: int, offset: int, value: bytes) -> bytes:
    return new_batch(offset, value) if magic == 2 else message(offset, magic, value)


@pytest.mark.parametrize("magic", [0, 1, 2])
@pytest.mark.parametrize("left", [1, 11, 16, 17, 18, 25, 26, 40, 61])
def test_a_file_that_ends_inside_a_batch_says_so_behind_the_whole_ones(file: File, magic: int, left: int) -> None:
    whole = message(0, 0, b"a") + new_batch(1, b"b")
    torn = _of(magic, 2, b"v" * 100)[:left]
    file.write(whole + torn, 0)
    found = batches_in(file, 0, file.size())
    assert [next(found).header.base_offset for _ in range(2)] == [0, 1]
    with pytest.raises(ProtocolError):
        next(found)
