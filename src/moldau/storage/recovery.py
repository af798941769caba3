"""Opening a log: what a clean stop left is taken as it is, what a crash left is made whole.

In Kafka's order. First the names: files that were being deleted, cleaned or swapped are removed or completed. Then,
after an unclean stop, every segment from the recovery point on is read batch by batch and cut at the first byte that
is not right, its indexes rebuilt on the way, and whatever lay behind a cut is dropped. Then the epochs and producers
are brought to the same end. Segments before the recovery point were forced to disk and are not read, so the time this
takes depends on what was not yet flushed and not on the size of the log.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple

from moldau._speed import BatchHeader
from moldau.config.topic import LogConfig
from moldau.dataclass import dataclass
from moldau.errors import ProtocolError
from moldau.slicing import Work
from moldau.storage.batch_check import CheckedBatch, good_batches
from moldau.storage.epoch_cache import EpochCache
from moldau.storage.file_names import LOG, OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX, file_name, offset_of
from moldau.storage.log_segments import LogSegments
from moldau.storage.mapped_index import CorruptIndex
from moldau.storage.producer_state import ProducerState
from moldau.storage.segment import Segment
from moldau.storage.transaction_marker import record_completed
from moldau.types import TopicPartition

# Half a millisecond, if each of them is of a producer.
_BATCHES_AT_ONCE: Final = 64


@dataclass(slots=True)
class Recovered:
    """What had to be read again because nobody knew whether it was on disk."""

    logs: int = 0
    segments: int = 0
    bytes: int = 0
    bytes_cut: int = 0
    # Whether the log begins later than it was known to, and with records that nobody had forced to disk: the files of
    # earlier ones may have been lost with the power. Or they were deleted by age; a replica asks its leader.
    lost_beginning: bool = False

    def add(self, other: Recovered) -> None:
        self.logs += other.logs
        self.segments += other.segments
        self.bytes += other.bytes
        self.bytes_cut += other.bytes_cut


class LoadedLog(NamedTuple):
    """The parts of an open log, all ending at the same offset."""

    topic_partition: TopicPartition
    segments: LogSegments
    epochs: EpochCache
    producers: ProducerState
    log_start_offset: int
    log_end_offset: int
    recovery_point: int
    recovered: Recovered


class LogLoader:
    """One opening of one log, whose leftovers are resolved."""

    __slots__ = (
        "_config",
        "_disk",
        "_end",
        "_epochs",
        "_gaps",
        "_names",
        "_now_ms",
        "_producers",
        "_recovered",
        "_segments",
        "_topic_partition",
    )

    def __init__(
        self,
        *,
        topic_partition: TopicPartition,
        segments: LogSegments,
        epochs: EpochCache,
        producers: ProducerState,
        config: LogConfig,
        now_ms: int,
        compacted_once: bool = False,
        names: Sequence[str],
    ) -> None:
        self._topic_partition = topic_partition
        self._segments = segments
        self._epochs = epochs
        self._producers = producers
        self._config = config
        self._disk = segments.disk
        self._now_ms = now_ms
        # Of the files in the directory: to list them again for each of us is a tenth of what opening a log costs.
        self._names = names
        # Whether offsets may be missing: the log was compacted once, or the segments read show it.
        self._gaps = compacted_once
        self._recovered = Recovered()
        # Where the batches read so far end. Producers may be known up to a later offset: that of the log's start.
        self._end = 0

    def load(self, *, log_start_offset: int, recovery_point: int, clean: bool) -> LoadedLog:
        unusable = self._find_segments()
        first_unflushed = None
        if not clean and len(self._segments):
            first_unflushed = self._segments.from_offset(recovery_point)[0].base_offset
        for segment in unusable:
            if first_unflushed is None or segment.base_offset < first_unflushed:
                rebuild_producers(self._producers, self._segments, log_start_offset, segment.base_offset, self._now_ms)
                self._recover(segment)
        if first_unflushed is not None:
            self._recover_from(first_unflushed, log_start_offset)
        end = self._end_offset(log_start_offset)
        if end is not None and end < log_start_offset:
            # The files behind the known start of the log are gone; what is left was deleted long ago.
            self._drop(self._segments.all())
            self._epochs.clear()
        if not len(self._segments):
            self._segments.add(self._create(log_start_offset))
            end = log_start_offset
        assert end is not None
        self._segments.active.become_active()
        start = max(log_start_offset, self._segments.first.base_offset)
        self._recovered.lost_beginning = not clean and start > max(log_start_offset, recovery_point)
        self._epochs.truncate_from_end(end)
        self._epochs.truncate_from_start(start)
        self._load_producers(start, end, clean)
        # Thousands of logs are opened at a start, and few of them are used at once.
        self._segments.rest()
        return LoadedLog(
            self._topic_partition,
            self._segments,
            self._epochs,
            self._producers,
            start,
            end,
            end if clean else min(recovery_point, end),
            self._recovered,
        )

    # -------------------------------------------------------------------------------------------------- segments

    def _find_segments(self) -> list[Segment]:
        """Finds the segments by their names; returns those whose indexes have to be rebuilt."""
        unusable = []
        directory = self._segments.directory
        names = set(self._names)
        for name in sorted(names):
            offset = offset_of(name)
            if offset is None:
                continue
            if name == file_name(offset, LOG):
                segment = Segment.open(self._disk, directory, offset, self._config, self._now_ms)
                self._segments.add(segment)
                if not self._indexes_usable(segment, names):
                    unusable.append(segment)
            elif name.endswith((OFFSET_INDEX, TIME_INDEX, TRANSACTION_INDEX)) and file_name(offset, LOG) not in names:
                self._disk.remove(posixpath.join(directory, name))
        return unusable

    def _indexes_usable(self, segment: Segment, names: set[str]) -> bool:
        """Looks at names and sizes only: a log of a thousand segments must open without opening a thousand files."""
        for kind, size in (
            (OFFSET_INDEX, segment.offset_index.ENTRY_SIZE),
            (TIME_INDEX, segment.time_index.ENTRY_SIZE),
        ):
            name = file_name(segment.base_offset, kind)
            if name not in names or self._disk.size(posixpath.join(self._segments.directory, name)) % size:
                return False
        if file_name(segment.base_offset, TRANSACTION_INDEX) in names:
            try:
                segment.transaction_index.check()
            except CorruptIndex:
                return False
        return True

    def _recover_from(self, first: int, log_start_offset: int) -> None:
        """Reads the segments that may not be on disk as they were written, from the one that begins at `first`."""
        # Newer snapshots are not known to fit what is in the log now; they are written again on the way.
        for offset in [offset for offset in self._producers.snapshots.offsets if offset > first]:
            self._producers.snapshots.remove(offset)
        rebuild_producers(self._producers, self._segments, log_start_offset, first, self._now_ms)
        unflushed = self._segments.from_offset(first)
        for index, segment in enumerate(unflushed):
            if index and self._does_not_continue(segment):
                self._drop(unflushed[index:])
                return
            self._producers.end_offset = max(self._producers.end_offset, segment.base_offset)
            self._producers.take_snapshot(sync=False)
            if self._recover(segment) > 0:
                self._drop(unflushed[index + 1 :])
                return

    def _does_not_continue(self, segment: Segment) -> bool:
        """Whether a segment cannot follow what was recovered so far.

        Its offsets may be taken already: a roll that never came to its end. Or there may be a hole before it: a disk
        that kept the newer file and lost the older one's end. Compaction makes holes too, but not only between files.
        """
        end = self._end
        return segment.base_offset < end or (segment.base_offset > end and not self._config.compact and not self._gaps)

    def _recover(self, segment: Segment) -> int:
        """Reads a whole segment, keeps what is good, rebuilds its indexes; returns how many bytes were cut off."""
        self._recovered.logs = 1
        self._recovered.segments += 1
        self._recovered.bytes += segment.size
        segment.start_rebuild()
        size, self._end = 0, segment.base_offset
        producers, epochs = self._producers, self._epochs
        # The file may still name epochs that were cut off, and others were written in their place, before the crash.
        epochs.truncate_from_end(segment.base_offset)
        try:
            for placed, data, start, end in self._good_batches(segment):
                segment.rebuild_with(placed)
                header = placed.header
                self._gaps = self._gaps or header.base_offset > self._end
                self._end = header.next_offset
                if header.partition_leader_epoch > epochs.latest_epoch:
                    epochs.assign(header.partition_leader_epoch, header.base_offset)
                # Also a batch that the log's start lies in.
                if header.next_offset > producers.end_offset:
                    completed = producers.replay(data, start, end, header)
                    if completed is not None:
                        record_completed(segment, producers, completed)
                    producers.end_offset = header.next_offset
                size = placed.position + header.size
        except ProtocolError:
            pass  # a batch that cannot be in this segment ends it like any other damage
        dropped = segment.end_rebuild(size)
        segment.let_go()
        self._recovered.bytes_cut += dropped
        return dropped

    def _good_batches(self, segment: Segment) -> Iterator[CheckedBatch]:
        following = self._segments.after(segment)
        return good_batches(
            segment.open_file(),
            segment.base_offset,
            segment.size,
            gaps=self._config.compact or self._gaps,
            next_segment=following.base_offset if following is not None else None,
        )

    def _end_offset(self, log_start_offset: int) -> int | None:
        """Where the log ends; a last segment that turns out damaged in spite of a clean stop is recovered here."""
        if not len(self._segments):
            return None
        last = self._segments.active
        try:
            last.check_indexes()
            return last.next_offset()
        except (CorruptIndex, ProtocolError):
            first = last.base_offset
            rebuild_producers(self._producers, self._segments, log_start_offset, first, self._now_ms)
            self._recover(last)
            return last.next_offset()

    def _create(self, base_offset: int) -> Segment:
        return Segment.create(self._disk, self._segments.directory, base_offset, self._config, self._now_ms)

    def _drop(self, segments: list[Segment]) -> None:
        for segment in segments:
            marked = self._producers.snapshots.mark_deleted(segment.base_offset)
            if marked:
                self._segments.remove_later([marked], self._config.file_delete_delay_ms)
        self._segments.drop_end(segments, self._config.file_delete_delay_ms)

    # ------------------------------------------------------------------------------------------------- producers

    def _load_producers(self, log_start_offset: int, end_offset: int, clean: bool) -> None:
        producers = self._producers
        producers.snapshots.remove_strays(self._segments.base_offsets)
        if clean and not producers.snapshots.offsets and not producers.entries:
            # A log from before snapshots, or one that was emptied: nothing to read, and next time it is known.
            producers.end_offset = end_offset
            producers.snapshots.start_from(log_start_offset)
            return
        rebuild_producers(producers, self._segments, log_start_offset, end_offset, self._now_ms)


def rebuild_producers(
    producers: ProducerState,
    segments: LogSegments,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    prepared: ProducerState | None = None,
) -> None:
    """Brings the producer state to `end_offset`: the newest snapshot before it, then the batches behind that, or what
    `producers_at` has `prepared`."""
    # A log that had no producers up to a later offset has none before it, and need not be read.
    had_none = producers.is_empty and producers.end_offset > end_offset
    producers.snapshots.remove_outside(log_start_offset, end_offset)
    if producers.end_offset == end_offset:
        producers.log_start_moved(log_start_offset)
        return
    if prepared is not None and prepared.end_offset == end_offset:
        producers.take_over(prepared, log_start_offset)
        return
    producers.load(log_start_offset, now_ms)
    # After a clean stop the snapshot reaches to the end, and the log is not even opened for it.
    if not had_none and producers.end_offset < end_offset:
        for segment in segments.from_offset(producers.end_offset):
            if segment.base_offset >= end_offset:
                break
            segments.used(segment)
            try:
                _replay_segment(producers, segment, max(producers.end_offset, log_start_offset), end_offset)
            except ProtocolError:
                pass  # damaged on disk: whoever reads it will be told, and its producers are not known
    producers.end_offset = end_offset


def producers_at(
    producers: ProducerState,
    segments: LogSegments,
    log_start_offset: int,
    end_offset: int,
    now_ms: int,
    is_unchanged: Callable[[], bool],
) -> Work[ProducerState | None]:
    """The state as of an offset within the log, made aside while the log is what it was; None where nothing has to be
    read for it, where the log has changed meanwhile, and where it is damaged."""
    if producers.is_empty or producers.end_offset <= end_offset:
        return None
    state = producers.aside(log_start_offset, end_offset, now_ms)
    for segment in segments.from_offset(state.end_offset):
        if segment.base_offset >= end_offset:
            break
        has_more = True
        while has_more:
            # Found anew after every pause: the file may have been closed to open others.
            segments.used(segment)
            try:
                start = max(state.end_offset, log_start_offset)
                has_more = _replay_segment(state, segment, start, end_offset, _BATCHES_AT_ONCE)
            except ProtocolError:
                return None
            yield
            if not is_unchanged():
                return None
    state.end_offset = end_offset
    return state


def _replay_segment(
    producers: ProducerState, segment: Segment, start_offset: int, end_offset: int, most: int | None = None
) -> bool:
    """The batches in a range of offsets, at most so many; whether there are more."""
    found = segment.find(start_offset)
    if found is None:
        return False
    for number, placed in enumerate(segment.batches(found.position)):
        header = placed.header
        if header.base_offset >= end_offset:
            return False
        if number == most:
            return True
        data = _body(segment, placed.position, header)
        completed = producers.replay(data, 0, len(data), header)
        if completed is not None:
            producers.complete(completed)
        producers.end_offset = header.next_offset
    return False


def _body(segment: Segment, position: int, header: BatchHeader) -> bytes:
    """The bytes of a control batch; the others are known by their header."""
    return segment.open_file().read(position, header.size) if header.is_control and header.magic == 2 else b""
