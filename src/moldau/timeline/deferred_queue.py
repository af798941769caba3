"""Answers parked by offset until the high watermark passes them.

An operation is decided and applied at once, but its answer must not leave before its records are committed: the
caller would act on something that may still be taken back. One queue does it for every operation.
"""

from __future__ import annotations

from collections import deque
from typing import Protocol


class DeferredEvent(Protocol):
    def __call__(self, error: BaseException | None) -> None:
        """`error` is None when the offset was committed, otherwise the reason why it never will be."""
        ...


class DeferredEventQueue:
    """Events in the order of their offsets. Offsets only grow, because events are added as the log grows."""

    __slots__ = ("_pending",)

    def __init__(self) -> None:
        self._pending: deque[tuple[int, DeferredEvent]] = deque()

    def __len__(self) -> int:
        return len(self._pending)

    @property
    def highest_pending(self) -> int | None:
        """The last offset something waits for: an operation that only reads has to wait for it as well."""
        return self._pending[-1][0] if self._pending else None

    def add(self, offset: int, event: DeferredEvent) -> None:
        if self._pending and offset < self._pending[-1][0]:
            raise ValueError(f"an event at {offset} cannot follow one at {self._pending[-1][0]}")
        self._pending.append((offset, event))

    def reached(self, offset: int) -> bool:
        """Whether something waits for `offset` or less."""
        return bool(self._pending) and self._pending[0][0] <= offset

    def complete_up_to(self, offset: int, error: BaseException | None = None) -> None:
        """Completes everything at or below `offset`, which is committed, in order; with an error where that is not
        enough."""
        pending = self._pending
        while pending and pending[0][0] <= offset:
            pending.popleft()[1](error)

    def fail_all(self, error: BaseException) -> None:
        """The offsets will not be committed by this leader: everything still waiting is told so."""
        abandoned, self._pending = self._pending, deque()
        for _, event in abandoned:
            event(error)
