"""The walk of recovery over bytes that may be anything: what it takes, and where it stops."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path

import pytest

from moldau.protocol.records import encode_batch
from moldau.runtime.disk import RealDisk
from moldau.storage.batch_check import _large_batch, good_batches

CHUNK = 1 << 20


def at(offset: int, size: int = 10, count: int = 1) -> bytes:
    return encode_batch([(0, None, b"v" * size, ())] * count, base_offset=offset)


def old_at(offset: int, size: int = 10) -> bytes:
    body = struct.pack(">bbqii", 1, 0, 0, -1, size) + b"o" * size
    return struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body


def damaged(batch: bytes, where: int = -1) -> bytes:
    changed = bytearray(batch)
    changed[where] ^= 1
    return bytes(changed)


def good(path: Path, *batches: bytes, first: int = 0, gaps: bool = False, following: int | None = None) -> list[int]:
    """The base offsets of what is taken; each stands where the one before ended."""
    data = b"".join(batches)
    (path / "log").write_bytes(data)
    file = RealDisk().open(str(path / "log"))
    found: list[int] = []
    position = 0
    for placed, chunk, start, end in good_batches(file, first, len(data), gaps=gaps, next_segment=following):
        assert placed.position == position
        position += placed.header.size
        assert chunk[start:end] == (b"" if placed.header.size > CHUNK else data[placed.position : position])
        found.append(placed.header.base_offset)
    file.close()
    return found


def test_offsets_never_go_back(tmp_path: Path) -> None:
    assert good(tmp_path, at(0, count=3), at(3), at(4)) == [0, 3, 4]
    assert good(tmp_path, at(0, count=3), at(2), at(3)) == [0]
    assert good(tmp_path, at(0, count=3), at(2), at(3), gaps=True) == [0]
    assert good(tmp_path, at(0), at(1), at(0), at(2)) == [0, 1]
    assert good(tmp_path, at(4), first=5) == []


def test_an_offset_that_skips_some_needs_somebody_who_agrees(tmp_path: Path) -> None:
    """The checksum does not cover it."""
    assert good(tmp_path, at(0), at(5)) == [0]
    assert good(tmp_path, at(0), at(5), at(6), at(7)) == [0, 5, 6, 7]
    assert good(tmp_path, at(0), at(5), at(1), at(2)) == [0]
    assert good(tmp_path, at(5)) == []
    # Once it is known that offsets are missing, more may be.
    assert good(tmp_path, at(0), at(5), at(9), at(20)) == [0, 5, 9, 20]
    assert good(tmp_path, at(0), at(5), gaps=True) == [0, 5]


@pytest.mark.parametrize(("following", "found"), [(5, [0]), (6, [0, 5]), (7, [0, 5])])
def test_the_next_segment_may_agree_too(tmp_path: Path, following: int, found: list[int]) -> None:
    assert good(tmp_path, at(0), at(5), following=following) == found


@pytest.mark.parametrize("make", [at, old_at])
def test_nothing_is_taken_from_the_first_damage_on(tmp_path: Path, make) -> None:
    assert good(tmp_path, make(0), make(1), damaged(make(2)), make(3)) == [0, 1]
    assert good(tmp_path, damaged(make(0)), make(1)) == []
    assert good(tmp_path, make(0), make(1)[:-1]) == [0]
    assert good(tmp_path, make(0), damaged(make(1))[:-1]) == [0]
    assert good(tmp_path, make(0), b"\0" * 100) == [0]


def test_formats_may_follow_each_other(tmp_path: Path) -> None:
    assert good(tmp_path, old_at(0), at(1), old_at(2), damaged(at(3))) == [0, 1, 2]


@pytest.mark.parametrize("make", [at, old_at])
@pytest.mark.parametrize("where", [100, CHUNK + 100, -1])
def test_a_batch_larger_than_a_chunk_is_whole_or_not_taken(tmp_path: Path, where: int, make) -> None:
    large = make(1, size=2 * CHUNK + 12345)
    assert good(tmp_path, at(0), large, at(2)) == [0, 1, 2]
    assert good(tmp_path, at(0), damaged(large, where), at(2)) == [0]
    assert good(tmp_path, at(0), large[:-1]) == [0]
    assert good(tmp_path, at(0), large) == [0, 1]


def test_batches_across_the_ends_of_chunks(tmp_path: Path) -> None:
    batches = [at(offset, size=300_000) for offset in range(8)]
    assert good(tmp_path, *batches) == list(range(8))
    batches[6] = damaged(batches[6])
    assert good(tmp_path, *batches) == list(range(6))
    exact = at(0, size=2 * CHUNK - 100 - len(at(0, size=CHUNK - 100)))
    assert len(exact) == CHUNK
    assert good(tmp_path, exact, at(1)) == [0, 1]
    assert good(tmp_path, damaged(exact), at(1)) == []


def test_a_file_that_ends_before_its_size_has_no_large_batch() -> None:
    batch = at(0, size=2 * CHUNK)

    class Shrunk:
        def read(self, position: int, size: int) -> bytes:
            return batch[position : min(position + size, CHUNK)]

    assert _large_batch(Shrunk(), batch[:CHUNK], 0, len(batch)) is None  # type: ignore[arg-type]
