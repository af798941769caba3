"""A hierarchical timing wheel: thousands of timeouts, most of which are cancelled before they expire.

Delayed produces and fetches nearly always end because data came, not because time ran out. So adding and cancelling
must be O(1), and time passing must cost nothing for those that are far away. Kafka keeps a heap of buckets beside its
wheels; here the milliseconds themselves, read as base-64 digits, are the wheels:

- A deadline lives on the level of the highest digit in which it differs from the present, in the slot of that digit.
  All deadlines on one level therefore lie before all those on the next, and slots are only ever ahead of the present.
- Each level keeps a bit mask of its occupied slots, so the next slot is the lowest bit of the lowest level.
- When the present reaches a slot above level 0, its entries move down, each at most once per level.

The wheel knows no clock: whoever drives it says what time it is.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Final

logger = logging.getLogger("moldau.runtime")

_BITS: Final = 6
_SLOTS: Final = 1 << _BITS
_MASK: Final = _SLOTS - 1
# 64 bits of milliseconds: no deadline is too far away to be filed.
_LEVELS: Final = 11


class WheelTimer:
    """One entry; `cancel` may be called at any time, also after it has run."""

    __slots__ = ("_bucket", "callback", "deadline_ms")

    def __init__(self, deadline_ms: int, callback: Callable[[], None]) -> None:
        self.deadline_ms = deadline_ms
        self.callback: Callable[[], None] | None = callback
        self._bucket: dict[WheelTimer, None] | None = None

    def cancel(self) -> None:
        self.callback = None
        bucket, self._bucket = self._bucket, None
        if bucket is not None:
            del bucket[self]


class TimingWheel:
    def __init__(self, now_ms: int) -> None:
        self._now = now_ms
        self._occupied = [0] * _LEVELS
        self._slots: list[list[dict[WheelTimer, None] | None]] = [[None] * _SLOTS for _ in range(_LEVELS)]

    def add(self, deadline_ms: int, callback: Callable[[], None]) -> WheelTimer:
        """`callback` runs in the first `advance` to `deadline_ms` or later; never from within this call."""
        timer = WheelTimer(deadline_ms, callback)
        self._file(timer)
        return timer

    def next_deadline(self) -> int | None:
        """When `advance` has something to do next: not later than the earliest deadline, None if there is none."""
        found = self._next_slot()
        return None if found is None else found[2]

    def advance(self, now_ms: int) -> int:
        """Runs what has expired, in order of time and then of arrival; returns how many callbacks ran.

        A callback that raises is logged and does not stop the others: they belong to other requests.
        """
        ran = 0
        while (found := self._next_slot()) is not None and found[2] <= now_ms:
            level, slot, start = found
            bucket = self._slots[level][slot]
            assert bucket is not None
            self._slots[level][slot] = None
            self._occupied[level] &= ~(1 << slot)
            self._now = max(self._now, start)
            for timer in list(bucket):
                # Cancelled by one that ran just before: its callback is gone.
                if timer.callback is None:
                    continue
                timer._bucket = None
                if level:
                    self._file(timer)
                else:
                    ran += 1
                    self._run(timer)
        self._now = max(self._now, now_ms)
        return ran

    def _file(self, timer: WheelTimer) -> None:
        now = self._now
        deadline = max(timer.deadline_ms, now)
        level = max(0, (deadline ^ now).bit_length() - 1) // _BITS
        slot = (deadline >> (level * _BITS)) & _MASK
        bucket = self._slots[level][slot]
        if bucket is None:
            bucket = self._slots[level][slot] = {}
        # Also when the bucket exists: the bit is dropped once cancelling has emptied it.
        self._occupied[level] |= 1 << slot
        bucket[timer] = None
        timer._bucket = bucket

    def _next_slot(self) -> tuple[int, int, int] | None:
        """The first slot that holds anything: level, slot, and the time at which it begins."""
        for level, occupied in enumerate(self._occupied):
            while occupied:
                lowest = occupied & -occupied
                slot = lowest.bit_length() - 1
                if self._slots[level][slot]:
                    above = self._now >> ((level + 1) * _BITS) << ((level + 1) * _BITS)
                    return level, slot, above | slot << (level * _BITS)
                occupied ^= lowest
                self._occupied[level] = occupied
        return None

    def _run(self, timer: WheelTimer) -> None:
        callback, timer.callback = timer.callback, None
        assert callback is not None
        try:
            callback()
        except Exception:
            logger.exception("a delayed operation failed when it expired")
