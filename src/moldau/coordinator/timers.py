"""Timeouts of one shard.

Nearly every timeout is a session that is extended again and again and hardly ever expires. So extending one only moves
its deadline; the loop's timer stays where it was, finds the deadline moved when it fires, and is set again.

A timeout is an operation like any other and may have to wait for its turn. What stands before it may be the very
heartbeat that should have kept it from happening: so it is due only as long as nobody has scheduled or cancelled it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final

from moldau.coordinator.shard import TimeoutOperation
from moldau.runtime.ports import Clock, Loop, TimerHandle
from moldau.slicing import Work, pieces

# How far ahead of its deadline a timer may fire and still count: clocks and sleeps do not agree to the microsecond.
_TOLERANCE: Final = 0.0005


class _Timer:
    __slots__ = ("deadline", "fires", "handle", "operation")

    def __init__(self, deadline: float, operation: TimeoutOperation) -> None:
        self.deadline = deadline
        self.operation = operation
        self.fires = deadline
        self.handle: TimerHandle | None = None


class ShardTimers:
    """`expired(key, operation)` is called when a deadline has passed; the key is free by then."""

    def __init__(self, loop: Loop, clock: Clock, expired: Callable[[str, TimeoutOperation], None]) -> None:
        self._loop = loop
        self._clock = clock
        self._expired = expired
        self._timers: dict[str, _Timer] = {}
        # Deadlines that have passed and whose operations have not had their turn.
        self._due: dict[str, TimeoutOperation] = {}
        self._closed = False

    def __len__(self) -> int:
        return len(self._timers)

    def schedule(self, key: str, delay_ms: int, operation: TimeoutOperation) -> None:
        if self._closed:
            return
        self._due.pop(key, None)
        deadline = self._clock.monotonic() + max(delay_ms, 0) / 1000
        timer = self._timers.get(key)
        if timer is not None and timer.fires <= deadline:
            timer.deadline, timer.operation = deadline, operation
            return
        if timer is not None and timer.handle is not None:
            timer.handle.cancel()
        self._timers[key] = timer = _Timer(deadline, operation)
        self._arm(key, timer)

    def cancel(self, key: str) -> None:
        self._due.pop(key, None)
        timer = self._timers.pop(key, None)
        if timer is not None and timer.handle is not None:
            timer.handle.cancel()

    def is_scheduled(self, key: str) -> bool:
        return key in self._timers

    def take(self, key: str, operation: TimeoutOperation) -> bool:
        """Whether the operation, whose turn it is now, is still due."""
        due = self._due.get(key) is operation
        if due:
            del self._due[key]
        return due

    def close(self) -> Work[None]:
        """Nothing fires or is scheduled any more. The work gives back what the loop still holds, which may be much."""
        self._closed = True
        self._due.clear()
        timers, self._timers = self._timers, {}
        return _give_back(timers.values())

    def _arm(self, key: str, timer: _Timer) -> None:
        timer.fires = timer.deadline
        delay = timer.deadline - self._clock.monotonic()
        timer.handle = self._loop.call_later(max(delay, 0.0), lambda: self._fire(key, timer))

    def _fire(self, key: str, timer: _Timer) -> None:
        if self._timers.get(key) is not timer:
            return
        # A deadline that was moved is waited for anew even if it has passed by now: the loop may have been held up, and
        # what would move it once more may have arrived but not been read.
        if timer.deadline > timer.fires or timer.deadline - self._clock.monotonic() > _TOLERANCE:
            self._arm(key, timer)
            return
        del self._timers[key]
        self._due[key] = timer.operation
        self._expired(key, timer.operation)


def _give_back(timers: Iterable[_Timer]) -> Work[None]:
    for some in pieces(timers):
        for timer in some:
            if timer.handle is not None:
                timer.handle.cancel()
        yield
