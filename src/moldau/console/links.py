"""The console's lines to the cluster, and what was asked a moment ago.

A broker answers the requests of one connection in order. So the watch, the pages and those who read and write records
have lines of their own: none of them waits behind another.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from time import monotonic
from typing import Any, Final, TypeVar

from moldau.client.cluster import Cluster
from moldau.client.conversation import Conversation
from moldau.console.settings import PATIENCE

T = TypeVar("T")

# How long a page may wait for one answer of the cluster, where the console is as patient as it is by itself.
_ANSWER: Final = 6.0
_REMEMBERED: Final = 256
# Of two looks that tell whether something gets on, the first was so long ago, or up to twice as long.
_SLOT: Final = 6.0


class Links:
    """`make` gives a new line under a client id. A page may search records for `patience`; all waits grow with it."""

    def __init__(self, make: Callable[[str], Cluster], patience: float = PATIENCE) -> None:
        self.patience = patience
        self.slack = patience / PATIENCE
        self.watching = make("moldau-console-watch")
        self.asking = make("moldau-console")
        self.reading = make("moldau-console-reader")
        self.writing = make("moldau-console-writer")
        self._lock = threading.Lock()
        self._answers: OrderedDict[Hashable, tuple[float, Any]] = OrderedDict()

    def ask(self, conversation: Conversation[T], timeout: float = _ANSWER) -> T:
        return self.asking.run(conversation, timeout * self.slack)

    def remembered(self, key: Hashable, seconds: float, find: Callable[[], T]) -> T:
        """What was found less than so many seconds ago, or is found now: ten windows that show one page ask once."""
        now = monotonic()
        with self._lock:
            known = self._answers.get(key)
            if known is not None and known[0] > now:
                value: T = known[1]
                return value
        found = find()
        with self._lock:
            self._answers[key] = (monotonic() + seconds, found)
            self._answers.move_to_end(key)
            while len(self._answers) > _REMEMBERED:
                self._answers.popitem(last=False)
        return found

    def two_looks(self, key: Hashable, look: Callable[[], T]) -> tuple[T, T, float]:
        """What there is now, beside what there was some seconds ago and how long ago that is: whether it gets on. The
        first time nothing is known of before."""

        def timed() -> tuple[float, T]:
            return monotonic(), look()

        slot = int(monotonic() // _SLOT)
        first = self.remembered((key, slot), _SLOT * 2, timed)
        with self._lock:
            earlier = self._answers.get((key, slot - 1))
        before: tuple[float, T] = first if earlier is None else earlier[1]
        now = self.remembered((key, "now"), 1.0, timed)
        return before[1], now[1], now[0] - before[0]

    def forget(self) -> None:
        """After a change: what was seen before is not what is."""
        with self._lock:
            self._answers.clear()

    def close(self) -> None:
        for line in (self.watching, self.asking, self.reading, self.writing):
            line.close()
