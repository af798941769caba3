"""The order in which things happen: one queue of events for the whole world, and each node's loop as a view of it.

Events are ordered by virtual time, then by who asked first. A loop that has ended (its process died, or stopped by
itself) takes its events with it: they are still in the queue, and are passed over.
"""

from __future__ import annotations

import heapq
import logging
from collections.abc import Callable
from math import ceil
from typing import Final

from moldau.runtime.ports import LoopLoad
from moldau.simulation.clock import VirtualClock

logger = logging.getLogger("moldau.simulation")

# More events than this at one moment means that somebody keeps calling himself without letting time pass.
_MOST_AT_ONCE: Final = 200_000


class PowerCut(BaseException):
    """The machine lost its power in the middle of a step. Not an Exception: no code may catch it and carry on."""


class Stuck(AssertionError):
    """What was waited for does not happen."""


class Event:
    __slots__ = ("callback", "loop")

    def __init__(self, loop: SimulatedLoop, callback: Callable[[], None]) -> None:
        self.loop = loop
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class Schedule:
    """All events to come, of all loops. `failures` collects exceptions that no code of the node's own has handled."""

    def __init__(self, clock: VirtualClock) -> None:
        self.clock = clock
        self.failures: list[BaseException] = []
        self.steps = 0
        # Whose event was the last one.
        self.last: SimulatedLoop | None = None
        # By moment and order, which no two share: tuples are compared without a call into Python.
        self._events: list[tuple[int, int, Event]] = []
        self._order = 0
        self._at_once = 0

    def add(self, delay_us: int, loop: SimulatedLoop, callback: Callable[[], None]) -> Event:
        self._order += 1
        event = Event(loop, callback)
        moment = self.clock.now_us
        heapq.heappush(self._events, (moment + delay_us if delay_us > 0 else moment, self._order, event))
        return event

    def add_again(self, event: Event) -> None:
        """One that had to wait, now."""
        self._order += 1
        heapq.heappush(self._events, (self.clock.now_us, self._order, event))

    def step(self) -> bool:
        """Runs the next event; False if there is none."""
        while self._events:
            when_us, _, event = heapq.heappop(self._events)
            if event.callback is None or not event.loop.alive:
                continue
            if event.loop.paused:
                event.loop.held.append(event)
                continue
            callback, event.callback = event.callback, None
            self._move_to(when_us)
            self.steps += 1
            self.last = event.loop
            event.loop.load.polled_at = self.clock.monotonic()
            try:
                callback()
            except PowerCut:
                event.loop.power_cut()
            except Exception as error:
                # As in the real loop: reported, and the others go on. Whoever runs the world decides what it means.
                logger.exception("a callback of the loop failed")
                self.failures.append(error)
            return True
        return False

    def run_until(self, done: Callable[[], bool], seconds: float = 600.0) -> None:
        """Runs events until `done()`; Stuck after `seconds` of virtual time, or when nothing is left to happen."""
        deadline = self.clock.now_us + round(seconds * 1_000_000)
        while not done():
            if self.clock.now_us > deadline:
                raise Stuck(f"what was waited for did not happen within {seconds} s of virtual time")
            if not self.step():
                raise Stuck("what was waited for cannot happen any more: nobody has anything left to do")

    def run_for(self, seconds: float) -> None:
        """Lets virtual time pass, and whatever happens in it happen."""
        end = self.clock.now_us + round(seconds * 1_000_000)
        while self._events and self._events[0][0] <= end:
            self.step()
        self.clock.now_us = max(self.clock.now_us, end)

    def _move_to(self, when_us: int) -> None:
        if when_us > self.clock.now_us:
            self.clock.now_us = when_us
            self._at_once = 0
        self._at_once += 1
        if self._at_once > _MOST_AT_ONCE:
            raise Stuck(f"more than {_MOST_AT_ONCE} events at one moment: somebody waits without letting time pass")


class SimulatedLoop:
    """The Loop port of one process."""

    def __init__(self, schedule: Schedule) -> None:
        self._schedule = schedule
        # Steps take no time here, so nobody is ever busy.
        self.load = LoopLoad()
        self.alive = True
        # Stopped for a while (SIGSTOP): what should have happened happens when it goes on, in the order it came.
        self.paused = False
        self.held: list[Event] = []
        # Told once, when the process ends by a power cut in the middle of a step.
        self.on_power_cut: Callable[[], None] = lambda: None

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._schedule.add(0, self, callback)

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> Event:
        # Never early, as with a real one: whoever looks at the clock then finds that the time has come.
        return self._schedule.add(ceil(delay_seconds * 1_000_000), self, callback)

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        self._schedule.add(0, self, callback)

    def flush(self) -> None:
        """What is sent leaves after the step, which takes no time."""

    def when_flushed(self, told: Callable[[float, float], None]) -> None:
        now = self._schedule.clock.monotonic()
        told(now, now)

    def call_after_us(self, delay_us: int, callback: Callable[[], None]) -> Event:
        return self._schedule.add(delay_us, self, callback)

    @property
    def now_us(self) -> int:
        return self._schedule.clock.now_us

    def run(self) -> None:
        """Runs the world until `stop`."""
        self._schedule.run_until(lambda: not self.alive, seconds=float(1 << 40))

    def run_until(self, done: Callable[[], bool], seconds: float = 600.0) -> None:
        self._schedule.run_until(done, seconds)

    def stop(self) -> None:
        self.alive = False

    def go_on(self) -> None:
        """After a pause."""
        self.paused = False
        held, self.held = self.held, []
        for event in held:
            self._schedule.add_again(event)

    def power_cut(self) -> None:
        self.alive = False
        self.on_power_cut()
