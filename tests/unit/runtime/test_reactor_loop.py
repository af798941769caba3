"""The loop itself: callbacks, timers, other threads, signals."""

from __future__ import annotations

import logging
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator

import pytest

from moldau.runtime.reactor import TIMERS_SECONDS, Reactor
from moldau.runtime.readiness import READABLE
from moldau.runtime.workers import ThreadWorkers


@pytest.fixture
def loop(readiness_kind: str) -> Iterator[Reactor]:
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
        if turns == 2:
            # Due from now on, however long a turn takes.
            loop.call_later(0.0, loop.stop)
        loop.call_soon(again)

    loop.call_soon(again)
    loop.run()
    assert turns >= 2


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


def test_timers_that_are_due_together_leave_room_for_others(loop: Reactor) -> None:
    ran: list[str] = []

    def long(name: str) -> None:
        ran.append(name)
        loop.call_soon(lambda: ran.append(f"after {name}"))
        end = time.monotonic() + TIMERS_SECONDS
        while time.monotonic() <= end:
            pass

    for name in ("a", "b", "c"):
        loop.call_later(0.0, lambda name=name: long(name))  # type: ignore[misc]
    loop.call_later(0.0, loop.stop)
    loop.run()
    assert ran == ["a", "after a", "b", "after b", "c", "after c"]


def test_a_timer_may_cancel_very_many_that_are_due_as_well(loop: Reactor) -> None:
    ran: list[str] = []
    others = [loop.call_later(0.0, lambda: ran.append("cancelled")) for _ in range(200)]

    def first() -> None:
        for other in others:
            other.cancel()
        ran.append("first")

    loop.call_later(-1.0, first)
    loop.call_later(0.0, lambda: ran.append("last"))
    loop.call_later(0.0, loop.stop)
    loop.run()
    assert ran == ["first", "last"]


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


class Clock:
    """The loop's time, moved by the test: a callback that takes long moves it on."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr("moldau.runtime.reactor.time.monotonic", lambda: self.now)

    def hold(self, seconds: float) -> None:
        self.now += seconds


def test_what_has_arrived_is_read_before_a_timer_says_that_nothing_came(
    loop: Reactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    order: list[str] = []
    busy, quiet = socket.socketpair(), socket.socketpair()
    timer = loop.call_later(5.0, lambda: (order.append("timer"), loop.stop()))

    def hold(_events: int) -> None:
        busy[0].recv(1)
        order.append("busy")
        clock.hold(60.0)
        # Says something while the loop is held up, long before its time is over as it sees it.
        quiet[1].send(b"x")

    def read(_events: int) -> None:
        quiet[0].recv(1)
        order.append("heard")
        timer.cancel()
        loop.call_soon(loop.stop)

    for pair, handler in ((busy, hold), (quiet, read)):
        loop.register(pair[0].fileno(), handler, READABLE)
    busy[1].send(b"x")
    try:
        loop.run()
    finally:
        for one in (*busy, *quiet):
            one.close()
    assert order == ["busy", "heard"]


def test_that_holds_for_more_descriptors_than_fit_a_turn(loop: Reactor, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr("moldau.runtime.reactor.EVENTS_PER_TURN", 4)
    pairs = [socket.socketpair() for _ in range(11)]
    heard: set[int] = set()
    when_due: list[int] = []

    def read(number: int) -> None:
        pairs[number][0].recv(1)
        heard.add(number)
        clock.hold(1.0)

    for number, pair in enumerate(pairs):
        loop.register(pair[0].fileno(), lambda _events, number=number: read(number), READABLE)
        pair[1].send(b"x")
    # Due with the first of them, while the others have spoken as well.
    loop.call_later(0.5, lambda: (when_due.append(len(heard)), loop.stop()))
    clock.hold(0.4)
    try:
        loop.call_soon(lambda: clock.hold(0.2))
        loop.run()
    finally:
        for one, other in pairs:
            one.close()
            other.close()
    assert when_due == [len(pairs)]


def test_timers_run_although_more_than_fit_a_turn_speak_all_the_time(
    loop: Reactor, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock(monkeypatch)
    monkeypatch.setattr("moldau.runtime.reactor.EVENTS_PER_TURN", 4)
    pairs = [socket.socketpair() for _ in range(11)]
    for one, other in pairs:
        # Never read, so always ready.
        loop.register(one.fileno(), lambda _events: clock.hold(0.001), READABLE)
        other.send(b"x")
    loop.call_later(0.5, loop.stop)
    try:
        loop.run()
    finally:
        for one, other in pairs:
            one.close()
            other.close()


@pytest.fixture
def pairs() -> Iterator[list[tuple[socket.socket, socket.socket]]]:
    pairs = [socket.socketpair() for _ in range(5)]
    yield pairs
    for one, other in pairs:
        one.close()
        other.close()


class SmallOnes:
    """Serves one descriptor on the express way, and leaves the others."""

    def __init__(self, fd: int, served: Callable[[], None]) -> None:
        self._fd = fd
        self._served = served

    def __call__(self, ready: list[tuple[int, int]]) -> list[tuple[int, int]]:
        if any(fd == self._fd for fd, _ in ready):
            self._served()
        return [entry for entry in ready if entry[0] != self._fd]

    def remove(self, fd: int) -> None:
        pass


def test_who_is_ready_beside_long_work_waits_for_a_turn_and_small_ones_do_not(
    loop: Reactor, monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[socket.socket, socket.socket]]
) -> None:
    clock = Clock(monkeypatch)
    order: list[str] = []
    small = pairs[0][0]
    loop.express = SmallOnes(small.fileno(), lambda: (small.recv(1), order.append("small")))

    def long(number: int) -> None:
        pairs[number][0].recv(1)
        order.append(f"long {number}")
        clock.hold(0.001)
        if number == 1:
            # Speaks up while others are served, and one that has been served speaks again.
            pairs[0][1].send(b"x")
            pairs[1][1].send(b"x")
        if len(order) == 6:
            loop.stop()

    for number in range(1, 5):
        loop.register(pairs[number][0].fileno(), lambda _events, number=number: long(number), READABLE)
        pairs[number][1].send(b"x")
    loop.register(small.fileno(), lambda _events: None, READABLE)
    loop.run()
    assert order == ["long 1", "small", "long 2", "long 3", "long 4", "long 1"]


def test_what_has_arrived_is_read_before_a_timer_also_where_it_has_to_wait_for_turns(
    loop: Reactor, monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[socket.socket, socket.socket]]
) -> None:
    clock = Clock(monkeypatch)
    heard: set[int] = set()
    when_due: list[int] = []

    def read(number: int) -> None:
        pairs[number][0].recv(1)
        heard.add(number)
        clock.hold(1.0)

    for number, pair in enumerate(pairs):
        loop.register(pair[0].fileno(), lambda _events, number=number: read(number), READABLE)
        pair[1].send(b"x")
    loop.call_later(0.0, lambda: (when_due.append(len(heard)), loop.stop()))
    loop.run()
    assert when_due == [len(pairs)]


def test_timers_run_although_somebody_has_to_wait_for_turns_all_the_time(
    loop: Reactor, monkeypatch: pytest.MonkeyPatch, pairs: list[tuple[socket.socket, socket.socket]]
) -> None:
    clock = Clock(monkeypatch)
    for one, other in pairs:
        # Never read, so always ready.
        loop.register(one.fileno(), lambda _events: clock.hold(0.001), READABLE)
        other.send(b"x")
    loop.call_later(0.5, loop.stop)
    loop.run()


def test_whoever_holds_the_loop_is_named(
    loop: Reactor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(monkeypatch)

    class Busy:
        def doing(self) -> str:
            return "a request for too much"

        def serve(self) -> None:
            clock.hold(0.3)

    def slow() -> None:
        clock.hold(0.2)

    loop.call_soon(slow)
    loop.call_soon(Busy().serve)
    loop.call_soon(lambda: clock.hold(0.05))
    loop.call_soon(loop.stop)
    with caplog.at_level(logging.WARNING, logger="moldau.runtime"):
        loop.run()
    told = [record.getMessage() for record in caplog.records]
    assert len(told) == 2
    assert "held for 200 ms" in told[0] or "held for 199 ms" in told[0]
    assert "slow" in told[0]
    assert told[1].endswith("by a request for too much")


def test_what_a_worker_brings_is_named_by_who_takes_it(
    loop: Reactor, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    clock = Clock(monkeypatch)
    workers = ThreadWorkers(loop.call_from_thread)

    def taken_over(_result: None, _error: BaseException | None) -> None:
        clock.hold(0.2)
        loop.stop()

    workers.submit(lambda: None, taken_over)
    with caplog.at_level(logging.WARNING, logger="moldau.runtime"):
        loop.run()
    workers.close()
    [told] = [record.getMessage() for record in caplog.records]
    assert told.endswith("taken_over")
    assert "what a worker brought to" in told
