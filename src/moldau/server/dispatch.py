"""Which request goes where: one explicit table of APIs, and the routes made from it.

An API is offered on a listener if it stands in the table; what is not there is neither advertised nor answered. From
the entries a flat dictionary is made, keyed by the first four bytes of a request (API key and version read as one
number): one look-up finds the handler, checks the version and knows the shape of the headers.

A handler is a plain function `(context, request) -> response | Deferred | None`; None means that the client does not
expect an answer. A handler whose work grows with the request is a generator: it yields wherever it can be left for a
while, and returns one of these (see `moldau.slicing`). An API on the hot path may also have a raw handler, which is
given the bytes of the request where they were received and returns finished chunks:

    raw(connection, data, start, end, version, correlation_id) -> list of chunks | Deferred | None | DECLINED

`data[start:end]` is the body without its header, valid (and writable) during the call only. A list is sent as it is:
the raw handler writes length prefix and response header itself. A Deferred settles with such a list or None. DECLINED
sends the request the ordinary way; a raw handler may decline as long as it has changed nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum, auto
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple, TypeAlias

from moldau.dataclass import dataclass
from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ENTRIES, ApiKey, request_header_version, response_header_version
from moldau.protocol.message import Message
from moldau.protocol.slices import MOST_ELEMENTS
from moldau.runtime.ports import Chunk
from moldau.server.parts import Parts
from moldau.server.request_times import ApiTimes, Tally
from moldau.slicing import Work

if TYPE_CHECKING:
    from moldau.server.connection import Connection
    from moldau.server.context import RequestContext, Services


class Declined(Enum):
    DECLINED = auto()


DECLINED: Final = Declined.DECLINED

Handler: TypeAlias = "Callable[[RequestContext, Any], Message | Deferred[Any] | Work[Any] | None]"
RawAnswer: TypeAlias = list[Chunk] | Deferred[Any] | Literal[Declined.DECLINED] | None
RawHandler: TypeAlias = "Callable[[Connection, memoryview, int, int, int, int], RawAnswer]"
# Builds the whole response for a request refused with one code, where the API has a place for it.
ErrorResponse: TypeAlias = Callable[[Any, int, KafkaError], Message]


@dataclass(frozen=True, slots=True)
class Api:
    """One row of the table."""

    key: ApiKey
    request: type[Message]
    handler: Handler
    error_response: ErrorResponse | None = None
    raw: Callable[[Services], RawHandler] | None = None
    # The answer, in the form of version 0, to a version that is not offered; without it the connection is closed.
    unsupported_version: Callable[[int, int], Message] | None = None
    # How a request of very many elements is cut into several; by the first of these in which it is large.
    parts: tuple[Parts, ...] = ()
    # Elements a request may name at most, if that is less than for others.
    most_elements: int = MOST_ELEMENTS
    # Only where fewer versions are offered than the message has.
    min_version: int | None = None
    max_version: int | None = None


class Offer(NamedTuple):
    """An API with the versions that are answered."""

    api: Api
    min_version: int
    max_version: int


class Route(NamedTuple):
    """All the hot path needs to know about one API at one version; unpacked, not looked into."""

    raw: RawHandler | None
    # Whether tagged fields follow the client id in the request header.
    flexible_header: bool
    version: int
    api: Api
    # What follows the correlation id in the response header.
    response_tags: bytes
    tally: Tally


class DispatchTable:
    """The APIs of one kind of listener. `unstable` also offers a last version that may still change."""

    def __init__(self, apis: Iterable[Api], services: Services, *, unstable: bool = False) -> None:
        self.offers: dict[int, Offer] = {}
        self.routes: dict[int, Route] = {}
        self.times: dict[int, ApiTimes] = {}
        for api in apis:
            if api.key in self.offers:
                raise ValueError(f"{api.key.name} stands twice in the table of APIs")
            offer = self.offers[api.key] = _offer(api, unstable)
            raw = None if api.raw is None else api.raw(services)
            times = self.times[api.key] = ApiTimes(api.request.__name__.removesuffix("Request"))
            for version in range(offer.min_version, offer.max_version + 1):
                self.routes[route_key(api.key, version)] = Route(
                    raw,
                    request_header_version(api.key, version) >= 2,
                    version,
                    api,
                    b"\0" if response_header_version(api.key, version) else b"",
                    Tally(version, times),
                )


def _offer(api: Api, unstable: bool) -> Offer:
    first, last = api.request.MIN_VERSION, api.request.MAX_VERSION
    if ENTRIES[api.key].latest_unstable and not unstable:
        last -= 1
    return Offer(
        api,
        first if api.min_version is None else max(first, api.min_version),
        last if api.max_version is None else min(last, api.max_version),
    )


def route_key(api_key: int, version: int) -> int:
    """The first four bytes of a request as one unsigned number."""
    return (api_key & 0xFFFF) << 16 | (version & 0xFFFF)
