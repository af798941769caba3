"""Who is ready to be read or written: epoll on Linux, kqueue on macOS and the BSDs, poll everywhere.

The loop asks in epoll's words, and on Linux it asks epoll itself: nothing stands between. The other two say the same
with what their system has, level-triggered as epoll is, so that nothing above this file knows which one it is. What a
system does not tell (poll has no word for "the peer sends nothing more" on macOS) is noticed when the socket is read.

MOLDAU_READINESS=poll takes another one than the system's own: that is how the portable way is tested on Linux.
"""

from __future__ import annotations

import os
import select
from math import ceil
from typing import Any, Final, Protocol

# Epoll's numbers, which for the first four are poll's too.
READABLE: Final = 0x001
WRITABLE: Final = 0x004
FAILED: Final = 0x008
HUNG_UP: Final = 0x010
# The peer has ended his side, and may still read.
PEER_ENDED: Final = 0x2000
# Asked for: tell once, then nothing until the interest is modified.
ONCE: Final = 1 << 30

_CHOICE: Final = "MOLDAU_READINESS"

Event = tuple[int, int]


class Readiness(Protocol):
    """What `select.epoll` offers, and the loop uses."""

    def register(self, fd: int, eventmask: int, /) -> None: ...

    def modify(self, fd: int, eventmask: int, /) -> None: ...

    def unregister(self, fd: int, /) -> None: ...

    def poll(self, timeout: float | None = None, maxevents: int = -1, /) -> list[Event]:
        """Waits for up to `timeout` seconds, without end if it is negative, and returns whoever is ready."""
        ...

    def close(self) -> None: ...

    @property
    def closed(self) -> bool: ...


def readiness(name: str | None = None) -> Readiness:
    """The best that the system has, or the one that is named."""
    name = (
        name or os.environ.get(_CHOICE) or next(kind for kind in ("epoll", "kqueue", "poll") if hasattr(select, kind))
    )
    if name == "epoll" and hasattr(select, "epoll"):
        return select.epoll()
    if name == "kqueue" and hasattr(select, "kqueue"):
        return KqueueReadiness()
    if name == "poll":
        return PollReadiness()
    raise ValueError(f"{_CHOICE} is {name!r}; this system has {', '.join(available())}")


def available() -> list[str]:
    return [name for name in ("epoll", "kqueue", "poll") if hasattr(select, name)]


class PollReadiness:
    """One list that the kernel walks at every call: fine for the hundreds of descriptors of a test or a small node."""

    def __init__(self) -> None:
        self._poll = select.poll()
        self._known: set[int] = set()
        self._once: set[int] = set()
        self._closed = False
        # Where the list is longer than what is asked for, the next call begins behind those told of last.
        self._told_last = -1

    @property
    def closed(self) -> bool:
        return self._closed

    def register(self, fd: int, eventmask: int) -> None:
        if fd in self._known:
            raise FileExistsError(f"descriptor {fd} is registered already")
        self._set(fd, eventmask, self._poll.register)
        self._known.add(fd)

    def modify(self, fd: int, eventmask: int) -> None:
        self._set(fd, eventmask, self._poll.modify)

    def unregister(self, fd: int) -> None:
        self._poll.unregister(fd)
        self._known.remove(fd)
        self._once.discard(fd)

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[Event]:
        # Rounded up: a loop that wakes before its timer is due asks again and again until it is.
        wait = None if timeout is None or timeout < 0 else ceil(timeout * 1000)
        ready = self._poll.poll(wait)
        for fd, events in ready:
            if events & select.POLLNVAL:  # closed without a word, which epoll passes over in silence
                self.unregister(fd)
                ready = [entry for entry in ready if entry[0] != fd]
        if 0 <= maxevents < len(ready):
            ready.sort(key=lambda entry: (entry[0] <= self._told_last, entry[0]))
            del ready[maxevents:]
            self._told_last = ready[-1][0]
        if self._once:
            for fd, _ in ready:
                if fd in self._once:
                    self._once.remove(fd)
                    self._poll.modify(fd, 0)
        return ready

    def close(self) -> None:
        self._closed = True
        self._known.clear()
        self._once.clear()

    def _set(self, fd: int, interest: int, call: Any) -> None:
        if interest & ONCE:
            self._once.add(fd)
        else:
            self._once.discard(fd)
        call(fd, interest & (_POLLED | READABLE | WRITABLE))


# What of the interest in the peer's end the system's poll has a word for.
_POLLED: Final = PEER_ENDED & getattr(select, "POLLRDHUP", 0)


class KqueueReadiness:
    """Interest in reading and in writing are two filters of one descriptor here, and come back as two events."""

    def __init__(self, system: Any = select) -> None:
        self._system = system
        self._queue = system.kqueue()
        self._interest: dict[int, int] = {}

    @property
    def closed(self) -> bool:
        return bool(self._queue.closed)

    def register(self, fd: int, eventmask: int) -> None:
        if fd in self._interest:
            raise FileExistsError(f"descriptor {fd} is registered already")
        self._interest[fd] = 0
        try:
            self.modify(fd, eventmask)
        except BaseException:
            del self._interest[fd]
            raise

    def modify(self, fd: int, eventmask: int) -> None:
        had, wanted = self._filters(self._interest[fd]), self._filters(eventmask)
        system = self._system
        changes = [system.kevent(fd, each, system.KQ_EV_ADD) for each in wanted if each not in had]
        changes += [system.kevent(fd, each, system.KQ_EV_DELETE) for each in had if each not in wanted]
        if changes:
            self._queue.control(changes, 0, 0)
        self._interest[fd] = eventmask

    def unregister(self, fd: int) -> None:
        system = self._system
        for each in self._filters(self._interest.pop(fd)):
            try:
                self._queue.control([system.kevent(fd, each, system.KQ_EV_DELETE)], 0, 0)
            except OSError:
                pass  # it was closed before, and took its filters along

    def poll(self, timeout: float | None = None, maxevents: int = -1) -> list[Event]:
        wait = None if timeout is None or timeout < 0 else timeout
        most = maxevents if maxevents > 0 else max(len(self._interest), 1)
        ready: dict[int, int] = {}
        for event in self._queue.control([], most, wait):
            ready[event.ident] = ready.get(event.ident, 0) | self._meaning(event)
        for fd in ready:
            interest = self._interest.get(fd, 0)
            if interest & ONCE:
                self.modify(fd, ONCE)
        return list(ready.items())

    def close(self) -> None:
        self._queue.close()
        self._interest.clear()

    def _filters(self, interest: int) -> list[int]:
        reading = [self._system.KQ_FILTER_READ] if interest & (READABLE | PEER_ENDED) else []
        return [*reading, self._system.KQ_FILTER_WRITE] if interest & WRITABLE else reading

    def _meaning(self, event: Any) -> int:
        system = self._system
        writing = event.filter == system.KQ_FILTER_WRITE
        events = WRITABLE if writing else READABLE
        if event.flags & system.KQ_EV_ERROR:
            return events | FAILED
        if event.flags & system.KQ_EV_EOF:
            # With an error in its `fflags` the connection is broken; without, the peer has ended what he sends, or,
            # seen from the writing side, no longer takes anything.
            return events | (FAILED if event.fflags else HUNG_UP if writing else PEER_ENDED)
        return events
