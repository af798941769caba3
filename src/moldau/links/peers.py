"""How a node asks others: by address, on connections that are made when they are needed.

Each address has lines, each line one connection. Answers of a connection come in order, so whoever asks what is
answered late (a fetch that waits for records) does so on a line of its own and holds back nobody else.

A line that could not be connected, or was lost, is tried again after a pause that doubles. What is asked meanwhile
waits for that; so however eagerly somebody repeats himself, a node that is away is called only so often. A request
without an answer in its time takes its connection with it: nobody knows when the next answer would come.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from math import inf
from typing import Any, Final, Protocol

from moldau.deferred import Deferred, failed, pass_on
from moldau.errors import MoldauError
from moldau.links.addresses import Address
from moldau.links.backoff import Backoff, chance_of
from moldau.links.errors import ConnectionFailed, RequestTimedOut, not_let_in
from moldau.links.link import Link, Said
from moldau.links.security import OPEN, Security
from moldau.links.versions import NodeVersions, Request, api_name
from moldau.runtime.ports import Clock, Loop, Network, Random, TimerHandle

logger = logging.getLogger("moldau.links")

# A connection nobody used for so long is replaced before it is used again: the other end closes such ones
# (`connections.max.idle.ms`, ten minutes), perhaps just now.
_IDLE_SECONDS: Final = 540.0


class PeerPort(Protocol):
    """What those need who ask other nodes; the rest is the business of whoever puts a node together."""

    def ask(self, address: Address, request: Request, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        """The answer, or a MoldauError if there is none; nothing is raised at once. An answer may be kept: the records
        in it lie in memory of their own."""
        ...


class Peers:
    """`ask` never raises: whatever is wrong, the answer says so. All of it runs on the loop's thread."""

    def __init__(
        self,
        clock: Clock,
        loop: Loop,
        network: Network,
        random: Random,
        client_id: str,
        *,
        request_timeout: float = 30.0,
        connect_timeout: float = 10.0,
        backoff_first: float = 0.05,
        backoff_limit: float = 1.0,
        security: Security = OPEN,
    ) -> None:
        self.request_timeout = request_timeout
        self._chance = chance_of(random)
        self._clock = clock
        self._loop = loop
        self._network = network
        self._client_id = client_id
        self._connect_timeout = connect_timeout
        self._backoff = Backoff(backoff_first, backoff_limit, chance=self._chance)
        self._security = security
        self._lines: dict[tuple[Address, str], _Line] = {}
        self._watchers: dict[str, Callable[[], None]] = {}
        self._closed = False
        # On all connections since the start.
        self.said = Said()

    def ask(
        self,
        address: Address,
        request: Request,
        *,
        timeout: float | None = None,
        line: str = "",
        at_most: int | None = None,
    ) -> Deferred[Any]:
        """The answer, in the highest version both ends know (not above `at_most`), or the MoldauError it ended in.

        `timeout` counts from now, over everything: the pause before another try, the connection, the answer.
        """
        if self._closed:
            return failed(ConnectionFailed("This node talks to nobody any more: it is being stopped."))
        seconds = self.request_timeout if timeout is None else timeout
        return self._line(address, line).ask(request, seconds, at_most)

    def versions(self, address: Address, line: str = "") -> NodeVersions | None:
        """What the node there speaks; None while there is no connection to it."""
        there = self._lines.get((address, line))
        return None if there is None or there.link is None else there.link.versions

    def watch(self, line: str, lost: Callable[[], None]) -> None:
        """`lost` is told of every connection of this line that ended without our doing, as soon as that is known."""
        self._watchers[line] = lost

    def forget(self, address: Address, line: str | None = None) -> None:
        """Ends the connections to an address, or the one of this line: nothing is expected from there any more."""
        for key in [key for key in self._lines if key[0] == address and line in (None, key[1])]:
            self._lines.pop(key).close(f"{address} is not talked to any more.")

    def close(self) -> None:
        """What waits for an answer fails, and so does whatever is asked from now on."""
        self._closed = True
        lines, self._lines = self._lines, {}
        for line in lines.values():
            line.close("This node is being stopped.")

    def _line(self, address: Address, name: str) -> _Line:
        line = self._lines.get((address, name))
        if line is None:
            self._forget_unused()
            line = self._lines[address, name] = _Line(
                address,
                self._clock,
                self._loop,
                self._backoff,
                lambda lost: self._connect(address, lost),
                self._watchers.get(name),
            )
        return line

    def _forget_unused(self) -> None:
        """Nodes come back at other addresses: those nobody asks any more make room when there is a new one."""
        now = self._clock.monotonic()
        for key in [key for key, line in self._lines.items() if line.is_unused(now)]:
            del self._lines[key]

    def _connect(self, address: Address, lost: Callable[[Link, MoldauError], None]) -> Link:
        link = Link(
            address,
            self._network,
            self._clock,
            client_id=self._client_id,
            connect_timeout=self._connect_timeout,
            lost=lost,
            chance=self._chance,
            security=self._security,
            said=self.said,
        )
        limit = self._loop.call_later(
            self._connect_timeout, lambda: link.give_up(ConnectionFailed(f"{address} does not answer: timed out."))
        )
        link.ready.then(lambda _link, _error: limit.cancel())
        return link


class _Question:
    """Asked while there is no connection and none may be tried yet."""

    __slots__ = ("answer", "at_most", "deadline", "limit", "request")

    def __init__(self, request: Request, at_most: int | None, deadline: float) -> None:
        self.request = request
        self.at_most = at_most
        self.deadline = deadline
        self.answer: Deferred[Any] = Deferred()
        self.limit: TimerHandle


class _Line:
    def __init__(
        self,
        address: Address,
        clock: Clock,
        loop: Loop,
        backoff: Backoff,
        connect: Callable[[Callable[[Link, MoldauError], None]], Link],
        told_lost: Callable[[], None] | None,
    ) -> None:
        self.link: Link | None = None
        self._address = address
        self._clock = clock
        self._loop = loop
        self._backoff = backoff
        self._connect = connect
        self._told_lost = told_lost
        self._asked_at = clock.monotonic()
        self._failures = 0
        self._told = ""
        self._waiting: list[_Question] = []
        # Runs while no further connection may be tried.
        self._pause: TimerHandle | None = None
        # Runs until the first of the answers that were missing when it was set is overdue.
        self._limit: TimerHandle | None = None
        self._limit_at = 0.0

    def is_unused(self, now: float) -> bool:
        return self.link is None and self._pause is None and now - self._asked_at > _IDLE_SECONDS

    def ask(self, request: Request, seconds: float, at_most: int | None) -> Deferred[Any]:
        self._asked_at = self._clock.monotonic()
        if self._pause is not None:
            return self._wait(request, seconds, at_most)
        return self._send(request, seconds, at_most)

    def _send(self, request: Request, seconds: float, at_most: int | None) -> Deferred[Any]:
        try:
            link = self._usable_link()
        except (OSError, ValueError) as error:  # no descriptor is left, or the host is no name at all
            self._hold_back()
            return failed(ConnectionFailed(f"{self._address} cannot be called: {error}."))
        call = link.ask(request, seconds, at_most=at_most)
        if not call.settled:
            self._limit_by(self._clock.monotonic() + seconds)
        return call

    def _limit_by(self, deadline: float) -> None:
        """One timer for all that is asked here: each answer in its time would otherwise cancel one of its own."""
        if self._limit is not None:
            if deadline >= self._limit_at:
                return
            self._limit.cancel()
        self._limit_at = deadline
        self._limit = self._loop.call_later(max(0.0, deadline - self._clock.monotonic()), self._check_limit)

    def _check_limit(self) -> None:
        self._limit = None
        link = self.link
        if link is None:
            return
        overdue = link.overdue(self._clock.monotonic())
        if overdue is not None:
            link.give_up(self._silent(overdue.request))
        elif link.next_deadline < inf:
            self._limit_by(link.next_deadline)

    def _usable_link(self) -> Link:
        link = self.link
        if link is not None:
            idle = link.idle_since
            if idle is None or self._clock.monotonic() - idle <= _IDLE_SECONDS:
                return link
            self.link = None
            link.close()
        link = self.link = self._connect(self._lost)
        link.ready.then(self._stands)
        return link

    def _stands(self, link: Link | None, _error: BaseException | None) -> None:
        if link is not None:
            self._failures = 0
            self._told = ""

    def _lost(self, link: Link, error: MoldauError) -> None:
        if self.link is not link:
            return
        self.link = None
        if not_let_in(error) and str(error) != self._told:
            # Nobody but whoever runs these nodes can mend it: said once, until it is over or another reason.
            self._told = str(error)
            logger.error("%s cannot be asked: %s", self._address, error)
        self._hold_back()
        if self._told_lost is not None:
            self._told_lost()

    def _hold_back(self) -> None:
        pause = self._backoff.delay(self._failures)
        self._failures += 1
        self._pause = self._loop.call_later(pause, self._try_again)

    # ------------------------------------------------------------------------------------------- while it has to wait

    def _wait(self, request: Request, seconds: float, at_most: int | None) -> Deferred[Any]:
        question = _Question(request, at_most, self._clock.monotonic() + seconds)
        question.limit = self._loop.call_later(seconds, lambda: self._expire(question))
        self._waiting.append(question)
        return question.answer

    def _expire(self, question: _Question) -> None:
        self._waiting.remove(question)
        question.answer.fail(self._silent(question.request))

    def _try_again(self) -> None:
        self._pause = None
        waiting, self._waiting = self._waiting, []
        now = self._clock.monotonic()
        for question in waiting:
            question.limit.cancel()
            pass_on(self.ask(question.request, max(question.deadline - now, 0.001), question.at_most), question.answer)

    def _silent(self, request: Request) -> MoldauError:
        return RequestTimedOut(f"{self._address} did not answer {api_name(request.API_KEY)} in time.")

    def close(self, reason: str) -> None:
        if self._pause is not None:
            self._pause.cancel()
            self._pause = None
        if self._limit is not None:
            self._limit.cancel()
            self._limit = None
        link, self.link = self.link, None
        waiting, self._waiting = self._waiting, []
        if link is not None:
            link.give_up(ConnectionFailed(reason))
        for question in waiting:
            question.limit.cancel()
            question.answer.fail(ConnectionFailed(reason))
