"""The loop: one thread, one set of descriptors (`readiness`), run to completion.

A turn: wait for events, serve each ready descriptor once, run what other threads handed in, the callbacks asked for
with `call_soon` and the timers that are due, and last let everything that was queued for sending leave. Every step
works on what was there when it began; what it adds waits for the next turn. So no connection, timer or callback can
keep the others out, however much work it makes for itself. A turn that has served for long leaves the rest of those who
were ready to the next ones, where they come first: meanwhile small requests that arrived are served on the express way.

A timer is due when its time had come before the descriptors were asked: whatever had arrived by then is read first. So
somebody who was kept waiting, because the loop was held up, is not taken for silent while his words lie unread. Timers
that are due together have a while of each turn; the rest of them comes first among those of the next.

Whoever holds the loop for long is named in the log: as a warning in a node; in a client's program, which shares the
interpreter with its loop and may well hold it, only for those who want to know.
"""

from __future__ import annotations

import heapq
import logging
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable
from functools import partial
from itertools import count
from math import inf
from typing import Any, Final, Protocol

from moldau.runtime.ports import LoopLoad
from moldau.runtime.readiness import READABLE, readiness

logger = logging.getLogger("moldau.runtime")

# More than this many ready descriptors per turn would delay timers; the rest is ready again in the next turn.
EVENTS_PER_TURN: Final = 256
# For so long those who are ready are served in one turn; a large batch takes about twice that.
SERVING_SECONDS: Final = 0.0003
# For so long timers that are due run in one turn: thousands may have been set for the same moment.
TIMERS_SECONDS: Final = 0.001
# One callback should take a few milliseconds at most; this is far beyond.
HELD_SECONDS: Final = 0.1


class Flushable(Protocol):
    def flush(self) -> None: ...


class Reader(Protocol):
    def received(self, view: memoryview, position: int, end: int) -> None: ...


class Express(Protocol):
    """The express way: many connections served at once, as far as they want the same simple thing."""

    def __call__(self, ready: list[tuple[int, int]]) -> list[tuple[int, int]]: ...

    def add(self, fd: int, transport: Any, receiver: Any, runs: Any, channel: Any = None, /) -> None: ...

    def remove(self, fd: int) -> None: ...


class Timer:
    """A callback at a time; ordered by time, then by who came first."""

    __slots__ = ("_reactor", "callback", "order", "when")

    def __init__(self, reactor: Reactor, when: float, order: int, callback: Callable[[], None]) -> None:
        self._reactor = reactor
        self.when = when
        self.order = order
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        if self.callback is not None:
            self.callback = None
            self._reactor.forget_timer()

    def __lt__(self, other: Timer) -> bool:
        return (self.when, self.order) < (other.when, other.order)


class Reactor:
    def __init__(self, *, held_level: int = logging.WARNING) -> None:
        """`held_level` is how important it is that somebody held the loop for long."""
        self._held_level = held_level
        self._readiness = readiness()
        self._handlers: dict[int, Callable[[int], None]] = {}
        self._ready: list[Callable[[], None]] = []
        self._unflushed: list[Flushable] = []
        self._told_flushed: list[Callable[[float, float], None]] = []
        self._timers: list[Timer] = []
        self._timer_order = count()
        self._cancelled = 0
        self._running = False
        self._stopping = False
        self._from_threads: deque[Callable[[], None]] = deque()
        self._woken = False
        # A pipe, not an eventfd: the interpreter writes single bytes into it when a signal arrives.
        self._wake_read, self._wake_write = os.pipe()
        os.set_blocking(self._wake_read, False)
        os.set_blocking(self._wake_write, False)
        self.register(self._wake_read, self._on_wake, READABLE)
        self._signals: dict[int, object] = {}
        # Serves some of what is ready, and says what it has not.
        self.express: Express | None = None
        # Seconds of this turn in which others dealt with what it had read.
        self._handed_over = 0.0
        self.load = LoopLoad()
        # Everything that had arrived by this time has been read.
        self._heard = 0.0
        # While more descriptors are ready than fit a turn: since when, and how many have had theirs.
        self._round_began = 0.0
        self._round_served = 0
        # Ready in an earlier turn and not served yet; how many of them had been ready at which time.
        self._postponed: list[tuple[int, int]] = []
        self._behind = 0
        self._behind_since = 0.0
        self._polled = time.monotonic()

    # ------------------------------------------------------------------------------------------ the Loop port

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._ready.append(callback)

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> Timer:
        timer = Timer(self, time.monotonic() + delay_seconds, next(self._timer_order), callback)
        heapq.heappush(self._timers, timer)
        return timer

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        self._from_threads.append(callback)
        # Set after the append and cleared before the drain: a callback is never left without a wake-up.
        if not self._woken:
            # Not a function of its own: Ctrl-C may strike where one begins, and then nobody would wake the loop again.
            self._woken = True
            try:
                os.write(self._wake_write, b"\0")
            except BlockingIOError:
                pass  # full: the loop has more than enough reason to wake up
            except OSError:
                logger.debug("a thread called back after the loop was closed")

    def flush(self) -> None:
        senders, self._unflushed = self._unflushed, []
        self._run_all([sender.flush for sender in senders])

    def when_flushed(self, told: Callable[[float, float], None]) -> None:
        self._told_flushed.append(told)

    def run(self) -> None:
        if self._running:
            raise RuntimeError("the loop is running already")
        self._running = True
        try:
            while not self._stopping:
                self._turn()
        finally:
            self._running = self._stopping = False

    def stop(self) -> None:
        """The current turn is finished first, so what was queued for sending has been handed to the kernel once."""
        self._stopping = True

    # ------------------------------------------------------------------------------- for the rest of the room

    def on_signal(self, numbers: Iterable[int], callback: Callable[[int], None]) -> None:
        """Calls `callback(number)` on the loop when one of the signals arrives. Main thread only, until `close`.

        The wake-up descriptor closes the gap in which a signal arrives just before the loop starts to wait.
        """
        if threading.current_thread() is not threading.main_thread():
            raise RuntimeError("signals can be watched from the main thread only")
        for number in numbers:
            previous = signal.signal(number, lambda got, _frame: self.call_soon(lambda: callback(got)))
            self._signals.setdefault(number, previous)
        signal.set_wakeup_fd(self._wake_write, warn_on_full_buffer=False)

    def register(self, fd: int, handler: Callable[[int], None], events: int) -> None:
        self._readiness.register(fd, events)
        self._handlers[fd] = handler

    def modify(self, fd: int, events: int) -> None:
        self._readiness.modify(fd, events)

    def unregister(self, fd: int) -> None:
        del self._handlers[fd]
        if self.express is not None:
            self.express.remove(fd)
        self._readiness.unregister(fd)

    def flush_later(self, sender: Flushable) -> None:
        """`sender.flush()` is called at the end of this turn."""
        self._unflushed.append(sender)

    def hand_over(self, reader: Reader, view: memoryview, start: int, end: int) -> None:
        """What the express way has read and does not serve itself."""
        before = time.monotonic()
        try:
            reader.received(view, start, end)
        except Exception:
            logger.exception("what was received could not be handed on")
        held = time.monotonic() - before
        self._handed_over += held
        if held > HELD_SECONDS:
            self._tell_held(reader.received, held)

    def forget_timer(self) -> None:
        """Cancelled timers stay in the heap until they outnumber the live ones: cancelling is O(1) on average."""
        self._cancelled += 1
        if self._cancelled > 64 and self._cancelled * 2 > len(self._timers):
            self._timers = [timer for timer in self._timers if timer.callback is not None]
            heapq.heapify(self._timers)
            self._cancelled = 0

    def close(self) -> None:
        if self._readiness.closed:
            return
        if self._signals:
            signal.set_wakeup_fd(-1)
            for number, previous in self._signals.items():
                signal.signal(number, previous)  # type: ignore[arg-type]
            self._signals.clear()
        self._handlers.clear()
        self._readiness.close()
        os.close(self._wake_read)
        # A thread that still calls must not write into whatever gets this number next.
        fd, self._wake_write = self._wake_write, -1
        os.close(fd)

    # ----------------------------------------------------------------------------------------------- one turn

    def _turn(self) -> None:
        handlers = self._handlers
        load, asked = self.load, time.monotonic()
        if asked - self._polled > load.longest_seconds:
            load.longest_seconds = asked - self._polled
        ready = self._readiness.poll(self._wait_time(), EVENTS_PER_TURN)
        self._polled = load.polled_at = polled = now = time.monotonic()
        load.turns += 1
        load.ready = len(ready)
        load.idle_seconds += polled - asked
        left = ready
        if self.express is not None and ready:
            self._handed_over = 0.0
            left = self.express(ready)
            now = time.monotonic()
            held = now - polled - self._handed_over
            if held > HELD_SECONDS:
                self._note_held(f"small writes of up to {len(ready)} connections", held)
        if self._postponed:
            left = self._with_postponed(left)
        # With more than fit a turn there are other rounds to count.
        until = now + SERVING_SECONDS if len(ready) < EVENTS_PER_TURN else inf
        served = 0
        for fd, events in left:
            served += 1
            # A descriptor closed earlier in this turn may be gone, or belong to a new connection by now;
            # handlers therefore trust what recv and send say, not the event alone.
            handler = handlers.get(fd)
            if handler is not None:
                try:
                    handler(events)
                except Exception:
                    logger.exception("a handler of descriptor %d failed", fd)
                before, now = now, time.monotonic()
                if now - before > HELD_SECONDS:
                    self._tell_held(handler, now - before)
                if now > until:
                    break
        self._postponed = left[served:]
        if self._postponed:
            self._note_postponed(polled, served)
        elif len(ready) < EVENTS_PER_TURN:
            self._heard = polled
            self._round_served = self._behind = 0
        else:
            self._behind = 0
            self._note_round(polled, len(ready))
        if self._from_threads:
            self._run_from_threads()
        if self._ready:
            callbacks, self._ready = self._ready, []
            self._run_all(callbacks)
        if self._timers:
            self._run_timers()
        if self._told_flushed:
            self._flush_and_tell()
        elif self._unflushed:
            self.flush()

    def _flush_and_tell(self) -> None:
        told, self._told_flushed = self._told_flushed, []
        begun = time.monotonic()
        self.flush()
        ended = time.monotonic()
        self._run_all([partial(one, begun, ended) for one in told])

    def _with_postponed(self, ready: list[tuple[int, int]]) -> list[tuple[int, int]]:
        """Those who wait already before those who came since, each once, with what is known of it now."""
        now = dict(ready)
        first = [(fd, now.pop(fd, events)) for fd, events in self._postponed]
        return first + [entry for entry in ready if entry[0] in now]

    def _note_postponed(self, polled: float, served: int) -> None:
        """After as many as waited at some time, everybody who was ready then has been served."""
        if self._behind:
            self._behind -= served
            if self._behind > 0:
                return
            self._heard = self._behind_since
        self._behind, self._behind_since = len(self._postponed), polled

    def _note_round(self, polled: float, served: int) -> None:
        """Others may be ready as well. They come first in the next turns; after as many as there are all had theirs."""
        if not self._round_served:
            self._round_began = polled
        self._round_served += served
        if self._round_served >= len(self._handlers):
            self._heard = self._round_began
            self._round_served = 0

    def _wait_time(self) -> float:
        if self._ready or self._unflushed or self._postponed or self._stopping:
            return 0.0
        timers = self._timers
        if not timers:
            return -1.0
        return max(0.0, timers[0].when - time.monotonic())

    def _run_timers(self) -> None:
        until = time.monotonic() + TIMERS_SECONDS
        # Cancelling may put another list in the place of the one that is worked through.
        while self._timers and self._timers[0].when <= self._heard:
            timer = heapq.heappop(self._timers)
            callback, timer.callback = timer.callback, None
            if callback is None:
                self._cancelled = max(0, self._cancelled - 1)
                continue
            self._run_all((callback,))
            if time.monotonic() > until:
                return

    def _run_from_threads(self) -> None:
        self._woken = False
        calls = self._from_threads
        self._run_all([calls.popleft() for _ in range(len(calls))])

    def _run_all(self, callbacks: Iterable[Callable[[], None]]) -> None:
        now = time.monotonic()
        for callback in callbacks:
            try:
                callback()
            except Exception:
                logger.exception("a callback of the loop failed")
            before, now = now, time.monotonic()
            if now - before > HELD_SECONDS:
                self._tell_held(callback, now - before)

    def _tell_held(self, callback: Callable[..., None], seconds: float) -> None:
        """What was called says what it was doing, if it knows; otherwise its name must do."""
        owner = getattr(callback, "__self__", callback)
        doing = getattr(owner, "doing", None)
        self._note_held(doing() if doing is not None else getattr(callback, "__qualname__", repr(callback)), seconds)

    def _note_held(self, by: str, seconds: float) -> None:
        logger.log(self._held_level, "the loop was held for %d ms by %s", seconds * 1000, by)

    def _on_wake(self, _events: int) -> None:
        try:
            os.read(self._wake_read, 4096)
        except BlockingIOError:
            pass
