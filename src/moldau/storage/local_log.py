"""A log as what lies on disk: segments, epochs, producers, all ending at the same offset, and how they change together.

`Log` puts appending and reading on top of it. Here is everything that rolls, cuts, drops, replaces, forces to disk and
closes; each of these keeps the parts in step, and each leaves a log that opens again if the process dies inside it.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Sequence
from typing import Final

from moldau.config.topic import LogConfig
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.runtime.ports import Clock, Disk, Random
from moldau.storage.checkpoint import sync_file
from moldau.storage.commit import Commit
from moldau.storage.epoch_cache import EpochCache
from moldau.storage.file_names import EPOCH_CHECKPOINT, PARTITION_METADATA
from moldau.storage.log_segments import LogSegments
from moldau.storage.producer_state import ProducerState
from moldau.storage.recovery import LoadedLog, rebuild_producers
from moldau.storage.sealed_flush import SealedFlush
from moldau.storage.segment import Segment
from moldau.storage.storage_error import StorageError
from moldau.types import Uuid

# How many of the newest batches are remembered with their positions: readers at the end of the log need no index then.
RECENT_BATCHES: Final = 64


class LocalLog:
    __slots__ = (
        "_clock",
        "_created",
        "_cuts",
        "_disk",
        "_epochs",
        "_high_watermark",
        "_names_synced",
        "_older",
        "_placed",
        "_producers",
        "_random",
        "_recent",
        "_segments",
        "config",
        "directory",
        "durable_offset",
        "first_dirty_offset",
        "last_flush_ms",
        "log_end_offset",
        "log_start_offset",
        "name",
        "parent_directory",
        "recovered",
        "recovery_point",
        "report",
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
        self._disk = disk
        self._clock = clock
        self._random = random
        self._segments = loaded.segments
        self._epochs = loaded.epochs
        self._producers = loaded.producers
        # Offset → position of the newest batches of the active segment, in two generations.
        self._recent: dict[int, int] = {}
        self._older: dict[int, int] = {}
        self.directory = loaded.segments.directory
        self.name = posixpath.basename(self.directory)
        # The log directory the log lives in: what goes offline with its disk.
        self.parent_directory = posixpath.dirname(self.directory)
        self.topic_partition = loaded.topic_partition
        self.topic_id = topic_id
        self.config = config
        self.log_start_offset = loaded.log_start_offset
        self.log_end_offset = loaded.log_end_offset
        self.recovery_point = loaded.recovery_point
        # All before it is on disk. It may be ahead of the recovery point, for which the indexes must be there too.
        self.durable_offset = loaded.recovery_point
        # All before it has been compacted.
        self.first_dirty_offset = 0
        self.last_flush_ms = clock.now_ms()
        self._high_watermark = loaded.log_start_offset
        self._cuts = 0
        # What had to be read when it was opened.
        self.recovered = loaded.recovered
        # Who is told when the disk fails under this log; set by whoever keeps it.
        self.report: Callable[[StorageError], None] | None = None
        # Whether the directory's own name and the topic id in it are known to be on disk.
        self._placed = False
        # Segments created, and how many of them had been when the names in the directory were last forced to disk.
        self._created, self._names_synced = 1, 0
        self._segments.active.set_age_limit(config.max_segment_ms - self._jitter())

    # -------------------------------------------------------------------------------------------------- the parts

    @property
    def segments(self) -> LogSegments:
        return self._segments

    @property
    def epochs(self) -> EpochCache:
        return self._epochs

    @property
    def producers(self) -> ProducerState:
        return self._producers

    @property
    def size(self) -> int:
        return self._segments.size

    @property
    def cuts(self) -> int:
        """Grows whenever the log is cut: who works on it beside the loop learns whether its segments still count."""
        return self._cuts

    def update_config(self, config: LogConfig) -> None:
        self.config = config
        active = self._segments.active
        active.index_interval = config.index_interval_bytes
        active.set_age_limit(config.max_segment_ms - self._jitter())

    @property
    def high_watermark(self) -> int:
        return self._high_watermark

    @high_watermark.setter
    def high_watermark(self, offset: int) -> None:
        """Moves forward only, and never past the end; truncation alone moves it back."""
        if offset > self.log_end_offset:
            offset = self.log_end_offset
        if offset > self._high_watermark:
            self._high_watermark = offset
            if self._producers.unreplicated:
                self._producers.high_watermark_moved(offset)

    @property
    def last_stable_offset(self) -> int:
        unstable = self._producers.first_unstable_offset
        if unstable is None or unstable >= self._high_watermark:
            return self._high_watermark
        return max(unstable, self.log_start_offset)

    def advance_log_start(self, offset: int) -> bool:
        """Hides the records before `offset` (DeleteRecords, retention, the leader's start); True if it moved."""
        if offset > self._high_watermark:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.topic_partition} cannot start at offset {offset}, after its high watermark "
                f"{self._high_watermark}.",
            )
        if offset <= self.log_start_offset:
            return False
        self.log_start_offset = offset
        self._epochs.truncate_from_start(offset)
        self._producers.log_start_moved(offset)
        return True

    # --------------------------------------------------------------------------------------------------- rolling

    def roll(self) -> None:
        """Closes the active segment and begins the next at the log's end."""
        try:
            self._roll(self.log_end_offset)
        except OSError as error:
            raise self.failed("Rolling", error) from error

    def skip_to(self, offset: int) -> None:
        """Continues at `offset`: the log this one copies has no records before it any more."""
        try:
            self._roll(offset)
        except OSError as error:
            raise self.failed("Rolling", error) from error

    def _roll(self, base_offset: int) -> Segment:
        old = self._segments.active
        base_offset = max(base_offset, self.log_end_offset)
        if old.size == 0 and old.base_offset == base_offset:
            return old
        segment = self._create(base_offset)
        try:
            if old.size:
                old.seal()
                old.let_go()
            else:
                self._segments.drop_end([old], self.config.file_delete_delay_ms)
        except OSError:
            segment.undo_create()
            raise
        self._segments.add(segment)
        # Sealing changed its indexes, also where its records had been forced to disk long before.
        self.recovery_point = min(self.recovery_point, old.base_offset)
        self._forget_positions()
        # Offsets that a leader has compacted away are skipped here too: the log ends where its last segment begins.
        self.log_end_offset = base_offset
        # A snapshot at the start of each segment: whoever has to read a segment again can start from there.
        self._producers.end_offset = base_offset
        self._producers.take_snapshot(sync=False)
        return segment

    def _create(self, base_offset: int) -> Segment:
        segment = Segment.create(self._disk, self.directory, base_offset, self.config, self._clock.now_ms())
        segment.set_age_limit(self.config.max_segment_ms - self._jitter())
        self._created += 1
        return segment

    def _jitter(self) -> int:
        most = self.config.segment_jitter_ms
        return self._random.below(most) if self._random is not None and most > 0 else 0

    # --------------------------------------------------------------------------------------------------- cutting

    def truncate_to(self, offset: int) -> bool:
        """Drops the records at and after `offset`; True if there were any. A batch across it goes as a whole."""
        if offset >= self.log_end_offset:
            self._epochs.truncate_from_end(self.log_end_offset)
            return False
        if offset < self._segments.first.base_offset:
            self.truncate_fully_and_start_at(offset)
            return True
        try:
            self._drop_end([segment for segment in self._segments if segment.base_offset > offset])
            active = self._segments.active
            cut = active.find(offset)
            # Only a batch that begins before the offset makes the log end earlier than asked for.
            end = min(offset, cut.header.base_offset) if cut is not None else offset
            now = self._clock.now_ms()
            active.truncate_to(end, now)
            active.set_age_limit(self.config.max_segment_ms - self._jitter())
            self._ends_at(end)
            rebuild_producers(self._producers, self._segments, self.log_start_offset, end, now)
            self._producers.high_watermark_moved(self._high_watermark)
        except OSError as error:
            raise self.failed("Truncating", error) from error
        except ProtocolError as error:
            raise self._damaged(offset, error) from error
        return True

    def truncate_fully_and_start_at(self, offset: int, log_start_offset: int | None = None) -> None:
        """Drops everything; the next record gets `offset`."""
        try:
            self._drop_end(self._segments.all())
            self._segments.add(self._create(offset))
            self._epochs.clear()
            self._producers.restart_at(offset)
        except OSError as error:
            raise self.failed("Truncating", error) from error
        self.log_start_offset = offset if log_start_offset is None else log_start_offset
        self._ends_at(offset)
        self._high_watermark = offset

    def _drop_end(self, segments: Sequence[Segment]) -> None:
        self._delete_snapshots(segments)
        self._segments.drop_end(segments, self.config.file_delete_delay_ms)

    def _ends_at(self, offset: int) -> None:
        self._cuts += 1
        self.log_end_offset = offset
        self.log_start_offset = min(self.log_start_offset, offset)
        self.recovery_point = min(self.recovery_point, offset)
        self.durable_offset = min(self.durable_offset, offset)
        self.first_dirty_offset = min(self.first_dirty_offset, offset)
        self._high_watermark = min(self._high_watermark, offset)
        self._epochs.truncate_from_end(offset)
        self._forget_positions()

    def _forget_positions(self) -> None:
        if self._recent or self._older:
            self._recent, self._older = {}, {}

    # -------------------------------------------------------------------------------- for retention and compaction

    def delete_segments(self, old: Sequence[Segment]) -> int:
        """Deletes segments from the beginning of the log, in two steps, and moves its start; bytes deleted."""
        if not old:
            return 0
        try:
            if old[-1] is self._segments.active:
                self._roll(self.log_end_offset)
            deleted = sum(segment.size for segment in old)
            self._segments.drop_beginning(old, self.config.file_delete_delay_ms)
            self._delete_snapshots(old)
        except OSError as error:
            raise self.failed("Deleting segments", error) from error
        self.advance_log_start(min(self._segments.first.base_offset, self._high_watermark))
        return deleted

    def replace_segments(self, new: Sequence[Segment], old: Sequence[Segment]) -> None:
        """Puts compacted segments in the place of the ones they were made from. Never the active one.

        Those that were announced before (`LogSegments.announce`) cost no fsync here.
        """
        try:
            unannounced = [segment for segment in new if not segment.is_announced]
            if unannounced:
                self._segments.announce(unannounced)
            gone = self._segments.replace(new, old, self.config.file_delete_delay_ms)
            self._delete_snapshots(gone)
        except OSError as error:
            # Half of the names are new and half are old: only the next start can put that right.
            raise self.failed("Replacing segments", error, lost=True) from error

    def _delete_snapshots(self, segments: Sequence[Segment]) -> None:
        marked = [self._producers.snapshots.mark_deleted(segment.base_offset) for segment in segments]
        self._segments.remove_later([path for path in marked if path], self.config.file_delete_delay_ms)

    # ----------------------------------------------------------------------------------------------------- files

    def flush(self, up_to: int | None = None) -> None:
        """Forces the log to disk up to an offset (its end by default); recovery will not look before it again."""
        up_to = self.log_end_offset if up_to is None else up_to
        self.last_flush_ms = self._clock.now_ms()
        if up_to <= self.recovery_point:
            return
        try:
            self._epochs.flush()
            for segment in self._segments.from_offset(self.recovery_point):
                if segment.base_offset < up_to:
                    segment.flush()
            self._producers.snapshots.sync(self.recovery_point, up_to)
            self._disk.sync_directory(self.directory)
            self._place()
        except OSError as error:
            raise self.failed("Flushing", error, lost=True) from error
        self.recovery_point = up_to
        self.durable_offset = max(self.durable_offset, up_to)

    def _place(self) -> None:
        """Makes a new log one that will be found again: what is forced to disk in it is worth nothing without that."""
        if not self._placed:
            for job in self._placing():
                job()
            self._placed = True

    def _placing(self) -> list[Callable[[], None]]:
        """The work of that, for whoever does it off the loop."""
        if self._placed:
            return []
        disk, directory, parent = self._disk, self.directory, self.parent_directory
        return [
            lambda: sync_file(disk, posixpath.join(directory, PARTITION_METADATA)),
            lambda: disk.sync_directory(parent),
        ]

    def commit(self) -> Commit | None:
        """The work of forcing the records to disk that are not there yet; None if all are."""
        up_to, cuts, created = self.log_end_offset, self._cuts, self._created
        if up_to <= self.durable_offset:
            return None
        try:
            segments = self._segments.from_offset(self.durable_offset)
            files = [segment.open_file() for segment in segments if segment.size]
        except OSError as error:
            raise self.failed("Committing", error) from error

        def done() -> None:
            # What was cut off meanwhile may have been written again, and that is not on disk.
            if self._cuts == cuts:
                self.durable_offset = max(self.durable_offset, up_to)
                self._names_synced = max(self._names_synced, created)
                self._placed = True

        directory = self.directory if created != self._names_synced else None
        return Commit(self._disk, directory, files, self._placing(), done)

    @property
    def settled_offset(self) -> int:
        """The recovery point as it may be checkpointed: the active segment's indexes are still going to change, so
        recovery must look at the whole of it, even if its records are on disk."""
        return min(self.recovery_point, self._segments.active.base_offset)

    def sealed_flush(self) -> SealedFlush | None:
        """The work of forcing all but the active segment to disk; None if that has been done."""
        up_to = self._segments.active.base_offset
        if up_to <= self.recovery_point:
            return None
        try:
            self._epochs.flush()
        except OSError as error:
            raise self.failed("Flushing", error) from error
        sealed = [segment for segment in self._segments.from_offset(self.recovery_point) if segment.base_offset < up_to]
        paths = [path for segment in sealed for path in segment.paths]
        paths += self._producers.snapshots.paths(self.recovery_point, up_to)
        cuts = self._cuts

        def done() -> None:
            # What was cut off meanwhile may have been written again, and that is not on disk.
            if self._cuts == cuts:
                self.recovery_point = max(self.recovery_point, up_to)
                self.durable_offset = max(self.durable_offset, up_to)
                self._placed = True

        return SealedFlush(self._disk, self.directory, paths, self._placing(), done)

    def close(self) -> None:
        """Writes what is only in memory and closes the files, cut to size and forced to disk."""
        try:
            self.flush()
            before = self._producers.snapshots.latest_offset
            self._producers.take_snapshot(sync=True)
            if self._producers.snapshots.latest_offset != before:
                # A clean stop promises a snapshot: without its name the producers would be forgotten.
                self._disk.sync_directory(self.directory)
            self._epochs.flush()
            self._segments.active.seal()
            self._segments.active.flush()
            for segment in self._segments:
                segment.close()
        except OSError as error:
            raise self.failed("Closing", error) from error

    def abandon(self) -> None:
        """Closes the files without writing: their disk has failed."""
        for segment in self._segments:
            segment.release()

    def abandon_for_readers(self) -> None:
        """Takes the log out of use; answers on their way to clients keep the files they need open."""
        for segment in self._segments:
            segment.let_go()

    def rest(self) -> None:
        """Closes the files of a log that nobody writes to: the next append opens them again."""
        self._segments.rest()

    def rename_directory(self, name: str) -> None:
        """Gives the log's directory another name, in the same place."""
        target = posixpath.join(self.parent_directory, name)
        try:
            self._disk.rename(self.directory, target)
            self._disk.sync_directory(self.parent_directory)
        except OSError as error:
            raise self.failed("Renaming", error) from error
        self._placed = False
        self.moved_to(name)

    def moved_to(self, name: str) -> None:
        """The directory has another name now."""
        target = posixpath.join(self.parent_directory, name)
        self.directory = target
        self.name = name
        self._segments.move_to(target)
        self._producers.snapshots.directory = target
        self._epochs.path = posixpath.join(target, EPOCH_CHECKPOINT)

    def delete(self) -> None:
        """Removes the log and its directory at once."""
        try:
            self.abandon_for_readers()
            self._disk.remove_tree(self.directory)
        except OSError as error:
            raise self.failed("Deleting", error) from error

    def _damaged(self, offset: int, error: ProtocolError) -> KafkaError:
        return KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"{self.topic_partition} is damaged at or after offset {offset}: {error}."
        )

    def failed(self, doing: str, error: OSError, *, lost: bool = False) -> StorageError:
        """The one way a failure of the disk takes, whoever was using the log: it is reported here, and only here.

        The error returned is for whoever asked; with `lost` nobody knows any more what is on the disk.
        """
        failure = StorageError(self.parent_directory, f"{doing} {self.topic_partition}", error, lost=lost)
        if self.report is not None:
            self.report(failure)
        return failure

    def __repr__(self) -> str:
        return f"Log({self.directory}, {self.log_start_offset}..{self.log_end_offset})"
