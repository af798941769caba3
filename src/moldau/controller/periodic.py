"""Decisions the controller makes by itself from time to time. Each is one more write operation: it waits its turn
behind those that were asked for, and only `replay` changes state."""

from __future__ import annotations

import logging
from collections.abc import Callable

from moldau.deferred import Deferred
from moldau.runtime.ports import Loop, TimerHandle

logger = logging.getLogger("moldau.controller")


class PeriodicDecision:
    """`run` decides and answers whether there is more to do at once. The next one is waited for from the end of this
    one, so that there are never two."""

    def __init__(self, loop: Loop, name: str, interval_seconds: float, run: Callable[[], Deferred[bool]]) -> None:
        self._loop = loop
        self._name = name
        self._interval = interval_seconds
        self._run = run
        self._timer: TimerHandle | None = None
        # Another leadership has begun or ended since: an answer that belongs to an earlier one sets no timer.
        self._term = 0

    def start(self) -> None:
        self._term += 1
        self._wait(self._interval)

    def stop(self) -> None:
        self._term += 1
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def hasten(self) -> None:
        """Something has happened that it looks for."""
        if self._timer is not None:
            self._timer.cancel()
            self._wait(0.0)

    def _wait(self, seconds: float) -> None:
        self._timer = self._loop.call_later(seconds, self._due)

    def _due(self) -> None:
        self._timer = None
        term = self._term

        def decided(more: bool | None, error: BaseException | None) -> None:
            if term != self._term:
                return
            if error is not None:
                logger.error("%s could not be decided: %s", self._name, error)
            self._wait(0.0 if more else self._interval)

        self._run().then(decided)
