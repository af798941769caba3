"""Those who have not said yet who they are, on all listeners with SASL, and what they take of the node's memory.

Each of them is limited by himself: the size of his frames, the number of his requests, the time he has. But there may
be thousands of them. So it is counted what is kept for each, and what that comes to; when it is too much, whoever has
been a stranger for longest has to go. Who means to log in is done within a few round trips, while others only wait.
"""

from __future__ import annotations

from typing import Final, Protocol

# What all of them may have together. A thousand clients that come back at once take less than half of it.
MOST_BYTES: Final = 128 * 1024 * 1024
# What each costs before he has sent anything: the objects of a connection, and OpenSSL's of one with TLS.
PLAIN_BYTES: Final = 8 * 1024
TLS_BYTES: Final = 48 * 1024


class Stranger(Protocol):
    def give_way(self) -> None:
        """There is no place for him any more."""
        ...


class Strangers:
    def __init__(self, most: int = MOST_BYTES) -> None:
        self._most = most
        # The one who came first is first.
        self._kept: dict[Stranger, int] = {}
        self.total = 0

    def __len__(self) -> int:
        return len(self._kept)

    def keep(self, stranger: Stranger, count: int) -> None:
        """So many bytes are kept for him from now on."""
        self.total += count - self._kept.get(stranger, 0)
        self._kept[stranger] = count
        while self.total > self._most and len(self._kept) > 1:
            oldest = next(iter(self._kept))
            self.forget(oldest)
            oldest.give_way()

    def forget(self, stranger: Stranger) -> None:
        """He is gone, or none any more."""
        self.total -= self._kept.pop(stranger, 0)
