"""Asking other brokers: found by their id in the metadata, one request to each under way, what comes meanwhile with
the next.

The coordinators of transactions and the leaders of partitions have small questions for each other, many at a time when
many transactions end. Collected like this they cost a request per broker and round trip, however many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Final, Generic, Protocol, TypeVar

from moldau.deferred import Deferred, failed
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.links.peers import PeerPort
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message

# So long an answer may take. Whoever waits for it asks again, perhaps another broker: a leader that hangs is replaced
# sooner than a longer wait would end.
TIMEOUT_SECONDS: Final = 5.0
# How many things one request may be about.
_MOST: Final = 1000


class OtherBrokers:
    """`listener` is the one brokers use among themselves."""

    def __init__(self, peers: PeerPort, listener: str, image: Callable[[], MetadataImage]) -> None:
        self._peers = peers
        self._listener = listener
        self._image = image

    def address(self, broker_id: int) -> Address | None:
        endpoint = self._image().cluster.endpoint(broker_id, self._listener)
        return None if endpoint is None else Address(endpoint.host, endpoint.port)

    def ask(self, broker_id: int, request: Message, line: str) -> Deferred[Message]:
        address = self.address(broker_id)
        if address is None:
            return failed(KafkaError(ErrorCode.BROKER_NOT_AVAILABLE, f"Broker {broker_id} cannot be reached."))
        return self._peers.ask(address, request, timeout=TIMEOUT_SECONDS, line=line)


class Errand(Protocol):
    """Something to ask a broker."""

    @property
    def key(self) -> Hashable:
        """By which its part of the answer is found: a request holds one errand of a key."""
        ...

    @property
    def size(self) -> int: ...

    def wanted(self) -> bool:
        """Whether anybody still waits for the answer; asked right before it would be sent."""
        ...


E = TypeVar("E", bound=Errand)


class Errands(Generic[E]):
    """`build` makes a request of some errands; `settle` is given these and the answer, or None and why there is none.

    In order for each broker: an errand never overtakes one of the same key.
    """

    def __init__(
        self,
        brokers: OtherBrokers,
        line: str,
        build: Callable[[list[E]], Message],
        settle: Callable[[list[E], Message | None, BaseException | None], None],
    ) -> None:
        self._brokers = brokers
        self._line = line
        self._build = build
        self._settle = settle
        # By broker; there is an entry, be it empty, while a request is under way.
        self._waiting: dict[int, list[E]] = {}

    def add(self, broker_id: int, errand: E) -> None:
        waiting = self._waiting.get(broker_id)
        if waiting is not None:
            waiting.append(errand)
        else:
            self._waiting[broker_id] = [errand]
            self._send(broker_id)

    def _send(self, broker_id: int) -> None:
        now, later, keys, size = [], [], set(), 0
        for errand in self._waiting[broker_id]:
            if not errand.wanted():
                continue
            if errand.key in keys or size >= _MOST:
                keys.add(errand.key)
                later.append(errand)
            else:
                keys.add(errand.key)
                size += errand.size
                now.append(errand)
        if not now:
            del self._waiting[broker_id]
            return
        self._waiting[broker_id] = later

        def answered(response: Message | None, error: BaseException | None) -> None:
            try:
                # Those who are answered may have more to ask: it goes with the next.
                self._settle(now, response, error)
            finally:
                # Whatever they make of it: as long as there is an entry, all others wait for this.
                self._send(broker_id)

        self._brokers.ask(broker_id, self._build(now), self._line).then(answered)


def code_of(error: BaseException | None) -> ErrorCode:
    """Why there was no answer, as far as whoever asked can act on it."""
    if isinstance(error, KafkaError) and error.code == ErrorCode.BROKER_NOT_AVAILABLE:
        return error.code
    return ErrorCode.NETWORK_EXCEPTION
