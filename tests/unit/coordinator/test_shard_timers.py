"""A session that was extended is not ended by a timer that fires late: what extends it again may lie unread."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moldau.coordinator.timers import ShardTimers


class Handle:
    def cancel(self) -> None:
        pass


class Loop:
    """Runs its timers when the test says so."""

    def __init__(self) -> None:
        self.now = 0.0
        self.timers: list[tuple[float, Callable[[], None]]] = []

    def monotonic(self) -> float:
        return self.now

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> Handle:
        self.timers.append((self.now + delay_seconds, callback))
        return Handle()

    def fire(self) -> None:
        due, self.timers = self.timers, []
        for _, callback in due:
            callback()


def test_a_moved_deadline_that_passed_during_a_stall_gets_one_more_turn() -> None:
    loop: Any = Loop()
    expired: list[str] = []
    timers = ShardTimers(loop, loop, lambda key, _operation: expired.append(key))
    timers.schedule("session", 10_000, lambda *_: None)  # type: ignore[arg-type, return-value]
    loop.now = 8.0
    timers.schedule("session", 10_000, lambda *_: None)  # type: ignore[arg-type, return-value]
    # Due at 10 and at 18; the loop was held up from 9 until 30.
    loop.now = 30.0
    loop.fire()
    assert expired == []
    assert [when for when, _ in loop.timers] == [30.0]
    # In the next turn the heartbeat that lay unread has been read.
    timers.schedule("session", 10_000, lambda *_: None)  # type: ignore[arg-type, return-value]
    loop.fire()
    assert expired == []
    loop.now = 40.0
    loop.fire()
    assert expired == ["session"]
