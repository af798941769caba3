"""The memory of leaders' epochs by itself; how logs use it is told in the tests of truncation and recovery."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.runtime.disk import RealDisk
from moldau.storage.epoch_cache import EpochCache


def cache(path: Path, *entries: tuple[int, int]) -> EpochCache:
    empty = EpochCache(RealDisk(), str(path / "leader-epoch-checkpoint"))
    for epoch, offset in entries:
        empty.assign(epoch, offset)
    return empty


@pytest.mark.parametrize("line", ["-1 5", "6 -5", "-1 -1"])
def test_what_no_leader_can_have_been_is_not_taken_from_the_file(tmp_path: Path, line: str) -> None:
    path = tmp_path / "leader-epoch-checkpoint"
    path.write_text(f"0\n3\n1 0\n{line}\n4 20\n")
    assert EpochCache.load(RealDisk(), str(path)).entries == ((1, 0), (4, 20))


def test_who_contradicts_the_newest_entry_was_never_committed(tmp_path: Path) -> None:
    assert cache(tmp_path, (1, 0), (4, 20), (4, 30)).entries == ((1, 0), (4, 20))
    assert cache(tmp_path, (1, 0), (4, 20), (4, 10)).entries == ((1, 0), (4, 10))
    assert cache(tmp_path, (1, 0), (4, 20), (3, 30)).entries == ((1, 0), (3, 30))
    assert cache(tmp_path, (1, 0), (4, 20), (5, 20)).entries == ((1, 0), (5, 20))
    assert cache(tmp_path, (1, 0), (4, 20), (5, 0)).entries == ((5, 0),)


def test_where_an_epoch_ended(tmp_path: Path) -> None:
    known = cache(tmp_path, (1, 10), (4, 20), (7, 30))
    ends = {epoch: known.end_offset_for(epoch, 99) for epoch in (-1, 0, 1, 3, 4, 6, 7, 8)}
    assert ends == {
        -1: (-1, -1),
        0: (0, 10),  # older than all that is known: its records are gone
        1: (1, 20),
        3: (1, 20),
        4: (4, 30),
        6: (4, 30),
        7: (7, 99),
        8: (-1, -1),
    }
    assert cache(tmp_path).end_offset_for(0, 99) == (-1, -1)


def test_the_epoch_of_a_record(tmp_path: Path) -> None:
    known = cache(tmp_path, (1, 10), (4, 20))
    assert [known.epoch_at(offset) for offset in (9, 10, 19, 20, 99)] == [-1, 1, 1, 4, 4]


def test_cuts_at_either_end(tmp_path: Path) -> None:
    for end, left in ((31, 3), (30, 2), (21, 2), (20, 1), (10, 0), (0, 0)):
        known = cache(tmp_path, (1, 10), (4, 20), (7, 30))
        known.truncate_from_end(end)
        assert (len(known.entries), known.latest_epoch) == (left, (-1, 1, 4, 7)[left])
    for start, entries in (
        (9, ((1, 10), (4, 20))),
        (10, ((1, 10), (4, 20))),
        (11, ((1, 11), (4, 20))),
        (20, ((4, 20),)),
        (99, ((4, 99),)),
    ):
        known = cache(tmp_path, (1, 10), (4, 20))
        known.truncate_from_start(start)
        assert known.entries == entries


def test_the_file_is_written_when_something_changed(tmp_path: Path) -> None:
    known = cache(tmp_path, (1, 10), (4, 20))
    path = Path(known.path)
    known.flush()
    assert EpochCache.load(RealDisk(), known.path).entries == known.entries
    path.unlink()
    known.assign(4, 25)
    known.truncate_from_end(21)
    known.truncate_from_start(10)
    known.flush()
    assert not path.exists(), "nothing was said that it did not know"
    for change in (lambda: known.assign(5, 30), lambda: known.truncate_from_end(30), known.clear):
        change()
        known.flush()
        assert EpochCache.load(RealDisk(), known.path).entries == known.entries
        path.unlink()
    known.clear()
    known.flush()
    assert not path.exists()
