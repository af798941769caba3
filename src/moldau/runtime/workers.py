"""A few threads for what must not hold up the loop: fsync, name lookup, long kernels that release the GIL.

Measured: one CPU-bound Python thread beside the loop raises a round trip from 80 us to 5 ms. So workers are for jobs
that wait or that release the GIL, and their results come back to the loop's thread before anyone sees them.

A job wakes one thread, the one that had work last. Where several wait on one queue each job wakes another of them for
nothing, and whoever waits for an fsync waits for both to have had the GIL.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable
from typing import Any, Final, TypeVar

from moldau.runtime.ports import WorkersLoad

T = TypeVar("T")

# How long the end of a process waits for jobs that are under way.
CLOSE_SECONDS: Final = 10.0


class ThreadWorkers:
    """Threads start with the first job, so a node that never needs one does not pay for it."""

    def __init__(self, call_from_thread: Callable[[Callable[[], None]], None], threads: int = 4) -> None:
        self._call_from_thread = call_from_thread
        self._limit = threads
        self._threads: list[threading.Thread] = []
        self._jobs: deque[tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]] | None] = deque()
        # What the threads without a job wait for, each its own.
        self._idle: list[threading.Lock] = []
        # Counted on the loop's thread only (submit and the return of a result), hence without a lock.
        self.load = WorkersLoad()
        self._closed = False

    def submit(self, job: Callable[[], T], done: Callable[[T | None, BaseException | None], None]) -> None:
        if self._closed:
            raise RuntimeError("the workers are closed")
        self.load.jobs += 1
        self.load.busy += 1
        if self.load.busy > len(self._threads) and len(self._threads) < self._limit:
            thread = threading.Thread(target=self._work, name=f"worker-{len(self._threads)}", daemon=True)
            self._threads.append(thread)
            thread.start()
        self._jobs.append((job, done))
        self._call_one()

    def close(self, patience: float = CLOSE_SECONDS) -> None:
        """Lets the jobs already submitted finish; their results still reach a loop that keeps running.

        A job that waits for a disk which does not answer is left behind: the process must be able to end.
        """
        if self._closed:
            return
        self._closed = True
        self._jobs.extend([None] * len(self._threads))
        while self._call_one():
            pass
        deadline = time.monotonic() + patience
        for thread in self._threads:
            thread.join(max(0.0, deadline - time.monotonic()))

    def _call_one(self) -> bool:
        try:
            idle = self._idle.pop()
        except IndexError:
            return False  # nobody rests, or the last one has just seen by himself that there is a job
        idle.release()
        return True

    def _next(
        self, called: threading.Lock
    ) -> tuple[Callable[[], Any], Callable[[Any, BaseException | None], None]] | None:
        while True:
            try:
                return self._jobs.popleft()
            except IndexError:
                self._idle.append(called)
            # A job may have come just before that, when there was nobody to call.
            if self._jobs:
                try:
                    self._idle.remove(called)
                except ValueError:
                    pass  # called meanwhile
                else:
                    continue
            called.acquire()

    def _work(self) -> None:
        called = threading.Lock()
        called.acquire()
        while (item := self._next(called)) is not None:
            job, done = item
            result: Any = None
            error: BaseException | None = None
            begun = time.monotonic()
            try:
                result = job()
            except BaseException as caught:
                error = caught
            self._call_from_thread(_Return(self, done, result, error, time.monotonic() - begun))
            # Dropped before the next wait, or an idle thread would keep the last result alive.
            del item, job, done, result, error


class _Return:
    """Brings one result home; runs on the loop's thread."""

    __slots__ = ("_done", "_error", "_result", "_seconds", "_workers")

    def __init__(
        self,
        workers: ThreadWorkers,
        done: Callable[[Any, BaseException | None], None],
        result: Any,
        error: BaseException | None,
        seconds: float,
    ) -> None:
        self._workers = workers
        self._done = done
        self._result = result
        self._error = error
        self._seconds = seconds

    def doing(self) -> str:
        """For whoever wonders why that took long."""
        return f"what a worker brought to {getattr(self._done, '__qualname__', repr(self._done))}"

    def __call__(self) -> None:
        load = self._workers.load
        load.busy -= 1
        load.seconds += self._seconds
        self._done(self._result, self._error)
