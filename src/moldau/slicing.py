"""Long work on the one thread, a slice at a time.

Work that may be long is a generator: it pauses with `yield` wherever it can be left for a while, and returns its
result. Most of it is short all the same and done before the first slice is over; then the result is there at once. What
takes longer goes on in later turns of the loop, one slice in each turn whoever it belongs to, so that between two
slices every connection is served once. A few pieces of work take turns, the others wait until one of these is done:
that bounds the memory they need together.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from heapq import merge
from itertools import islice
from types import GeneratorType
from typing import Any, Final, Protocol, TypeAlias, TypeVar, cast

from moldau.deferred import Deferred, pass_on
from moldau.types import TopicPartition

T = TypeVar("T")
U = TypeVar("U")
H = TypeVar("H", bound=Hashable)
C = TypeVar("C", str, bytes, tuple[bytes, int], tuple[str, int], TopicPartition)

# What is yielded does not matter to whoever runs the work.
Work: TypeAlias = Generator[Any, None, T]

# A turn of the loop costs some ten microseconds, so that even short slices cost hardly more than one long one.
SLICE_SECONDS: Final = 0.001
# Of something new while other work is waiting or has just been done: what begins in one turn must not add up.
FIRST_SLICE_SECONDS: Final = 0.00025
# How many pieces of work take turns.
AT_ONCE: Final = 4
# How many things are put in order in one go.
_SORTED_AT_ONCE: Final = 1024


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
        self._last: _Job | None = None
        # Within a slice: what it leads to must not take another whole one.
        self._busy = False

    def __len__(self) -> int:
        return len(self._jobs)

    def doing(self) -> str:
        """What the last slice was of, for whoever wonders why it took so long."""
        job = self._last
        doing = None if job is None else getattr(getattr(job.wanted, "__self__", None), "doing", None)
        whose = "" if doing is None else f" for {doing()}"
        return f"a slice of {getattr(job and job.work, '__qualname__', 'work')}{whose}"

    def run(self, work: Work[T | Deferred[T]], wanted: Callable[[], bool] | None = None) -> T | Deferred[T]:
        """The result if it is there within a slice, else a later value. Once `wanted` says no, the rest is not done.

        What the work raises within the first slice is raised here.
        """
        end = self._now() + (FIRST_SLICE_SECONDS if self._jobs or self._busy else SLICE_SECONDS)
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

    def value_of(self, result: T | Work[T | Deferred[T]]) -> T | Deferred[T]:
        """Of something that may be work or may be the result already."""
        return self.run(result) if isinstance(result, GeneratorType) else cast(T, result)

    def run_into(
        self, work: Work[T | Deferred[T]], answer: Deferred[T], wanted: Callable[[], bool] | None = None
    ) -> None:
        """Settles `answer` with what becomes of the work."""
        try:
            result = self.run(work, wanted)
        except Exception as error:
            answer.fail(error)
        else:
            pass_on(result, answer)

    def then(self, source: Deferred[U], work: Callable[[U], Work[T]]) -> Deferred[T]:
        """What becomes of a later value by more work."""
        answer: Deferred[T] = Deferred()

        def settled(value: U | None, error: BaseException | None) -> None:
            if error is None:
                self.run_into(work(cast(U, value)), answer)
            else:
                answer.fail(error)

        source.then(settled)
        return answer

    def _schedule(self) -> None:
        if self._jobs and not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._slice)

    def _slice(self) -> None:
        self._scheduled = False
        self.slices += 1
        job = self._last = self._jobs.popleft()
        self._busy = True
        try:
            if self._step(job):
                # Behind those it takes turns with, before those that wait.
                self._jobs.insert(AT_ONCE - 1, job)
        finally:
            self._busy = False
            self._schedule()

    def _step(self, job: _Job) -> bool:
        """One slice of the work; whether there is more to do."""
        if job.wanted is not None and not job.wanted():
            job.work.close()
            job.answer.fail(GivenUp())
            return False
        end = self._now() + SLICE_SECONDS
        try:
            # At least one step, also where the machine is so busy that looking at the clock takes as long as a slice.
            next(job.work)
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


def distinct(items: Iterable[H]) -> Work[list[H]]:
    """Each once, in their order."""
    seen: dict[H, None] = {}
    for number, item in enumerate(items):
        seen[item] = None
        if not number % 256:
            yield
    return list(seen)


def pieces(items: Iterable[T], size: int = 128) -> Iterator[list[T]]:
    """The items, some at a time: who works through very many of them pauses after each piece."""
    left = iter(items)
    while piece := list(islice(left, size)):
        yield piece


def in_order(items: Iterable[C]) -> Work[list[C]]:
    """As `sorted`."""
    runs = []
    for run in pieces(items, _SORTED_AT_ONCE):
        run.sort()
        runs.append(run)
        yield
    if len(runs) <= 1:
        return runs[0] if runs else []
    ordered: list[C] = []
    for piece in pieces(merge(*runs)):
        ordered += piece
        yield
    return ordered
