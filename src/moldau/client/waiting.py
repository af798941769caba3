"""What threads wait on, made so that an exception at any moment leaves nothing taken.

Ctrl-C may strike between any two steps of Python code. `threading.Event` and `threading.Condition` are written in
Python: an exception between the moment they have their lock and the moment they know that they have it leaves it taken
for ever, and the network's thread stands still at the next `set`. Here every lock is taken by a `with` on an object
written in C, where there is no such moment, and a thread that waits holds a lock nobody else looks at.
"""

from __future__ import annotations

from _thread import RLock, allocate_lock
from collections import deque


class Ticket:
    """For one wait of one thread."""

    __slots__ = ("_gate", "_line")

    def __init__(self, line: deque[Ticket]) -> None:
        self._gate = allocate_lock()
        self._gate.acquire()
        self._line = line
        line.append(self)

    def wait(self, timeout: float | None = None) -> bool:
        """Whether it was called within this time; for ever without one."""
        if self._gate.acquire(True, -1 if timeout is None else max(0.0, timeout)):
            return True
        try:
            self._line.remove(self)
        except ValueError:
            pass  # called this very moment
        return False

    def call(self) -> None:
        self._gate.release()


class Latch:
    """Set once; whoever waits goes on, also who comes later."""

    __slots__ = ("_line", "is_set")

    def __init__(self) -> None:
        self.is_set = False
        self._line: deque[Ticket] = deque()

    def set(self) -> None:
        self.is_set = True
        _call_all(self._line)

    def wait(self, timeout: float | None = None) -> bool:
        if self.is_set:
            return True
        ticket = Ticket(self._line)
        # Looked at after the ticket is in line: set before means seen here, set after means called there.
        return self.is_set or ticket.wait(timeout) or self.is_set


class Monitor(RLock):  # type: ignore[misc]  # typeshed calls it final; the interpreter does not
    """A lock over some state, and word of its changes:

        with monitor:
            ticket = monitor.ticket()   # and look at the state
        ticket.wait(seconds)            # after leaving it

    So nothing has to be taken again after the wait, which an exception could prevent.
    """

    def __init__(self) -> None:
        self._line: deque[Ticket] = deque()

    def ticket(self) -> Ticket:
        return Ticket(self._line)

    def notify_all(self) -> None:
        _call_all(self._line)

    def wait(self, timeout: float | None = None) -> bool:
        """For those who hold it once, and hold it again afterwards."""
        ticket = self.ticket()
        try:
            self.release()
            return ticket.wait(timeout)
        finally:
            while not self._is_owned():  # type: ignore[attr-defined]
                self.acquire()


def _call_all(line: deque[Ticket]) -> None:
    while True:
        try:
            ticket = line.popleft()
        except IndexError:
            return
        ticket.call()
