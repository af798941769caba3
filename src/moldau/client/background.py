"""A loop on a thread of its own: where the clients' network lives while the application does something else.

One thread per client: it connects, sends, receives, keeps time, and runs the callbacks of futures. It is a daemon, so
an application that forgets to close a client can still end; `close` leaves neither thread nor descriptor behind.

Threads do not survive a fork: in a child process there is a client without its thread, on connections that belong to
the parent. It says so to whoever wants something of it, and goes without a word.
"""

from __future__ import annotations

import logging
import os
import threading
import weakref
from collections.abc import Callable
from itertools import count
from time import monotonic, sleep
from typing import Any, Final, Generic, TypeVar

from moldau.client.conversation import Conversation
from moldau.client.network import ClientNetwork
from moldau.client.waiting import Latch
from moldau.deferred import Deferred
from moldau.errors.named import IllegalStateError
from moldau.links.errors import ConnectionFailed, RequestTimedOut
from moldau.runtime.clock import SystemClock
from moldau.runtime.network import TcpNetwork
from moldau.runtime.reactor import Reactor
from moldau.runtime.workers import ThreadWorkers

T = TypeVar("T")

logger = logging.getLogger("moldau.client")

_numbers = count(1)

# How long a thread that was told to start is waited for.
_START_LIMIT: Final = 1.0
# How long the end of the loop is waited for. Only a callback of the application's that does not return takes so long.
_END_LIMIT: Final = 30.0


class Waiter(Generic[T]):
    """What another thread waits on; settled on the loop's thread."""

    __slots__ = ("_error", "_event", "_value")

    def __init__(self) -> None:
        self._event = Latch()
        self._value: T | None = None
        self._error: BaseException | None = None

    def settle(self, value: T | None, error: BaseException | None) -> None:
        self._value, self._error = value, error
        self._event.set()

    def settles(self, timeout: float) -> bool:
        """Whether it is settled within this time; unlike the error of `wait` this cannot be taken for an outcome."""
        return self._event.wait(timeout)

    def wait(self, timeout: float | None) -> T:
        if not self._event.wait(timeout):
            raise RequestTimedOut("There was no answer in the time allowed.")
        if self._error is not None:
            raise self._error
        return self._value  # type: ignore[return-value]


class Background:
    """`start` is given the loop, network and clock on the new thread and builds what lives there."""

    def __init__(self, name: str) -> None:
        # The program holds the interpreter as long as it likes, and what it prints is its own.
        self.loop = Reactor(held_level=logging.DEBUG)
        self.clock = SystemClock()
        self.forked = False
        self._workers = ThreadWorkers(self.loop.call_from_thread, threads=1)
        self.network = TcpNetwork(self.loop, lambda: self._workers)
        self._thread = threading.Thread(target=self.loop.run, name=f"{name}-{next(_numbers)}", daemon=True)
        self._waiting: set[Waiter[Any]] = set()
        self._in_child: list[Callable[[], None]] = []
        self._closed = False
        self._ended = False
        self._lock = threading.Lock()
        _living.add(self)

    def start(self) -> None:
        try:
            self._thread.start()
        except BaseException:
            self._abandon()
            raise

    def _abandon(self) -> None:
        """Ctrl-C while the thread was being started: it runs all the same, a moment later, and nobody else knows it."""
        deadline = monotonic() + _START_LIMIT
        while not self._thread.is_alive() and monotonic() < deadline:
            sleep(0.001)
        if self._thread.is_alive():
            self.close()

    @property
    def on_thread(self) -> bool:
        return threading.current_thread() is self._thread

    def in_child(self, callback: Callable[[], None]) -> None:
        """Runs `callback` in processes that are forked from this one, for what must not look alive there."""
        self._in_child.append(callback)

    def check_process(self) -> None:
        if self.forked:
            raise IllegalStateError("The client was made before a fork, by the parent process; make one here.")

    def call(self, callback: Callable[[], None]) -> None:
        """Runs `callback` on the loop's thread, soon."""
        if not self.forked:
            self.loop.call_from_thread(callback)

    def get(self, ask: Callable[[], Deferred[T]], timeout: float) -> T:
        """Runs `ask` on the loop's thread and waits for what it promises."""
        if self.on_thread:
            raise RuntimeError("a callback on the client's own thread cannot wait for an answer that comes to it")
        return self.begin(ask).wait(timeout)

    def begin(self, ask: Callable[[], Deferred[T]]) -> Waiter[T]:
        """Runs `ask` on the loop's thread; what it promises may be waited for later."""
        self.check_process()
        waiter: Waiter[T] = Waiter()

        def settle(value: T | None, error: BaseException | None) -> None:
            self._waiting.discard(waiter)
            waiter.settle(value, error)

        def begin() -> None:
            try:
                promised = ask()
            except BaseException as error:
                settle(None, error)
            else:
                promised.then(settle)

        self._waiting.add(waiter)
        # Looked at after the waiter is in its place: whoever comes too late is told here, all others by `_finish`.
        if self._ended:
            settle(None, ConnectionFailed("The client is closed."))
        else:
            self.call(begin)
        return waiter

    def run(self, network: ClientNetwork, conversation: Conversation[T], timeout: float) -> T:
        """Has a conversation on the loop and waits for its result."""
        # The conversation ends by itself when its time is over; the margin only guards against a loop that hangs.
        return self.get(lambda: network.perform(conversation, timeout), timeout + 5.0)

    def close(self, last: Callable[[], None] | None = None) -> None:
        """Ends the loop after `last` has run on it; on return nothing is left. From a callback it returns at once."""
        if self.forked:
            return
        with self._lock:
            if self._closed:
                return
            self._closed = True

        def end() -> None:
            if last is not None:
                last()
            self.network.close()
            # One more turn, so that those who waited on connections hear of their end before the loop stops.
            self.loop.call_soon(lambda: self.loop.call_soon(self.loop.stop))

        self.call(end)
        if self.on_thread:
            threading.Thread(target=self._finish, name="closing", daemon=True).start()
        else:
            self._finish()

    def _finish(self) -> None:
        self._thread.join(_END_LIMIT)
        self._ended = True
        for waiter in tuple(self._waiting):
            waiter.settle(None, ConnectionFailed("The client was closed."))
        if self._thread.is_alive():
            logger.warning("%s does not end: a callback on it has not returned", self._thread.name)
            return
        self._workers.close()
        self.loop.close()

    def after_fork(self) -> None:
        """In the child: whatever lock the network's thread held at that moment stays taken here, so none is asked."""
        self.forked = True
        for callback in self._in_child:
            callback()


_living: weakref.WeakSet[Background] = weakref.WeakSet()


def _after_fork() -> None:
    for background in tuple(_living):
        background.after_fork()


os.register_at_fork(after_in_child=_after_fork)
