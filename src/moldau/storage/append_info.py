"""What the log answers: to an append, to a read, to a question about time."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.runtime.ports import FileSlice
from moldau.types import NO_EPOCH


class AppendInfo:
    """Where the records went. A plain class with positional arguments: one is made for every append."""

    __slots__ = (
        "base_offset",
        "bytes",
        "duplicate",
        "last_offset",
        "log_append_time",
        "log_start_offset",
        "max_timestamp",
        "record_errors",
    )

    def __init__(
        self,
        base_offset: int,
        last_offset: int,
        log_append_time: int,
        log_start_offset: int,
        max_timestamp: int,
        bytes: int,
        duplicate: bool = False,
    ) -> None:
        self.base_offset = base_offset
        self.last_offset = last_offset
        self.log_append_time = log_append_time
        self.log_start_offset = log_start_offset
        self.max_timestamp = max_timestamp
        self.bytes = bytes
        self.duplicate = duplicate
        self.record_errors: tuple[RecordError, ...] = ()


class LogRead:
    """What a read found. `records` stays in the file; `aborted` is filled for readers of committed records."""

    __slots__ = ("aborted", "high_watermark", "last_stable_offset", "log_start_offset", "records")

    def __init__(
        self,
        records: FileSlice | bytes,
        high_watermark: int,
        log_start_offset: int,
        last_stable_offset: int,
        aborted: list[tuple[int, int]] | None,
    ) -> None:
        self.records = records
        self.high_watermark = high_watermark
        self.log_start_offset = log_start_offset
        self.last_stable_offset = last_stable_offset
        self.aborted = aborted


class TimestampOffset(NamedTuple):
    timestamp: int
    offset: int
    leader_epoch: int = NO_EPOCH


class RecordError(NamedTuple):
    """Why one record of a batch was refused; the index counts within the batch."""

    batch_index: int
    message: str


class RefusedRecords(KafkaError):
    """A batch refused because of some of its records. What is said of each is put into words when somebody asks."""

    def __init__(self, code: ErrorCode, message: str, named: Callable[[], tuple[RecordError, ...]]) -> None:
        super().__init__(code, message)
        self._named = named

    @property
    def record_errors(self) -> tuple[RecordError, ...]:
        return self._named()


class Postponed(MoldauError):
    """A batch that takes longer to judge than the loop may be held up: it is to be prepared elsewhere first."""


class Patience:
    """How many bytes of records may still be unpacked for one request while the loop waits."""

    __slots__ = ("left",)

    def __init__(self, left: int) -> None:
        self.left = left
