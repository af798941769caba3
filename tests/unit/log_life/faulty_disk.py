"""The real disk under a node, with a hand on every call: it can refuse, and it writes down what was forced."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moldau.runtime.disk import RealDisk
from moldau.runtime.real import RealRuntime

Fault = Callable[[str, str], OSError | None]


class FaultyFile:
    def __init__(self, file: Any, disk: FaultyDisk) -> None:
        self._file = file
        self._disk = disk
        self.path = file.path

    def write(self, data: Any, position: int) -> None:
        self._disk.check("write", self.path)
        self._file.write(data, position)

    def truncate(self, size: int) -> None:
        self._disk.check("truncate", self.path)
        self._file.truncate(size)

    def read(self, position: int, length: int) -> Any:
        self._disk.check("read", self.path)
        return self._file.read(position, length)

    def fileno(self) -> int:
        """-1 where a read is to fail: kernels read by the descriptor, past all of this."""
        return -1 if self._disk.fault("read", self.path) is not None else self._file.fileno()

    def sync(self) -> None:
        self._disk.check("sync", self.path)
        self._file.sync()
        self._disk.synced.append(self.path)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class FaultyDisk:
    """`fault(operation, path)` returns the error to raise, or None."""

    def __init__(self) -> None:
        self._disk = RealDisk()
        self.fault: Fault = lambda operation, path: None
        self.synced: list[str] = []

    def check(self, operation: str, path: str) -> None:
        error = self.fault(operation, path)
        if error is not None:
            raise error

    def open(self, path: str, *, create: bool = False) -> Any:
        self.check("create" if create else "open", path)
        return FaultyFile(self._disk.open(path, create=create), self)

    def map(self, path: str, size: int) -> Any:
        self.check("map", path)
        return self._disk.map(path, size)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._disk, name)

        def call(*arguments: Any) -> Any:
            self.check(name, str(arguments[0]))
            return method(*arguments)

        return call


class Holding:
    """Workers that work when they are told to."""

    def __init__(self) -> None:
        self.jobs: list[Any] = []

    def submit(self, job: Any, done: Any) -> None:
        self.jobs.append((job, done))

    def run(self) -> None:
        for job, done in self.jobs:
            try:
                result = job()
            except Exception as error:
                done(None, error)
            else:
                done(result, None)

    def close(self) -> None:
        pass


class FaultyRuntime(RealRuntime):
    def __init__(self) -> None:
        super().__init__()
        self.disk: Any = FaultyDisk()
