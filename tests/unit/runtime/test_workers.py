"""Jobs off the loop, results on it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest

from moldau.runtime.real import RealRuntime
from moldau.runtime.workers import ThreadWorkers


def wait_until(holds: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_results_and_errors_come_back_on_the_thread_of_the_loop() -> None:
    runtime = RealRuntime()
    seen: list[tuple[object, object, bool, bool]] = []
    me = threading.get_ident()
    where: list[int] = []

    def done(result: object, error: BaseException | None) -> None:
        seen.append((result, type(error), threading.get_ident() == me, True))
        if len(seen) == 3:
            runtime.loop.stop()

    def job() -> int:
        where.append(threading.get_ident())
        return 42

    runtime.loop.call_soon(lambda: runtime.workers.submit(job, done))
    runtime.loop.call_soon(lambda: runtime.workers.submit(lambda: 1 // 0, done))
    runtime.loop.call_soon(lambda: runtime.workers.submit(lambda: None, done))
    runtime.loop.run()
    assert {entry[:2] for entry in seen} == {(42, type(None)), (None, ZeroDivisionError), (None, type(None))}
    assert all(entry[2] for entry in seen)
    assert where[0] != me
    runtime.close()


def test_jobs_run_side_by_side_but_on_few_threads() -> None:
    before = set(threading.enumerate())
    runtime = RealRuntime()
    barrier = threading.Barrier(4)
    finished = 0

    def done(_result: object, error: BaseException | None) -> None:
        nonlocal finished
        assert error is None
        finished += 1
        if finished == 12:
            runtime.loop.stop()

    for _ in range(12):
        runtime.workers.submit(lambda: barrier.wait(20), done)
    runtime.loop.run()
    assert len(set(threading.enumerate()) - before) <= 4
    runtime.close()


def test_no_thread_without_a_job_and_none_after_close() -> None:
    before = threading.active_count()
    runtime = RealRuntime()
    assert threading.active_count() == before
    runtime.workers.submit(lambda: None, lambda _result, _error: None)
    assert threading.active_count() == before + 1
    runtime.close()
    assert threading.active_count() == before
    with pytest.raises(RuntimeError, match="closed"):
        runtime.workers.submit(lambda: None, lambda _result, _error: None)


def test_a_job_calls_one_of_those_that_wait_and_the_last_to_have_worked() -> None:
    workers = ThreadWorkers(lambda callback: callback(), threads=2)
    both, go, at_work = threading.Barrier(2), threading.Event(), threading.Event()
    names: list[str] = []

    def held() -> None:
        names.append(threading.current_thread().name)
        at_work.set()
        assert go.wait(20)

    def meet() -> None:
        both.wait(20)

    for _ in range(2):
        workers.submit(meet, lambda _result, _error: None)
    wait_until(lambda: len(workers._idle) == 2)
    first, last = workers._idle
    workers.submit(held, lambda _result, _error: None)
    assert at_work.wait(20)
    assert workers._idle == [first]
    go.set()
    wait_until(lambda: workers._idle == [first, last])
    workers.close()
    assert len(names) == 1


def test_no_job_is_left_behind_between_two_that_are_tiny() -> None:
    """A thread that goes to rest while a job arrives takes it all the same."""
    runtime = RealRuntime()
    left = 5_000

    def done(_result: object, error: BaseException | None) -> None:
        nonlocal left
        assert error is None
        left -= 1
        if left > 2:
            runtime.workers.submit(lambda: None, done)
        elif not left:
            runtime.loop.stop()

    for _ in range(3):
        runtime.workers.submit(lambda: None, done)
    runtime.loop.run()
    assert left == 0
    runtime.close()


class JustLeft(list):
    """Somebody stood in it when it was looked at, and has seen by himself since that there is a job."""

    def __bool__(self) -> bool:
        return True


def test_who_was_to_be_called_may_have_left() -> None:
    workers = ThreadWorkers(lambda callback: callback(), threads=1)
    workers._idle = JustLeft()
    done = threading.Event()
    workers.submit(lambda: None, lambda _result, _error: done.set())
    assert done.wait(20)
    workers.close()
