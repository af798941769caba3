"""A log moves to another directory and the process dies before the n-th system call, for every n; then a directory may
be offline at the next start. What was acknowledged is there when both directories are, and no start ever refuses."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from mortal_disk import Died, MortalDisk
from storage_kit import CountingRandom, FailingDisk, StoppedClock, append, batch, names_in, quick_directory, values_of

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.replica.log_moves import _copy
from moldau.runtime.disk import RealDisk
from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import VirtualClock
from moldau.simulation.disk import SimulatedDisk
from moldau.simulation.loop import PowerCut
from moldau.storage.log_manager import LogManager
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition

PLACE = TopicPartition("orders", 0)
ID = bytes(range(16))
OTHER_ID = bytes(range(1, 17))
CONFIG = LogConfig(segment_bytes=400, index_interval_bytes=80, segment_index_bytes=240, file_delete_delay_ms=0)
RANDOM = CountingRandom()


class OfflineDisk:
    """The real disk, of which one directory cannot be used."""

    def __init__(self, offline: Path) -> None:
        self._disk = RealDisk()
        self._offline = str(offline)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._disk, name)

        def call(*arguments: Any, **options: Any) -> Any:
            if str(arguments[0]).startswith(self._offline):
                if name in ("exists", "is_directory"):
                    return False  # as the real one answers when it cannot see
                raise OSError(errno.EIO, os.strerror(errno.EIO), arguments[0])
            return method(*arguments, **options)

        return call


def manager(path: Path | str, disk: Any = None, clock: Any = None) -> LogManager:
    properties = {
        "log.dirs": f"{path}/one,{path}/two,{path}/three",
        "log.segment.delete.delay.ms": "0",
        "num.recovery.threads.per.data.dir": "1",
    }
    return LogManager(
        BrokerConfig.parse(properties),
        disk or RealDisk(),
        clock or StoppedClock(),
        RANDOM,
        cluster_id="cluster",
        topic_config=lambda topic: CONFIG,
    )


@contextmanager
def started(path: Path, disk: Any = None) -> Iterator[LogManager]:
    """A process that is killed in the end, unless it was closed."""
    logs = manager(path, disk)
    try:
        logs.start()
        yield logs
    finally:
        logs.abandon()


def write(logs: LogManager, acknowledged: list[bytes]) -> None:
    log = logs.get(PLACE)
    assert log is not None
    value = b"%d" % len(acknowledged) * 20
    append(log, batch(value))
    acknowledged.append(value)


def directory(logs: LogManager, name: str) -> str:
    return next(one.path for one in logs.directories if one.path.endswith(name))


def prepare(path: Path | str, acknowledged: list[bytes], disk: Any = None, clock: Any = None) -> None:
    """A log in the directory `one`, closed in order."""
    logs = manager(path, disk, clock)
    logs.start()
    one = next(each.id for each in logs.directories if each.path.endswith("one"))
    logs.get_or_create(PLACE, ID, CONFIG, one)
    for _ in range(6):
        write(logs, acknowledged)
    logs.close()


def catch_up(logs: LogManager) -> None:
    current, future = logs.get(PLACE), logs.futures.logs[PLACE]
    assert current is not None
    while future.log_end_offset < current.log_end_offset:
        records = current.read(future.log_end_offset, 200, current.log_end_offset, at_least_one=True).records
        _copy(current, future, records)


def move(logs: LogManager, acknowledged: list[bytes], target: str = "two") -> None:
    """As `LogMoves` does it, and somebody writes before, meanwhile and after it."""
    current = logs.get(PLACE)
    assert current is not None
    future = logs.futures.create(current, directory(logs, target))
    catch_up(logs)
    write(logs, acknowledged)
    commit = future.commit()
    assert commit is not None
    commit.run()
    logs.futures.announce(future)()
    write(logs, acknowledged)
    catch_up(logs)
    assert logs.exchange(PLACE) is future
    write(logs, acknowledged)
    logs.removal.run()
    write(logs, acknowledged)


def check(logs: LogManager, acknowledged: list[bytes]) -> None:
    log = logs.get(PLACE)
    assert log is not None
    assert values_of(log) == acknowledged


def later_starts(path: Path, offline: str | None, clean: bool, acknowledged: list[bytes]) -> None:
    """One without the directory `offline`, which may be closed in order, and two with all of them."""
    with started(path, OfflineDisk(path / offline) if offline else None) as logs:
        if logs.get(PLACE) is not None:
            check(logs, acknowledged)
            write(logs, acknowledged)
        else:
            assert logs.has_offline_directory
        if clean:
            logs.close()
    for _ in range(2):
        with started(path) as logs:
            check(logs, acknowledged)
            write(logs, acknowledged)
            for key in tuple(logs.futures.interrupted):
                logs.futures.forget_interrupted(*key)
            logs.removal.run()
    found = [f"{name}/{each}" for name in ("one", "two", "three") for each in names_in(path / name)]
    assert len([name for name in found if "/orders-0" in name]) == 1
    assert not (path / next(name for name in found if "/orders-0" in name) / "heir").exists()


@pytest.mark.parametrize("clean", [False, True])
@pytest.mark.parametrize("offline", [None, "one", "two", "three"])
def test_every_death_and_every_directory_that_is_gone_after_it(offline, clean):
    life = 0
    survived = False
    while not survived:
        with quick_directory() as path:
            acknowledged: list[bytes] = []
            prepare(path, acknowledged)
            disk = MortalDisk(1 << 30)
            logs = manager(path, disk)
            try:
                logs.start()
                disk.life = life
                move(logs, acknowledged)
                survived = True
            except Died:
                pass
            finally:
                bury(logs, disk)
            later_starts(path, offline, clean, acknowledged)
        life += 1
    assert life > 40


@pytest.mark.parametrize("offline", [None, "one", "two"])
def test_every_death_of_the_start_that_finishes_a_move(offline):
    """Between the names: the old log has given up its own, the new one has not got it yet."""
    life = 0
    survived = False
    while not survived:
        with quick_directory() as path:
            acknowledged: list[bytes] = []
            prepare(path, acknowledged)
            between_the_names(path, acknowledged)
            disk = MortalDisk(1 << 30)
            logs = manager(path, disk)
            try:
                logs.open()
                disk.life = life
                logs.load(lambda topic: CONFIG)
                logs.removal.run()
                survived = True
            except Died:
                pass
            finally:
                bury(logs, disk)
            later_starts(path, offline, False, acknowledged)
        life += 1
    assert life > 10


def bury(logs: LogManager, disk: MortalDisk) -> None:
    disk.bury()
    for each in logs.directories:
        each.release()


def between_the_names(path: Path, acknowledged: list[bytes]) -> None:
    disk = FailingDisk()
    disk.refuse = lambda operation, name: operation == "rename" and name.endswith("-future")
    with started(path, disk) as logs, pytest.raises(StorageError):
        move(logs, acknowledged)
    assert not (path / "one" / "orders-0").exists()
    assert not (path / "two" / "orders-0").exists()


@pytest.mark.parametrize("seed", range(3))
def test_power_cuts(seed):
    """What was forced to disk before a move began is there after it, whichever names the disk had kept."""
    after, survived = 0, False
    while not survived:
        clock, chance = VirtualClock(), SeededRandom(f"{seed}/{after}")
        disk = SimulatedDisk(clock, chance)
        forced: list[bytes] = []
        for name in ("one", "two", "three"):
            disk.make_directories(f"/data/{name}")
        disk.sync_directory("/data")
        disk.sync_directory("/")
        prepare("/data", forced, disk, clock)
        acknowledged = list(forced)
        disk.cut_power_after(after)
        logs = manager("/data", disk, clock)
        try:
            logs.start()
            move(logs, acknowledged)
            survived = True
        except PowerCut:
            pass
        disk.recover()
        for _ in range(2):
            logs = manager("/data", disk, clock)
            logs.start()
            log = logs.get(PLACE)
            assert log is not None
            values = values_of(log)
            assert values == acknowledged[: len(values)]
            assert len(values) >= len(forced)
            logs.removal.run()
            disk.cut_power()
            disk.recover()
        after += 1
    assert after > 60


# ------------------------------------------------------------------------------------------------------- failing disks


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EMFILE])
@pytest.mark.parametrize(("operation", "what"), [("rename", "orders-0"), ("rename", "-future")])
def test_a_name_that_the_disk_refuses(tmp_path, operation, what, code):
    refused(tmp_path, lambda name, path: name == operation and path.endswith(what), code)


@pytest.mark.parametrize("code", [errno.EIO, errno.ENOSPC, errno.EMFILE])
@pytest.mark.parametrize("which", ["one", "two"])
def test_a_name_that_the_disk_does_not_keep(tmp_path, which, code):
    """The rename was done, but not forced to disk."""
    refused(tmp_path, lambda name, path: name == "sync_directory" and path.endswith(which), code)


def refused(path: Path, refuse: Any, code: int) -> None:
    acknowledged: list[bytes] = []
    prepare(path, acknowledged)
    disk = FailingDisk()
    disk.code = code
    with started(path, disk) as logs:
        logs.failed = lambda error: error.is_passing or logs.directory_failed(error.directory, str(error))
        future = logs.futures.create(logs.get(PLACE), directory(logs, "two"))
        catch_up(logs)
        logs.futures.announce(future)()
        disk.refuse = refuse
        with pytest.raises(StorageError):
            logs.exchange(PLACE)
        disk.refuse = lambda operation, path: False
        if logs.get(PLACE) is not None:
            # It is where it was, and goes on; whoever moves it gives up the copy.
            check(logs, acknowledged)
            write(logs, acknowledged)
            logs.futures.discard(PLACE)
        else:
            assert logs.has_offline_directory
            assert PLACE not in logs.futures.logs
    later_starts(path, None, False, acknowledged)


# ---------------------------------------------------------------------------------------------- topics of the same name


def test_the_heir_of_another_topic_is_kept_aside(tmp_path):
    acknowledged: list[bytes] = []
    prepare(tmp_path, acknowledged)
    between_the_names(tmp_path, acknowledged)
    with started(tmp_path, OfflineDisk(tmp_path / "one")) as logs:
        assert logs.get(PLACE) is None
        logs.get_or_create(PLACE, OTHER_ID, CONFIG)
        logs.close()
    with started(tmp_path) as logs:
        log = logs.get(PLACE)
        assert log is not None
        assert (log.topic_id, values_of(log)) == (OTHER_ID, [])
        assert [name for name in names_in(tmp_path / "two") if name.endswith("-stray")]


def test_a_topic_whose_name_is_too_long_for_a_marked_directory(tmp_path):
    place = TopicPartition("t" * 249, 0)
    disk = FailingDisk()
    with started(tmp_path, disk) as logs:
        one = next(each.id for each in logs.directories if each.path.endswith("one"))
        current = logs.get_or_create(place, ID, CONFIG, one)
        append(current, batch(b"value"))
        future = logs.futures.create(current, directory(logs, "two"))
        _copy(current, future, current.read(0, 200, 1, at_least_one=True).records)
        logs.futures.announce(future)()
        disk.refuse = lambda operation, name: operation == "rename" and name.endswith("-future")
        with pytest.raises(StorageError):
            logs.exchange(place)
    with started(tmp_path) as logs:
        log = logs.get(place)
        assert log is not None
        assert values_of(log) == [b"value"]
