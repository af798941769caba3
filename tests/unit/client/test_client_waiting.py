"""What threads wait on, with an exception at every moment at which Ctrl-C may strike."""

from __future__ import annotations

import dis
import gc
import logging
import select
import sys
import threading
from collections.abc import Callable
from types import FrameType, SimpleNamespace
from typing import Any

import pytest

from moldau._speed.reference.delivery import Delivery
from moldau.client.background import Background, Waiter
from moldau.client.consumer.committer import Committer
from moldau.client.consumer.interceptors import Interceptors
from moldau.client.future import Future
from moldau.client.structs import OffsetAndMetadata
from moldau.client.waiting import Latch, Monitor
from moldau.deferred import Deferred
from moldau.runtime.reactor import Reactor
from moldau.types import TopicPartition

PATIENCE = 10.0
SOME = {TopicPartition("rivers", 0): OffsetAndMetadata(1, "", -1)}


class Interruption:
    """Raises KeyboardInterrupt at the n-th moment at which the interpreter looks for signals: at the begin of a
    function, after a call, and before a loop goes round."""

    def __init__(self, at: int) -> None:
        self.left = at
        self.struck = False
        self._after: dict[FrameType, bool] = {}

    def __call__(self, frame: FrameType, event: str, _argument: Any) -> Any:
        frame.f_trace_opcodes = True
        if event == "call":
            self._after[frame] = True
        elif event == "opcode":
            name = dis.opname[frame.f_code.co_code[frame.f_lasti]]
            if self._after.get(frame) or name == "JUMP_BACKWARD":
                self.strike()
            self._after[frame] = name.startswith("CALL")
        return self

    def strike(self) -> None:
        self.left -= 1
        if self.left == 0:
            self.struck = True
            raise KeyboardInterrupt


def interrupted(work: Callable[[], Any], at: int) -> bool:
    """Whether there was a moment of this number at all."""
    interruption = Interruption(at)
    before = sys.gettrace()
    gc.disable()  # a collection may begin at any moment, and calls back functions of others, which would be struck
    sys.settrace(interruption)
    try:
        work()
    except (KeyboardInterrupt, Exception):
        pass
    finally:
        sys.settrace(before)
        gc.enable()
    return interruption.struck


def on_another_thread(work: Callable[[], Any]) -> None:
    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    thread.join(PATIENCE)
    assert not thread.is_alive(), "something was left taken"


def waiting_for_a_future() -> tuple[Callable[[], Any], Callable[[], Any]]:
    future = Future()
    return lambda: future.get(0.001), lambda: future.success(1)


def waiting_for_an_answer() -> tuple[Callable[[], Any], Callable[[], Any]]:
    waiter: Waiter[int] = Waiter()
    return lambda: waiter.wait(0.001), lambda: waiter.settle(1, None)


def waiting_for_a_delivery() -> tuple[Callable[[], Any], Callable[[], Any]]:
    # The twin in Python, which can be struck at each of its steps.
    delivery = Delivery("rivers", 0)
    return lambda: delivery.wait(0.001), delivery.complete


def waiting_for_a_change() -> tuple[Callable[[], Any], Callable[[], Any]]:
    monitor = Monitor()

    def wait() -> None:
        with monitor:
            ticket = monitor.ticket()
        ticket.wait(0.001)

    def change() -> None:
        with monitor:
            monitor.notify_all()

    return wait, change


@pytest.mark.parametrize(
    "make", [waiting_for_a_future, waiting_for_an_answer, waiting_for_a_delivery, waiting_for_a_change]
)
def test_an_interrupted_wait_leaves_nothing_taken(
    make: Callable[[], tuple[Callable[[], Any], Callable[[], Any]]],
) -> None:
    at = 0
    struck = True
    while struck:
        at += 1
        wait, settle = make()
        struck = interrupted(wait, at)
        on_another_thread(settle)
    assert at > 2


def test_an_interrupted_call_to_the_loop_does_not_keep_it_asleep() -> None:
    at = 0
    struck = True
    while struck:
        at += 1
        loop = Reactor()
        try:
            struck = interrupted(lambda loop=loop: loop.call_from_thread(print), at)  # type: ignore[misc]
            loop.call_from_thread(print)
            woken, _, _ = select.select([loop._wake_read], [], [], 0)
            assert woken, f"struck at moment {at}, the loop is never woken again"
        finally:
            loop.close()
    assert at > 2


def test_an_interrupted_commit_is_not_waited_for_at_the_end() -> None:
    at = 0
    struck = True
    while struck:
        at += 1
        looks = 0

        def time_left() -> float:
            nonlocal looks
            looks += 1
            return PATIENCE if looks < 4 else 0.0

        background = Background("interrupted")
        background.start()
        try:
            committer = _committer(background)
            struck = interrupted(lambda it=committer: it.commit_async(SOME), at)  # type: ignore[misc]
            committer.finish(time_left)
            assert looks < 4, f"struck at moment {at}, the end waits for a commit that is not under way"
        finally:
            background.close()
    assert at > 2


def _committer(background: Background) -> Committer:
    """One whose commits are over as soon as they reach the loop."""

    def perform(conversation: Any, _timeout: float) -> Deferred[Any]:
        done: Deferred[Any] = Deferred()
        done.resolve({})
        return done

    network: Any = SimpleNamespace(perform=perform, request_timeout=PATIENCE)
    group: Any = SimpleNamespace(commit=lambda offsets, who: None)
    membership: Any = SimpleNamespace(membership=None)
    return Committer(background, network, group, membership, lambda: SOME, Interceptors([]))


def test_a_latch_lets_everybody_through() -> None:
    latch = Latch()
    assert not latch.wait(0)
    seen: list[bool] = []
    threads = [threading.Thread(target=lambda: seen.append(latch.wait(PATIENCE))) for _ in range(3)]
    for thread in threads:
        thread.start()
    latch.set()
    for thread in threads:
        thread.join()
    assert seen == [True] * 3
    assert latch.wait(0)


def test_waits_that_end_by_themselves_leave_no_ticket_behind() -> None:
    monitor = Monitor()
    for _ in range(3):
        with monitor:
            ticket = monitor.ticket()
        assert not ticket.wait(0)
        with monitor:
            assert not monitor.wait(0)
            assert monitor._is_owned()  # type: ignore[attr-defined]
    assert not monitor._line


def test_a_program_that_keeps_its_client_waiting_is_not_scolded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """It shares the interpreter with the client's loop, and whatever it prints is its own."""
    monkeypatch.setattr("moldau.runtime.reactor.HELD_SECONDS", -1.0)
    background = Background("test")
    background.start()
    with caplog.at_level(logging.INFO):
        background.get(ready_soon, PATIENCE)
        background.close(lambda: None)
    assert [record.getMessage() for record in caplog.records] == []


def ready_soon() -> Deferred[None]:
    answer: Deferred[None] = Deferred()
    answer.resolve(None)
    return answer
