"""The cleaner: finds the log that needs compaction most, and compacts it beside everything else.

It looks at the logs when it has nothing to do, begins with the dirtiest, and takes as many at a time as
`log.cleaner.threads` allows. A compaction runs in slices in the workers (see `compaction`); only the replacement of
segments happens here, on the loop. How far each log has been compacted is written to `cleaner-offset-checkpoint` in
its directory, after the last of its segments was replaced: a compaction that a crash cuts short is done again.

What compacted logs are to lose as well, before their start and, if their policy says so, by age and size, they lose
each time the cleaner looks: a log has one who looks after it, so that nobody deletes what is being compacted.

A log that cannot be compacted, because its records are damaged or do not fit the memory, is set aside until the next
start and reported once; the others go on.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Generator
from contextlib import suppress
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.runtime.ports import Runtime, TimerHandle
from moldau.slicing import Slicer, Work
from moldau.storage.checkpoint_kinds import COMPACTED
from moldau.storage.compaction import Compaction, Replacement, Uncleanable, plan_compaction
from moldau.storage.dirtiness import Dirtiness, dirtiness, must_be_compacted
from moldau.storage.log import Log
from moldau.storage.log_manager import LogManager
from moldau.storage.retention import delete_old_segments
from moldau.storage.storage_error import StorageError
from moldau.storage.upkeep import Upkeep
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.storage")


# What a worker reads and writes before it comes back to the loop; less where a throttle would make that a long pause.
_TURN_BYTES: Final = 4 << 20
_THROTTLED_TURN_SECONDS: Final = 0.1


class _Run:
    """One compaction under way."""

    __slots__ = ("_cuts", "begun_at", "compaction", "log", "steps")

    def __init__(self, log: Log, compaction: Compaction, begun_at: float) -> None:
        self.log = log
        self.begun_at = begun_at
        self._cuts = log.durability.cuts
        self.compaction = compaction
        self.steps: Generator[int | Replacement, None, None] = compaction.run()

    def step(self, limit: int) -> int | Replacement | None:
        """Slices worth up to about `limit` bytes; coming back to the loop after each would only cost time."""
        done = 0
        for step in self.steps:
            if isinstance(step, Replacement):
                return step
            done += step
            # A slice of no bytes is one that held the GIL: the loop has waited long enough.
            if done >= limit or step == 0:
                return done
        return None

    @property
    def is_valid(self) -> bool:
        """Whether the log still consists of the segments the compaction began with. Retention leaves them alone."""
        return self.log.durability.cuts == self._cuts


class LogCleaner:
    def __init__(
        self,
        config: Callable[[], BrokerConfig],
        logs: LogManager,
        upkeep: Upkeep,
        runtime: Runtime,
        slicer: Slicer | None = None,
    ) -> None:
        self._config = config
        self._logs = logs
        self._upkeep = upkeep
        self._runtime = runtime
        self._slicer = Slicer(runtime.loop, runtime.clock) if slicer is None else slicer
        self._looking = False
        self._timer: TimerHandle | None = None
        self._stopped = True
        # Public: retention leaves these alone, and so does moving a log to another directory.
        self.busy: dict[TopicPartition, _Run] = {}
        self.uncleanable: dict[Log, str] = {}
        # For whoever wants to know how it gets on: the dirtiest log of the last look, when that was, and what was done.
        self.dirtiest = 0.0
        self.looked_at_ms = runtime.clock.now_ms()
        self.compactions = self.bytes_read = self.bytes_written = 0
        self.longest_seconds = 0.0

    def start(self) -> None:
        self._stopped = not self._config().log_cleaner_enable
        if not self._stopped:
            self._rest()

    def stop(self) -> None:
        """Nothing new begins; what runs is given up after its slice."""
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ---------------------------------------------------------------------------------------------------- choosing

    def look(self) -> None:
        """Begins as many compactions as are needed and allowed, the dirtiest log first."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        if not self._stopped and not self._looking:
            self._looking = True
            self._slicer.run(self._look())

    def _look(self) -> Work[None]:
        try:
            waiting: list[tuple[float, Log]] = []
            for log in tuple(self._logs.logs.values()):
                with suppress(StorageError):  # the log has reported it; the others have their turn
                    found = self._found_dirty(log)
                    if found is not None:
                        waiting.append((found.ratio, log))
                yield
            self.dirtiest = max((ratio for ratio, _ in waiting), default=0.0)
            self.looked_at_ms = self._runtime.clock.now_ms()
            waiting.sort(key=lambda pair: pair[0], reverse=True)
            for _, log in waiting:
                if self._stopped or len(self.busy) >= self._config().log_cleaner_threads:
                    break
                with suppress(StorageError):
                    found = self._found_dirty(log)  # asked again: it is a while ago
                    if found is not None:
                        self._begin(log, found)
                yield
        finally:
            self._looking = False
            if not self.busy and not self._stopped:
                self._rest()

    @property
    def keeps(self) -> bool:
        """Whether compacted logs are looked after here, and not by retention."""
        return not self._stopped

    def _rest(self) -> None:
        self._timer = self._runtime.loop.call_later(self._config().log_cleaner_backoff_ms / 1000, self.look)

    def _found_dirty(self, log: Log) -> Dirtiness | None:
        """If the log is to be compacted, and not just being; what it is to lose besides, it loses here."""
        place = log.topic_partition
        if self._logs.get(place) is not log or not log.config.compact or place in self.busy:
            return None
        now = self._runtime.clock.now_ms()
        delete_old_segments(log, now)
        if log in self.uncleanable:
            return None
        try:
            found = dirtiness(log, now)
        except OSError as error:
            raise log.directory.failed("Looking at", error) from error
        return found if must_be_compacted(log, found) else None

    # ---------------------------------------------------------------------------------------------------- running

    def _begin(self, log: Log, found: Dirtiness) -> None:
        config, runtime = self._config(), self._runtime
        try:
            plan = plan_compaction(log, found, runtime.clock.now_ms())
        except OSError as error:
            raise log.directory.failed("Compacting", error) from error
        compaction = Compaction(
            plan,
            runtime.disk,
            memory=config.log_cleaner_dedupe_buffer_size // max(1, config.log_cleaner_threads),
            load_factor=min(1.0, max(0.01, config.log_cleaner_io_buffer_load_factor)),
            buffer_size=config.log_cleaner_io_buffer_size // max(1, config.log_cleaner_threads),
            seed=runtime.random.bytes(16),
        )
        run = self.busy[log.topic_partition] = _Run(log, compaction, runtime.clock.monotonic())
        self._step(run)

    def _step(self, run: _Run) -> None:
        if self._stopped or self._logs.get(run.log.topic_partition) is not run.log or not run.is_valid:
            self._give_up(run)
            return
        limit = int(min(_TURN_BYTES, self._config().log_cleaner_io_max_bytes_per_second * _THROTTLED_TURN_SECONDS))
        self._runtime.workers.submit(lambda: run.step(limit), lambda result, error: self._stepped(run, result, error))

    def _stepped(self, run: _Run, result: int | Replacement | None, error: BaseException | None) -> None:
        if error is not None:
            self._broken(run, error)
        elif result is None:
            self._finished(run)
        elif isinstance(result, Replacement):
            self._replace(run, result)
        else:
            delay = result / self._config().log_cleaner_io_max_bytes_per_second
            if delay > 0.001:
                self._runtime.loop.call_later(delay, lambda: self._step(run))
            else:
                self._step(run)

    def _replace(self, run: _Run, replacement: Replacement) -> None:
        if self._stopped or self._logs.get(run.log.topic_partition) is not run.log or not run.is_valid:
            # Announced, but its log has changed: what it would replace must not come back.
            self._give_up(run)
            return
        run.compaction.accepted()
        try:
            run.log.local.replace_segments([replacement.new], replacement.old)
        except StorageError:
            self._end(run)
            return
        self._step(run)

    def _finished(self, run: _Run) -> None:
        if not run.is_valid:
            # Cut since its last slice. What is written from there on has not been looked at.
            self._give_up(run)
            return
        log, compaction = run.log, run.compaction
        log.local.first_dirty_offset = compaction.clean_offset
        self.compactions += 1
        self.bytes_read += compaction.bytes_read
        self.bytes_written += compaction.bytes_written
        self.longest_seconds = max(self.longest_seconds, self._runtime.clock.monotonic() - run.begun_at)
        logger.debug(
            "compacted %s up to offset %d: kept %d of %d records, %d of %d bytes",
            log.topic_partition,
            compaction.clean_offset,
            compaction.records_kept,
            compaction.records_read,
            compaction.bytes_written,
            compaction.bytes_read,
        )
        self._end(run)
        self._upkeep.checkpoint(COMPACTED, log.directory.parent)

    def _broken(self, run: _Run, error: BaseException) -> None:
        log = run.log
        if self._stopped or self._logs.get(log.topic_partition) is not log or not run.is_valid:
            self._give_up(run)
            return
        self._give_up(run)
        if isinstance(error, OSError):
            log.directory.failed("Compacting", error)
            return
        self.uncleanable[log] = str(error)
        if isinstance(error, Uncleanable):
            logger.error("%s is not compacted any more: %s", log.topic_partition, error)
        else:
            logger.error("%s is not compacted any more", log.topic_partition, exc_info=error)

    def _give_up(self, run: _Run) -> None:
        run.steps.close()
        try:
            run.compaction.discard()
        except OSError as error:
            logger.warning("what a compaction of %s left could not be removed: %s", run.log.topic_partition, error)
        self._end(run)

    def _end(self, run: _Run) -> None:
        self.busy.pop(run.log.topic_partition, None)
        if not self._stopped and self._timer is None:
            # Not at once: a disk that is full would be tried again without a pause.
            self._timer = self._runtime.loop.call_later(0.1, self.look)
