"""What is done in one log directory off the loop: one thing after the other.

Checkpoints are replaced whole, so two writers at a time would take each other's entries back; and a name that is being
given up must be gone before it is given away again. Jobs of one directory therefore keep the order in which they were
asked for. Directories do not wait for each other: they are disks.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import TypeAlias

from moldau.runtime.ports import Workers

Job: TypeAlias = Callable[[], None]
Done: TypeAlias = Callable[[BaseException | None], None]


class DirectoryWork:
    """Without `workers` a job is done in place, before `submit` returns."""

    __slots__ = ("_running", "_waiting", "_workers")

    def __init__(self, workers: Workers | None = None) -> None:
        self._workers = workers
        self._waiting: deque[tuple[Job, Done]] = deque()
        self._running = False

    def submit(self, job: Job, done: Done) -> None:
        """`job` off the loop when its turn has come, then `done(error)` on the loop."""
        self._waiting.append((job, done))
        if not self._running:
            self._next()

    def _next(self) -> None:
        if not self._waiting:
            return
        job, done = self._waiting.popleft()
        self._running = True

        def finished(_: None, error: BaseException | None) -> None:
            self._running = False
            try:
                done(error)
            finally:
                if not self._running:
                    self._next()

        if self._workers is not None:
            self._workers.submit(job, finished)
        else:
            finished(None, failure_of(job))


def failure_of(job: Job) -> BaseException | None:
    try:
        job()
    except Exception as error:
        return error
    return None
