"""What the tests of this room share: a clock that stands still, batches in a line, a disk that can be told to fail."""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from moldau.config.topic import LogConfig
from moldau.protocol.records import EndTransaction, Record, decode_batch, encode_batch, end_transaction_record
from moldau.runtime.disk import RealDisk
from moldau.slicing import run_whole
from moldau.storage.log import Log, LogRead, TimestampOffset
from moldau.storage.timestamp_search import LargeBatch

NOW = 1_700_000_000_000


class StoppedClock:
    """Time moves when a test says so."""

    def __init__(self, now_ms: int = NOW) -> None:
        self.now = now_ms

    def now_ms(self) -> int:
        return self.now

    def monotonic(self) -> float:
        return self.now / 1000


class CountingRandom:
    """Not random at all: every value differs from the one before."""

    def __init__(self) -> None:
        self._next = 0

    def bytes(self, count: int) -> bytes:
        self._next += 1
        return (self._next << 64).to_bytes(count, "big")

    def below(self, limit: int) -> int:
        return limit - 1


class FailingFile:
    def __init__(self, file: Any, disk: FailingDisk) -> None:
        self._file = file
        self._disk = disk
        self.path = file.path

    def write(self, data: Any, position: int) -> None:
        limit = self._disk.bytes_left
        if limit is not None and len(data) > limit:
            self._file.write(bytes(data)[:limit], position)
            raise OSError(errno.ENOSPC, "No space left on device", self.path)
        if limit is not None:
            self._disk.bytes_left = limit - len(data)
        self._file.write(data, position)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


class FailingDisk:
    """The real disk, until `bytes_left` of it are written or `refuse` objects to a call."""

    def __init__(self) -> None:
        self._disk = RealDisk()
        self.bytes_left: int | None = None
        self.code = errno.EIO
        self.refuse: Callable[[str, str], bool] = lambda operation, path: False

    def open(self, path: str, *, create: bool = False) -> Any:
        self._check("open", path)
        return FailingFile(self._disk.open(path, create=create), self)

    def map(self, path: str, size: int) -> Any:
        self._check("map", path)
        return self._disk.map(path, size)

    def _check(self, operation: str, path: str) -> None:
        if self.refuse(operation, path):
            raise OSError(self.code, os.strerror(self.code), path)

    def __getattr__(self, name: str) -> Any:
        method = getattr(self._disk, name)

        def call(*arguments: Any) -> Any:
            self._check(name, str(arguments[0]))
            return method(*arguments)

        return call


def batch(
    *values: bytes | None,
    key: bytes | None = None,
    timestamp: int = NOW,
    timestamps: Iterable[int] | None = None,
    **fields: Any,
) -> memoryview:
    """One batch as a producer sends it, in a writable buffer like a received frame."""
    times = list(timestamps) if timestamps is not None else [timestamp] * len(values)
    records = [(time, key, value, ()) for time, value in zip(times, values, strict=True)]
    return memoryview(bytearray(encode_batch(records, **fields)))


def marker(producer_id: int, epoch: int, *, commit: bool, coordinator_epoch: int = 0) -> memoryview:
    record = end_transaction_record(EndTransaction(commit, coordinator_epoch), NOW)
    data = encode_batch([record], is_control=True, is_transactional=True, producer_id=producer_id, producer_epoch=epoch)
    return memoryview(bytearray(data))


def open_log(path: Path, config: LogConfig | None = None, *, disk: Any = None, clock: Any = None, **more: Any) -> Log:
    return Log.open(str(path / "orders-0"), config or LogConfig(), disk or RealDisk(), clock or StoppedClock(), **more)


def append(log: Log, data: memoryview, epoch: int = 1, **more: Any) -> Any:
    """As a leader with no followers: what is written can be read."""
    info = log.append_as_leader(data, 0, len(data), epoch, **more)
    log.local.advance_high_watermark(log.log_end_offset)
    return info


def records_of(read: LogRead) -> list[Record]:
    data = read.records if isinstance(read.records, bytes) else read.records.read()
    return decode_batch(data) if data else []


def all_records(log: Log) -> list[Record]:
    """Everything from the start of the log to its end, batch by batch as a consumer would."""
    found: list[Record] = []
    offset = log.log_start_offset
    while offset < log.log_end_offset:
        part = records_of(log.read(offset, 1, log.log_end_offset, at_least_one=True))
        if not part:
            break
        found += [record for record in part if record.offset >= offset]
        offset = part[-1].offset + 1
    return found


def at_time(log: Log, timestamp: int) -> TimestampOffset | None:
    """The first record that is not older, as ListOffsets finds it."""
    first = 0
    while isinstance(found := run_whole(log.offset_for_timestamp(timestamp, first)), LargeBatch):
        record = found.find()
        if record is not None:
            return record
        first = found.next_offset
    return found


def latest_of(log: Log) -> TimestampOffset | None:
    found = run_whole(log.max_timestamp())
    return found.find() if isinstance(found, LargeBatch) else found


def values_of(log: Log) -> list[bytes | None]:
    return [record.value for record in all_records(log)]


@contextmanager
def quick_directory() -> Iterator[Path]:
    """For tests that make thousands of files: memory, where the system has a directory in it."""
    memory = Path("/dev/shm")
    with TemporaryDirectory(dir=memory if memory.is_dir() else None) as path:
        yield Path(path)


def names_in(path: Path) -> list[str]:
    return sorted(entry.name for entry in path.iterdir())
