"""The loop itself: callbacks, timers, other threads, signals."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from moldau.runtime.reactor import Reactor


@pytest.fixture
def loop():
    reactor = Reactor()
    yield reactor
    reactor.close()


def test_call_soon_runs_in_order_and_later_ones_in_the_next_turn(loop: Reactor) -> None:
    ran: list[int] = []

    def first() -> None:
        ran.append(1)
        loop.call_soon(lambda: (ran.append(3), loop.stop()))

    loop.call_soon(first)
    loop.call_soon(lambda: ran.append(2))
    loop.run()
    assert ran == [1, 2, 3]


def test_a_callback_that_keeps_calling_itself_does_not_starve_timers(loop: Reactor) -> None:
    turns = 0

    def again() -> None:
        nonlocal turns
        turns += 1
        loop.call_soon(again)

    loop.call_soon(again)
    loop.call_later(0.01, loop.stop)
    loop.run()
    assert turns > 1


def test_timers_run_in_order_of_time_then_of_arrival(loop: Reactor) -> None:
    ran: list[str] = []
    loop.call_later(0.03, lambda: (ran.append("late"), loop.stop()))
    loop.call_later(0.0, lambda: ran.append("now"))
    loop.call_later(0.01, lambda: ran.append("a"))
    loop.call_later(0.01, lambda: ran.append("b"))
    cancelled = loop.call_later(0.005, lambda: ran.append("cancelled"))
    cancelled.cancel()
    cancelled.cancel()
    loop.run()
    assert ran == ["now", "a", "b", "late"]


def test_a_timer_never_runs_early(loop: Reactor) -> None:
    started = time.monotonic()
    elapsed: list[float] = []
    loop.call_later(0.0305, lambda: (elapsed.append(time.monotonic() - started), loop.stop()))
    loop.run()
    assert elapsed[0] >= 0.0305


def test_a_timer_may_cancel_one_that_is_due_as_well(loop: Reactor) -> None:
    ran: list[str] = []
    loop.call_later(0.0, lambda: second.cancel())
    second = loop.call_later(0.0, lambda: ran.append("second"))
    loop.call_later(0.01, loop.stop)
    time.sleep(0.001)
    loop.run()
    assert ran == []


def test_many_cancelled_timers_are_forgotten(loop: Reactor) -> None:
    for _ in range(10_000):
        loop.call_later(1000.0, lambda: None).cancel()
    assert len(loop._timers) < 200
    ran: list[int] = []
    loop.call_later(0.0, lambda: (ran.append(1), loop.stop()))
    loop.run()
    assert ran == [1]


def test_a_failing_callback_is_logged_and_stops_nobody(loop: Reactor, caplog: pytest.LogCaptureFixture) -> None:
    ran: list[str] = []
    loop.call_soon(lambda: 1 // 0)
    loop.call_soon(lambda: ran.append("next"))
    loop.call_later(0.0, lambda: [][1])
    loop.call_later(0.001, loop.stop)
    with caplog.at_level(logging.ERROR):
        loop.run()
    assert ran == ["next"]
    assert "ZeroDivisionError" in caplog.text
    assert "IndexError" in caplog.text


def test_calls_from_threads_all_arrive_in_the_order_of_each_thread(loop: Reactor) -> None:
    got: dict[int, list[int]] = {number: [] for number in range(4)}
    total = 0

    def record(thread: int, value: int) -> None:
        nonlocal total
        got[thread].append(value)
        total += 1
        if total == 4000:
            loop.stop()

    def work(thread: int) -> None:
        for value in range(1000):
            loop.call_from_thread(lambda thread=thread, value=value: record(thread, value))

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    loop.run()
    for thread in threads:
        thread.join()
    assert all(values == list(range(1000)) for values in got.values())


def test_a_call_from_a_thread_wakes_a_waiting_loop(loop: Reactor) -> None:
    timer = threading.Timer(0.05, lambda: loop.call_from_thread(loop.stop))
    timer.start()
    loop.run()
    timer.join()


def test_a_call_after_close_is_harmless() -> None:
    loop = Reactor()
    loop.close()
    loop.close()
    loop.call_from_thread(lambda: None)


def test_signals_arrive_on_the_loop_and_the_old_handler_comes_back() -> None:
    before = signal.getsignal(signal.SIGUSR1)
    loop = Reactor()
    got: list[int] = []
    loop.on_signal([signal.SIGUSR1], lambda number: (got.append(number), loop.stop()))
    loop.call_soon(lambda: os.kill(os.getpid(), signal.SIGUSR1))
    loop.run()
    loop.close()
    assert got == [signal.SIGUSR1]
    assert signal.getsignal(signal.SIGUSR1) == before


def test_a_signal_ends_a_process_that_waits_for_nothing_else() -> None:
    program = (
        "import signal\n"
        "from moldau.runtime.real import RealRuntime\n"
        "runtime = RealRuntime()\n"
        "runtime.loop.on_signal([signal.SIGTERM], lambda number: runtime.loop.stop())\n"
        "print('ready', flush=True)\n"
        "runtime.loop.run()\n"
        "runtime.close()\n"
        "print('clean')\n"
    )
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=20)
    assert output == "clean\n"
    assert process.returncode == 0
