"""Whether one segment is sound: every batch of it, and its indexes against the batches.

One pass over the log file with the scan kernel, the entries of the indexes walked beside it, and every record looked
at: those of compressed batches only on demand, since that takes much longer. Nothing is written, and nothing is taken
on trust: what recovery would quietly rebuild is reported here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from struct import Struct
from typing import Final

from moldau._speed import BatchHeader, RecordWalk, scan_batches
from moldau._speed.layout import HEADER_SIZE
from moldau.errors import ProtocolError
from moldau.protocol.records.streams import windows
from moldau.runtime.ports import Disk, File
from moldau.storage import offset_index, time_index
from moldau.storage.batch_check import good_batches
from moldau.storage.file_batches import PlacedBatch, header_at
from moldau.storage.transaction_index import AbortedTransaction

_CHUNK: Final = 4 << 20
_TRANSACTION_ENTRY: Final = Struct(">hqqqq")
# Of one kind of problem in one file so many are told; more would say nothing new.
_MOST: Final = 5


@dataclass(slots=True)
class SegmentReport:
    base_offset: int
    next_offset: int
    latest_epoch: int = -1
    batches: int = 0
    records: int = 0
    size: int = 0
    sound_bytes: int = 0  # up to the first damage
    problems: dict[str, list[str]] = field(default_factory=dict)  # by kind of file

    def tell(self, kind: str, sentence: str) -> None:
        told = self.problems.setdefault(kind, [])
        if len(told) < _MOST:
            told.append(sentence)
        elif len(told) == _MOST:
            told.append("and more of the kind")


class SegmentVerifier:
    """`paths` of the log, its offset index, time index and transaction index, as `Segment.paths` gives them."""

    def __init__(
        self,
        disk: Disk,
        paths: list[str],
        base_offset: int,
        latest_epoch: int,
        epochs: Sequence[tuple[int, int]],
        *,
        deep: bool,
    ) -> None:
        self._disk = disk
        self._log, self._index, self._time_index, self._transaction_index = paths
        self._deep = deep
        self._report = SegmentReport(base_offset, base_offset, latest_epoch)
        self._entries = _entries(self._read(self._index), offset_index.ENTRY)
        self._times = _entries(self._read(self._time_index), time_index.ENTRY)
        self._markers: set[int] = set()
        # Where the epochs begin, the next one last; empty if nothing certain is known of them.
        self._epochs_ahead = [entry for entry in reversed(epochs) if entry[1] >= base_offset]
        before = [epoch for epoch, start in epochs if start < base_offset]
        self._epoch = before[-1] if before else None

    def run(self) -> SegmentReport:
        report = self._report
        self._check_sizes()
        file = self._disk.open(self._log)
        try:
            report.size = file.size()
            entries, times = iter(self._entries), iter(self._times)
            entry, time = next(entries, None), next(times, None)
            latest = -1
            for position, header in self._batches(file):
                while entry is not None and entry[1] <= position:
                    self._check_entry(entry, position, header)
                    entry = next(entries, None)
                while time is not None and report.base_offset + time[1] < header.base_offset:
                    self._check_time(time, latest)
                    time = next(times, None)
                self._count(position, header)
                latest = max(latest, header.max_timestamp)
            while time is not None:
                self._check_time(time, latest)
                time = next(times, None)
            if entry is not None and report.sound_bytes == report.size:
                report.tell("index", f"points to position {entry[1]}, behind the end of the log")
        finally:
            file.close()
        self._check_transactions()
        return report

    # ------------------------------------------------------------------------------------------------------ batches

    def _batches(self, file: File) -> Iterator[PlacedBatch]:
        report = self._report
        position = 0
        while position < report.size:
            data = file.read(position, min(_CHUNK, report.size - position))
            try:
                headers = scan_batches(data, allow_partial=True)
            except ProtocolError:
                headers = []
            if not headers:
                yield from self._slowly(file)
                return
            at = 0
            for header in headers:
                self._open(header, position + at, data, at)
                yield PlacedBatch(position + at, header)
                at += header.size
            position += at

    def _slowly(self, file: File) -> Iterator[PlacedBatch]:
        """Batch by batch up to the damage, or past a batch that is larger than a chunk or of an old format."""
        report = self._report
        done = report.sound_bytes
        for checked in good_batches(file, report.base_offset, report.size, gaps=True):
            if checked.placed.position >= done:
                position, header = checked.placed
                if checked.data:
                    self._open(header, position, checked.data, checked.start)
                else:
                    self._open(header, position, file.read(position, header.size), 0)
                yield checked.placed
        if report.sound_bytes < report.size:
            report.tell("log", f"is damaged from position {report.sound_bytes} on: {self._reason(file)}")

    def _reason(self, file: File) -> str:
        data = file.read(self._report.sound_bytes, _CHUNK)
        try:
            scan_batches(data)
            return "the batch there is out of order"
        except ProtocolError as error:
            try:
                header_at(data, 0)
            except ProtocolError:
                return str(error).rpartition(" (")[0] or str(error)
            return str(error).rpartition(" (")[0]

    def _open(self, header: BatchHeader, position: int, data: bytes, start: int) -> None:
        """Looks at the records of the batch at `position` of the file, which stands at `start` of `data`."""
        if header.magic != 2 or (header.compression and not self._deep):
            return
        walk = RecordWalk(header, consecutive=False)
        body = memoryview(data)[start + HEADER_SIZE : start + header.size]
        try:
            for window in windows(header.compression if header.count else 0, body):
                walk.feed(window)
            found = walk.finish()
        except ProtocolError as error:
            where = f"position {position + HEADER_SIZE + walk.position}"
            if header.compression:
                where = f"position {walk.position} of what the batch at position {position} unpacks to"
            reason = str(error).rpartition(" (")[0] or str(error)
            first, last = header.base_offset, header.last_offset
            self._report.tell("log", f"has something else than a record at {where}, offsets {first}..{last}: {reason}")
            return
        latest = max(found.max_timestamp, -1)
        if found.records and latest != header.max_timestamp:
            self._report.tell(
                "log",
                f"has a batch at position {position}, offsets {header.base_offset}..{header.last_offset}, that says "
                f"its latest record is of {header.max_timestamp}, but that is of {latest}",
            )

    def _count(self, position: int, header: BatchHeader) -> None:
        report = self._report
        if header.base_offset < report.next_offset:
            report.tell("log", f"has offset {header.base_offset} where {report.next_offset} or more is expected")
        if header.partition_leader_epoch < report.latest_epoch and header.magic == 2:
            epoch = header.partition_leader_epoch
            report.tell("log", f"goes back from epoch {report.latest_epoch} to {epoch} at offset {header.base_offset}")
        while self._epochs_ahead and self._epochs_ahead[-1][1] <= header.base_offset:
            self._epoch = self._epochs_ahead.pop()[0]
        if self._epoch is not None and header.partition_leader_epoch != self._epoch and header.magic == 2:
            epoch = header.partition_leader_epoch
            report.tell("log", f"has epoch {epoch} at offset {header.base_offset}, which lies in epoch {self._epoch}")
        report.latest_epoch = max(report.latest_epoch, header.partition_leader_epoch)
        report.next_offset = max(report.next_offset, header.next_offset)
        report.batches += 1
        report.records += header.count
        report.sound_bytes = position + header.size
        if header.is_control:
            self._markers.add(header.base_offset)

    # ------------------------------------------------------------------------------------------------------ indexes

    def _check_sizes(self) -> None:
        for kind, path, size in (
            ("index", self._index, offset_index.ENTRY.size),
            ("timeindex", self._time_index, time_index.ENTRY.size),
            ("txnindex", self._transaction_index, _TRANSACTION_ENTRY.size),
        ):
            if not self._disk.exists(path):
                if kind != "txnindex":
                    self._report.tell(kind, "is missing")
            elif self._disk.size(path) % size:
                self._report.tell(kind, "does not hold a whole number of entries")
        self._check_order("index", [offset for offset, _ in self._entries], "offset", strict=True)
        self._check_order("timeindex", [timestamp for timestamp, _ in self._times], "timestamp", strict=True)
        self._check_order("timeindex", [offset for _, offset in self._times], "offset", strict=False)

    def _check_order(self, kind: str, values: list[int], name: str, *, strict: bool) -> None:
        for earlier, later in pairwise(values):
            if later < earlier or (strict and later == earlier):
                self._report.tell(kind, f"is out of order: {name} {later} follows {earlier}")
                return

    def _check_entry(self, entry: tuple[int, int], position: int, header: BatchHeader) -> None:
        """An entry leads to a batch, and to none that begins behind its offset: lookups would miss that one."""
        offset = self._report.base_offset + entry[0]
        if entry[1] != position:
            self._report.tell("index", f"points for offset {offset} to position {entry[1]}, where no batch begins")
        elif header.base_offset > offset:
            self._report.tell("index", f"points for offset {offset} to a batch that begins at {header.base_offset}")

    def _check_time(self, entry: tuple[int, int], latest: int) -> None:
        """No record up to the offset of an entry is later than the entry says."""
        if latest > entry[0]:
            offset = self._report.base_offset + entry[1]
            self._report.tell("timeindex", f"says {entry[0]} for offset {offset}, but there is a record of {latest}")

    def _check_transactions(self) -> None:
        report = self._report
        for version, *fields in _TRANSACTION_ENTRY.iter_unpack(_whole(self._read(self._transaction_index), 34)):
            aborted = AbortedTransaction(*fields)
            if version != 0:
                report.tell("txnindex", f"has an entry of version {version}")
            elif aborted.last_offset not in self._markers and report.sound_bytes == report.size:
                report.tell("txnindex", f"names a marker at offset {aborted.last_offset}, where there is none")
            elif aborted.first_offset > aborted.last_offset:
                report.tell("txnindex", f"has a transaction that ends at {aborted.last_offset}, before it begins")

    def _read(self, path: str) -> bytes:
        return self._disk.read_file(path) if self._disk.exists(path) else b""


def _entries(data: bytes, entry: Struct) -> list[tuple[int, int]]:
    """The entries of an index; the zeros behind them are room that a segment being written had."""
    found: list[tuple[int, int]] = list(entry.iter_unpack(_whole(data.rstrip(b"\0"), entry.size, data)))
    return found


def _whole(data: bytes, size: int, padded: bytes | None = None) -> bytes:
    """As many whole entries as there are; an entry that ends with zeros gets them back."""
    if padded is None:
        return data[: len(data) - len(data) % size]
    return padded[: min(-(-len(data) // size) * size, len(padded) - len(padded) % size)]
