"""How much of a log is on disk, and forcing more of it there: at once, or as work for somebody off the loop.

Two offsets tell it. Before `durable_offset` every record is on disk: what an acknowledgement waits for in durable mode.
Before `recovery_point` the indexes, epochs and producers are there as well: recovery will not look before it again.
"""

from __future__ import annotations

from moldau.runtime.ports import Clock
from moldau.storage.commit import Commit
from moldau.storage.epoch_cache import EpochCache
from moldau.storage.log_segments import LogSegments
from moldau.storage.partition_directory import PartitionDirectory
from moldau.storage.producer_state import ProducerState
from moldau.storage.sealed_flush import SealedFlush


class Durability:
    __slots__ = (
        "_clock",
        "_created",
        "_directory",
        "_epochs",
        "_names_synced",
        "_producers",
        "_segments",
        "cuts",
        "durable_offset",
        "last_flush_ms",
        "recovery_point",
    )

    def __init__(
        self,
        directory: PartitionDirectory,
        segments: LogSegments,
        epochs: EpochCache,
        producers: ProducerState,
        clock: Clock,
        recovery_point: int,
    ) -> None:
        self._directory = directory
        self._segments = segments
        self._epochs = epochs
        self._producers = producers
        self._clock = clock
        self.recovery_point = recovery_point
        self.durable_offset = recovery_point
        self.last_flush_ms = clock.now_ms()
        # Grows whenever the log is cut: who works on it beside the loop learns whether its segments still count.
        self.cuts = 0
        # Segments created, and how many of them had been when the names in the directory were last forced to disk.
        self._created, self._names_synced = 1, 0

    # --------------------------------------------------------------------------------- what happens to the segments

    def segment_created(self) -> None:
        self._created += 1

    def segment_sealed(self, base_offset: int) -> None:
        """Sealing changed its indexes, also where its records had been forced to disk long before."""
        self.recovery_point = min(self.recovery_point, base_offset)

    def cut_to(self, offset: int) -> None:
        self.cuts += 1
        self.recovery_point = min(self.recovery_point, offset)
        self.durable_offset = min(self.durable_offset, offset)

    @property
    def settled_offset(self) -> int:
        """The recovery point as it may be checkpointed: the active segment's indexes are still going to change, so
        recovery must look at the whole of it, even if its records are on disk."""
        return min(self.recovery_point, self._segments.active.base_offset)

    # ---------------------------------------------------------------------------------------------- forcing to disk

    def flush(self, up_to: int) -> None:
        """Forces the log to disk up to an offset."""
        self.last_flush_ms = self._clock.now_ms()
        if up_to <= self.recovery_point:
            return
        try:
            self._epochs.flush(sync_directory=False)  # it is done below, before anybody counts on any of this
            for segment in self._segments.from_offset(self.recovery_point):
                if segment.base_offset < up_to:
                    segment.flush()
            self._producers.snapshots.sync(self.recovery_point, up_to)
            self._directory.sync()
            self._directory.place()
        except OSError as error:
            raise self._directory.failed("Flushing", error, lost=True) from error
        self.recovery_point = up_to
        self.durable_offset = max(self.durable_offset, up_to)

    def commit(self, up_to: int) -> Commit | None:
        """The work of forcing the records before an offset to disk that are not there yet; None if all are."""
        cuts, created = self.cuts, self._created
        if up_to <= self.durable_offset:
            return None
        try:
            segments = self._segments.from_offset(self.durable_offset)
            files = [segment.open_file() for segment in segments if segment.size]
        except OSError as error:
            raise self._directory.failed("Committing", error) from error

        def done() -> None:
            # What was cut off meanwhile may have been written again, and that is not on disk.
            if self.cuts == cuts:
                self.durable_offset = max(self.durable_offset, up_to)
                self._names_synced = max(self._names_synced, created)
                self._directory.placed = True

        path = self._directory.path if created != self._names_synced else None
        return Commit(self._directory.disk, path, files, self._directory.placing(), done)

    def sealed_flush(self) -> SealedFlush | None:
        """The work of forcing all but the active segment to disk; None if that has been done."""
        up_to = self._segments.active.base_offset
        if up_to <= self.recovery_point:
            return None
        try:
            self._epochs.flush()
        except OSError as error:
            raise self._directory.failed("Flushing", error) from error
        sealed = [segment for segment in self._segments.from_offset(self.recovery_point) if segment.base_offset < up_to]
        paths = [path for segment in sealed for path in segment.paths]
        paths += self._producers.snapshots.paths(self.recovery_point, up_to)
        cuts = self.cuts

        def done() -> None:
            # What was cut off meanwhile may have been written again, and that is not on disk.
            if self.cuts == cuts:
                self.recovery_point = max(self.recovery_point, up_to)
                self.durable_offset = max(self.durable_offset, up_to)
                self._directory.placed = True

        directory = self._directory
        return SealedFlush(directory.disk, directory.path, paths, directory.placing(), done)

    def close(self, up_to: int) -> None:
        """Forces all of it to disk, what is only in memory too, and closes the files, cut to size."""
        segments, producers = self._segments, self._producers
        try:
            self.flush(up_to)
            before = producers.snapshots.latest_offset
            producers.take_snapshot(sync=True)
            if producers.snapshots.latest_offset != before:
                # A clean stop promises a snapshot: without its name the producers would be forgotten.
                self._directory.sync()
            self._epochs.flush()
            segments.active.seal()
            segments.active.flush()
            for segment in segments:
                segment.close()
        except OSError as error:
            raise self._directory.failed("Closing", error) from error
