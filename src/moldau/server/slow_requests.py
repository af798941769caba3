"""Requests that took long, and what they waited for: told in the log, once in a while for each address.

What was answered at once is none of them: if it took long all the same it held the loop, and that is told by the loop.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, NamedTuple

from moldau.protocol.api import ApiKey
from moldau.runtime.ports import LoopLoad
from moldau.server.complaints import Complaints
from moldau.server.connection import Connection

# They are kept until there is something to tell, or until others have come.
_WAIT_ON_PURPOSE: Final = frozenset({ApiKey.FETCH, ApiKey.SHARE_FETCH, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP})
_FOR_REPLICAS: Final = frozenset(
    {
        *(ApiKey.PRODUCE, ApiKey.DELETE_RECORDS, ApiKey.OFFSET_COMMIT, ApiKey.TXN_OFFSET_COMMIT, ApiKey.END_TXN),
        *(ApiKey.INIT_PRODUCER_ID, ApiKey.ADD_PARTITIONS_TO_TXN, ApiKey.ADD_OFFSETS_TO_TXN),
        *(ApiKey.WRITE_TXN_MARKERS, ApiKey.OFFSET_DELETE, ApiKey.DELETE_GROUPS),
    }
)


class Begun(NamedTuple):
    at: float
    # How long the loop had been idle by then, since it began.
    idle_seconds: float


class SlowRequests:
    def __init__(self, load: LoopLoad, now: Callable[[], float], seconds: float) -> None:
        """`seconds` is from when on a request is slow; below zero none is."""
        self._load = load
        self._now = now
        self._seconds = seconds
        self._complaints = Complaints(now)

    def begin(self, connection: Connection) -> Begun | None:
        """To be kept with its request, whose answer is not there yet; None if nobody wonders how long that takes."""
        if self._seconds < 0 or connection.api in _WAIT_ON_PURPOSE:
            return None
        return Begun(self._now(), self._load.idle_seconds)

    def end(self, connection: Connection, begun: Begun) -> None:
        took = self._now() - begun.at
        if took < self._seconds:
            return
        api = connection.api
        busy = max(0.0, took - (self._load.idle_seconds - begun.idle_seconds))
        if busy > took / 2:
            why = f"the loop was busy for {busy * 1000:.0f} ms of it"
        elif api in _FOR_REPLICAS:
            why = "it waited for replicas in sync or for the disk"
        else:
            why = "it waited for a controller, another broker or the disk"
        about = {**connection.about(), "took_ms": round(took * 1000)}
        sentence = "%s was answered after %d ms: %s"
        # What somebody waits for often must not hide what he waits for seldom.
        whose = connection.peer[0] if api is None else f"{connection.peer[0]} for {api.name}"
        self._complaints.tell(whose, sentence, connection.doing(), took * 1000, why, about=about)
