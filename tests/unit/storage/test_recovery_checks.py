"""What recovery decides about segments, epochs and producers, each where nothing else would put it right."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from storage_kit import NOW, all_records, append, batch, marker, names_in, open_log, values_of

from moldau.config.topic import LogConfig
from moldau.storage.log import Log, Origin

COMPACTED = LogConfig(compact=True)


def segment(path: Path, base: int, kind: str = "log") -> Path:
    return path / "orders-0" / f"{base:020d}.{kind}"


def begins_at(path: Path, before: int, after: int) -> None:
    """Compaction names a segment after its first record; here it is done by hand."""
    for file in list((path / "orders-0").glob(f"{before:020d}.*")):
        file.rename(segment(path, after, file.suffix[1:]))


def of(producer_id: int, sequence: int, *, values: tuple[bytes, ...] = (b"v",), **fields: Any) -> memoryview:
    return batch(*values, producer_id=producer_id, producer_epoch=0, base_sequence=sequence, **fields)


def follow(log: Log, offset: int, epoch: int = 1, **fields: Any) -> None:
    """A batch as a leader numbered it."""
    data = batch(b"%d" % offset, key=b"k", base_offset=offset, partition_leader_epoch=epoch, **fields)
    log.append_as_follower(data, 0, len(data))
    log.local.advance_high_watermark(log.log_end_offset)


def offsets(log: Log) -> list[int]:
    return [record.offset for record in all_records(log)]


def crash(log: Log, path: Path, config: LogConfig | None = None, **more: Any) -> Log:
    log.segments.release()
    return open_log(path, config, clean_shutdown=False, **more)


# ---------------------------------------------------------------------------------------------------------- segments


def test_an_unclean_stop_before_anything_was_written(tmp_path: Path) -> None:
    log = open_log(tmp_path, clean_shutdown=False, log_start_offset=7, recovery_point=7)
    assert (log.log_start_offset, log.log_end_offset, log.recovered.segments) == (7, 7, 0)
    assert append(log, batch(b"a")).base_offset == 7
    log.close()


def test_an_index_is_missing_before_the_recovery_point(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(index_interval_bytes=0))
    for value in (b"a", b"b", b"c"):
        append(log, batch(value))
        log.local.roll()
    log.segments.release()
    index = segment(tmp_path, 0, "index")
    index.unlink()
    again = open_log(tmp_path, clean_shutdown=False, recovery_point=3)
    assert index.exists()
    assert again.recovered.segments == 2, "the one without its index, and what may not be on disk"
    assert values_of(again) == [b"a", b"b", b"c"]
    again.segments.release()
    # One that has to be read anyway is not read twice.
    segment(tmp_path, 3, "index").unlink()
    once = open_log(tmp_path, clean_shutdown=False, recovery_point=3)
    assert once.recovered.segments == 1
    once.close()


@pytest.mark.parametrize("kind", ["index", "timeindex"])
def test_an_index_that_ends_within_an_entry_is_built_anew(tmp_path: Path, kind: str) -> None:
    log = open_log(tmp_path, LogConfig(index_interval_bytes=0))
    for value in (b"a", b"b"):
        append(log, batch(value))
        append(log, batch(value))
        log.local.roll()
    log.close()
    index = segment(tmp_path, 0, kind)
    content = index.read_bytes()
    assert content
    index.write_bytes(content + b"\1")
    again = open_log(tmp_path, LogConfig(index_interval_bytes=0))
    assert again.recovered.segments == 1
    again.close()
    assert index.read_bytes() == content


def test_what_ends_before_the_known_start_was_deleted_long_ago(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b"), epoch=3)
    log.close()
    again = open_log(tmp_path, log_start_offset=9)
    assert (again.log_start_offset, again.log_end_offset, list(again.segments.base_offsets)) == (9, 9, [9])
    assert again.epochs.entries == ()
    again.close()


def test_a_log_whose_records_are_all_deleted_goes_on_in_its_segment(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, of(7, 0), epoch=3)
    log.local.advance_log_start(1)
    log.close()
    again = open_log(tmp_path, log_start_offset=1)
    assert (again.log_start_offset, again.log_end_offset, list(again.segments.base_offsets)) == (1, 1, [0])
    assert append(again, of(7, 1)).base_offset == 1
    again.close()


def test_how_far_a_log_is_on_disk(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, batch(b"a", b"b", b"c"))
    log.close()
    clean = open_log(tmp_path, recovery_point=0)
    assert clean.durability.recovery_point == 3, "a clean stop forced everything"
    for point, known in ((0, 0), (2, 2), (99, 3)):
        clean = crash(clean, tmp_path, recovery_point=point)
        assert clean.durability.recovery_point == known
    clean.close()


def test_a_roll_that_never_came_to_its_end(tmp_path: Path) -> None:
    """The older segment went on behind the place where the newer one begins."""
    log = open_log(tmp_path)
    for value in (b"a", b"b"):
        append(log, batch(value))
    log.local.roll()
    append(log, of(7, 0))
    append(log, of(7, 1))
    log.segments.release()
    older = segment(tmp_path, 0)
    older.write_bytes(older.read_bytes() + bytes(batch(b"c", base_offset=2)))
    again = open_log(tmp_path, clean_shutdown=False)
    assert values_of(again) == [b"a", b"b", b"c"]
    assert list(again.segments.base_offsets) == [0]
    assert again.producers.entries == {}, "what was dropped leaves nobody behind"
    again.close()


@pytest.mark.parametrize("config", [LogConfig(), COMPACTED], ids=["plain", "compacted"])
def test_nothing_is_read_behind_a_cut(tmp_path: Path, config: LogConfig) -> None:
    """A producer whose records are dropped must not be told that they were written."""
    log = open_log(tmp_path, config)
    for number in range(4):
        append(log, batch(b"v", key=b"k", producer_id=number, producer_epoch=0, base_sequence=0), epoch=number)
        if number != 1:
            log.local.roll()
    log.segments.release()
    second = segment(tmp_path, 1)
    second.write_bytes(second.read_bytes()[:-1])
    again = open_log(tmp_path, config, clean_shutdown=False)
    assert offsets(again) == [0, 1]
    assert sorted(again.producers.entries) == [0, 1]
    assert again.recovered.segments == 2
    assert again.epochs.latest_epoch == 1
    again.close()


def test_holes_between_segments_are_usual_where_compaction_works(tmp_path: Path) -> None:
    log = open_log(tmp_path, COMPACTED)
    follow(log, 0)
    log.local.roll()
    follow(log, 5)
    log.segments.release()
    begins_at(tmp_path, 1, 5)
    again = open_log(tmp_path, COMPACTED, clean_shutdown=False)
    assert offsets(again) == [0, 5]
    again.close()


def test_and_where_offsets_were_seen_to_be_missing(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for offset in (0, 5, 6):
        follow(log, offset)
    log.local.roll()
    follow(log, 9)
    log.segments.release()
    begins_at(tmp_path, 7, 9)
    again = open_log(tmp_path, clean_shutdown=False)
    assert offsets(again) == [0, 5, 6, 9]
    again.close()


def test_the_last_batch_of_a_compacted_log_may_skip_offsets(tmp_path: Path) -> None:
    log = open_log(tmp_path, COMPACTED)
    follow(log, 0)
    follow(log, 5)
    log.segments.release()
    again = open_log(tmp_path, COMPACTED, clean_shutdown=False)
    assert offsets(again) == [0, 5]
    again.segments.release()
    plain = open_log(tmp_path, clean_shutdown=False)
    assert offsets(plain) == [0], "nobody agrees with it"
    plain.close()


def test_the_segment_behind_agrees_with_the_end_of_the_one_before(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    follow(log, 0)
    follow(log, 5)
    log.local.roll()
    follow(log, 6)
    again = crash(log, tmp_path)
    assert offsets(again) == [0, 5, 6]
    again.close()


# ------------------------------------------------------------------------------------------------ epochs, producers


def test_epochs_are_read_from_the_batches(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    for value, epoch in ((b"a", 2), (b"b", 2), (b"c", 4), (b"d", 7)):
        append(log, batch(value), epoch=epoch)
    log.segments.release()
    (tmp_path / "orders-0" / "leader-epoch-checkpoint").unlink(missing_ok=True)
    again = open_log(tmp_path, clean_shutdown=False)
    assert again.epochs.entries == ((2, 0), (4, 2), (7, 3))
    again.close()


def test_batches_without_an_epoch_begin_none(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    follow(log, 0, epoch=-1)
    again = crash(log, tmp_path)
    assert again.epochs.entries == ()
    again.close()


def test_a_producer_whose_records_are_gone_is_known_by_its_snapshot(tmp_path: Path) -> None:
    """Compaction has taken its records; a batch it repeats would be written a second time."""
    log = open_log(tmp_path)
    for sequence in (0, 1):
        append(log, of(7, sequence))
        log.local.roll()
    append(log, batch(b"last"))
    log.segments.release()
    for offset in (0, 1):
        data = batch(b"kept", base_offset=offset, partition_leader_epoch=1)
        segment(tmp_path, offset).write_bytes(bytes(data))
    again = open_log(tmp_path, clean_shutdown=False, recovery_point=2)
    assert again.producers.entries[7].last_sequence == 1
    assert values_of(again) == [b"kept", b"kept", b"last"]
    again.close()


def test_what_ended_before_the_recovery_point_has_ended(tmp_path: Path) -> None:
    """Without its snapshots the log is read again, also where it is known to be on disk."""
    log = open_log(tmp_path)
    append(log, of(7, 0, is_transactional=True))
    append(log, marker(7, 0, commit=True), origin=Origin.COORDINATOR)
    append(log, of(8, 0, is_transactional=True))
    log.local.roll()
    append(log, batch(b"last"))
    log.segments.release()
    for name in names_in(tmp_path / "orders-0"):
        if name.endswith(".snapshot"):
            (tmp_path / "orders-0" / name).unlink()
    again = open_log(tmp_path, clean_shutdown=False, recovery_point=3)
    assert again.recovered.segments == 1
    assert again.producers.open_transactions == {2: 8}
    again.local.advance_high_watermark(4)
    assert again.last_stable_offset == 2
    again.close()


def test_producers_of_deleted_records_are_not_read_again(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    append(log, of(7, 0, is_transactional=True))
    append(log, of(8, 0, values=(b"x", b"y")))
    log.local.advance_log_start(2)
    again = crash(log, tmp_path, log_start_offset=2)
    assert sorted(again.producers.entries) == [8]
    assert again.last_stable_offset == again.high_watermark
    again.close()


def test_after_a_clean_stop_a_log_without_snapshots_is_not_read_for_its_producers(tmp_path: Path) -> None:
    """One from before there were any: it may be very large."""
    log = open_log(tmp_path)
    append(log, of(7, 0))
    log.close()
    for name in names_in(tmp_path / "orders-0"):
        if name.endswith(".snapshot"):
            (tmp_path / "orders-0" / name).unlink()
    again = open_log(tmp_path)
    assert again.producers.is_empty
    assert again.producers.end_offset == 1
    assert append(again, of(9, 0, timestamp=NOW)).base_offset == 1
    again.close()
    once_more = open_log(tmp_path)
    assert sorted(once_more.producers.entries) == [9]
    once_more.close()
