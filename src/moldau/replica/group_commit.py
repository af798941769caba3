"""Durable mode: one fsync, off the loop, for everybody who waits.

A partition asks for a commit with every append. The first one starts at the end of the loop's turn, so that whatever
else was appended in the turn is covered too; whoever comes while it runs is covered by the next. So the number of
fsyncs follows the speed of the disk and not the number of requests.

Until a commit is done the records in it are not counted: the high watermark stays behind them, nobody reads them, and
their producers wait in the purgatory. A commit that fails is never tried again, since after a failed fsync nobody
knows what is on the disk: the directory goes offline.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import islice
from typing import Final

from moldau.deferred import Deferred
from moldau.replica.partition import Partition
from moldau.runtime.ports import Loop, Workers
from moldau.storage.commit import Commit
from moldau.storage.forcing import Forcing
from moldau.storage.log import Log
from moldau.storage.storage_error import StorageError

# How many commits begin in one turn of the loop: each may open a file first.
_PER_TURN: Final = 64


class GroupCommit:
    def __init__(
        self,
        loop: Loop,
        workers: Workers,
        committed: Callable[[Partition], None],
        forcing: Forcing,
    ) -> None:
        self._loop = loop
        self._workers = workers
        self._committed = committed
        self._forcing = forcing
        self._running: set[Partition] = set()
        # Asked for since the last turn, or while their commit was running. A dict, for its order.
        self._waiting: dict[Partition, None] = {}
        self._scheduled = False
        self._idle: list[Deferred[None]] = []

    def request(self, partition: Partition) -> None:
        """Makes what the partition has written durable, soon."""
        self._waiting[partition] = None
        if not self._scheduled and partition not in self._running:
            self._scheduled = True
            self._loop.call_soon(self._start)

    def idle(self) -> Deferred[None]:
        """When nothing that was asked for until then is left to be done; what could not be done is not."""
        idle: Deferred[None] = Deferred()
        self._idle.append(idle)
        self._tell_idle()
        return idle

    def _start(self) -> None:
        self._scheduled = False
        ready = (partition for partition in self._waiting if partition not in self._running)
        for partition in list(islice(ready, _PER_TURN)):
            del self._waiting[partition]
            self._commit(partition)
        if any(partition not in self._running for partition in self._waiting):
            self._scheduled = True
            self._loop.call_soon(self._start)
        self._tell_idle()

    def _tell_idle(self) -> None:
        if self._idle and not self._running and not self._waiting:
            idle, self._idle = self._idle, []
            for told in idle:
                told.resolve(None)

    def _commit(self, partition: Partition) -> None:
        log = partition.log
        try:
            commit = log.commit()
        except StorageError:
            return  # the log has reported it
        if commit is None:
            self._committed(partition)
            return
        self._running.add(partition)
        self._workers.submit(
            self._forcing.timed(commit.run),
            lambda seconds, error: self._done(partition, log, commit, seconds, error),
        )

    def _done(
        self, partition: Partition, log: Log, commit: Commit, seconds: float | None, error: BaseException | None
    ) -> None:
        self._running.discard(partition)
        self._forcing.took(seconds)
        if partition.log is not log or partition.is_released:
            # Moved or deleted meanwhile: its files may have been closed under the fsync.
            pass
        elif error is None:
            commit.done()
            partition.advance_high_watermark()
            self._committed(partition)
        elif isinstance(error, OSError):
            log.directory.failed("Committing", error, lost=True)
        else:
            raise error
        if partition in self._waiting:
            del self._waiting[partition]
            self._commit(partition)
        self._tell_idle()
