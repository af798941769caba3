"""Metadata snapshots on disk: Kafka's `.checkpoint` files.

Named by the first offset they do not contain and the epoch of the last one they do. Inside are record batches as in a
log: a control record that opens it (with the voters of a quorum in which they may change), the records that rebuild
the state, a control record that closes it. A snapshot is written under another name and renamed when it is whole, and
one without its end is never used.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

from moldau.errors import ProtocolError
from moldau.metadata.records import MetadataError, VersionedRecord
from moldau.protocol.message import Message
from moldau.protocol.messages.snapshot_footer_record import SnapshotFooterRecord
from moldau.protocol.messages.snapshot_header_record import SnapshotHeaderRecord
from moldau.protocol.records import ControlType, control_type, decode_batch, scan_batches
from moldau.raft.batches import control_batch, decode_pieces, metadata_batch, voter_changes
from moldau.raft.control_records import ControlRecord, kraft_version_record, voters_record
from moldau.raft.voters import VoterChange, VoterSet
from moldau.runtime.ports import Disk, File

_NAME: Final = re.compile(r"(\d{20})-(\d{10})\.checkpoint", re.ASCII)
_UNFINISHED: Final = ".part"
# A tenth of a millisecond or two.
_RECORDS_AT_ONCE: Final = 16


class SnapshotId(NamedTuple):
    # The offset after the last record it contains.
    end_offset: int
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"


def find_snapshots(disk: Disk, directory: str) -> list[SnapshotId]:
    """The finished snapshots in a directory, oldest first."""
    matches = [_NAME.fullmatch(name) for name in disk.list(directory)]
    return sorted(SnapshotId(int(match[1]), int(match[2])) for match in matches if match is not None)


def remove_unfinished(disk: Disk, directory: str) -> None:
    for name in disk.list(directory):
        if name.endswith(".checkpoint" + _UNFINISHED):
            disk.remove(posixpath.join(directory, name))


def remove_snapshot(disk: Disk, directory: str, snapshot: SnapshotId) -> None:
    disk.remove(posixpath.join(directory, snapshot.file_name))


class SnapshotWriter:
    """Writes one snapshot, some records at a time; `finish` makes it count, `abandon` drops it."""

    def __init__(
        self,
        disk: Disk,
        directory: str,
        snapshot: SnapshotId,
        timestamp: int,
        voters: VoterSet | None = None,
        kraft_version: int = 0,
    ) -> None:
        self.id = snapshot
        self.size = 0
        self._disk = disk
        self._directory = directory
        self._timestamp = timestamp
        self._next_offset = 0
        self._path = posixpath.join(directory, snapshot.file_name)
        self._file: File = disk.open(self._path + _UNFINISHED, create=True)
        self._file.truncate(0)
        header = SnapshotHeaderRecord(last_contained_log_timestamp=timestamp)
        opening: list[ControlRecord] = [(ControlType.SNAPSHOT_HEADER, header)]
        if kraft_version > 0 and voters is not None:
            opening += [kraft_version_record(kraft_version), voters_record(voters)]
        self._write(control_batch(opening, 0, snapshot.epoch, timestamp), len(opening))

    def append(self, records: Sequence[VersionedRecord]) -> None:
        if records:
            batch = metadata_batch(records, self._next_offset, self.id.epoch, self._timestamp)
            self._write(batch, len(records))

    def finish(self) -> None:
        footer = (ControlType.SNAPSHOT_FOOTER, SnapshotFooterRecord())
        self._write(control_batch([footer], self._next_offset, self.id.epoch, self._timestamp), 1)
        self._file.sync()
        self._file.close()
        self._disk.rename(self._path + _UNFINISHED, self._path)
        self._disk.sync_directory(self._directory)

    def abandon(self) -> None:
        self._file.close()
        # It has its final name if what failed came after that.
        if self._disk.exists(self._path + _UNFINISHED):
            self._disk.remove(self._path + _UNFINISHED)

    def _write(self, batch: bytes, count: int) -> None:
        self._file.write(batch, self.size)
        self.size += len(batch)
        self._next_offset += count


class SnapshotDownload:
    """A snapshot of the leader, piece by piece. Made to count by `finish`, which may run anywhere."""

    def __init__(self, disk: Disk, directory: str, snapshot: SnapshotId) -> None:
        self.id = snapshot
        self._disk = disk
        self._directory = directory
        self._path = posixpath.join(directory, snapshot.file_name)
        self._file: File = disk.open(self._path + _UNFINISHED, create=True)
        self._file.truncate(0)

    def write(self, data: bytes, position: int) -> None:
        self._file.write(data, position)

    def finish(self) -> SnapshotReader:
        self._file.sync()
        self._file.close()
        reader = SnapshotReader(self._disk, self._directory, self.id, suffix=_UNFINISHED)
        self._disk.rename(self._path + _UNFINISHED, self._path)
        self._disk.sync_directory(self._directory)
        return reader

    def abandon(self) -> None:
        self._file.close()
        if self._disk.exists(self._path + _UNFINISHED):
            self._disk.remove(self._path + _UNFINISHED)


class SnapshotReader:
    """A finished snapshot, as the listeners of the quorum get it."""

    def __init__(self, disk: Disk, directory: str, snapshot: SnapshotId, suffix: str = "") -> None:
        self.id = snapshot
        self._path = posixpath.join(directory, snapshot.file_name + suffix)
        # Read whole: it is as large as the state it becomes.
        self._data = disk.read_file(self._path)
        self.size = len(self._data)
        self.timestamp = self._check()
        # What it says about the voters, as of its last offset. Looked for here, which may be on a worker.
        self.changes: tuple[VoterChange, ...] = tuple(
            change._replace(offset=self.last_offset) for change in voter_changes(self._data, check_crc=False)
        )

    @property
    def last_offset(self) -> int:
        return self.id.end_offset - 1

    @property
    def epoch(self) -> int:
        return self.id.epoch

    def __iter__(self) -> Iterator[Sequence[Message]]:
        return decode_pieces(self._data, _RECORDS_AT_ONCE)

    def _check(self) -> int:
        """The timestamp in its header; MetadataError unless it is whole, begin and end included."""
        data = self._data
        try:
            batches = scan_batches(data, 0, len(data), check_crc=True)
        except ProtocolError as error:
            raise MetadataError(f"the snapshot {self._path} is damaged: {error}") from error
        if len(batches) < 2 or not (batches[0].is_control and batches[-1].is_control):
            raise MetadataError(f"the snapshot {self._path} is not complete")
        opening = decode_batch(data, 0, batches[0].size)[0]
        closing = decode_batch(data, len(data) - batches[-1].size, len(data))[-1]
        if (control_type(opening), control_type(closing)) != (ControlType.SNAPSHOT_HEADER, ControlType.SNAPSHOT_FOOTER):
            raise MetadataError(f"the snapshot {self._path} is not complete")
        return SnapshotHeaderRecord.decode(opening.value or b"", 0).last_contained_log_timestamp
