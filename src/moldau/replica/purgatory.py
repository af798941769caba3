"""Where operations wait that cannot be answered yet.

An operation is watched under one or more keys (partitions) and has a deadline. Whoever changes the state of a key
calls `check`; whatever is complete then answers through its own callback. Deadlines stand in a timing wheel, so
thousands of parked fetches cost nothing while they wait.

An operation completes exactly once, by its condition or by its deadline, always on the loop's thread. One whose answer
fails is reported and is over; neither those beside it nor whoever woke them have anything to do with that.
"""

from __future__ import annotations

import logging
from collections.abc import Hashable, Iterable, Iterator
from typing import Any, Generic, TypeVar

from moldau.runtime.ports import Clock, Loop, TimerHandle
from moldau.runtime.timing_wheel import TimingWheel, WheelTimer
from moldau.slicing import Work, pieces

logger = logging.getLogger("moldau.replica")

Key = TypeVar("Key", bound=Hashable)

# Watch lists keep completed operations until they are met or until this many have gathered.
PURGE_INTERVAL = 1000
# Thousands may wait for one record. So many are answered in one turn of the loop, some ten microseconds each.
COMPLETED_PER_TURN = 256


class DelayedOperation:
    """Subclasses say when they are complete (`ready`) and what happens then (`finish`)."""

    __slots__ = ("_purgatory", "_timer", "completed", "waits_for")

    def __init__(self, waits_for: Hashable = None) -> None:
        """Those that wait under one key and name the same in `waits_for` are ready together or not at all, as long as
        none of them is completed: where the first is not, the others are not looked at."""
        self.waits_for = waits_for
        self.completed = False
        self._timer: WheelTimer | None = None
        # Where it waits, or has waited.
        self._purgatory: Purgatory[Any] | None = None

    def ready(self) -> bool:
        """True when the condition waited for holds. Must not change anything."""
        raise NotImplementedError

    def looks(self) -> Iterator[bool]:
        """Whether it holds, found out step by step; the first that is true is the answer."""
        yield self.ready()

    def ready_after(self, key: Hashable) -> bool:
        """The same after something happened to one of its keys, for those that need not look at all of them."""
        return self.ready()

    def finish(self, expired: bool) -> None:
        """Answers; called once."""
        raise NotImplementedError

    def complete(self, expired: bool = False) -> bool:
        """Completes now, whatever the condition; False if that had happened already."""
        if self.completed:
            return False
        self.completed = True
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
            if self._purgatory is not None:
                self._purgatory.waiting -= 1
        try:
            self.finish(expired)
        except Exception:
            logger.exception("the answer of a waiting %s failed", type(self).__name__)
        return True

    def can_complete(self, key: Hashable) -> bool:
        """Whether it need not wait any longer; also when that cannot be found out, for then its answer says why."""
        try:
            return self.ready_after(key)
        except Exception:
            logger.exception("what a waiting %s waits for cannot be told", type(self).__name__)
            return True


class Purgatory(Generic[Key]):
    def __init__(self, name: str, clock: Clock, loop: Loop) -> None:
        self.name = name
        self._clock = clock
        self._loop = loop
        self._wheel = TimingWheel(self._now_ms())
        self._wakeup: TimerHandle | None = None
        self._wakeup_at = 0
        self._completed_since_purge = 0
        # How many operations are parked now.
        self.waiting = 0
        # Public so that the append path can ask `key in purgatory.watched` without a call.
        self.watched: dict[Key, list[DelayedOperation]] = {}
        # Keys that are looked at in this turn. A dict, for its order.
        self._stirred: dict[Key, None] = {}

    def wait(
        self, operation: DelayedOperation, keys: Iterable[Key], timeout_ms: int, *, is_ready: bool | None = None
    ) -> None:
        """Completes `operation` now if it is ready, else watches it under `keys` until its deadline. Whoever knows
        whether it is says so."""
        if operation.ready() if is_ready is None else is_ready:
            operation.complete()
            return
        for key in keys:
            self.watched.setdefault(key, []).append(operation)
        self._set_deadline(operation, timeout_ms)

    def wait_in_slices(self, operation: DelayedOperation, keys: Iterable[Key], timeout_ms: int) -> Work[None]:
        """The same under very many keys: watched first and looked at then, for something may come meanwhile."""
        self._set_deadline(operation, timeout_ms)
        for some in pieces(keys):
            if operation.completed:
                return
            for key in some:
                self.watched.setdefault(key, []).append(operation)
            yield
        for ready in operation.looks():
            if operation.completed:
                return
            if ready:
                self.hurry(operation)
                return
            yield

    def _set_deadline(self, operation: DelayedOperation, timeout_ms: int) -> None:
        deadline = self._now_ms() + timeout_ms
        operation._timer = self._wheel.add(deadline, lambda: self._expire(operation))
        operation._purgatory = self
        self.waiting += 1
        if self._wakeup is None or deadline < self._wakeup_at:
            self._schedule_wakeup()

    def check_soon(self, key: Key) -> None:
        """The same as `check` before this turn of the loop ends; if very many are ready, in the turns after it."""
        if not self._stirred:
            self._loop.call_soon(self._check_stirred)
        self._stirred[key] = None

    def check_now(self) -> None:
        """What `check_soon` was asked for, at once; and the answers leave before this turn of the loop goes on."""
        if self._stirred:
            self._check_stirred()
        self._loop.flush()

    def _check_stirred(self) -> None:
        stirred, self._stirred = self._stirred, {}
        left = COMPLETED_PER_TURN
        for key in stirred:
            if left:
                left -= self.check(key, left)
            if not left:
                self.check_soon(key)

    def check(self, key: Key, most: int | None = None) -> int:
        """Completes what waits under `key` and is ready; returns how many that were.

        After `most` of them the others are left as they are: whoever has no time for all comes back.
        """
        operations = self.watched.get(key)
        if operations is None:
            return 0
        finished = 0
        waiting = []
        # What the last one waits for in vain.
        absent: Hashable = None
        # Taken out first: finishing an operation may append, check and wait again.
        del self.watched[key]
        for place, operation in enumerate(operations):
            if operation.completed:
                continue
            waits_for = operation.waits_for
            if waits_for is not None and waits_for == absent:
                waiting.append(operation)
            elif operation.can_complete(key):
                absent = None
                operation.complete()
                finished += 1
                if finished == most:
                    waiting += operations[place + 1 :]
                    break
            else:
                absent = waits_for
                waiting.append(operation)
        if waiting:
            self.watched[key] = waiting + self.watched.get(key, [])
        self._count_completed(finished)
        return finished

    def hurry(self, operation: DelayedOperation) -> None:
        """Completes it before its time, whatever its condition."""
        if operation.complete():
            self._count_completed(1)

    def complete_all(self, key: Key) -> None:
        """Completes everything under `key` regardless of its condition: the partition is going away."""
        for operation in self.watched.pop(key, ()):
            operation.complete()

    def cancel_all(self) -> None:
        """Drops everything unanswered; for shutdown, after connections have been closed."""
        for operations in self.watched.values():
            for operation in operations:
                operation.completed = True
        self.watched.clear()
        self.waiting = 0
        if self._wakeup is not None:
            self._wakeup.cancel()
            self._wakeup = None

    def _expire(self, operation: DelayedOperation) -> None:
        operation.complete(expired=True)
        self._count_completed(1)

    def _count_completed(self, count: int) -> None:
        # An operation completed under one key stays in the lists of its other keys; idle keys are never checked,
        # so without this their lists would grow with every fetch.
        self._completed_since_purge += count
        if self._completed_since_purge >= PURGE_INTERVAL:
            self._completed_since_purge = 0
            for key in list(self.watched):
                left = [operation for operation in self.watched[key] if not operation.completed]
                if left:
                    self.watched[key] = left
                else:
                    del self.watched[key]

    def _schedule_wakeup(self) -> None:
        deadline = self._wheel.next_deadline()
        if deadline is None or (self._wakeup is not None and self._wakeup_at <= deadline):
            return
        if self._wakeup is not None:
            self._wakeup.cancel()
        self._wakeup_at = deadline
        delay = max(0, deadline - self._now_ms()) / 1000
        self._wakeup = self._loop.call_later(delay, self._on_wakeup)

    def _on_wakeup(self) -> None:
        self._wakeup = None
        self._wheel.advance(self._now_ms())
        self._schedule_wakeup()

    def _now_ms(self) -> int:
        return int(self._clock.monotonic() * 1000)
