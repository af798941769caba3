"""One client's connection: from frames to requests.

The header is read here, because it names the route: API key and version as one number, the correlation id and the
client id. A small Produce or Fetch goes from here straight to its raw handler; everything else through the request
channel. A request that is not understood closes the connection, as in Kafka: after a broken frame nothing that follows
can be trusted, and the client learns it at once.

Answers leave strictly in the order of the requests. A request that has to wait therefore holds the connection: nothing
more is taken from it until that answer is on its way (Kafka: the channel is muted). A request that could as well be
answered now says so (`gives_way`), and is as soon as it keeps another from being served.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from struct import Struct
from typing import TYPE_CHECKING, NamedTuple

from moldau.errors import MoldauError, ProtocolError
from moldau.protocol.api import ApiKey
from moldau.protocol.wire import Reader
from moldau.runtime.ports import Chunk, Transport
from moldau.security.principal import ANONYMOUS, Principal
from moldau.server.dispatch import DECLINED, DispatchTable, Route
from moldau.server.request_times import Timing

if TYPE_CHECKING:
    from moldau.server.authentication import Authentication
    from moldau.server.request_channel import RequestChannel

logger = logging.getLogger("moldau.server")

# API key and version as one number, correlation id, length of the client id.
_HEADER = Struct(">Iih")
_header = _HEADER.unpack_from
# As a frame begins: its length, then the API key.
_next_key = Struct(">ih").unpack
_HEADER_SIZE = _HEADER.size
# Where the client id begins to differ between requests: its length is part of the comparison.
_CLIENT_START = 8


# Requests of a kind that follow each other are timed when these bits of their number are 0: one of 16.
_UNOBSERVED = 15
# Of the first so many requests each that is of another kind than the one before.
_BEGINNING = 32


class ClientSoftware(NamedTuple):
    name: str
    version: str


class Connection:
    __slots__ = (
        "_channel",
        "_counted",
        "_holds",
        "_identify",
        "_leaving",
        "_route",
        "_routes",
        "_send",
        "_timing",
        "_told_closed",
        "asked_bytes",
        "authentication",
        "client_bytes",
        "client_id",
        "closing",
        "idle_since",
        "is_follower",
        "listener_name",
        "open",
        "peer",
        "principal",
        "requests",
        "seen_activity",
        "software",
        "spent_seconds",
        "transport",
    )

    def __init__(
        self,
        transport: Transport,
        channel: RequestChannel,
        listener_name: str,
        now: float,
        identify: Callable[[bytes | None], Principal] | None = None,
    ) -> None:
        """`identify` says whom a certificate shows; ValueError if nobody."""
        self.transport = transport
        self.peer = transport.peer
        self.listener_name = listener_name
        self.principal: Principal = ANONYMOUS
        # On a listener with SASL: how it is found out who asks.
        self.authentication: Authentication | None = None
        self.client_id: str | None = None
        # As it stood in the last request, with its length: as long as it stays the same it need not be read again.
        self.client_bytes = b""
        self.software: ClientSoftware | None = None
        self.requests = 0
        # Of the request being worked on, where somebody is held to a quota: its size, and what it took.
        self.asked_bytes = 0
        self.spent_seconds = 0.0
        # A broker that fetches as one is held to no client's quota.
        self.is_follower = False
        self.open = True
        self.closing = False
        # For whoever closes idle connections: since when nothing has been seen to move.
        self.idle_since = now
        self.seen_activity = 0
        self._channel = channel
        self._routes: Mapping[int, Route] = channel.table.routes
        self._send = transport.send
        self._holds = 0
        self._route: Route | None = None
        # How many of the requests have been counted for their API.
        self._counted = 0
        # Of the request that is being observed; of one whose answer the client has not taken yet.
        self._timing: Timing | None = None
        self._leaving: Timing | None = None
        self._told_closed: Callable[[], None] | None = None
        self._identify = identify

    @property
    def table(self) -> DispatchTable:
        return self._channel.table

    @property
    def busy(self) -> bool:
        """A request is being worked on, or the connection is throttled."""
        return self._holds > 0

    # -------------------------------------------------------------------------------------- the Receiver port

    def frame(self, data: memoryview, start: int, end: int) -> None:
        self.requests += 1
        body = start + _HEADER_SIZE
        try:
            if end < body:
                raise ProtocolError(f"a request of {end - start} bytes is shorter than its header")
            key, correlation_id, client_length = _header(data, start)
            route = self._routes.get(key)
            if route is None:
                self._no_route(key, correlation_id)
                return
            if (route is not self._route or not self.requests & _UNOBSERVED) and self._observed(
                route, data, start, end
            ):
                return
            if client_length > 0:
                body += client_length
            raw, flexible, version, _, _, _ = route
            if body > end:
                raise ProtocolError("the client id of a request runs past its end")
            if data[start + _CLIENT_START : body] != self.client_bytes:
                self._read_client_id(data, start, body)
            if flexible:
                if body < end and data[body] == 0:
                    body += 1
                else:
                    body = _after_tags(data, body, end)
            if raw is not None:
                answer = raw(self, data, body, end, version, correlation_id)
                if type(answer) is list:
                    self._send(answer)
                    return
                if answer is not DECLINED:
                    self._channel.answer_raw(self, route, answer)
                    return
            self._channel.handle(self, route, correlation_id, data[body:end])
        except MoldauError as error:
            self.close(str(error))
        except Exception:
            logger.exception("a request from %s could not be handled", self.name, extra=self.about())
            self.close()

    def secured(self, certificate: bytes | None) -> str | None:
        if self._identify is not None:
            try:
                self.principal = self._identify(certificate)
            except ValueError as error:
                return str(error)
        return None

    def drained(self) -> None:
        """The transport holds back requests until its answers have left."""
        leaving, self._leaving = self._leaving, None
        if leaving is not None:
            leaving.left(self._channel.now())

    def closed(self, reason: str | None) -> None:
        self.open = False
        self.count_requests()
        known = self.authentication is None or not self.authentication.is_stranger
        if reason is not None and self._route is not None and known:
            logger.warning("closed the connection from %s: %s", self.name, reason, extra=self.about())
        elif reason is not None:
            where = "closed the connection from %s to %s: %s"
            words = self.name, self.listener_name, reason
            self._channel.complaints.tell(self.peer[0], where, *words, about=self.about())
        if self.authentication is not None:
            self.authentication.closed()
        self._channel.connection_closed(self)
        if self._told_closed is not None:
            self._told_closed()

    # ------------------------------------------------------------------------------------ for the rest of the room

    @property
    def name(self) -> str:
        client = "" if self.client_id is None else f" ({self.client_id})"
        return f"{self.peer[0]}:{self.peer[1]}{client}"

    def is_open(self) -> bool:
        return self.open

    def when_closed(self, told: Callable[[], None]) -> None:
        """`told` is called when it is closed; it takes the place of an earlier one."""
        self._told_closed = told

    def about(self) -> dict[str, object]:
        """Whose request an entry of the log is about, for who reads it by a program."""
        return {
            "connection": f"{self.peer[0]}:{self.peer[1]}",
            "listener": self.listener_name,
            "client_id": self.client_id,
            "principal": str(self.principal),
            "api": None if self._route is None else self._route.api.key.name,
        }

    @property
    def api(self) -> ApiKey | None:
        """What its last request was for."""
        return None if self._route is None else self._route.api.key

    def doing(self) -> str:
        """Its last request, and whose it was."""
        route = self._route
        what = "a request" if route is None else f"{route.api.key.name} version {route.version}"
        return f"{what} from {self.name}"

    def send(self, chunks: list[Chunk]) -> None:
        self._send(chunks)

    def send_late(self, chunks: list[Chunk]) -> None:
        """An answer that had to wait. A follower's leaves at once: producers wait for what he says next, and he works
        while others are answered here."""
        self._send(chunks)
        if self.is_follower:
            self.transport.flush()

    def hold(self) -> None:
        """Takes no further request until `release`; may be nested (a throttled answer to a parked request)."""
        self._holds += 1
        if self._holds == 1:
            self.transport.pause()

    def release(self) -> None:
        self._holds -= 1
        if self._holds:
            return
        if self._timing is not None:
            self._answered(self._timing)
        if self.closing:
            self.close()
        else:
            self.transport.resume()

    def gives_way(self, answer_early: Callable[[], None]) -> None:
        """The request being worked on waits for something that is not urgent: `answer_early` is called if one of
        another kind arrives behind it. One of its own kind may as well wait, and a client that always sends the next
        before it has the last would get nothing but early answers."""
        waiting = self._route

        def arrived(head: bytes) -> None:
            if waiting is not None and _next_key(head)[1] != waiting.api.key:
                answer_early()

        self.transport.announce(arrived)

    def offer(self, routes: Mapping[int, Route] | None) -> None:
        """From the next request on it is offered these, or with None all that its listener has."""
        self._routes = self._channel.table.routes if routes is None else routes

    def close(self, reason: str | None = None) -> None:
        self.transport.close(reason)

    def finish(self) -> None:
        """Takes nothing more, and closes as soon as the request being worked on is answered."""
        self.closing = True
        self.transport.pause()
        if not self._holds:
            self.close()

    # -------------------------------------------------------------------------------------------- counted and timed

    def count_requests(self) -> None:
        """Has its requests counted where they belong: not with every one of them, but when somebody wants to know."""
        if self._route is not None:
            self._route.tally.add(self.requests - self._counted, self.is_follower)
        self._counted = self.requests

    def _observed(self, route: Route, data: memoryview, start: int, end: int) -> bool:
        """A request of another kind than the last, or one of many: counts those before it. Whether it was served here,
        and timed: what begins on a connection always is, so that what is rare is seen, too."""
        if self._timing is not None:
            return False
        self.requests -= 1
        is_new = route is not self._route
        self.count_requests()
        self._route = route
        if is_new and self.requests > _BEGINNING and (self.requests + 1) & _UNOBSERVED:
            self.requests += 1
            return False
        channel = self._channel
        timing = self._timing = Timing(route.tally.times, channel.loop.load.polled_at, channel.now())
        self.frame(data, start, end)
        if self._timing is timing:
            timing.handled_at = channel.now()
            if not self._holds:
                self._answered(timing)
        return True

    def _answered(self, timing: Timing) -> None:
        self._timing = None
        timing.answered(self._channel.now(), self.is_follower)

        def flushed(begun: float, ended: float) -> None:
            timing.flushed_at = begun
            if self.transport.unsent and self.open:
                self._leaving = timing
            else:
                timing.left(ended)

        self._channel.loop.when_flushed(flushed)

    def throttled(self, milliseconds: int) -> None:
        """The answer has been given; the client has to wait before its next request is looked at."""
        if self._timing is not None:
            self._timing.throttle_seconds = milliseconds / 1000
            self._answered(self._timing)

    # ------------------------------------------------------------------------------------------------- headers

    def _read_client_id(self, data: memoryview, start: int, body: int) -> None:
        raw = bytes(data[start + _CLIENT_START : body])
        self.client_id = Reader(raw).nullable_string()
        self.client_bytes = raw

    def _no_route(self, key: int, correlation_id: int) -> None:
        api_key = key >> 16
        if self.authentication is not None and self.authentication.refuse(api_key):
            return
        version = (key & 0xFFFF) - ((key & 0x8000) << 1)
        offer = self.table.offers.get(api_key)
        if offer is not None and offer.api.unsupported_version is not None:
            # The client cannot know yet which versions we speak: it is told, in a form that every client can read.
            self._channel.answer_unsupported(self, offer, correlation_id)
            return
        try:
            name = ApiKey(api_key).name
        except ValueError:
            raise ProtocolError(f"there is no API with key {api_key}") from None
        if offer is not None:
            raise ProtocolError(f"version {version} of {name} is not offered")
        raise ProtocolError(f"{name} is not offered on the listener {self.listener_name}")


def _after_tags(data: memoryview, start: int, end: int) -> int:
    """Tagged fields in a request header mean nothing to us; the body begins behind them."""
    reader = Reader(data, start, end)
    reader.tags()
    return start + reader.pos
