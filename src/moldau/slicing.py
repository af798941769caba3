"""Long work on the one thread, a slice at a time.

Work that may be long is a generator: it pauses with `yield` wherever it can be left for a while, and returns its
result. Most of it is short all the same and done before the first slice is over; then the result is there at once. What
takes longer goes on in later turns of the loop, one slice in each turn whoever it belongs to, so that between two
slices every connection is served once. A few pieces of work take turns, the others wait until one of these is done:
that bounds the memory they need together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from moldau.deferred import Deferred, pass_on

T = TypeVar("T")

# What is yielded does not matter to whoever runs the work.
Work: TypeAlias = Generator[Any, None, T]

SLICE_SECONDS: Final = 0.004
# Of something new while other work is waiting already: many that begin in one turn must not add up.
FIRST_SLICE_SECONDS: Final = 0.001
# How many pieces of work take turns.
AT_ONCE: Final = 4


class Soon(Protocol):
    def call_soon(self, callback: Callable[[], None]) -> None: ...


class Monotonic(Protocol):
    def monotonic(self) -> float: ...


class GivenUp(Exception):
    """Nobody wants the result any more."""


class _Job:
    __slots__ = ("answer", "wanted", "work")

    def __init__(self, work: Work[Any], answer: Deferred[Any], wanted: Callable[[], bool] | None) -> None:
        self.work = work
        self.answer = answer
        self.wanted = wanted


class Slicer:
    def __init__(self, loop: Soon, clock: Monotonic) -> None:
        self._loop = loop
        self._now = clock.monotonic
        self._jobs: deque[_Job] = deque()
        self._scheduled = False
        # How many slices have been run in turns of their own; for tests.
        self.slices = 0

    def __len__(self) -> int:
        return len(self._jobs)

    def run(self, work: Work[T | Deferred[T]], wanted: Callable[[], bool] | None = None) -> T | Deferred[T]:
        """The result if it is there within a slice, else a later value. Once `wanted` says no, the rest is not done.

        What the work raises within the first slice is raised here.
        """
        end = self._now() + (FIRST_SLICE_SECONDS if self._jobs else SLICE_SECONDS)
        try:
            next(work)
            while self._now() < end:
                next(work)
        except StopIteration as done:
            return cast("T | Deferred[T]", done.value)
        answer: Deferred[T] = Deferred()
        self._jobs.append(_Job(work, answer, wanted))
        self._schedule()
        return answer

    def _schedule(self) -> None:
        if self._jobs and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._slice)

    def _slice(self) -> None:
        self._scheduled = False
        self.slices += 1
        job = self._jobs.popleft()
        try:
            if self._step(job):
                # Behind those it takes turns with, before those that wait.
                self._jobs.insert(AT_ONCE - 1, job)
        finally:
            self._schedule()

    def _step(self, job: _Job) -> bool:
        """One slice of the work; whether there is more to do."""
        if job.wanted is not None and not job.wanted():
            job.work.close()
            job.answer.fail(GivenUp())
            return False
        end = self._now() + SLICE_SECONDS
        try:
            while self._now() < end:
                next(job.work)
        except StopIteration as done:
            pass_on(done.value, job.answer)
            return False
        except Exception as error:
            job.answer.fail(error)
            return False
        return True


def run_whole(work: Work[T]) -> T:
    """Without pausing, for work that is known to be short or cannot be left."""
    while True:
        try:
            next(work)
        except StopIteration as done:
            return cast(T, done.value)
