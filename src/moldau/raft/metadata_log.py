"""The metadata log on disk: a log like any other, with snapshots in the place of its beginning.

The snapshot and the log are two things, and a crash may fall between a change of one and of the other. The rules that
make any such moment a good one to start from:

- A snapshot counts when it has its name, and it has it when it is whole and on disk.
- What a snapshot contains is dropped from the log, and older snapshots, only after that.
- A snapshot that is newer than the log, by epoch and then by offset, replaces it: so a snapshot of the leader that was
  saved is put in place by the next start, if a crash came before the log was dropped.
"""

from __future__ import annotations

import posixpath
from itertools import pairwise
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import MetadataError
from moldau.metadata.topic_name import METADATA_PARTITION
from moldau.protocol.records import scan_batches
from moldau.raft.batches import MAX_BATCH_BYTES, voter_changes
from moldau.raft.log_view import EpochOffset
from moldau.raft.snapshot_file import (
    SnapshotDownload,
    SnapshotId,
    SnapshotReader,
    SnapshotWriter,
    find_snapshots,
    remove_snapshot,
    remove_unfinished,
)
from moldau.raft.voters import VoterHistory
from moldau.runtime.ports import Clock, Disk, FileSlice, Lock
from moldau.storage.commit import Commit
from moldau.storage.log import Log
from moldau.storage.origin import Origin
from moldau.types import Uuid

# Kafka's id of the metadata topic.
METADATA_TOPIC_ID: Final[Uuid] = bytes(15) + b"\x01"
_READ_BYTES: Final = 1 << 20
_LOCK_FILE: Final = ".lock"


class MetadataLog:
    def __init__(self, config: BrokerConfig, disk: Disk, clock: Clock) -> None:
        self.directory = posixpath.join(config.metadata_log_directory, str(METADATA_PARTITION))
        self._config = _log_config(config)
        self._disk = disk
        self._clock = clock
        self._log: Log | None = None
        self._lock: Lock | None = None
        self._snapshot: SnapshotId | None = None
        self._download: SnapshotDownload | None = None
        self._installed: SnapshotReader | None = None
        self.snapshot_bytes = 0

    # ------------------------------------------------------------------------------------------------- open and close

    def lock(self) -> None:
        # A new directory survives a power cut once the log in it was flushed; nothing is promised before that.
        self._disk.make_directories(self.directory)
        self._lock = self._disk.lock(posixpath.join(self.directory, _LOCK_FILE))
        if self._lock is None:
            raise MetadataError(f"another process is using the metadata log in {self.directory}")

    def open(self, history: VoterHistory) -> SnapshotReader | None:
        """Opens log and snapshot; `history` learns what both say about the voters."""
        remove_unfinished(self._disk, self.directory)
        found = find_snapshots(self._disk, self.directory)
        snapshot = SnapshotReader(self._disk, self.directory, found[-1]) if found else None
        if snapshot is not None:
            self._snapshot, self.snapshot_bytes = snapshot.id, snapshot.size
            history.add(snapshot.changes)
        log = self._open_log(snapshot)
        self._drop_beginning(log)
        offset = log.log_start_offset
        while offset < log.log_end_offset:
            # Checked when the log was opened.
            data = self.read(offset, _READ_BYTES)
            changes = voter_changes(data, check_crc=False)
            history.add(change for change in changes if change.offset >= offset)
            offset = scan_batches(data, 0, len(data), allow_partial=True)[-1].next_offset
        return snapshot

    def _open_log(self, snapshot: SnapshotReader | None) -> Log:
        start_offset = 0 if snapshot is None else snapshot.id.end_offset
        # Always checked to its end, as after a crash: it is short, and it is read to the end anyway.
        log = self._log = Log.open(
            self.directory,
            self._config,
            self._disk,
            self._clock,
            log_start_offset=start_offset,
            recovery_point=start_offset,
            clean_shutdown=False,
            topic_id=METADATA_TOPIC_ID,
        )
        if snapshot is not None and (log.log_end_offset < start_offset or log.epochs.latest_epoch < snapshot.epoch):
            # The snapshot outlived the log it was made from, or is the leader's and the log has left it. Or nothing
            # follows it, and of the epochs in the log only those before it were written down.
            log.local.truncate_fully_and_start_at(start_offset)
        if log.segments.first.base_offset > start_offset:
            raise MetadataError(
                f"the metadata log in {self.directory} begins at offset {log.segments.first.base_offset}, "
                f"but there is no snapshot of what came before"
            )
        return log

    def close(self) -> None:
        log, self._log = self._log, None
        download, self._download = self._download, None
        try:
            if download is not None:
                download.abandon()
            if log is not None:
                log.close()
        finally:
            self.unlock()

    def unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    @property
    def is_open(self) -> bool:
        return self._log is not None

    @property
    def log(self) -> Log:
        if self._log is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "The metadata log is closed.")
        return self._log

    # ------------------------------------------------------------------------------------------ what the machine sees

    @property
    def start_offset(self) -> int:
        return self.log.log_start_offset

    @property
    def end(self) -> EpochOffset:
        log = self.log
        epoch = log.epochs.latest_epoch
        return EpochOffset(epoch if epoch >= 0 else self._snapshot_epoch, log.log_end_offset)

    @property
    def snapshot(self) -> EpochOffset | None:
        found = self._snapshot
        # What a directory is formatted with is no snapshot of the log; its content is in the log.
        return None if found is None or found.end_offset == 0 else EpochOffset(found.epoch, found.end_offset)

    @property
    def _snapshot_epoch(self) -> int:
        return 0 if self._snapshot is None else self._snapshot.epoch

    def epoch_before(self, offset: int) -> int:
        log = self.log
        if offset <= log.log_start_offset:
            return self._snapshot_epoch
        epoch = log.epochs.epoch_at(offset - 1)
        return epoch if epoch >= 0 else self._snapshot_epoch

    def end_of_epoch(self, epoch: int) -> EpochOffset:
        found, offset = self.log.end_offset_for_epoch(epoch)
        return EpochOffset(found, offset) if found >= 0 else self.end

    # ------------------------------------------------------------------------------------------------ reading, writing

    def read(self, offset: int, max_bytes: int) -> bytes:
        """Batches from the one that holds `offset`, at least one; the last may be cut off."""
        log = self.log
        records = log.read(offset, max_bytes, log.log_end_offset, at_least_one=True).records
        return records.read() if isinstance(records, FileSlice) else bytes(records)

    def append_as_leader(self, batch: bytes, epoch: int) -> int:
        """The last offset."""
        return self.log.append_as_leader(memoryview(batch), 0, len(batch), epoch, origin=Origin.RAFT_LEADER).last_offset

    def append_as_follower(self, data: bytes) -> None:
        self.log.append_as_follower(memoryview(data), 0, len(data))

    def truncate(self, end_offset: int) -> None:
        self.log.local.truncate_to(end_offset)
        # The names of segments that went must not come back behind what is written now.
        self._disk.sync_directory(self.directory)

    def commit(self) -> Commit | None:
        """The work of forcing all of it to disk; None if it is there."""
        return self.log.commit()

    @property
    def size(self) -> int:
        return self.log.segments.size

    @property
    def durable_offset(self) -> int:
        return self.log.durability.durable_offset

    def committed(self, high_watermark: int) -> None:
        self.log.local.advance_high_watermark(high_watermark)

    # ------------------------------------------------------------------------------------------------------- snapshots

    def begin_snapshot(self, snapshot: SnapshotId, timestamp: int, history: VoterHistory) -> SnapshotWriter | None:
        """A writer for the state up to a committed offset; None if there is a snapshot of it already."""
        if self._snapshot is not None and self._snapshot.end_offset >= snapshot.end_offset:
            return None
        # The log continues in a new file, so that the one before it can be removed as a whole. Its name is on disk with
        # the next commit, before which nothing in it counts, or with the snapshot, before which nothing is removed.
        self.log.local.roll()
        voters, kraft_version = history.at(snapshot.end_offset)
        return SnapshotWriter(self._disk, self.directory, snapshot, timestamp, voters, kraft_version)

    def take_snapshot(self, writer: SnapshotWriter, history: VoterHistory) -> None:
        """A snapshot of our own is whole and on disk: drops what it replaces, and of `history` what it says."""
        if self._snapshot is not None and self._snapshot.end_offset >= writer.id.end_offset:
            # Meanwhile the leader sent a newer one.
            remove_snapshot(self._disk, self.directory, writer.id)
            return
        self._take(writer.id, writer.size)
        self._drop_beginning(self.log)
        history.forget_before(writer.id.end_offset)

    def _drop_beginning(self, log: Log) -> None:
        """Segments that a snapshot contains; also those that a crash left behind."""
        if self._snapshot is None:
            return
        end_offset = self._snapshot.end_offset
        covered = [
            segment for segment, following in pairwise(log.segments.all()) if following.base_offset <= end_offset
        ]
        log.local.advance_high_watermark(end_offset)
        log.local.advance_log_start(end_offset)
        log.local.delete_segments(covered)

    def _take(self, snapshot: SnapshotId, size: int) -> None:
        self._snapshot, self.snapshot_bytes = snapshot, size
        for older in find_snapshots(self._disk, self.directory):
            if older < snapshot:
                remove_snapshot(self._disk, self.directory, older)

    def save_piece(self, snapshot: EpochOffset, data: bytes, position: int) -> SnapshotDownload:
        """A piece of the leader's snapshot."""
        id = SnapshotId(snapshot.offset, snapshot.epoch)
        download = self._download
        if download is None or position == 0 or download.id != id:
            if download is not None:
                download.abandon()
            download = self._download = SnapshotDownload(self._disk, self.directory, id)
        download.write(data, position)
        return download

    def give_up_download(self) -> None:
        download, self._download = self._download, None
        if download is not None:
            download.abandon()

    def install(self, reader: SnapshotReader) -> bool:
        """Puts a snapshot that is on disk in the place of the log; False if the log has come further."""
        self._download = None
        if EpochOffset(reader.epoch, reader.id.end_offset) <= self.end:
            remove_snapshot(self._disk, self.directory, reader.id)
            return False
        self.log.local.truncate_fully_and_start_at(reader.id.end_offset)
        self._take(reader.id, reader.size)
        self._installed = reader
        self._disk.sync_directory(self.directory)
        return True

    def snapshot_piece(self, snapshot: EpochOffset, position: int, max_bytes: int) -> tuple[bytes, int] | None:
        """A piece of the newest snapshot, a byte at least, and the size of the whole; None if that is another one."""
        if self.snapshot != snapshot:
            return None
        assert self._snapshot is not None
        file = self._disk.open(posixpath.join(self.directory, self._snapshot.file_name))
        try:
            size = file.size()
            # Whatever is asked for: a read that fails is a disk that failed, and the end of this controller.
            length = max(1, min(max_bytes, size - position))
            return file.read(position, length) if 0 <= position < size else b"", size
        finally:
            file.close()

    def open_snapshot(self) -> SnapshotReader:
        assert self._snapshot is not None
        installed, self._installed = self._installed, None
        if installed is not None and installed.id == self._snapshot:
            # A worker has read and checked it.
            return installed
        return SnapshotReader(self._disk, self.directory, self._snapshot)


def _log_config(config: BrokerConfig) -> LogConfig:
    """Never deleted by age or size: only a snapshot makes the beginning of this log superfluous."""
    return LogConfig(
        segment_bytes=config.metadata_log_segment_bytes,
        segment_ms=config.metadata_log_segment_ms,
        retention_ms=-1,
        retention_bytes=-1,
        max_message_bytes=MAX_BATCH_BYTES,
        file_delete_delay_ms=0,
        segment_index_bytes=1 << 20,
    )
