"""Segments of a stopped node written anew, batch by batch, and put in the place of the old ones.

This is the cleaner's machinery (`storage.compaction`) with another rule for what becomes of a batch: a new segment is
complete and on disk before it is announced, and announced before it takes the old one's place, so a kill at any moment
leaves the old segment or the new one, and the next job or the next start of the node tidies up. Batches keep their
offsets, sequences and epochs, and one that loses all its records stays without any: no hole appears in the log, and
what is known of producers and transactions stays as it was.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from os import cpu_count
from threading import Event, Lock
from typing import Final

from moldau._speed import BatchFilter, BatchHeader, scan_batches
from moldau.config.topic import LogConfig
from moldau.runtime.clock import SystemClock
from moldau.runtime.ports import Disk
from moldau.spark.history.report import JobError, Told, nothing_told
from moldau.spark.segments.data_directory import LogFiles
from moldau.storage.cleaned_transactions import CleanedTransactions
from moldau.storage.compaction import Compaction, CompactionPlan, Replacement, Uncleanable
from moldau.storage.deferred_removal import DeferredRemoval
from moldau.storage.log_segments import LogSegments
from moldau.storage.segment import Segment

_BUFFER: Final = 4 << 20

# What becomes of a batch: the bytes to write, or None if it stays as it is. (header, data, position)
BatchRule = Callable[[BatchHeader, bytes, int], bytes | None]


@dataclass(slots=True)
class Rewritten:
    """What was done to one log."""

    segments: int = 0
    batches: int = 0  # those that were changed
    bytes_before: int = 0  # of the segments that were rewritten
    bytes_after: int = 0


class SegmentRewrite(Compaction):
    """A compaction that asks `rule` instead of the keys, and replaces segments one by one."""

    def __init__(self, plan: CompactionPlan, disk: Disk, rule: BatchRule) -> None:
        super().__init__(plan, disk, memory=0, load_factor=1.0, buffer_size=_BUFFER, seed=bytes(16))
        self._rule = rule
        self.batches_changed = 0

    def _index(self) -> Generator[int, None, None]:
        self.clean_offset = self._plan.end_offset
        yield from ()

    def _groups(self) -> list[list[Segment]]:
        return [[segment] for segment in self._plan.segments]

    def _filter(
        self, segment: Segment, kept: BatchFilter, transactions: CleanedTransactions, new: Segment
    ) -> Generator[int, None, None]:
        for data, reader in self._chunks(segment):
            position = 0
            for header in scan_batches(data, allow_partial=True):
                end = position + header.size
                changed = self._rule(header, data, position)
                if changed is None:
                    kept.copy_batch(data, position, end)
                else:
                    kept.copy_batch(changed, 0, len(changed))
                    self.batches_changed += 1
                position = end
            written = self._write(kept, new)
            self.bytes_read += position
            reader.used(position)
            yield position + written
        # Markers stay, so what they ended stays known.
        for aborted in segment.transaction_index.entries:
            new.transaction_index.append(aborted)


def rewrite_logs(
    logs: Sequence[LogFiles], rewrite: Callable[[LogFiles, Told], Rewritten], told: Told
) -> list[Rewritten]:
    """Several logs at a time; whatever ends one of them ends the others after their next slice.

    In threads and not in Spark's workers: those can outlive a job that is killed, and with it the directory's lock.
    """
    stop, counting = Event(), Lock()
    done = 0

    def tell(records: int, size: int) -> None:
        nonlocal done
        if stop.is_set():
            raise JobError("The job was given up; run it again.")
        with counting:
            done += size
            told(records, done)

    with ThreadPoolExecutor(max(1, min(len(logs), cpu_count() or 1))) as pool:
        jobs = [pool.submit(rewrite, log, tell) for log in logs]
        try:
            return [job.result() for job in jobs]
        except BaseException:
            stop.set()
            for job in jobs:
                job.cancel()
            raise


def rewrite_log(log: LogFiles, bases: set[int], rule: BatchRule, disk: Disk, told: Told = nothing_told) -> Rewritten:
    """Rewrites the segments that begin at `bases`. The caller holds the directory of a stopped node."""
    config, clock = LogConfig(), SystemClock()
    removal = DeferredRemoval(disk, clock)
    segments = LogSegments(disk, log.directory, removal)
    for file in log.segments:
        segments.add(Segment.open(disk, log.directory, file.base_offset, config, clock.now_ms()))
    chosen = tuple(segment for segment in segments if segment.base_offset in bases)
    last = log.segments[-1].base_offset
    plan = CompactionPlan(log.directory, config, chosen, last + 1, last + 1, (), frozenset(), {}, clock.now_ms())
    rewrite = SegmentRewrite(plan, disk, rule)
    try:
        for step in rewrite.run():
            if isinstance(step, Replacement):
                rewrite.accepted()
                segments.replace([step.new], step.old, 0)
                disk.sync_directory(log.directory)
                # For good means now: whoever asked for it does not want the old bytes to wait for the next start.
                removal.run_all()
            else:
                told(0, step)
        disk.sync_directory(log.directory)
    except Uncleanable as error:
        rewrite.discard()
        raise JobError(f"The log {log.directory} cannot be rewritten: {error}; see `moldau log verify`.") from error
    except OSError as error:
        with suppress(OSError):
            rewrite.discard()
        raise JobError(f"{error.filename or log.directory} cannot be written: {error.strerror or error}.") from error
    except JobError:
        rewrite.discard()
        raise
    finally:
        for segment in segments:
            segment.release()
    return Rewritten(len(chosen), rewrite.batches_changed, rewrite.bytes_read, rewrite.bytes_written)
