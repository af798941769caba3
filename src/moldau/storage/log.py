"""One partition's log: appended at the end, read from anywhere.

The path of an append is kept short on purpose: validate, ask the producer state, roll if the segment is full, write
the offsets into the received bytes, one positioned write, remember. Nothing is changed before the write has
succeeded, so a refusal or a disk error leaves the log as it was.

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
from moldau.storage import timestamp_search
from moldau.storage.append_info import AppendInfo, LogRead, Patience, TimestampOffset, UnexpectedOffset
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.epoch_cache import EpochCache
from moldau.storage.file_names import EPOCH_CHECKPOINT, parse_directory
from moldau.storage.leftovers import resolve_leftovers
from moldau.storage.local_log import RECENT_BATCHES, LocalLog
from moldau.storage.log_segments import LogSegments
from moldau.storage.origin import Origin
from moldau.storage.producer_state import EndMarker, ProducerState, Verification, read_end_marker
from moldau.storage.recovery import LogLoader, record_completed
from moldau.storage.segment import Segment
from moldau.storage.snapshot_files import SnapshotFiles
from moldau.storage.storage_error import StorageError
from moldau.storage.validator import ValidBatch, check_raft_batches, validate
from moldau.types import NO_OFFSET, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition, Uuid

__all__ = ["AppendInfo", "Log", "LogRead", "Origin", "TimestampOffset"]

DEFAULT_PRODUCER_EXPIRATION_MS: Final = 86_400_000
_CLIENT: Final = Origin.CLIENT
_RAFT_LEADER: Final = Origin.RAFT_LEADER


class Log(LocalLog):
    __slots__ = ()

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
            disk.make_directories(directory)
            resolve_leftovers(disk, directory, config)
            producers = ProducerState(topic_partition, SnapshotFiles(disk, directory), producer_expiration_ms)
            loaded = LogLoader(
                topic_partition=topic_partition,
                segments=LogSegments(disk, directory, DeferredRemoval(disk, clock) if removal is None else removal),
                epochs=EpochCache.load(disk, posixpath.join(directory, EPOCH_CHECKPOINT)),
                producers=producers,
                config=config,
                now_ms=clock.now_ms(),
                compacted_once=compacted_once,
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
        batch = validate(data, start, end, self.config, origin, now, patience)
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
        return self._producers.verify(producer_id, epoch, sequence, adds_partition=adds_partition, now_ms=now)

    def _append_valid(self, batch: ValidBatch, leader_epoch: int, origin: Origin, now: int) -> AppendInfo:
        config = self.config
        data, start, end, header, timestamp, append_time = batch
        marker: EndMarker | None = None
        producer_id = header.producer_id
        if producer_id != NO_PRODUCER_ID:
            if header.attributes & CONTROL:
                marker = read_end_marker(data, start, end)
            written = self._producers.check(header, origin, marker)
            if written is not None:
                # As Kafka answers a repeated batch: with the time of its records, whoever stamped them.
                first, last, stamp = written.first_offset, written.last_offset, written.timestamp
                return AppendInfo(first, last, stamp, self.log_start_offset, stamp, 0, True)
        base = self.log_end_offset
        last = base + header.last_offset_delta
        segment = self._segments.active
        size = end - start
        try:
            if (
                segment.size + size > config.segment_bytes
                or timestamp > segment.last_timestamp_allowed
                or last > segment.last_offset_allowed
                or now > segment.last_clock_allowed
                or segment.index_full
            ):
                segment = self._roll_for(size, base)
            if append_time == NO_TIMESTAMP:
                assign_offsets(data, start, end, base, leader_epoch)
            else:
                assign_offsets(data, start, end, base, leader_epoch, append_time=append_time)
            position = segment.size
            if marker is None:
                segment.append(data[start:end], last, timestamp, last)
            else:
                self._append_marker(segment, data[start:end], header, base, timestamp, marker)
            self.log_end_offset = last + 1
            recent = self._recent
            recent[base] = position
            if len(recent) > RECENT_BATCHES:
                self._older, self._recent = recent, {}
            if leader_epoch != self._epochs.latest_epoch:
                self._epochs.assign(leader_epoch, base)
            producers = self._producers
            if producer_id != NO_PRODUCER_ID:
                completed = producers.update(header, base, timestamp, marker)
                if completed is not None:
                    producers.complete(completed)
            producers.end_offset = last + 1
            # In durable mode the acknowledgement waits for a commit, off the loop.
            if last + 1 - self.recovery_point >= config.flush_messages and not config.durable:
                self.flush()
        except OSError as error:
            raise self.failed("Appending", error) from error
        return AppendInfo(base, last, append_time, self.log_start_offset, timestamp, size)

    def append_as_follower(self, data: memoryview, start: int, end: int) -> AppendInfo:
        """Appends what the leader sent, as it is; a batch cut off at the end is left out."""
        try:
            headers = scan_batches(data, start, end, allow_partial=True)
        except ProtocolError as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"The leader sent a damaged batch: {error}.") from error
        if not headers:
            return AppendInfo(NO_OFFSET, NO_OFFSET, NO_TIMESTAMP, self.log_start_offset, NO_TIMESTAMP, 0)
        return self._append_numbered(data, start, start + sum(header.size for header in headers), headers)

    def _append_numbered(self, data: memoryview, start: int, end: int, headers: Sequence[BatchHeader]) -> AppendInfo:
        """Appends batches that have their offsets and epochs already."""
        first, last, size = headers[0].base_offset, headers[-1].last_offset, end - start
        self._check_order(headers)
        latest, latest_offset = NO_TIMESTAMP, last
        for header in headers:
            if header.max_timestamp > latest:
                latest, latest_offset = header.max_timestamp, header.last_offset
        segment = self._segments.active
        try:
            if (
                segment.size + size > self.config.segment_bytes
                or latest > segment.last_timestamp_allowed
                or last > segment.last_offset_allowed
                or self._clock.now_ms() > segment.last_clock_allowed
                or segment.index_full
            ):
                segment = self._roll_for(size, first)
            position = segment.size
            segment.append(data[start:end], last, latest, latest_offset)
            self.log_end_offset = last + 1
            for header in headers:
                self._appended(segment, header, position, data, start)
                position += header.size
                start += header.size
            self._producers.end_offset = last + 1
            if last + 1 - self.recovery_point >= self.config.flush_messages:
                self.flush()
        except OSError as error:
            raise self.failed("Appending", error) from error
        return AppendInfo(first, last, NO_TIMESTAMP, self.log_start_offset, latest, size)

    def _appended(self, segment: Segment, header: BatchHeader, position: int, data: memoryview, start: int) -> None:
        """Notes a batch that came with its offset."""
        if header.partition_leader_epoch > self._epochs.latest_epoch:
            self._epochs.assign(header.partition_leader_epoch, header.base_offset)
        self._recent[header.base_offset] = position
        if len(self._recent) > RECENT_BATCHES:
            self._older, self._recent = self._recent, {}
        completed = self._producers.replay(data, start, start + header.size, header)
        if completed is not None:
            record_completed(segment, self._producers, completed)

    def _append_marker(
        self, segment: Segment, data: memoryview, header: BatchHeader, base: int, timestamp: int, marker: EndMarker
    ) -> None:
        """Writes the end of a transaction, its entry in the transaction index first.

        A marker in the log without its entry would make aborted records visible; an entry whose marker could not be
        written is simply taken back.
        """
        completed = self._producers.completed_by(header, base, marker)
        if completed is None or not completed.aborted:
            segment.append(data, base, timestamp, base)
            return
        segment.transaction_index.append(completed.as_aborted())
        try:
            segment.append(data, base, timestamp, base)
        except OSError:
            segment.transaction_index.drop_last()
            raise

    def _roll_for(self, size: int, base_offset: int) -> Segment:
        """A fresh segment for what does not belong into the active one."""
        if size > self.config.segment_bytes:
            raise KafkaError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size} bytes do not fit into a segment of {self.config.segment_bytes} bytes (segment.bytes).",
            )
        return self._roll(base_offset)

    def _check_order(self, headers: Sequence[BatchHeader]) -> None:
        expected = self.log_end_offset
        for header in headers:
            if header.base_offset < expected:
                raise UnexpectedOffset(
                    f"A batch for {self.topic_partition} begins at offset {header.base_offset}, "
                    f"but offset {expected} is the next.",
                    headers[0].base_offset,
                    headers[-1].last_offset,
                )
            expected = header.next_offset

    # --------------------------------------------------------------------------------------------------- reading

    def read(
        self, offset: int, max_bytes: int, max_offset: int, *, at_least_one: bool, committed: bool = False
    ) -> LogRead:
        """Batches from the one that holds `offset` up to `max_offset`, still in their file.

        The end may cut a batch, as in Kafka. If the first batch is larger than `max_bytes` it is returned whole with
        `at_least_one` and left out otherwise. With `committed` the aborted transactions come along.
        """
        if offset > self.log_end_offset or offset < self.log_start_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"Offset {offset} of {self.topic_partition} is not between {self.log_start_offset} "
                f"and {self.log_end_offset}.",
            )
        records: FileSlice | bytes = b""
        aborted: list[tuple[int, int]] | None = [] if committed else None
        if offset < max_offset:
            try:
                found = self._locate(offset)
                if found is not None:
                    segment, position = found
                    length = self._length(segment, position, max_bytes, max_offset, at_least_one)
                    if length > 0:
                        records = FileSlice(segment.file or segment.open_file(), position, length)
                        if committed:
                            end = self._segments.end_offset_before(segment, position + length, self.log_end_offset)
                            transactions = self._segments.aborted_between(offset, end)
                            aborted = [(one.producer_id, one.first_offset) for one in transactions]
            except OSError as error:
                raise self.failed("Reading", error) from error
            except ProtocolError as error:
                raise self._damaged(offset, error) from error
        return LogRead(records, self._high_watermark, self.log_start_offset, self.last_stable_offset, aborted)

    def bytes_between(self, first: int, end: int) -> int:
        """How many bytes lie between two offsets: what a waiting fetch compares with its minimum."""
        if first >= end:
            return 0
        try:
            begin, stop = self._locate(max(first, self.log_start_offset)), self._locate(end)
        except OSError as error:
            raise self.failed("Reading", error) from error
        except ProtocolError as error:
            raise self._damaged(first, error) from error
        return self._segments.distance(begin, stop) if begin is not None and stop is not None else 0

    def _locate(self, offset: int) -> tuple[Segment, int] | None:
        """The segment and position of the batch that holds `offset`, or of the first after it."""
        active = self._segments.active
        if offset >= active.base_offset:
            if offset == self.log_end_offset:
                return active, active.size
            position = self._recent.get(offset)
            if position is None:
                position = self._older.get(offset)
            if position is not None:
                return active, position
        return self._segments.locate(offset)

    def _length(self, segment: Segment, position: int, max_bytes: int, max_offset: int, at_least_one: bool) -> int:
        end = segment.size
        if max_offset < self.log_end_offset:
            limit = self._locate(max_offset)
            if limit is not None and limit[0] is segment:
                end = limit[1]
            elif limit is not None and limit[0].base_offset < segment.base_offset:
                return 0
        length = end - position
        if length <= max_bytes:
            return length
        first = segment.header_at(position).size
        if first > max_bytes:
            return min(first, length) if at_least_one else 0
        return max_bytes

    # --------------------------------------------------------------------------------------------------- by time

    def earliest(self) -> TimestampOffset:
        return TimestampOffset(NO_TIMESTAMP, self.log_start_offset, self._epochs.epoch_at(self.log_start_offset))

    def latest(self) -> TimestampOffset:
        return TimestampOffset(NO_TIMESTAMP, self.log_end_offset, self._epochs.latest_epoch)

    def max_timestamp(self) -> TimestampOffset | None:
        """The record with the latest timestamp, or None in an empty log."""
        try:
            return timestamp_search.find_latest(self._segments)
        except OSError as error:
            raise self.failed("Reading", error) from error
        except ProtocolError as error:
            raise self._damaged(self.log_start_offset, error) from error

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """The first record that is not older than `timestamp`, or None."""
        try:
            return timestamp_search.find_first(self._segments, timestamp, self.log_start_offset)
        except OSError as error:
            raise self.failed("Reading", error) from error
        except ProtocolError as error:
            raise self._damaged(self.log_start_offset, error) from error

    # ----------------------------------------------------------------------------------------- offsets and epochs

    @property
    def latest_epoch(self) -> int:
        return self._epochs.latest_epoch

    def begin_epoch(self, epoch: int) -> None:
        """A new leader epoch starts at the end of the log."""
        self._epochs.assign(epoch, self.log_end_offset)

    def end_offset_for_epoch(self, epoch: int) -> tuple[int, int]:
        """(the largest epoch up to the one asked for, where it ended); (-1, -1) if unknown."""
        return self._epochs.end_offset_for(epoch, self.log_end_offset)
