"""When batches may be written to a log without asking about each, and what is noted about them then."""

from __future__ import annotations

from pathlib import Path
from random import Random

import pytest
from storage_kit import NOW, FailingDisk, StoppedClock, open_log, values_of

from moldau._speed import Traffic
from moldau.config.topic import LogConfig
from moldau.protocol.records import encode_batch
from moldau.storage.run import append_run, close_run, open_run

EPOCH = 3


def one_batch() -> memoryview:
    return memoryview(bytearray(encode_batch([(NOW, None, b"value", ())])))


def test_a_run_begins_where_the_log_ends(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    batch = one_batch()
    log.append_as_leader(batch, 0, len(batch), EPOCH)
    run = open_run(log.local, EPOCH, NOW, Traffic())
    assert run is not None
    descriptor, position, offset, epoch, log_start, *_ = run
    assert (position, offset, epoch, log_start) == (len(batch), 1, EPOCH, 0)
    file = log.segments.active.file
    assert file is not None
    assert descriptor == file.fileno()
    log.close()


@pytest.mark.parametrize(
    "config",
    [
        LogConfig(flush_messages=3),
        LogConfig(compression_type="lz4"),
        LogConfig(message_timestamp_type="LogAppendTime"),
    ],
)
def test_what_has_to_be_looked_at_has_no_run(tmp_path: Path, config: LogConfig) -> None:
    log = open_log(tmp_path, config)
    batch = one_batch()
    log.append_as_leader(batch, 0, len(batch), EPOCH)
    assert open_run(log.local, EPOCH, NOW, Traffic()) is None
    log.close()


def test_the_first_batch_of_a_log_of_an_epoch_and_after_a_failure_comes_alone(tmp_path: Path) -> None:
    log = open_log(tmp_path)
    log.begin_epoch(EPOCH)
    assert open_run(log.local, EPOCH, NOW, Traffic()) is None
    batch = one_batch()
    log.append_as_leader(batch, 0, len(batch), EPOCH)
    assert open_run(log.local, EPOCH, NOW, Traffic()) is not None
    assert open_run(log.local, EPOCH + 1, NOW, Traffic()) is None
    log.segments.active.tear()
    assert open_run(log.local, EPOCH, NOW, Traffic()) is None
    log.close()


def test_a_segment_that_is_too_old_has_no_run(tmp_path: Path) -> None:
    """Its records have no time of their own: it ages by the clock."""
    clock = StoppedClock()
    log = open_log(tmp_path, LogConfig(segment_ms=1000), clock=clock)
    batch = memoryview(bytearray(encode_batch([(-1, None, b"value", ())])))
    log.append_as_leader(batch, 0, len(batch), EPOCH)
    assert open_run(log.local, EPOCH, NOW, Traffic()) is not None
    assert open_run(log.local, EPOCH, NOW + 2000, Traffic()) is None
    log.close()


def test_the_first_batch_of_a_run_gets_the_entry_that_is_due(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(index_interval_bytes=100))
    for _ in range(2):
        batch = one_batch()
        log.append_as_leader(batch, 0, len(batch), EPOCH)
    size = len(batch)
    entries = log.segments.active.offset_index.entries
    run = open_run(log.local, EPOCH, NOW, Traffic())
    assert run is not None
    *_, unindexed, _ = run
    assert unindexed == 100
    close_run(log.local, 4 * size, 4, (NOW, 2), (NOW + 5, 3), {2: 2 * size, 3: 3 * size}, [])
    index, times = log.segments.active.offset_index, log.segments.active.time_index
    assert index.entries == entries + 1
    assert index.entry(entries) == (2, 2 * size)
    assert times.last_entry == (NOW, 0)
    assert log.segments.active.max_timestamp == NOW + 5
    assert (log.log_end_offset, log.high_watermark) == (4, 4)
    log.close()


def test_the_last_entry_of_an_index_ends_its_segment(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(index_interval_bytes=1, segment_index_bytes=24))
    runs = []
    for _ in range(5):
        batch = one_batch()
        log.append_as_leader(batch, 0, len(batch), EPOCH)
        runs.append(open_run(log.local, EPOCH, NOW, Traffic()) is not None)
    # Of the time index, with its longer entries, two fit: the second batch has one, the next would fill it.
    assert runs == [True, False, True, False, True]
    log.close()


def own_batch(random: Random, now: int) -> tuple[bytes, int]:
    records = [(now, b"k", bytes(random.randrange(90)), ()) for _ in range(random.randint(1, 4))]
    return encode_batch(records), len(records)


@pytest.mark.parametrize(
    "config",
    [
        LogConfig(index_interval_bytes=200),
        LogConfig(index_interval_bytes=1, segment_index_bytes=24),
        LogConfig(segment_bytes=500),
        LogConfig(segment_ms=1000),
        LogConfig(max_message_bytes=200),
        LogConfig(compression_type="gzip"),
    ],
)
def test_what_this_broker_made_itself_leaves_the_same_files(tmp_path: Path, config: LogConfig) -> None:
    """Where there is no run it goes the other way, so that both ways are compared from all sides."""
    random, clock = Random(1), StoppedClock()
    logs = [open_log(tmp_path / way, config, clock=clock) for way in ("run", "alone")]
    runs = 0
    for _ in range(60):
        clock.now += random.choice((0, 7, 300))
        now = clock.now_ms()
        batch, count = own_batch(random, now)
        end = append_run(logs[0].local, bytearray(batch), count, EPOCH, now)
        for log in logs[1:] if end is not None else logs:
            if len(batch) <= config.max_message_bytes:
                log.append_as_leader(memoryview(bytearray(batch)), 0, len(batch), EPOCH)
                log.local.advance_high_watermark(log.log_end_offset)
        if end is not None:
            runs += 1
            assert end == logs[1].log_end_offset
        one, other = logs
        assert (one.log_end_offset, one.high_watermark) == (other.log_end_offset, other.high_watermark)
        assert one.producers.end_offset == other.producers.end_offset
    assert bool(runs) == (config.compression_type == "producer")
    assert values_of(logs[0]) == values_of(logs[1])
    for log in logs:
        log.close()
    files = [{path.name: path.read_bytes() for path in (tmp_path / way).glob("*/*")} for way in ("run", "alone")]
    assert files[0] == files[1]


def test_a_run_that_cannot_be_written_changes_nothing(tmp_path: Path) -> None:
    disk = FailingDisk()
    log = open_log(tmp_path, disk=disk)
    batch = encode_batch([(NOW, b"k", b"first", ())])
    log.append_as_leader(memoryview(bytearray(batch)), 0, len(batch), EPOCH)
    assert append_run(log.local, bytearray(batch), 1, EPOCH, NOW) == 2
    disk.bytes_left = 10
    assert append_run(log.local, bytearray(batch), 1, EPOCH, NOW) is None
    assert (log.log_end_offset, log.high_watermark) == (2, 2)
    disk.bytes_left = None
    assert open_run(log.local, EPOCH, NOW, Traffic()) is None, "what was half written is cut off first"
    log.append_as_leader(memoryview(bytearray(batch)), 0, len(batch), EPOCH)
    assert append_run(log.local, bytearray(batch), 1, EPOCH, NOW) == 4
    assert values_of(log) == [b"first"] * 4


def test_no_run_begins_with_the_last_entry_of_an_index(tmp_path: Path) -> None:
    log = open_log(tmp_path, LogConfig(index_interval_bytes=1, segment_index_bytes=36))
    found = []
    for _ in range(6):
        batch = one_batch()
        log.append_as_leader(batch, 0, len(batch), EPOCH)
        segment = log.segments.active
        nearly = segment.offset_index.is_nearly_full and not segment.index_full
        found.append((nearly, open_run(log.local, EPOCH, NOW, Traffic()) is None))
    assert any(nearly for nearly, _ in found)
    assert all(none for nearly, none in found if nearly)
    log.close()
