"""File names that say what was under way, and what is made of them."""

from __future__ import annotations

from storage_kit import NOW, batch, names_in

from moldau.config.topic import LogConfig
from moldau.runtime.disk import RealDisk
from moldau.storage.file_names import marked_directory, parse_directory
from moldau.storage.leftovers import resolve_leftovers
from moldau.types import TopicPartition


def name(offset: int, rest: str) -> str:
    return f"{offset:020d}.{rest}"


def resolve(path, *names: str) -> list[str]:
    for one in names:
        (path / one).touch()
    resolve_leftovers(RealDisk(), str(path), LogConfig())
    return names_in(path)


def write_segment(path, file: str, *offsets: int) -> None:
    (path / file).write_bytes(b"".join(bytes(batch(b"v", base_offset=offset, timestamp=NOW)) for offset in offsets))


def test_deleted_files_go(tmp_path):
    kept = [name(5, "log"), "leader-epoch-checkpoint"]
    assert resolve(tmp_path, *kept, name(0, "log.deleted"), name(0, "snapshot.deleted")) == sorted(kept)


def test_cleaned_files_were_never_announced(tmp_path):
    kept = [name(0, "log"), name(0, "index"), name(5, "log")]
    assert resolve(tmp_path, *kept, name(0, "log.cleaned"), name(0, "index.cleaned")) == sorted(kept)


def test_a_swap_that_was_not_announced_completely_is_given_up(tmp_path):
    write_segment(tmp_path, name(5, "log.swap"), 5, 7)
    kept = [name(0, "log"), name(5, "log")]
    assert resolve(tmp_path, *kept, name(0, "log.cleaned"), name(5, "index.swap")) == sorted(kept)


def test_a_swap_that_was_announced_is_completed(tmp_path):
    write_segment(tmp_path, name(0, "log.swap"), 1, 8)
    for offset in (0, 4, 9):
        for kind in ("log", "index", "timeindex"):
            (tmp_path / name(offset, kind)).write_bytes(b"old")
    (tmp_path / name(0, "index.swap")).write_bytes(b"new")
    (tmp_path / name(4, "snapshot")).touch()
    left = resolve(tmp_path)
    # Segment 4 lies inside the new one (0..8) and goes; segment 9 is not concerned.
    assert left == sorted(
        [name(0, "log"), name(0, "index"), name(4, "snapshot"), name(9, "log"), name(9, "index"), name(9, "timeindex")]
    )
    assert (tmp_path / name(0, "index")).read_bytes() == b"new"


def test_a_swap_cut_short_in_its_last_step(tmp_path):
    (tmp_path / name(0, "log")).write_bytes(b"new")
    assert resolve(tmp_path, name(0, "index.swap"), name(0, "timeindex.swap")) == [
        name(0, "index"),
        name(0, "log"),
        name(0, "timeindex"),
    ]


def test_directory_names():
    assert parse_directory("orders-0") == (TopicPartition("orders", 0), "")
    assert parse_directory("with-dashes-and.dots-12") == (TopicPartition("with-dashes-and.dots", 12), "")
    assert parse_directory("orders-0.0123abc-delete") == (TopicPartition("orders", 0), "-delete")
    assert parse_directory("orders-3.0123abc-future") == (TopicPartition("orders", 3), "-future")
    assert parse_directory("orders-3.0123abc-stray") == (TopicPartition("orders", 3), "-stray")
    for other in ("orders", "orders-x", "-1", "orders-", "lost+found", "orders-delete"):
        assert parse_directory(other) is None


def test_marked_names_stay_short_enough_for_a_file_system():
    marked = marked_directory(TopicPartition("t" * 249, 1), "0" * 32, "-delete")
    assert len(marked) == 255
    parsed = parse_directory(marked)
    assert parsed is not None
    assert parsed.mark == "-delete"
    assert marked_directory(TopicPartition("a", 1), "ff", "-stray") == "a-1.ff-stray"
