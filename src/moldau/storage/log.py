"""One partition's log: appended at the end, read from anywhere.

The path of an append is kept short on purpose: validate, ask the producer state, roll if the segment is full, write
the offsets into the received bytes, one positioned write, remember. Nothing is changed before the write has
succeeded, so a refusal or a disk error leaves the log as it was.

Appending and reading is all that happens here. What keeps a log (retention, compaction, moving, closing) turns to its
parts: `local` for what rolls, cuts and drops, `durability` for what is on disk, `directory` for where it lies.

Offsets every reader should know: `log_start_offset` (the first that may be read), `high_watermark` (the first that is
not replicated), `last_stable_offset` (the first that is not decided) and `log_end_offset` (the next to be written).
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from moldau._speed import BatchHeader, assign_offsets, scan_batches
from moldau._speed.layout import CONTROL
from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.runtime.ports import Clock, Disk, FileSlice, Random
from moldau.slicing import Work
from moldau.storage.append_info import AppendInfo, LogRead, Patience, TimestampOffset
from moldau.storage.batch_order import check_epochs, check_order, newest, size_of
from moldau.storage.commit import Commit
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.epoch_cache import EpochCache
from moldau.storage.file_names import EPOCH_CHECKPOINT, parse_directory
from moldau.storage.leftovers import resolve_leftovers
from moldau.storage.local_log import RECENT_BATCHES, LocalLog
from moldau.storage.log_segments import LogSegments
from moldau.storage.origin import Origin
from moldau.storage.producer_state import EndMarker, ProducerState, Verification, read_end_marker
from moldau.storage.recovery import LoadedLog, LogLoader
from moldau.storage.snapshot_files import SnapshotFiles
from moldau.storage.storage_error import StorageError
from moldau.storage.timestamp_search import Found, search_first, search_latest
from moldau.storage.transaction_marker import append_marker, runs_of_batches
from moldau.storage.validator import ValidBatch, check_raft_batches, validate
from moldau.types import NO_OFFSET, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition, Uuid

__all__ = ["AppendInfo", "Log", "LogRead", "Origin", "TimestampOffset"]

DEFAULT_PRODUCER_EXPIRATION_MS: Final = 86_400_000
_CLIENT: Final = Origin.CLIENT
_RAFT_LEADER: Final = Origin.RAFT_LEADER


class Log:
    __slots__ = (
        "_clock",
        "directory",
        "durability",
        "epochs",
        "local",
        "producers",
        "recovered",
        "segments",
        "topic_id",
        "topic_partition",
    )

    def __init__(
        self,
        loaded: LoadedLog,
        config: LogConfig,
        disk: Disk,
        clock: Clock,
        random: Random | None,
        topic_id: Uuid | None,
    ) -> None:
        # Whoever keeps the log, cuts it, moves it or forces it to disk turns to its parts; they stay the same for life.
        self.local = local = LocalLog(loaded, config, disk, clock, random)
        self.directory = local.directory
        self.durability = local.durability
        self.segments = local.segments
        self.epochs = local.epochs
        self.producers = local.producers
        self.topic_partition = loaded.topic_partition
        self.topic_id = topic_id
        # What had to be read when it was opened.
        self.recovered = loaded.recovered
        self._clock = clock

    @classmethod
    def open(
        cls,
        directory: str,
        config: LogConfig,
        disk: Disk,
        clock: Clock,
        *,
        log_start_offset: int = 0,
        recovery_point: int = 0,
        clean_shutdown: bool = True,
        topic_id: Uuid | None = None,
        random: Random | None = None,
        removal: DeferredRemoval | None = None,
        producer_expiration_ms: int = DEFAULT_PRODUCER_EXPIRATION_MS,
        compacted_once: bool = False,
    ) -> Log:
        """Opens the log in `directory`, making it if it is not there; after an unclean stop it is repaired first.

        `compacted_once` says that holes between offsets are no sign of damage, whatever the topic is set to now.
        """
        named = parse_directory(posixpath.basename(directory))
        topic_partition = named.topic_partition if named else TopicPartition(posixpath.basename(directory), 0)
        try:
            if not disk.exists(directory):
                disk.make_directories(directory)
            names = resolve_leftovers(disk, directory, config)
            producers = ProducerState(topic_partition, SnapshotFiles(disk, directory, names), producer_expiration_ms)
            loaded = LogLoader(
                topic_partition=topic_partition,
                segments=LogSegments(disk, directory, DeferredRemoval(disk, clock) if removal is None else removal),
                epochs=EpochCache.load(disk, posixpath.join(directory, EPOCH_CHECKPOINT)),
                producers=producers,
                config=config,
                now_ms=clock.now_ms(),
                compacted_once=compacted_once,
                names=names,
            ).load(log_start_offset=log_start_offset, recovery_point=recovery_point, clean=clean_shutdown)
        except OSError as error:
            raise StorageError(posixpath.dirname(directory), f"Opening {topic_partition}", error) from error
        return cls(loaded, config, disk, clock, random, topic_id)

    # ------------------------------------------------------------------------------------------------- appending

    def append_as_leader(
        self,
        data: memoryview,
        start: int,
        end: int,
        leader_epoch: int,
        *,
        origin: Origin = _CLIENT,
        patience: Patience | None = None,
    ) -> AppendInfo:
        """Appends one batch: checked, given the next offsets and the epoch in place, written with one call.

        KafkaError if it may not be appended. A batch this producer sent before is answered with its old offsets.
        Whoever has no end of `patience` gets Postponed for one that takes longer, and comes back with it prepared.
        """
        if origin is _RAFT_LEADER:
            return self._append_numbered(data, start, end, check_raft_batches(data, start, end, leader_epoch))
        now = self._clock.now_ms()
        batch = validate(data, start, end, self.local.config, origin, now, patience)
        return self._append_valid(batch, leader_epoch, origin, now)

    def append_prepared(self, batch: ValidBatch, leader_epoch: int) -> AppendInfo:
        """Appends a client's batch that was checked before. It takes the time at which it is written."""
        now = self._clock.now_ms()
        if batch[5] != NO_TIMESTAMP:
            batch = (*batch[:4], now, now)
        return self._append_valid(batch, leader_epoch, _CLIENT, now)

    def verify_producer(self, producer_id: int, epoch: int, sequence: int, *, adds_partition: bool) -> Verification:
        """The coordinator of a transaction is about to be asked whether its producer may write here."""
        now = self._clock.now_ms()
        return self.producers.verify(producer_id, epoch, sequence, adds_partition=adds_partition, now_ms=now)

    def _append_valid(self, batch: ValidBatch, leader_epoch: int, origin: Origin, now: int) -> AppendInfo:
        local = self.local
        config = local.config
        data, start, end, header, timestamp, append_time = batch
        marker: EndMarker | None = None
        producer_id = header.producer_id
        if producer_id != NO_PRODUCER_ID:
            if header.attributes & CONTROL:
                marker = read_end_marker(data, start, end)
            written = self.producers.check(header, origin, marker)
            if written is not None:
                # As Kafka answers a repeated batch: with the time of its records, whoever stamped them.
                first, last, stamp = written.first_offset, written.last_offset, written.timestamp
                return AppendInfo(first, last, stamp, local.log_start_offset, stamp, 0, True)
        base = local.log_end_offset
        last = base + header.last_offset_delta
        segment = self.segments.active
        size = end - start
        try:
            if (
                segment.size + size > config.segment_bytes
                or timestamp > segment.last_timestamp_allowed
                or last > segment.last_offset_allowed
                or now > segment.last_clock_allowed
                or segment.index_full
            ):
                segment = local.roll_for(size, base)
            if append_time == NO_TIMESTAMP:
                assign_offsets(data, start, end, base, leader_epoch)
            else:
                assign_offsets(data, start, end, base, leader_epoch, append_time=append_time)
            position = segment.size
            if marker is None:
                segment.append(data[start:end], last, timestamp, last)
            else:
                append_marker(segment, self.producers, data[start:end], header, base, timestamp, marker)
            local.log_end_offset = last + 1
            recent = local.recent
            recent[base] = position
            if len(recent) > RECENT_BATCHES:
                local.older, local.recent = recent, {}
            if leader_epoch != self.epochs.latest_epoch:
                self.epochs.assign(leader_epoch, base)
            producers = self.producers
            if producer_id != NO_PRODUCER_ID:
                completed = producers.update(header, base, timestamp, marker)
                if completed is not None:
                    producers.complete(completed)
            producers.end_offset = last + 1
            # In durable mode the acknowledgement waits for a commit, off the loop.
            if last + 1 - self.durability.recovery_point >= config.flush_messages and not config.durable:
                self.durability.flush(last + 1)
        except OSError as error:
            raise self.directory.failed("Appending", error) from error
        return AppendInfo(base, last, append_time, local.log_start_offset, timestamp, size)

    def append_as_follower(self, data: memoryview, start: int, end: int, leader_epoch: int | None = None) -> AppendInfo:
        """Appends what the leader sent, as it is; a batch cut off at the end is left out.

        A leader cannot have written in an epoch after its own (`leader_epoch`).
        """
        try:
            headers = scan_batches(data, start, end, allow_partial=True)
        except ProtocolError as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The leader sent a damaged batch: {error}.") from error
        if not headers:
            return AppendInfo(NO_OFFSET, NO_OFFSET, NO_TIMESTAMP, self.local.log_start_offset, NO_TIMESTAMP, 0)
        if leader_epoch is not None:
            check_epochs(headers, leader_epoch)
        return self._append_numbered(data, start, start + size_of(headers), headers)

    def _append_numbered(self, data: memoryview, start: int, end: int, headers: Sequence[BatchHeader]) -> AppendInfo:
        """Appends batches that have their offsets and epochs already. Where the disk fails between them, the log ends
        before the one that failed, and so does what is known of its producers."""
        check_order(self.topic_partition, headers, self.local.log_end_offset)
        latest, at = NO_TIMESTAMP, start
        try:
            for run, marker in runs_of_batches(data, start, headers):
                until = at + size_of(run)
                latest, at = max(latest, self._append_run(data, at, until, run, marker)), until
            # In durable mode whoever answers for the records waits for a commit, off the loop.
            config, next_offset = self.local.config, headers[-1].last_offset + 1
            if next_offset - self.durability.recovery_point >= config.flush_messages and not config.durable:
                self.durability.flush(next_offset)
        except OSError as error:
            raise self.directory.failed("Appending", error) from error
        first, start_offset = headers[0].base_offset, self.local.log_start_offset
        return AppendInfo(first, next_offset - 1, NO_TIMESTAMP, start_offset, latest, end - start)

    def _append_run(
        self, data: memoryview, start: int, end: int, headers: Sequence[BatchHeader], marker: EndMarker | None
    ) -> int:
        """Their latest timestamp."""
        first, last, size = headers[0].base_offset, headers[-1].last_offset, end - start
        latest, latest_offset = newest(headers)
        segment, local = self.segments.active, self.local
        if (
            segment.size + size > local.config.segment_bytes
            or latest > segment.last_timestamp_allowed
            or last > segment.last_offset_allowed
            or self._clock.now_ms() > segment.last_clock_allowed
            or segment.index_full
        ):
            segment = local.roll_for(size, first)
        position = segment.size
        if marker is None:
            segment.append(data[start:end], last, latest, latest_offset)
        else:
            append_marker(segment, self.producers, data[start:end], headers[0], first, latest, marker)
        local.log_end_offset = last + 1
        for header in headers:
            if header.partition_leader_epoch > self.epochs.latest_epoch:
                self.epochs.assign(header.partition_leader_epoch, header.base_offset)
            local.recent[header.base_offset] = position
            if len(local.recent) > RECENT_BATCHES:
                local.older, local.recent = local.recent, {}
            completed = self.producers.replay(data, start, start + header.size, header)
            if completed is not None:
                self.producers.complete(completed)
            position, start = position + header.size, start + header.size
        self.producers.end_offset = last + 1
        return latest

    # --------------------------------------------------------------------------------------------------- reading

    def read(
        self, offset: int, max_bytes: int, max_offset: int, *, at_least_one: bool, committed: bool = False
    ) -> LogRead:
        """Batches from the one that holds `offset` up to `max_offset`, still in their file.

        The end may cut a batch, as in Kafka. If the first batch is larger than `max_bytes` it is returned whole with
        `at_least_one` and left out otherwise. With `committed` the aborted transactions come along.
        """
        local = self.local
        if offset > local.log_end_offset or offset < local.log_start_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} of {self.topic_partition} is not between {local.log_start_offset} "
                f"and {local.log_end_offset}.",
            )
        records: FileSlice | bytes = b""
        aborted: list[tuple[int, int]] | None = [] if committed else None
        if offset < max_offset:
            try:
                found = local.locate(offset)
                if found is not None:
                    segment, position = found
                    length = local.length(segment, position, max_bytes, max_offset, at_least_one)
                    if length > 0:
                        records = FileSlice(segment.file or segment.open_file(), position, length)
                        if committed:
                            end = self.segments.end_offset_before(segment, position + length, local.log_end_offset)
                            transactions = self.segments.aborted_between(offset, end)
                            aborted = [(one.producer_id, one.first_offset) for one in transactions]
            except OSError as error:
                raise self.directory.failed("Reading", error) from error
            except ProtocolError as error:
                raise self.directory.damaged(offset, error) from error
        return LogRead(records, local.high_watermark, local.log_start_offset, local.last_stable_offset, aborted)

    def bytes_between(self, first: int, end: int) -> int:
        """How many bytes lie between two offsets: what a waiting fetch compares with its minimum."""
        if first >= end:
            return 0
        try:
            begin, stop = self.local.locate(max(first, self.local.log_start_offset)), self.local.locate(end)
        except OSError as error:
            raise self.directory.failed("Reading", error) from error
        except ProtocolError as error:
            raise self.directory.damaged(first, error) from error
        return self.segments.distance(begin, stop) if begin is not None and stop is not None else 0

    # --------------------------------------------------------------------------------------------------- by time

    def earliest(self) -> TimestampOffset:
        start = self.local.log_start_offset
        return TimestampOffset(NO_TIMESTAMP, start, self.epochs.epoch_at(start))

    def latest(self) -> TimestampOffset:
        return TimestampOffset(NO_TIMESTAMP, self.local.log_end_offset, self.epochs.latest_epoch)

    def max_timestamp(self) -> Work[Found]:
        """The record with the latest timestamp, or None in an empty log."""
        with self.directory.reading(self.local.log_start_offset):
            return (yield from search_latest(self.segments))

    def offset_for_timestamp(self, timestamp: int, first: int = 0) -> Work[Found]:
        """The first record at or after `first` that is not older than `timestamp`, or None."""
        start = max(first, self.local.log_start_offset)
        with self.directory.reading(start):
            return (yield from search_first(self.segments, timestamp, start))

    # ----------------------------------------------------------------------------------------- offsets and epochs

    @property
    def config(self) -> LogConfig:
        return self.local.config

    @property
    def log_start_offset(self) -> int:
        return self.local.log_start_offset

    @property
    def log_end_offset(self) -> int:
        return self.local.log_end_offset

    @property
    def high_watermark(self) -> int:
        return self.local.high_watermark

    @property
    def last_stable_offset(self) -> int:
        return self.local.last_stable_offset

    def begin_epoch(self, epoch: int) -> None:
        """A new leader epoch starts at the end of the log."""
        self.local.begin_epoch(epoch)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(the largest epoch up to the one asked for, where it ended); (-1, -1) if unknown."""
        return self.epochs.end_offset_for(epoch, self.local.log_end_offset)

    def flush(self) -> None:
        """Forces all of it to disk."""
        self.durability.flush(self.local.log_end_offset)

    def commit(self) -> Commit | None:
        """The work of forcing to disk what is not there yet; None if all is."""
        return self.durability.commit(self.local.log_end_offset)

    def close(self) -> None:
        """Forces all of it to disk, what is only in memory too, and closes the files."""
        self.durability.close(self.local.log_end_offset)

    def __repr__(self) -> str:
        return f"Log({self.directory.path}, {self.log_start_offset}..{self.log_end_offset})"
