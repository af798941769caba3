"""Directories are opened side by side, each on a worker; one that fails does not hold up the others."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from moldau.config.broker import BrokerConfig
from moldau.runtime.chance import SystemRandom
from moldau.runtime.clock import SystemClock
from moldau.runtime.disk import RealDisk
from moldau.storage.log_dirs import LogDirError
from moldau.storage.log_manager import LogManager
from moldau.types import TopicPartition


class HeldWorkers:
    """Jobs run in threads of their own; their results come back when the test asks for them."""

    def __init__(self) -> None:
        self._threads: list[threading.Thread] = []
        self._results: list[Callable[[], None]] = []

    def submit(self, job: Callable[[], Any], done: Callable[[Any, BaseException | None], None]) -> None:
        def work() -> None:
            try:
                result, error = job(), None
            except BaseException as caught:
                result, error = None, caught
            self._results.append(lambda: done(result, error))

        self._threads.append(threading.Thread(target=work))
        self._threads[-1].start()

    def finish(self) -> None:
        for thread in self._threads:
            thread.join()
        for result in self._results:
            result()

    def close(self) -> None: ...


def manager(directories: list[Path]) -> LogManager:
    config = BrokerConfig.parse({"log.dirs": ",".join(map(str, directories))})
    return LogManager(config, RealDisk(), SystemClock(), SystemRandom(), cluster_id="cluster")


@pytest.fixture
def directories(tmp_path: Path) -> list[Path]:
    """Two directories with four logs, left without a clean stop."""
    paths = [tmp_path / "a", tmp_path / "b"]
    logs = manager(paths)
    logs.start()
    defaults = BrokerConfig.parse({}).log_defaults()
    for index in range(4):
        logs.get_or_create(TopicPartition("orders", index), bytes(15) + b"\x09", defaults)
    logs.abandon()
    return paths


def test_every_log_of_every_directory_is_opened(directories: list[Path]) -> None:
    logs, workers = manager(directories), HeldWorkers()
    logs.open()
    done = logs.load_on(workers, lambda topic: BrokerConfig.parse({}).log_defaults())
    assert logs.load_progress[1] == 4
    assert not done.settled
    workers.finish()
    assert done.settled
    assert logs.load_progress == (4, 4)
    assert {log.directory.parent for log in logs.logs.values()} == {str(path) for path in directories}
    logs.close()


def test_a_directory_that_fails_goes_offline_alone(directories: list[Path]) -> None:
    broken = next(directories[1].glob("orders-*"))
    (broken / "00000000000000000000.log").unlink()
    (broken / "00000000000000000000.log").mkdir()
    logs, workers = manager(directories), HeldWorkers()
    logs.open()
    done = logs.load_on(workers, lambda topic: BrokerConfig.parse({}).log_defaults())
    workers.finish()
    assert done.settled
    assert [directory.is_online for directory in logs.directories] == [True, False]
    assert {log.directory.parent for log in logs.logs.values()} == {str(directories[0])}
    logs.close()


def test_a_partition_in_two_directories_is_refused(directories: list[Path]) -> None:
    name = next(path.name for path in directories[0].glob("orders-*"))
    (directories[1] / name).mkdir()
    logs, workers = manager(directories), HeldWorkers()
    logs.open()
    failures: list[BaseException | None] = []
    logs.load_on(workers, lambda topic: BrokerConfig.parse({}).log_defaults()).then(
        lambda _value, error: failures.append(error)
    )
    workers.finish()
    assert isinstance(failures[0], LogDirError)
    assert name in str(failures[0])
    logs.abandon()
