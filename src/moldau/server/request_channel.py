"""From requests to answers: decoding, calling the handler, and what becomes of its result.

A handler either answers at once or returns a Deferred; then its connection is held until the answer is there. So each
connection has at most one unanswered request, answers cannot overtake each other, and what clients can make us keep in
memory is bounded by the number of connections.

Failures. Bytes that cannot be decoded close the connection (ProtocolError). A request refused as a whole (KafkaError)
is answered with the code if its API has a place for one, otherwise its connection is closed. Anything else is a fault
of ours: logged with its traceback, and the connection is closed, because the client must not wait for an answer.

Throttling has its place here: an answer that tells the client to wait (`throttle_time_ms`) is sent, and the connection
is held for that long, so that a client which does not comply is slowed down all the same.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from struct import Struct
from typing import Any

from moldau.deferred import Deferred
from moldau.errors import KafkaError, ProtocolError
from moldau.protocol.message import Message
from moldau.protocol.wire import Reader, Writer
from moldau.runtime.ports import Chunk, Loop
from moldau.server.connection import Connection
from moldau.server.context import RequestContext, Services
from moldau.server.dispatch import DispatchTable, Offer, Route

logger = logging.getLogger("moldau.server")

_prefix = Struct(">ii").pack
_put_length = Struct(">i").pack_into


class RequestChannel:
    """One for each kind of listener: its table says what is offered there."""

    def __init__(
        self, table: DispatchTable, services: Services, loop: Loop, on_closed: Callable[[Connection], None]
    ) -> None:
        self.table = table
        self.connection_closed = on_closed
        # Requests whose answer is still awaited.
        self.in_flight = 0
        self._services = services
        self._loop = loop

    def handle(self, connection: Connection, route: Route, correlation_id: int, body: memoryview) -> None:
        api = route.api
        # What follows a whole request is ignored, as by Kafka: librdkafka adds bytes to Metadata from version 11 on.
        request = api.request.read(Reader(body), route.version)
        context = RequestContext(
            connection, self._services, api.key, route.version, correlation_id, connection.client_id
        )
        try:
            answer = api.handler(context, request)
        except KafkaError as error:
            self._refuse(connection, route, correlation_id, request, error)
            return
        if answer is None:
            return
        if isinstance(answer, Deferred):
            self._await(
                connection,
                answer,
                lambda value: self._respond(connection, route, correlation_id, value),
                lambda error: self._refuse(connection, route, correlation_id, request, error),
            )
        else:
            self._respond(connection, route, correlation_id, answer)

    def answer_raw(
        self, connection: Connection, route: Route, answer: Deferred[list[Chunk] | None] | Any | None
    ) -> None:
        """What a raw handler returned, if it was not finished chunks."""
        if answer is None:
            return
        if not isinstance(answer, Deferred):
            raise TypeError(f"the raw handler of {route.api.key.name} returned {type(answer).__name__}")
        self._await(connection, answer, connection.send, None)

    def answer_unsupported(self, connection: Connection, offer: Offer, correlation_id: int) -> None:
        assert offer.api.unsupported_version is not None
        response = offer.api.unsupported_version(offer.min_version, offer.max_version)
        connection.send(encode_response(response, 0, correlation_id, b""))

    # ------------------------------------------------------------------------------------------------ answers

    def _await(
        self,
        connection: Connection,
        answer: Deferred[Any],
        respond: Callable[[Any], None],
        refuse: Callable[[KafkaError], None] | None,
    ) -> None:
        def settled(value: Any, error: BaseException | None) -> None:
            self.in_flight -= 1
            if connection.open:
                try:
                    if error is None:
                        if value is not None:
                            respond(value)
                    elif isinstance(error, KafkaError) and refuse is not None:
                        refuse(error)
                    else:
                        raise error
                except ProtocolError as refused:
                    connection.close(str(refused))
                except Exception:
                    logger.exception("a request from %s could not be answered", connection.name)
                    connection.close()
            connection.release()

        self.in_flight += 1
        connection.hold()
        answer.then(settled)

    def _respond(self, connection: Connection, route: Route, correlation_id: int, response: Message) -> None:
        connection.send(encode_response(response, route.version, correlation_id, route.response_tags))
        throttle_ms: int = getattr(response, "throttle_time_ms", 0)
        if throttle_ms > 0:
            self.throttle(connection, throttle_ms)

    def throttle(self, connection: Connection, milliseconds: int) -> None:
        """Takes no request from `connection` for a while; also for raw handlers that told the client to wait."""
        connection.hold()
        self._loop.call_later(milliseconds / 1000, connection.release)

    def _refuse(
        self, connection: Connection, route: Route, correlation_id: int, request: Any, error: KafkaError
    ) -> None:
        build = route.api.error_response
        if build is None:
            connection.close(f"{route.api.key.name} was refused: {error}")
        else:
            self._respond(connection, route, correlation_id, build(request, route.version, error))


def encode_response(response: Message, version: int, correlation_id: int, tags: bytes) -> list[Chunk]:
    """Length, header (`tags` end it) and body, for the network; records in files stay there until they are sent."""
    out = Writer()
    first = out.buffer
    first += _prefix(0, correlation_id)
    first += tags
    response.write(out, version)
    _put_length(first, 0, len(out) - 4)
    return out.chunks()
