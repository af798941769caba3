"""Jobs off the loop, results on it."""

from __future__ import annotations

import threading

import pytest

from moldau.runtime.real import RealRuntime


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
