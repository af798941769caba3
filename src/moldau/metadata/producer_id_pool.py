"""Producer ids for this broker: a block from the controller, handed out one by one.

Ids must be unique in the cluster and for ever, so the controller writes every block into the metadata log. A block
has a thousand ids and the next one is fetched before the last is used up, so a producer rarely waits for a write.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Final, NamedTuple

from moldau.deferred import Deferred

# Fetch the next block when this many ids are left.
_LOW_WATER: Final = 100


class ProducerIdBlock(NamedTuple):
    first: int
    length: int


class ProducerIdPool:
    def __init__(self, allocate: Callable[[], Deferred[ProducerIdBlock]]) -> None:
        self._allocate = allocate
        self._next = 0
        self._end = 0
        self._following: ProducerIdBlock | None = None
        self._fetching = False
        self._waiting: deque[Deferred[int]] = deque()

    def next_id(self) -> Deferred[int]:
        """An id nobody else has; fails with what the controller said if there is no block to be had."""
        answer: Deferred[int] = Deferred()
        self._waiting.append(answer)
        self._serve()
        return answer

    def _serve(self) -> None:
        while self._waiting:
            if self._next == self._end:
                if self._following is None:
                    break
                self._next, self._end = self._following.first, self._following.first + self._following.length
                self._following = None
            producer_id = self._next
            self._next += 1
            self._waiting.popleft().resolve(producer_id)
        if self._end - self._next <= _LOW_WATER and self._following is None and not self._fetching:
            self._fetching = True
            self._allocate().then(self._arrived)

    def _arrived(self, block: ProducerIdBlock | None, error: BaseException | None) -> None:
        self._fetching = False
        if block is not None:
            self._following = block
            self._serve()
            return
        assert error is not None
        # Whoever waits is told; the next request tries again.
        waiting, self._waiting = self._waiting, deque()
        for answer in waiting:
            answer.fail(error)
