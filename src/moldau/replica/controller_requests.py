"""What partitions have to tell the controller: one request at a time, with all that came up meanwhile.

Of each partition the newest counts. What the controller did not take is sent again, unless there is something newer;
whoever sends looks whether it still holds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final, Generic, Protocol, TypeVar

from moldau.deferred import Deferred
from moldau.protocol.message import Message
from moldau.replica.source_session import PartitionKey
from moldau.runtime.ports import Loop, TimerHandle

# Partitions in one request: whoever decides over them should not be busy for long.
MOST: Final = 1000

T = TypeVar("T")


class Controller(Protocol):
    """The active controller, wherever it is; a failure comes after it was tried for some time."""

    def ask(self, request: Message) -> Deferred[Any]: ...


class ControllerRequests(Generic[T]):
    """`send` makes a request of some of what is `pending`, or none. `answered` is told what became of it, and says how
    long to wait before the next one."""

    def __init__(
        self,
        controller: Controller,
        loop: Loop,
        send: Callable[[], tuple[Message, dict[PartitionKey, T]] | None],
        answered: Callable[[dict[PartitionKey, T], Any, BaseException | None], float],
    ) -> None:
        self._controller = controller
        self._loop = loop
        self._send = send
        self._answered = answered
        # In the order they came up.
        self._pending: dict[PartitionKey, T] = {}
        self._in_flight = False
        self._timer: TimerHandle | None = None
        self._closed = False

    def add(self, key: PartitionKey, item: T) -> None:
        self._pending[key] = item
        self.go_on(0)

    def again(self, items: Iterable[tuple[PartitionKey, T]]) -> None:
        """They were not taken."""
        for key, item in items:
            self._pending.setdefault(key, item)

    def taken(self) -> Iterator[tuple[PartitionKey, T]]:
        """One after the other, oldest first; what is taken is pending no more."""
        while self._pending:
            key = next(iter(self._pending))
            yield key, self._pending.pop(key)

    def go_on(self, seconds: float) -> None:
        """Later in this turn at the earliest, so that all that comes up in it goes together."""
        if self._timer is None and not self._in_flight and not self._closed:
            self._timer = self._loop.call_later(seconds, self._due)

    def close(self) -> None:
        self._closed = True
        self._pending.clear()
        if self._timer is not None:
            self._timer.cancel()

    def _due(self) -> None:
        self._timer = None
        sent = self._send()
        if sent is not None:
            self._in_flight = True
            request, items = sent
            self._controller.ask(request).then(lambda answer, error: self._heard(items, answer, error))

    def _heard(self, items: dict[PartitionKey, T], answer: Any, error: BaseException | None) -> None:
        self._in_flight = False
        if not self._closed:
            seconds = self._answered(items, answer, error)
            if self._pending:
                self.go_on(seconds)
