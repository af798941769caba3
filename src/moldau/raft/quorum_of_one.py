"""A quorum with one voter: it elects itself, and what is on its disk is committed.

Everything a larger quorum has is here and real: the `quorum-state` file, a new epoch at every start with a LeaderChange
record at its beginning, offsets, a high watermark that moves only over what was forced to disk. So a log written
alone can later be led by several, and nothing above this file notices the difference.

Commit is group commit. An append writes to the file and returns; the fsync runs off the loop, one at a time, and
covers everything written before it began. While it runs, further appends gather for the next.
"""

from __future__ import annotations

import logging
import posixpath
from collections import deque
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.metadata.committed import CommittedBatch
from moldau.metadata.records import MetadataError, VersionedRecord
from moldau.metadata.topic_name import METADATA_PARTITION
from moldau.raft.batches import MAX_BATCH_BYTES, decode_batches, leader_change_batch, metadata_batch
from moldau.raft.quorum import QuorumListener
from moldau.raft.quorum_state import QuorumState, read_quorum_state, write_quorum_state
from moldau.raft.snapshot_file import (
    SnapshotId,
    SnapshotReader,
    SnapshotWriter,
    find_snapshots,
    remove_snapshot,
    remove_unfinished,
)
from moldau.runtime.ports import Clock, Disk, FileSlice, Lock, Loop, Workers
from moldau.storage.log import Log
from moldau.storage.origin import Origin
from moldau.types import Uuid

logger = logging.getLogger("moldau.raft")

# Kafka's id of the metadata topic.
METADATA_TOPIC_ID: Final[Uuid] = bytes(15) + b"\x01"
_READ_BYTES: Final = 4 << 20
_LOCK_FILE: Final = ".lock"


class QuorumOfOne:
    """`on_fault` is told when the log can no longer be trusted: then the node must stop.

    Without `workers` the fsync runs in the loop, at the end of the turn.
    """

    def __init__(
        self,
        config: BrokerConfig,
        disk: Disk,
        clock: Clock,
        loop: Loop,
        workers: Workers | None = None,
        on_fault: Callable[[BaseException], None] | None = None,
    ) -> None:
        self.node_id = config.node_id
        self.directory = posixpath.join(config.metadata_log_directory, str(METADATA_PARTITION))
        self._log_config = _log_config(config)
        self._disk = disk
        self._clock = clock
        self._loop = loop
        self._workers = workers
        self._on_fault = on_fault
        self._listeners: list[QuorumListener] = []
        self._log: Log | None = None
        self._lock: Lock | None = None
        self._leader_id = -1
        self._epoch = 0
        self._high_watermark = 0
        # Appended and not yet committed, oldest first.
        self._pending: deque[CommittedBatch] = deque()
        self._syncing = self._sync_scheduled = False
        self._snapshot: SnapshotId | None = None
        self.bytes_since_snapshot = 0
        self.snapshot_bytes = 0

    @property
    def leader_id(self) -> int:
        return self._leader_id

    @property
    def epoch(self) -> int:
        return self._epoch

    @property
    def end_offset(self) -> int:
        return self._opened.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self._high_watermark

    def register(self, listener: QuorumListener) -> None:
        self._listeners.append(listener)

    # ------------------------------------------------------------------------------------------------------- start

    def start(self) -> None:
        """Opens the log, begins a new epoch, replays what is committed. When it returns, this node leads."""
        # A new directory survives a power cut once the log in it was flushed; nothing is promised before that.
        self._disk.make_directories(self.directory)
        self._lock = self._disk.lock(posixpath.join(self.directory, _LOCK_FILE))
        if self._lock is None:
            raise MetadataError(f"another process is using the metadata log in {self.directory}")
        state = read_quorum_state(self._disk, self.directory)
        if state.voters and state.voters != (self.node_id,):
            raise MetadataError(
                f"{self.directory} belongs to a quorum of the nodes {list(state.voters)}, not of {self.node_id} alone"
            )
        snapshot = self._open_snapshot()
        log = self._open_log(0 if snapshot is None else snapshot.id.end_offset)
        self._epoch = max(state.leader_epoch, log.epochs.latest_epoch, -1 if snapshot is None else snapshot.epoch) + 1
        write_quorum_state(
            self._disk,
            self.directory,
            QuorumState(self.node_id, self._epoch, voted_id=-1, voters=(self.node_id,)),
        )
        self._begin_epoch(log)
        self._replay(log, snapshot)
        self._leader_id = self.node_id
        for listener in self._listeners:
            listener.on_leader(self.node_id, self._epoch)

    def _open_snapshot(self) -> SnapshotReader | None:
        remove_unfinished(self._disk, self.directory)
        found = find_snapshots(self._disk, self.directory)
        if not found:
            return None
        snapshot = SnapshotReader(self._disk, self.directory, found[-1])
        self._snapshot, self.snapshot_bytes = snapshot.id, snapshot.size
        return snapshot

    def _open_log(self, start_offset: int) -> Log:
        # Always checked to its end, as after a crash: it is short, and it is read to the end anyway.
        log = self._log = Log.open(
            self.directory,
            self._log_config,
            self._disk,
            self._clock,
            log_start_offset=start_offset,
            recovery_point=start_offset,
            clean_shutdown=False,
            topic_id=METADATA_TOPIC_ID,
        )
        if log.log_end_offset < start_offset:
            # The snapshot outlived the log it was made from.
            log.local.truncate_fully_and_start_at(start_offset)
        if log.segments.first.base_offset > start_offset:
            raise MetadataError(
                f"the metadata log in {self.directory} begins at offset {log.segments.first.base_offset}, "
                f"but there is no snapshot of what came before"
            )
        return log

    def _begin_epoch(self, log: Log) -> None:
        voters = (self.node_id,)
        batch = leader_change_batch(self.node_id, voters, voters, log.log_end_offset, self._epoch, self._clock.now_ms())
        self._write(log, batch)
        log.flush()
        log.local.advance_high_watermark(log.log_end_offset)
        self._high_watermark = log.log_end_offset

    def _replay(self, log: Log, snapshot: SnapshotReader | None) -> None:
        if snapshot is not None:
            for listener in self._listeners:
                listener.on_snapshot(snapshot, more=True)
        offset, end = (0 if snapshot is None else snapshot.id.end_offset), log.log_end_offset
        self.bytes_since_snapshot = 0
        while offset < end:
            records = log.read(offset, _READ_BYTES, end, at_least_one=True).records
            data = records.read() if isinstance(records, FileSlice) else records
            for batch in decode_batches(data):
                if batch.last_offset < offset:
                    continue
                offset = batch.last_offset + 1
                self._deliver(batch, more=offset < end)
            self.bytes_since_snapshot += len(data)

    # ------------------------------------------------------------------------------------------------------ append

    def append(self, epoch: int, records: Sequence[VersionedRecord]) -> int:
        log = self._opened
        if epoch != self._epoch or self._leader_id != self.node_id:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        base, now = log.log_end_offset, self._clock.now_ms()
        batch = metadata_batch(records, base, epoch, now)
        if len(batch) > MAX_BATCH_BYTES:
            raise KafkaError(
                ErrorCode.POLICY_VIOLATION, f"The change has {len(batch)} bytes; at most {MAX_BATCH_BYTES} are allowed."
            )
        last = self._write(log, batch)
        self.bytes_since_snapshot += len(batch)
        self._pending.append(CommittedBatch(base, last, epoch, now, [record.message for record in records]))
        self._schedule_sync()
        return last

    def resign(self, epoch: int) -> None:
        """There is nobody else to lead: this node stops writing and stays without a leader until it starts again."""
        if epoch == self._epoch and self._leader_id != -1:
            self._leader_id = -1
            self._pending.clear()
            for listener in self._listeners:
                listener.on_leader(-1, self._epoch)

    def close(self) -> None:
        log = self._log
        try:
            if log is not None:
                if self._leader_id == self.node_id and self._pending:
                    log.flush()
                    self._commit(log.log_end_offset)
                log.close()
        finally:
            self._log = None
            self._leader_id = -1
            self._unlock()

    def _unlock(self) -> None:
        if self._lock is not None:
            self._lock.release()
            self._lock = None

    # ------------------------------------------------------------------------------------------------------ commit

    def _write(self, log: Log, batch: bytes) -> int:
        return log.append_as_leader(
            memoryview(batch), 0, len(batch), self._epoch, origin=Origin.RAFT_LEADER
        ).last_offset

    def _schedule_sync(self) -> None:
        # At the end of the turn, so that whatever else is appended in it is covered too.
        if not self._syncing and not self._sync_scheduled:
            self._sync_scheduled = True
            self._loop.call_soon(self._sync)

    def _sync(self) -> None:
        self._sync_scheduled = False
        log = self._log
        if log is None or not self._pending:
            return
        target = log.log_end_offset
        # The indexes need no fsync: they are rebuilt when the log is opened.
        files = [segment.open_file() for segment in log.segments.from_offset(self._high_watermark)]
        self._syncing = True

        def force() -> None:
            for file in files:
                file.sync()
            if len(files) > 1:
                # A file that is new must also be found again.
                self._disk.sync_directory(self.directory)

        if self._workers is not None:
            self._workers.submit(force, lambda _, error: self._synced(target, error))
            return
        failure: OSError | None = None
        try:
            force()
        except OSError as error:
            failure = error
        self._synced(target, failure)

    def _synced(self, target: int, error: BaseException | None) -> None:
        self._syncing = False
        if self._log is None:
            return
        if error is not None:
            # After a failed fsync nobody knows what is on the disk, and trying again would pretend otherwise.
            self._fault(MoldauError(f"the metadata log in {self.directory} could not be forced to disk: {error}"))
            return
        self._commit(target)
        if self._pending:
            self._schedule_sync()

    def _commit(self, target: int) -> None:
        pending = self._pending
        self._high_watermark = target
        if self._log is not None:
            self._log.local.advance_high_watermark(target)
        while pending and pending[0].last_offset < target:
            batch = pending.popleft()
            self._deliver(batch, more=bool(pending) and pending[0].last_offset < target)

    def _deliver(self, batch: CommittedBatch, *, more: bool) -> None:
        for listener in self._listeners:
            listener.on_commit(batch, more=more)

    def _fault(self, error: BaseException) -> None:
        logger.critical("%s", error)
        self.resign(self._epoch)
        if self._on_fault is not None:
            self._on_fault(error)

    # --------------------------------------------------------------------------------------------------- snapshots

    def begin_snapshot(self, last_offset: int, epoch: int, timestamp: int) -> SnapshotWriter | None:
        """A writer for the state up to a committed offset; None if there is a snapshot of it already."""
        snapshot = SnapshotId(last_offset + 1, epoch)
        if self._snapshot is not None and self._snapshot.end_offset >= snapshot.end_offset:
            return None
        # The log continues in a new file, so that the one before it can be removed as a whole.
        self._opened.local.roll()
        self._disk.sync_directory(self.directory)
        self.bytes_since_snapshot = 0
        return SnapshotWriter(self._disk, self.directory, snapshot, timestamp)

    def finish_snapshot(self, writer: SnapshotWriter) -> None:
        """Makes the snapshot count and drops what it replaces."""
        writer.finish()
        older, self._snapshot, self.snapshot_bytes = self._snapshot, writer.id, writer.size
        log = self._opened
        segments = log.segments.all()
        covered = [
            segment for segment, following in pairwise(segments) if following.base_offset <= writer.id.end_offset
        ]
        log.local.advance_log_start(writer.id.end_offset)
        log.local.delete_segments(covered)
        if older is not None:
            remove_snapshot(self._disk, self.directory, older)

    @property
    def _opened(self) -> Log:
        if self._log is None:
            raise KafkaError(ErrorCode.NOT_CONTROLLER, "The metadata log is closed.")
        return self._log


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
