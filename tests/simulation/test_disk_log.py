"""A log by itself on the disk that loses what was not forced to it: what recovery does not look at must be right."""

from __future__ import annotations

import pytest

from moldau.config.topic import LogConfig
from moldau.protocol.records import BatchBuilder
from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import BEGINNING_MS, VirtualClock
from moldau.simulation.disk import SimulatedDisk
from moldau.storage.log import Log
from moldau.storage.timestamp_search import find_first

DIRECTORY = "/data/t-0"
CONFIG = LogConfig(segment_bytes=1500, index_interval_bytes=100, segment_index_bytes=120, file_delete_delay_ms=0)


def append(log: Log, count: int) -> None:
    for _ in range(count):
        builder = BatchBuilder(1 << 16)
        builder.append(BEGINNING_MS + log.log_end_offset, None, b"v" * 150, ())
        batch = bytearray(builder.build())
        log.append_as_leader(memoryview(batch), 0, len(batch), 0)


def check_indexes(log: Log) -> None:
    """Every segment finds its records, and knows how old they are: retention and searches by time rely on it."""
    segments = log.segments.all()
    for segment, following in zip(segments, [*segments[1:], None], strict=True):
        end = following.base_offset if following is not None else log.log_end_offset
        if segment.base_offset == end:
            continue
        assert segment.max_timestamp == BEGINNING_MS + end - 1
        for offset in range(segment.base_offset, end):
            found = segment.find(offset)
            assert found is not None
            assert found.header.base_offset == offset
    for offset in range(log.log_start_offset, log.log_end_offset):
        found_by_time = find_first(log.segments, BEGINNING_MS + offset, log.log_start_offset)
        assert found_by_time is not None
        assert found_by_time.offset == offset


@pytest.mark.parametrize("clean_between", [False, True])
def test_indexes_behind_the_recovery_point_are_right_after_a_power_cut(clean_between: bool):
    """Sealing a segment changes its indexes after its records were forced to disk: those must be forced again, or be
    rebuilt."""
    for seed in range(100):
        chance = SeededRandom(seed)
        clock = VirtualClock()
        disk = SimulatedDisk(clock, chance.fork("disk"))
        disk.make_directories(DIRECTORY)
        for path in ("/", "/data"):
            disk.sync_directory(path)
        log = Log.open(DIRECTORY, CONFIG, disk, clock)
        checkpoint, end = 0, 0
        for _ in range(chance.between(1, 6)):
            append(log, chance.between(1, 9))
            match chance.below(4):
                case 0:
                    pass
                case 1:
                    sealed = log.durability.sealed_flush()
                    if sealed is not None:
                        sealed.run()
                        sealed.done()
                case _:
                    log.flush()
            end = log.durability.durable_offset
            if chance.happens(0.5):  # checkpoints are written now and then
                checkpoint = log.durability.settled_offset
            if clean_between and chance.happens(0.3):
                log.close()
                checkpoint, end = log.durability.settled_offset, log.log_end_offset
                log = Log.open(DIRECTORY, CONFIG, disk, clock, recovery_point=checkpoint)
        disk.cut_power()
        disk.recover()
        log = Log.open(DIRECTORY, CONFIG, disk, clock, recovery_point=checkpoint, clean_shutdown=False)
        assert log.log_end_offset >= end, seed
        log.local.advance_high_watermark(log.log_end_offset)
        try:
            check_indexes(log)
        except Exception as error:
            error.add_note(f"seed {seed}")
            raise
        log.segments.release()


def test_a_segment_sealed_after_the_checkpoint_is_looked_at_again():
    """All its records were on disk and the checkpoint says so; its indexes were changed by sealing it afterwards."""
    for seed in range(60):
        clock = VirtualClock()
        disk = SimulatedDisk(clock, SeededRandom(seed))
        disk.make_directories(DIRECTORY)
        for path in ("/", "/data"):
            disk.sync_directory(path)
        log = Log.open(DIRECTORY, CONFIG, disk, clock)
        append(log, 6)
        log.flush()
        checkpoint = log.durability.settled_offset
        append(log, 1)
        assert log.segments.base_offsets == (0, 6), "the segment was full"
        disk.cut_power()
        disk.recover()
        log = Log.open(DIRECTORY, CONFIG, disk, clock, recovery_point=checkpoint, clean_shutdown=False)
        assert log.log_end_offset >= 6
        check_indexes(log)
        log.segments.release()


def test_a_clean_stop_keeps_its_producers_through_a_power_cut():
    for seed in range(40):
        clock = VirtualClock()
        disk = SimulatedDisk(clock, SeededRandom(seed))
        disk.make_directories(DIRECTORY)
        for path in ("/", "/data"):
            disk.sync_directory(path)
        log = Log.open(DIRECTORY, CONFIG, disk, clock)
        builder = BatchBuilder(1 << 16)
        builder.append(BEGINNING_MS, None, b"v", ())
        batch = bytearray(builder.build(producer_id=7, producer_epoch=0, base_sequence=0))
        log.append_as_leader(memoryview(batch), 0, len(batch), 0)
        log.flush()
        log.close()
        disk.cut_power()
        disk.recover()
        log = Log.open(DIRECTORY, CONFIG, disk, clock, recovery_point=1)
        assert list(log.producers.entries) == [7], seed
        log.segments.release()
