"""Logs as a crash, a bad disk or a stray hand leaves them: what opens is a valid prefix, and never a traceback."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from storage_kit import (
    NOW,
    all_records,
    append,
    at_time,
    batch,
    latest_of,
    marker,
    names_in,
    open_log,
    quick_directory,
    records_of,
    values_of,
)

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import Compression
from moldau.storage.log import Log, Origin

CONFIG = LogConfig(index_interval_bytes=100, segment_index_bytes=240)


def build(path: Path) -> list[tuple[int, bytes | None]]:
    """A small log with a bit of everything; closed as after a clean stop."""
    log = open_log(path, CONFIG)
    append(log, batch(b"one", b"two", timestamp=NOW), epoch=1)
    append(log, batch(b"three" * 20, timestamp=NOW + 1), epoch=1)
    append(log, batch(b"i0", producer_id=7, producer_epoch=0, base_sequence=0), epoch=1)
    log.local.roll()
    append(log, batch(b"i1", producer_id=7, producer_epoch=0, base_sequence=1), epoch=2)
    append(log, batch(b"z" * 200, compression=Compression.ZSTD, timestamp=NOW + 5), epoch=2)
    append(log, batch(b"t0", producer_id=8, producer_epoch=3, base_sequence=0, is_transactional=True), epoch=2)
    append(log, marker(8, 3, commit=False), epoch=2, origin=Origin.COORDINATOR)
    log.local.roll()
    append(log, batch(b"t1", producer_id=8, producer_epoch=3, base_sequence=1, is_transactional=True), epoch=3)
    append(log, batch(b"last", timestamp=NOW + 9), epoch=3)
    assert list(log.segments.base_offsets) == [0, 4, 8]
    records = [(record.offset, record.value) for record in all_records(log)]
    log.close()
    return records


@pytest.fixture(scope="module")
def original():
    with quick_directory() as path:
        (path / "original").mkdir()
        yield path / "original", build(path / "original")


@pytest.fixture
def tmp_path(original):
    """Beside the original: the copies are many."""
    with quick_directory() as path:
        yield path


def copy_of(original: Path, target: Path) -> Path:
    shutil.rmtree(target, ignore_errors=True)
    shutil.copytree(original, target)
    return target


def check_prefix(log: Log, expected: list[tuple[int, bytes | None]]) -> None:
    found = [(record.offset, record.value) for record in all_records(log)]
    assert found == expected[: len(found)]
    assert log.log_end_offset == (found[-1][0] + 1 if found else 0)
    assert append(log, batch(b"new"), epoch=9).base_offset == len(found)
    assert values_of(log)[-1] == b"new"


def positions(path: Path) -> list[tuple[str, int]]:
    return [
        (file.name, position)
        for file in sorted((path / "orders-0").iterdir())
        for position in range(file.stat().st_size)
    ]


def test_an_unclean_stop_loses_nothing_that_was_written(original, tmp_path):
    source, expected = original
    log = open_log(copy_of(source, tmp_path / "copy"), CONFIG, clean_shutdown=False)
    check_prefix(log, expected)
    assert [tuple(entry) for entry in log.epochs.entries] == [(1, 0), (2, 4), (3, 8), (9, 10)]
    assert log.producers.open_transactions == {8: 8}
    assert log.producers.entries[7].last_sequence == 1
    read = log.read(5, 1 << 20, 8, at_least_one=True, committed=True)
    assert read.aborted == [(8, 6)]
    log.close()


def test_every_byte_cut_off(original, tmp_path):
    source, expected = original
    kept = set()
    for name, position in positions(source):
        copy = copy_of(source, tmp_path / "copy")
        with (copy / "orders-0" / name).open("r+b") as file:
            file.truncate(position)
        log = open_log(copy, CONFIG, clean_shutdown=False)
        kept.add(log.log_end_offset)
        check_prefix(log, expected)
        log.segments.release()
    assert kept == {0, 2, 3, 4, 5, 6, 7, 8, 9, 10}


def test_every_byte_changed(original, tmp_path):
    source, expected = original
    for name, position in positions(source):
        bits = (0x01, 0x80, 0xFF)[position % 3]
        copy = copy_of(source, tmp_path / "copy")
        path = copy / "orders-0" / name
        data = bytearray(path.read_bytes())
        data[position] ^= bits
        path.write_bytes(data)
        log = open_log(copy, CONFIG, clean_shutdown=False)
        if name.endswith(".log"):
            check_prefix(log, expected)
        else:
            assert [(record.offset, record.value) for record in all_records(log)] == expected
        log.segments.release()


def test_damaged_indexes_do_not_lead_astray_after_a_clean_stop(original, tmp_path):
    source, expected = original
    for name, position in positions(source):
        if not name.endswith(("index", ".snapshot", "checkpoint")):
            continue
        copy = copy_of(source, tmp_path / "copy")
        path = copy / "orders-0" / name
        data = bytearray(path.read_bytes())
        data[position] ^= 0x41
        path.write_bytes(data)
        log = open_log(copy, CONFIG, clean_shutdown=True)
        for offset in range(log.log_end_offset):
            first = next(r for r in records_of(log.read(offset, 1, 10, at_least_one=True)) if r.offset >= offset)
            assert (first.offset, first.value) == expected[offset]
        log.segments.release()


def test_damage_after_a_clean_stop_is_said_when_it_is_met(original, tmp_path):
    """Nothing is checked then, so anything may turn up later; it is reported, and it is no traceback."""
    source, _ = original
    said = 0
    for name, position in positions(source):
        if position % 3:
            continue
        copy = copy_of(source, tmp_path / "copy")
        path = copy / "orders-0" / name
        data = bytearray(path.read_bytes())
        data[position] ^= 0xFF
        path.write_bytes(data)
        log = open_log(copy, CONFIG, clean_shutdown=True)
        log.local.advance_high_watermark(log.log_end_offset)
        for action in (
            lambda log=log: log.read(3, 1 << 20, log.log_end_offset, at_least_one=True, committed=True),
            lambda log=log: log.bytes_between(1, log.log_end_offset),
            lambda log=log: at_time(log, NOW + 3),
            lambda log=log: latest_of(log),
            lambda log=log: log.local.truncate_to(6),
            lambda log=log: append(log, batch(b"new"), epoch=9),
        ):
            try:
                action()
            except KafkaError as error:
                said += error.code == ErrorCode.CORRUPT_MESSAGE
        log.segments.release()
    assert said > 0


def test_only_what_lies_behind_the_recovery_point_is_read_again(original, tmp_path):
    source, _ = original
    copy = copy_of(source, tmp_path / "copy")
    first = copy / "orders-0" / f"{0:020d}.log"
    data = bytearray(first.read_bytes())
    data[70] ^= 0xFF
    first.write_bytes(data)
    log = open_log(copy, CONFIG, clean_shutdown=False, recovery_point=9)
    assert log.log_end_offset == 10
    assert first.read_bytes() == bytes(data)
    log.segments.release()


def test_segments_behind_a_cut_are_dropped(original, tmp_path):
    source, _ = original
    copy = copy_of(source, tmp_path / "copy")
    first = copy / "orders-0" / f"{0:020d}.log"
    with first.open("r+b") as file:
        file.truncate(first.stat().st_size - 1)
    log = open_log(copy, CONFIG, clean_shutdown=False)
    assert list(log.segments.base_offsets) == [0]
    left = [name for name in names_in(copy / "orders-0") if name.endswith(".log")]
    assert left == [f"{0:020d}.log"]
    log.close()


def test_missing_indexes_are_rebuilt(original, tmp_path):
    source, expected = original
    copy = copy_of(source, tmp_path / "copy")
    wanted = {path.name: path.read_bytes() for path in (copy / "orders-0").iterdir() if path.name.endswith("index")}
    for name in wanted:
        (copy / "orders-0" / name).unlink()
    log = open_log(copy, CONFIG)
    check_prefix(log, expected)
    log.close()
    for name, content in wanted.items():
        if not name.startswith(f"{8:020d}"):  # the last segment has grown
            assert (copy / "orders-0" / name).read_bytes() == content


def test_an_index_without_its_log_is_removed(original, tmp_path):
    source, expected = original
    copy = copy_of(source, tmp_path / "copy")
    for suffix in ("index", "timeindex", "txnindex"):
        (copy / "orders-0" / f"{99:020d}.{suffix}").write_bytes(b"")
    log = open_log(copy, CONFIG)
    assert not [name for name in names_in(copy / "orders-0") if name.startswith(f"{99:020d}")]
    check_prefix(log, expected)
    log.close()


def test_a_batch_larger_than_a_chunk_is_recovered_piece_by_piece(tmp_path):
    log = open_log(tmp_path, LogConfig(max_message_bytes=1 << 23))
    append(log, batch(b"small"))
    append(log, batch(b"L" * (3 << 20)))
    append(log, batch(b"after"))
    log.segments.release()
    again = open_log(tmp_path, clean_shutdown=False)
    assert [len(value or b"") for value in values_of(again)] == [5, 3 << 20, 5]
    again.segments.release()
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    data = bytearray(path.read_bytes())
    data[2 << 20] ^= 1
    path.write_bytes(data)
    damaged = open_log(tmp_path, clean_shutdown=False)
    assert values_of(damaged) == [b"small"]
    damaged.segments.release()


def test_remains_of_an_older_batch_do_not_come_back(tmp_path):
    """Behind the end of the log a whole batch with lower offsets: valid by itself, but not in this place."""
    log = open_log(tmp_path)
    append(log, batch(b"a"))
    append(log, batch(b"b"))
    log.segments.release()
    path = tmp_path / "orders-0" / f"{0:020d}.log"
    path.write_bytes(path.read_bytes() + bytes(batch(b"old", base_offset=1)))
    again = open_log(tmp_path, clean_shutdown=False)
    assert values_of(again) == [b"a", b"b"]
    again.close()


def test_gaps_that_compaction_or_a_leader_left_stay(tmp_path):
    log = open_log(tmp_path)
    for offset in (0, 5, 6, 20):
        data = batch(b"%d" % offset, base_offset=offset, partition_leader_epoch=1)
        log.append_as_follower(data, 0, len(data))
    log.local.roll()
    data = batch(b"30", base_offset=30, partition_leader_epoch=1)
    log.append_as_follower(data, 0, len(data))
    log.segments.release()
    again = open_log(tmp_path, clean_shutdown=False)
    assert [record.offset for record in all_records(again)] == [0, 5, 6, 20, 30]
    again.close()


def test_a_hole_between_segments_ends_a_log_without_gaps(original, tmp_path):
    source, expected = original
    copy = copy_of(source, tmp_path / "copy")
    (copy / "orders-0" / f"{4:020d}.log").write_bytes(b"")
    log = open_log(copy, CONFIG, clean_shutdown=False)
    assert log.log_end_offset == 4
    check_prefix(log, expected)
    log.close()


def test_old_message_formats_on_disk_are_kept(tmp_path):
    """Segments an old Kafka wrote: format 1, one message each, CRC-32 instead of CRC-32C."""
    import struct
    import zlib

    messages = b""
    for offset, value in enumerate((b"first", b"second")):
        body = struct.pack(">bbqii", 1, 0, NOW + offset, -1, len(value)) + value
        messages += struct.pack(">qiI", offset, len(body) + 4, zlib.crc32(body)) + body
    directory = tmp_path / "orders-0"
    directory.mkdir()
    (directory / f"{0:020d}.log").write_bytes(messages)
    log = open_log(tmp_path, clean_shutdown=False)
    assert log.log_end_offset == 2
    assert values_of(log) == [b"first", b"second"]
    append(log, batch(b"third"))
    assert values_of(log) == [b"first", b"second", b"third"]
    assert records_of(log.read(2, 1 << 20, 3, at_least_one=True))[0].value == b"third"
    found = at_time(log, NOW + 1)
    assert found is not None
    assert found.offset == 1
    log.close()


@pytest.mark.parametrize("start", range(8))
def test_wherever_the_start_lies_nothing_behind_it_is_taken_for_a_stray(tmp_path, start):
    """DeleteRecords may put it into the middle of a batch, or behind segments that are still there."""
    log = open_log(tmp_path)
    for number in range(3):
        values = [b"%d" % (number * 3 + index) for index in range(3)]
        append(log, batch(*values, producer_id=7, producer_epoch=0, base_sequence=number * 3))
        log.local.roll()
    log.local.advance_log_start(start)
    log.segments.release()
    again = open_log(tmp_path, log_start_offset=start, clean_shutdown=False)
    assert (again.log_start_offset, again.log_end_offset) == (start, 9)
    assert values_of(again)[-(9 - start) :] == [b"%d" % number for number in range(start, 9)]
    assert again.producers.entries[7].last_sequence == 8
    again.close()


def test_epochs_that_were_cut_off_before_a_crash_do_not_come_back(tmp_path):
    """The file still names them, and what was written in their place has an older epoch, as followers have it."""
    path = tmp_path / "cut"
    log = open_log(path, CONFIG)
    append(log, batch(b"a"), epoch=1)
    append(log, batch(b"gone"), epoch=4)
    log.flush()
    log.local.truncate_to(1)
    append(log, batch(b"b"), epoch=3)
    append(log, batch(b"c"), epoch=7)
    log.segments.release()
    again = open_log(path, CONFIG, clean_shutdown=False)
    assert again.epochs.entries == ((1, 0), (3, 1), (7, 2))
    again.close()
