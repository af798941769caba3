"""Forces the metadata log to disk, off the loop, one fsync at a time: each covers all that was written before it."""

from __future__ import annotations

from collections.abc import Callable

from moldau.errors import MoldauError
from moldau.raft.metadata_log import MetadataLog
from moldau.runtime.ports import Loop, Workers


class GroupCommit:
    """`forced` is told how far the log is on disk, `on_fault` that nobody knows."""

    def __init__(
        self,
        log: MetadataLog,
        loop: Loop,
        workers: Workers | None,
        forced: Callable[[int], None],
        on_fault: Callable[[BaseException], None],
    ) -> None:
        self._log = log
        self._loop = loop
        self._workers = workers
        self._forced = forced
        self._on_fault = on_fault
        self._is_running = self._is_scheduled = False

    def schedule(self) -> None:
        # At the end of the turn, so that whatever else is appended in it is covered too.
        if not self._is_running and not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._begin)

    def _begin(self) -> None:
        self._is_scheduled = False
        if not self._log.is_open:
            return
        commit = self._log.commit()
        if commit is None:
            self._forced(self._log.durable_offset)
            return
        self._is_running = True

        def done(_: object, error: BaseException | None) -> None:
            self._is_running = False
            if not self._log.is_open:
                return
            if error is not None:
                # After a failed fsync nobody knows what is on the disk, and trying again would pretend otherwise.
                place = self._log.directory
                self._on_fault(MoldauError(f"the metadata log in {place} could not be forced to disk: {error}"))
                return
            commit.done()
            self._forced(self._log.durable_offset)
            if self._log.is_open and self._log.durable_offset < self._log.end.offset:
                self.schedule()

        if self._workers is not None:
            self._workers.submit(commit.run, done)
            return
        failure: OSError | None = None
        try:
            commit.run()
        except OSError as error:
            failure = error
        done(None, failure)
