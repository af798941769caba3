"""The process dies before the n-th system call, for every n: what it leaves opens to a log that makes sense."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from mortal_disk import Died, MortalDisk
from storage_kit import CountingRandom, StoppedClock, append, batch, marker, open_log, quick_directory, values_of

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.runtime.disk import RealDisk
from moldau.storage.checkpoint_kinds import HIGH_WATERMARKS, LOG_STARTS, RECOVERY_POINTS
from moldau.storage.file_names import CLEANED
from moldau.storage.log import Log, Origin
from moldau.storage.log_manager import LogManager
from moldau.storage.segment import Segment
from moldau.storage.upkeep import Upkeep
from moldau.types import TopicPartition

CONFIG = LogConfig(segment_bytes=300, index_interval_bytes=80, segment_index_bytes=240, file_delete_delay_ms=0)

Scenario = Callable[[Path, Any], None]


def lives(prepare: Callable[[Path], None], act: Scenario, check: Callable[[Path], None]) -> int:
    """Runs `act` with every shorter life until it survives; returns how many calls it took."""
    life = 0
    while True:
        with quick_directory() as path:
            prepare(path)
            disk = MortalDisk(life)
            try:
                act(path, disk)
                survived = True
            except Died:
                survived = False
            finally:
                disk.bury()
            check(path)
            if survived:
                return life
        life += 1


def reopened(path: Path) -> Log:
    return open_log(path, CONFIG, clean_shutdown=False)


def fill(path: Path, count: int = 8) -> None:
    log = open_log(path, CONFIG)
    for number in range(count):
        append(log, batch(b"%d" % number * 40))
    assert len(log.segments) >= 3
    log.segments.release()


def numbers(log: Log) -> list[int]:
    return [int((value or b"")[:1]) for value in values_of(log)]


def test_while_appending_rolling_and_flushing():
    acknowledged: list[int] = []

    def act(path: Path, disk: Any) -> None:
        acknowledged.clear()
        log = open_log(path, CONFIG, disk=disk)
        for number in range(9):
            append(log, batch(b"%d" % number * 40, producer_id=5, producer_epoch=0, base_sequence=number))
            acknowledged.append(number)
            if number == 5:
                log.flush()
        log.close()

    def check(path: Path) -> None:
        log = reopened(path)
        found = numbers(log)
        assert found in (acknowledged, [*acknowledged, len(acknowledged)])
        if found:
            assert log.producers.entries[5].last_sequence == found[-1]
        append(log, batch(b"9"))
        assert numbers(log) == [*found, 9]
        log.close()

    assert lives(lambda path: None, act, check) > 50


def test_while_aborting_transactions():
    done: list[str] = []

    def act(path: Path, disk: Any) -> None:
        done.clear()
        log = open_log(path, CONFIG, disk=disk)
        for number in range(4):
            data = batch(b"x" * 40, producer_id=1, producer_epoch=0, base_sequence=number, is_transactional=True)
            append(log, data)
            done.append("data")
            append(log, marker(1, 0, commit=False), origin=Origin.COORDINATOR)
            done.append("abort")
        log.segments.release()

    def check(path: Path) -> None:
        log = reopened(path)
        log.local.advance_high_watermark(log.log_end_offset)
        aborted = [one.first_offset for one in log.segments.aborted_between(0, 100)]
        assert aborted == [offset for offset in range(0, 8, 2) if offset + 1 < log.log_end_offset]
        assert log.log_end_offset >= len(done)
        assert log.last_stable_offset == log.log_end_offset - log.log_end_offset % 2
        log.close()

    assert lives(lambda path: None, act, check) > 20


@pytest.mark.parametrize("target", [1, 4, 6])
def test_while_truncating(target):
    def act(path: Path, disk: Any) -> None:
        log = open_log(path, CONFIG, disk=disk)
        log.local.truncate_to(target)
        log.close()

    def check(path: Path) -> None:
        log = reopened(path)
        found = numbers(log)
        assert found == list(range(len(found)))
        assert target <= len(found) <= 8
        log.close()

    assert lives(fill, act, check) > 5


def test_while_deleting_the_oldest_segments():
    def act(path: Path, disk: Any) -> None:
        log = open_log(path, CONFIG, disk=disk)
        log.local.advance_high_watermark(log.log_end_offset)
        log.local.delete_segments(log.segments.all()[:2])
        log.close()

    def check(path: Path) -> None:
        log = reopened(path)
        found = numbers(log)
        assert found == list(range(log.log_start_offset, 8))
        assert log.log_start_offset in (0, 2, 4)
        log.close()

    assert lives(fill, act, check) > 5


def test_while_starting_over():
    def act(path: Path, disk: Any) -> None:
        log = open_log(path, CONFIG, disk=disk)
        log.local.truncate_fully_and_start_at(3)
        append(log, batch(b"3" * 40))
        log.close()

    def check(path: Path) -> None:
        log = reopened(path)
        found = numbers(log)
        assert found == list(range(len(found))) or found == [3]
        log.close()

    assert lives(fill, act, check) > 5


def test_while_replacing_segments():
    """Two segments become one in which the first records are gone, as after compaction."""
    compacted = LogConfig(
        segment_bytes=300, index_interval_bytes=80, segment_index_bytes=240, file_delete_delay_ms=0, compact=True
    )

    def act(path: Path, disk: Any) -> None:
        log = open_log(path, compacted, disk=disk)
        old = log.segments.all()[:2]
        cleaned = Segment.create(disk, log.directory.path, 0, compacted, 0, CLEANED)
        for number in (2, 3):
            data = batch(b"%d" % number * 40, base_offset=number)
            cleaned.append(data, number, 0, number)
        cleaned.seal()
        cleaned.flush()
        log.local.replace_segments([cleaned], old)
        log.close()

    def check(path: Path) -> None:
        log = open_log(path, compacted, clean_shutdown=False)
        assert numbers(log) in ([0, 1, 2, 3, 4, 5, 6, 7], [2, 3, 4, 5, 6, 7])
        directory = path / "orders-0"
        assert not [entry for entry in directory.iterdir() if entry.suffix in (".cleaned", ".swap", ".deleted")]
        log.close()

    assert lives(fill, act, check) > 20


def test_while_a_manager_creates_writes_deletes_and_stops():
    orders, bills = TopicPartition("orders", 0), TopicPartition("bills", 1)
    written: list[int] = []
    random = CountingRandom()

    def manager(path: Path, disk: Any) -> LogManager:
        config = BrokerConfig.parse({"log.dirs": f"{path}/a,{path}/b"})
        return LogManager(config, disk, StoppedClock(), random, cluster_id="c")

    def act(path: Path, disk: Any) -> None:
        written.clear()
        logs = manager(path, disk)
        try:
            logs.start()
            log = logs.get_or_create(orders, b"o" * 16, CONFIG)
            other = logs.get_or_create(bills, b"b" * 16, CONFIG)
            for number in range(5):
                append(log, batch(b"%d" % number * 40))
                written.append(number)
            append(other, batch(b"1"))
            upkeep = Upkeep(logs, StoppedClock())
            upkeep.checkpoint(RECOVERY_POINTS)
            logs.delete(bills)
            upkeep.checkpoint(LOG_STARTS)
            upkeep.checkpoint(HIGH_WATERMARKS)
            logs.close()
        except Died:
            for directory in logs.directories:
                directory.release()  # a lock goes with its process
            raise

    def check(path: Path) -> None:
        logs = manager(path, RealDisk())
        logs.start()
        log = logs.get(orders)
        found = numbers(log) if log is not None else []
        assert found in (written, [*written, len(written)])
        assert log is None or log.topic_id in (None, b"o" * 16)
        logs.get_or_create(orders, b"o" * 16, CONFIG)
        logs.close()

    assert lives(lambda path: None, act, check) > 100
