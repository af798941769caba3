"""Requests of the machine that are under way: one at a time to each node, as in Kafka.

An answer counts if its request is still waited for. A change of role forgets all requests, so that an answer to a
question of yesterday changes nothing today; one that never comes stands in nobody's way longer than its time.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from moldau.raft.messages import Request


class Waiting(NamedTuple):
    id: int
    node_id: int
    request: Request
    deadline: float


class Connections:
    def __init__(self, request_timeout: float, retry_backoff: float) -> None:
        self._request_timeout = request_timeout
        self._retry_backoff = retry_backoff
        self._waiting: dict[int, Waiting] = {}  # by node
        self._paused: dict[int, float] = {}  # node -> when it may be asked again, after a failure
        self._count = 0

    def is_free(self, node_id: int, now: float) -> bool:
        return node_id not in self._waiting and self._paused.get(node_id, now) <= now

    def is_paused(self, node_id: int, now: float) -> bool:
        return self._paused.get(node_id, now) > now

    @property
    def is_idle(self) -> bool:
        return not self._waiting

    def begin(self, node_id: int, request: Request, now: float, extra: float = 0.0) -> int:
        """The number of a request that is sent now; `extra` is what the other side may take its time for."""
        self._count += 1
        self._paused.pop(node_id, None)
        self._waiting[node_id] = Waiting(self._count, node_id, request, now + self._request_timeout + extra)
        return self._count

    def settle(self, id: int) -> Waiting | None:
        """The request that was answered, None if nobody waits for it any more."""
        for waiting in self._waiting.values():
            if waiting.id == id:
                return self._waiting.pop(waiting.node_id)
        return None

    def pause(self, node_id: int, now: float) -> None:
        self._paused[node_id] = now + self._retry_backoff

    def expired(self, now: float) -> list[Waiting]:
        """Those that got no answer in time; they are no longer waited for."""
        late = [waiting for waiting in self._waiting.values() if waiting.deadline <= now]
        for waiting in late:
            del self._waiting[waiting.node_id]
        self._paused = {node_id: when for node_id, when in self._paused.items() if when > now}
        return late

    def reset(self) -> None:
        self._waiting.clear()
        self._paused.clear()

    def deadlines(self) -> Iterable[float]:
        """When something is to be done about a node that was asked, or can be asked again."""
        for waiting in self._waiting.values():
            yield waiting.deadline
        yield from self._paused.values()
