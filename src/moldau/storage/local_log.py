"""A log as what lies on disk: segments, epochs, producers, all ending at the same offset, and how they change together.

`Log` puts appending and reading on top of it. Here is everything that rolls, cuts, drops and replaces; each of these
keeps the parts in step, and each leaves a log that opens again if the process dies inside it. How much of it is on
disk is the business of `durability`.
"""

from __future__ import annotations

import posixpath
from collections.abc import Sequence
from typing import Final

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.runtime.ports import Clock, Disk, Random
from moldau.slicing import Work
from moldau.storage.durability import Durability
from moldau.storage.file_names import EPOCH_CHECKPOINT
from moldau.storage.partition_directory import PartitionDirectory
from moldau.storage.producer_state import ProducerState
from moldau.storage.recovery import LoadedLog, producers_at, rebuild_producers
from moldau.storage.segment import Segment

# How many of the newest batches are remembered with their positions: readers at the end of the log need no index then.
RECENT_BATCHES: Final = 64


class LocalLog:
    __slots__ = (
        "_clock",
        "_random",
        "config",
        "directory",
        "durability",
        "epochs",
        "first_dirty_offset",
        "high_watermark",
        "leaders_high_watermark",
        "log_end_offset",
        "log_start_offset",
        "older",
        "producers",
        "recent",
        "segments",
    )

    def __init__(
        self, loaded: LoadedLog, config: LogConfig, disk: Disk, clock: Clock, random: Random | None = None
    ) -> None:
        self._clock = clock
        self._random = random
        self.config = config
        self.directory = PartitionDirectory(disk, loaded.segments.directory, loaded.topic_partition)
        self.segments = loaded.segments
        self.epochs = loaded.epochs
        self.producers = loaded.producers
        self.durability = Durability(
            self.directory, loaded.segments, loaded.epochs, loaded.producers, clock, loaded.recovery_point
        )
        # Offset → position of the newest batches of the active segment, in two generations.
        self.recent: dict[int, int] = {}
        self.older: dict[int, int] = {}
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        # Moved forward by `advance_high_watermark` alone, and back by truncation.
        self.high_watermark = loaded.log_start_offset
        # As a follower's leader said last, also when it is past the end: how far there is still to go.
        self.leaders_high_watermark = 0
        # All before it has been compacted.
        self.first_dirty_offset = 0
        self.segments.active.set_age_limit(config.max_segment_ms - self._jitter())

    def update_config(self, config: LogConfig) -> None:
        self.config = config
        active = self.segments.active
        active.index_interval = config.index_interval_bytes
        active.set_age_limit(config.max_segment_ms - self._jitter())

    # --------------------------------------------------------------------------------------------------- offsets

    def begin_epoch(self, epoch: int) -> None:
        """From here on it is the leader's."""
        self.epochs.assign(epoch, self.log_end_offset)
        self.leaders_high_watermark = 0

    def advance_high_watermark(self, offset: int) -> None:
        """Moves forward only, and never past the end."""
        if offset > self.log_end_offset:
            offset = self.log_end_offset
        if offset > self.high_watermark:
            self.high_watermark = offset
            if self.producers.unreplicated:
                self.producers.high_watermark_moved(offset)

    @property
    def last_stable_offset(self) -> int:
        unstable = self.producers.first_unstable_offset
        if unstable is None or unstable >= self.high_watermark:
            return self.high_watermark
        return max(unstable, self.log_start_offset)

    def advance_log_start(self, offset: int) -> bool:
        """Hides the records before `offset` (DeleteRecords, retention, the leader's start); True if it moved."""
        if offset > self.high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.directory.topic_partition} cannot start at offset {offset}, after its high watermark "
                f"{self.high_watermark}.",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self.epochs.truncate_from_start(offset)
        self.producers.log_start_moved(offset)
        return True

    # --------------------------------------------------------------------------------------------------- rolling

    def roll(self) -> None:
        """Closes the active segment and begins the next at the log's end."""
        try:
            self._roll(self.log_end_offset)
        except OSError as error:
            raise self.directory.failed("Rolling", error) from error

    def skip_to(self, offset: int) -> None:
        """Continues at `offset`: the log this one copies has no records before it any more."""
        try:
            self._roll(offset)
        except OSError as error:
            raise self.directory.failed("Rolling", error) from error

    def _roll(self, base_offset: int) -> Segment:
        old = self.segments.active
        base_offset = max(base_offset, self.log_end_offset)
        if old.size == 0 and old.base_offset == base_offset:
            return old
        segment = self._create(base_offset)
        try:
            if old.size:
                old.seal()
                old.let_go()
            else:
                self.segments.drop_end([old], self.config.file_delete_delay_ms)
        except OSError:
            segment.undo_create()
            raise
        self.segments.add(segment)
        self.durability.segment_sealed(old.base_offset)
        self._forget_positions()
        # Offsets that a leader has compacted away are skipped here too: the log ends where its last segment begins.
        self.log_end_offset = base_offset
        # A snapshot at the start of each segment: whoever has to read a segment again can start from there.
        self.producers.end_offset = base_offset
        self.producers.take_snapshot(sync=False)
        return segment

    def roll_for(self, size: int, base_offset: int) -> Segment:
        """A fresh segment for what does not belong into the active one; OSError if there can be none."""
        if size > self.config.segment_bytes:
            raise KafkaError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size} bytes do not fit into a segment of {self.config.segment_bytes} bytes (segment.bytes).",
            )
        return self._roll(base_offset)

    def _create(self, base_offset: int) -> Segment:
        segment = Segment.create(
            self.directory.disk, self.directory.path, base_offset, self.config, self._clock.now_ms()
        )
        segment.set_age_limit(self.config.max_segment_ms - self._jitter())
        self.durability.segment_created()
        return segment

    def _jitter(self) -> int:
        most = self.config.segment_jitter_ms
        return self._random.below(most) if self._random is not None and most > 0 else 0

    # --------------------------------------------------------------------------------------------------- cutting

    def producers_after_cut(self, offset: int) -> Work[ProducerState | None]:
        """What `truncate_to` would have to read much for, made while the log is as it was; None if that is not so."""
        if not self.segments.first.base_offset <= offset < self.log_end_offset:
            return None

        def state() -> tuple[int, int, list[Segment]]:
            return self.log_start_offset, self.log_end_offset, list(self.segments)

        before = state()
        try:
            last = [segment for segment in self.segments if segment.base_offset <= offset][-1]
            end = self._cut_within(last, offset)
            return (
                yield from producers_at(
                    self.producers,
                    self.segments,
                    self.log_start_offset,
                    end,
                    self._clock.now_ms(),
                    lambda: state() == before,
                )
            )
        except OSError as error:
            raise self.directory.failed("Truncating", error) from error
        except ProtocolError as error:
            raise self.directory.damaged(offset, error) from error

    def _cut_within(self, segment: Segment, offset: int) -> int:
        cut = segment.find(offset)
        # Only a batch that begins before the offset makes the log end earlier than asked for.
        return min(offset, cut.header.base_offset) if cut is not None else offset

    def truncate_to(self, offset: int, producers: ProducerState | None = None) -> bool:
        """Drops the records at and after `offset`; True if there were any. A batch across it goes as a whole.

        `producers` are from `producers_after_cut`, if nothing has changed since.
        """
        if offset >= self.log_end_offset:
            self.epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self.segments.first.base_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        try:
            self._drop_end([segment for segment in self.segments if segment.base_offset > offset])
            active = self.segments.active
            end = self._cut_within(active, offset)
            now = self._clock.now_ms()
            active.truncate_to(end, now)
            active.set_age_limit(self.config.max_segment_ms - self._jitter())
            self._ends_at(end)
            rebuild_producers(self.producers, self.segments, self.log_start_offset, end, now, producers)
            self.producers.high_watermark_moved(self.high_watermark)
        except OSError as error:
            raise self.directory.failed("Truncating", error) from error
        except ProtocolError as error:
            raise self.directory.damaged(offset, error) from error
        return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drops everything; the next record gets `offset`."""
        try:
            self._drop_end(self.segments.all())
            self.segments.add(self._create(offset))
            self.epochs.clear()
            self.producers.restart_at(offset)
        except OSError as error:
            raise self.directory.failed("Truncating", error) from error
        self.log_start_offset = offset if log_start_offset is None else log_start_offset
        self._ends_at(offset)
        self.high_watermark = offset

    def _drop_end(self, segments: Sequence[Segment]) -> None:
        self._delete_snapshots(segments)
        self.segments.drop_end(segments, self.config.file_delete_delay_ms)

    def _ends_at(self, offset: int) -> None:
        self.durability.cut_to(offset)
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self.high_watermark = min(self.high_watermark, offset)
        self.epochs.truncate_from_end(offset)
        self._forget_positions()

    # -------------------------------------------------------------------------------- for retention and compaction

    def delete_segments(self, old: Sequence[Segment]) -> int:
        """Deletes segments from the beginning of the log, in two steps, and moves its start; bytes deleted."""
        if not old:
            return 0
        try:
            if old[-1] is self.segments.active:
                self._roll(self.log_end_offset)
            deleted = sum(segment.size for segment in old)
            self.segments.drop_beginning(old, self.config.file_delete_delay_ms)
            self._delete_snapshots(old)
        except OSError as error:
            raise self.directory.failed("Deleting segments", error) from error
        self.advance_log_start(min(self.segments.first.base_offset, self.high_watermark))
        return deleted

    def replace_segments(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Puts compacted segments in the place of the ones they were made from. Never the active one.

        Those that were announced before (`LogSegments.announce`) cost no fsync here.
        """
        try:
            unannounced = [segment for segment in new if not segment.is_announced]
            if unannounced:
                self.segments.announce(unannounced)
            gone = self.segments.replace(new, old, self.config.file_delete_delay_ms)
            self._delete_snapshots(gone)
        except OSError as error:
            # Half of the names are new and half are old: only the next start can put that right.
            raise self.directory.failed("Replacing segments", error, lost=True) from error

    def _delete_snapshots(self, segments: Sequence[Segment]) -> None:
        marked = [self.producers.snapshots.mark_deleted(segment.base_offset) for segment in segments]
        self.segments.remove_later([path for path in marked if path], self.config.file_delete_delay_ms)

    # --------------------------------------------------------------------------------------------------- searching

    def locate(self, offset: int) -> tuple[Segment, int] | None:
        """The segment and position of the batch that holds `offset`, or of the first after it."""
        active = self.segments.active
        if offset >= active.base_offset:
            if offset == self.log_end_offset:
                return active, active.size
            position = self.recent.get(offset)
            if position is None:
                position = self.older.get(offset)
            if position is not None:
                return active, position
        return self.segments.locate(offset)

    def length(self, segment: Segment, position: int, max_bytes: int, max_offset: int, at_least_one: bool) -> int:
        """How many bytes a read from there returns: whole batches up to `max_offset`, the last one cut by `max_bytes`.

        A first batch that is larger than `max_bytes` is returned whole with `at_least_one`, and else not at all.
        """
        end = segment.size
        if max_offset < self.log_end_offset:
            limit = self.locate(max_offset)
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

    def _forget_positions(self) -> None:
        if self.recent or self.older:
            self.recent, self.older = {}, {}

    # ------------------------------------------------------------------------------------------------------ names

    def rename(self, name: str) -> None:
        """Gives the log's directory another name, in the same place."""
        self.directory.rename(name)
        self._directory_moved()

    def moved_to(self, name: str) -> None:
        """The directory has another name now."""
        self.directory.moved_to(name)
        self._directory_moved()

    def _directory_moved(self) -> None:
        path = self.directory.path
        self.segments.move_to(path)
        self.producers.snapshots.directory = path
        self.epochs.path = posixpath.join(path, EPOCH_CHECKPOINT)
