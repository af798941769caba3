"""From requests to answers: decoding, calling the handler, and what becomes of its result.

A handler either answers at once or returns a Deferred; then its connection is held until the answer is there. So each
connection has at most one unanswered request, answers cannot overtake each other, and what clients can make us keep in
memory is bounded by the number of connections.

Failures. Bytes that cannot be decoded close the connection (ProtocolError). A request refused as a whole (KafkaError)
is answered with the code if its API has a place for one, otherwise its connection is closed. Anything else is a fault
of ours: logged with its traceback, and the connection is closed, because the client must not wait for an answer.

No request holds the loop for long, whatever it asks. Large ones are decoded, handled and answered in slices
(`moldau.slicing`): a handler that may have much to do is a generator. How many elements a request may name is bounded,
far above what any honest client asks for; beyond that it is refused with INVALID_REQUEST like any other refusal.

Throttling has its place here: an answer that tells the client to wait (`throttle_time_ms`) is sent, and the connection
is held for that long, so that a client which does not comply is slowed down all the same.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable
from types import GeneratorType
from typing import Any, Final

from moldau import _speed
from moldau.deferred import Deferred, gather, ready, recovered
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import EncodedMessage, Message
from moldau.protocol.slices import Slices, freed
from moldau.protocol.wire import Reader
from moldau.replica.runs import Runs
from moldau.runtime.ports import Chunk, Loop
from moldau.server.answers import encode_in_slices, encode_response
from moldau.server.client_quotas import UNLIMITED
from moldau.server.commit_runs import CommitRuns
from moldau.server.complaints import Complaints
from moldau.server.connection import Connection
from moldau.server.context import RequestContext, Services
from moldau.server.dispatch import DispatchTable, Offer, Route
from moldau.server.parts import Parts
from moldau.server.permitted_runs import Permits
from moldau.server.slow_requests import SlowRequests
from moldau.slicing import Work, run_whole

if _speed.COMPILED:
    from moldau._speed.express import Served

logger = logging.getLogger("moldau.server")


# Bytes of a request up to which it is decoded in one go: some milliseconds, however they are used.
LARGE_REQUEST: Final = 8192
# Bytes of a request at most, unless it carries records.
MOST_BYTES: Final = 16 << 20
# Elements of a request from which on it is not refused in its own words, with the code for each thing that it named,
# and is freed in slices.
MANY_ELEMENTS: Final = 5000
# Batches a producer may send in one request before they are worked through in slices.
_FEW_ELEMENTS: Final = 512
# Answers that had to wait and are sent in one turn of the loop: thousands may wait for one event, such as the last
# member of their group.
LATE_PER_TURN: Final = 128
# Seconds within which an answer must have been put together to be written in one go.
_QUICKLY: Final = 0.001


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
        self._slicer = services.slicer
        self.now = self._now = services.runtime.clock.monotonic
        self.complaints = Complaints(self._now)
        self.loop = self._loop = loop
        # Answers after which a client was told to wait, and for how long altogether.
        self.throttled = 0
        self.throttled_ms = 0
        self._slow = SlowRequests(loop.load, self._now, services.config.slow_request_log_ms / 1000)
        # Clients come to brokers; a controller that is asked by one counts only what is changed.
        self._quotas = services.client_quotas if ApiKey.PRODUCE in table.offers else UNLIMITED
        # Answers that became known in this turn, and those of them that are left for the next ones.
        self._late = 0
        self._left: deque[Callable[[], None]] = deque()
        # What the network may serve by itself: plain writes and offset commits, if this listener offers both.
        produce, commit = table.offers.get(ApiKey.PRODUCE), table.offers.get(ApiKey.OFFSET_COMMIT)
        self.runs: Runs | Permits | None = None
        self.served: Served | None = None
        if produce is not None and produce.api.raw is not None:
            commits = None
            if commit is not None and commit.api.raw is not None:
                commits = CommitRuns(services, commit.max_version)
            quotas = services.client_quotas
            clock, last = services.runtime.clock, produce.max_version
            if _speed.COMPILED:
                self.served = Served()
            self.runs = runs = Runs(services.replicas, clock, last, commits, self.served, lambda: quotas.active)
            if services.authorization is not None:
                self.runs = Permits(services, services.authorization, runs)

    def handle(self, connection: Connection, route: Route, correlation_id: int, body: memoryview) -> None:
        kind = route.api.request
        if self._quotas.active:
            connection.asked_bytes = len(body)
        # What follows a whole request is ignored, as by Kafka: librdkafka adds bytes to Metadata from version 11 on.
        if kind.KEEPS_VIEW and self._services.replicas.arrivals:
            # Few batches too, if the partitions they are for may have to be opened first.
            self._decode(connection, route, correlation_id, memoryview(bytearray(body)))
            return
        if len(body) <= LARGE_REQUEST:
            request = kind.read(Reader(body), route.version)
        elif kind.KEEPS_VIEW:
            if (short := _read_short(kind, body, route.version)) is None:
                # So many batches are worked through in slices, and the receive buffer is used again meanwhile.
                self._decode(connection, route, correlation_id, memoryview(bytearray(body)))
                return
            request = short
        else:
            self._decode(connection, route, correlation_id, body)
            return
        self._call(connection, route, correlation_id, request, may_pause=not kind.KEEPS_VIEW)

    def _decode(self, connection: Connection, route: Route, correlation_id: int, body: memoryview) -> None:
        """Reads a large request in slices, then has it handled."""
        kind = route.api.request

        def refuse(error: KafkaError) -> None:
            self._refuse(connection, route, correlation_id, None, error)

        # A producer that wants no answer may have left: its records count all the same.
        wanted = None if kind.KEEPS_VIEW else connection.is_open
        try:
            decoded = self._slicer.run(read_bounded(route, body), wanted)
        except KafkaError as error:
            refuse(error)
            return
        if isinstance(decoded, Deferred):
            self._await(
                connection, decoded, lambda found: self._call(connection, route, correlation_id, *found), refuse
            )
        else:
            self._call(connection, route, correlation_id, *decoded)

    def _call(
        self,
        connection: Connection,
        route: Route,
        correlation_id: int,
        request: Message,
        elements: int = 0,
        *,
        may_pause: bool = True,
    ) -> None:
        """Has the request handled and answers it. Without `may_pause` it lies in the receive buffer, and must have been
        dealt with when this returns."""
        api = route.api
        context = RequestContext(
            connection, self._services, api.key, route.version, correlation_id, connection.client_id
        )
        many = elements > MANY_ELEMENTS
        refused = None if many else request
        begun = self._now()
        try:
            answer: Any = handled(context, route, request)
            if isinstance(answer, GeneratorType):
                wanted = None if api.request.KEEPS_VIEW else connection.is_open
                answer = self._slicer.run(answer, wanted) if may_pause else run_whole(answer)
        except KafkaError as error:
            self._refuse(connection, route, correlation_id, refused, error)
            if many:
                self._free(request, error)
            return
        if self._quotas.active:
            connection.spent_seconds = self._now() - begun
        if answer is None:
            self._unanswered(connection, route)
            return
        if isinstance(answer, Deferred):
            # What was put together quickly is written quickly.
            whole = answer.settled and self._now() - begun < _QUICKLY
            self._await(
                connection,
                answer,
                lambda value: self._respond(connection, route, correlation_id, value, whole=whole),
                lambda error: self._refuse(connection, route, correlation_id, refused, error),
                lambda: self._unanswered(connection, route),
            )
            if many:
                answer.then(lambda _value, error: self._free(request, error))
        else:
            self._respond(connection, route, correlation_id, answer, whole=self._now() - begun < _QUICKLY)
            if many:
                self._free(request)

    def answer_raw(
        self, connection: Connection, route: Route, answer: Deferred[list[Chunk] | None] | Any | None
    ) -> None:
        """What a raw handler returned, if it was not finished chunks."""
        if answer is None:
            return
        if not isinstance(answer, Deferred):
            raise TypeError(f"the raw handler of {route.api.key.name} returned {type(answer).__name__}")
        self._await(connection, answer, connection.send_late, None)

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
        unanswered: Callable[[], None] | None = None,
    ) -> None:
        def settled(value: Any, error: BaseException | None) -> None:
            if not waited:
                finish(value, error)
                return
            if not self._late:
                self._loop.call_soon(self._send_left)
            self._late += 1
            if self._late <= LATE_PER_TURN:
                finish(value, error)
            else:
                self._left.append(lambda: finish(value, error))

        def finish(value: Any, error: BaseException | None) -> None:
            self.in_flight -= 1
            if begun is not None:
                self._slow.end(connection, begun)
            if connection.open:
                try:
                    if error is None:
                        if value is not None:
                            respond(value)
                        elif unanswered is not None:
                            unanswered()
                    elif isinstance(error, KafkaError) and refuse is not None:
                        refuse(error)
                    elif isinstance(error, ProtocolError):
                        connection.close(str(error))
                    else:
                        raise error
                except ProtocolError as refused:
                    connection.close(str(refused))
                except Exception:
                    logger.exception(
                        "a request from %s could not be answered", connection.name, extra=connection.about()
                    )
                    connection.close()
            connection.release()

        self.in_flight += 1
        connection.hold()
        waited = not answer.settled
        begun = self._slow.begin(connection) if waited else None
        answer.then(settled)

    def _send_left(self) -> None:
        self._late = 0
        if self._left:
            self._loop.call_soon(self._send_left)
            self._late = min(LATE_PER_TURN, len(self._left))
            for _ in range(self._late):
                self._left.popleft()()

    def _respond(
        self, connection: Connection, route: Route, correlation_id: int, response: Message, *, whole: bool = False
    ) -> None:
        throttle_ms: int = getattr(response, "throttle_time_ms", 0)
        if self._quotas.active:
            used_ms = self._quotas.throttle_ms(connection, route.api.key, response)
            if used_ms > throttle_ms:
                throttle_ms = used_ms
                # A copy: what many are answered may be one message.
                if isinstance(response, EncodedMessage):
                    response = response.throttled(used_ms)
                elif hasattr(response, "throttle_time_ms"):
                    response = response.changed(throttle_time_ms=used_ms)
        if whole:
            connection.send(encode_response(response, route.version, correlation_id, route.response_tags))
        else:
            work = encode_in_slices(response, route.version, correlation_id, route.response_tags)
            chunks = self._slicer.run(work, connection.is_open)
            if isinstance(chunks, Deferred):
                self._await(connection, chunks, connection.send, None)
            else:
                connection.send(chunks)
        if throttle_ms > 0:
            self.throttle(connection, throttle_ms)

    def _unanswered(self, connection: Connection, route: Route) -> None:
        """Who wants no answer is held to his quota all the same."""
        if self._quotas.active:
            throttle_ms = self._quotas.throttle_ms(connection, route.api.key, None)
            if throttle_ms > 0:
                self.throttle(connection, throttle_ms)

    def _free(self, request: Message, error: BaseException | None = None) -> None:
        if isinstance(error, KafkaError):
            # Where it was raised is where what was asked is still in somebody's hands.
            error.__traceback__ = None
        self._slicer.run(freed(request, alone=True))

    def throttle(self, connection: Connection, milliseconds: int) -> None:
        """Takes no request from `connection` for a while; also for raw handlers that told the client to wait."""
        self.throttled += 1
        self.throttled_ms += milliseconds
        connection.throttled(milliseconds)
        connection.hold()
        self._loop.call_later(milliseconds / 1000, connection.release)

    def _refuse(
        self, connection: Connection, route: Route, correlation_id: int, request: Message | None, error: KafkaError
    ) -> None:
        """`request` is None if it was not even read; then only an error for all of it can be said."""
        build = route.api.error_response
        response = None if build is None else build(request or route.api.request(), route.version, error)
        if response is None or (request is None and not says_error(response, route.version)):
            connection.close(f"{route.api.key.name} was refused: {error}")
        else:
            self._respond(connection, route, correlation_id, response)


def says_error(response: Message, version: int) -> bool:
    """Whether the version has a place for the error of a whole request."""
    sent = type(response).decode(response.encode(version), version)
    return bool(getattr(sent, "error_code", 0))


def _read_short(kind: type[Message], body: memoryview, version: int) -> Message | None:
    """The request, if it has few elements, however large they are."""
    work = kind.read_in_slices(Reader(body), version)
    elements = 0
    while elements <= _FEW_ELEMENTS:
        try:
            elements += next(work)
        except StopIteration as done:
            request: Message = done.value
            return request
    return None


def handled(context: RequestContext, route: Route, request: Message) -> Any:
    """What the handler answers, or the work of a large request that is answered as if it were several."""
    large = next((parts for parts in route.api.parts if parts.is_large(request)), None)
    return route.api.handler(context, request) if large is None else _in_parts(context, route, large, request)


def _in_parts(
    context: RequestContext, route: Route, parts: Parts, request: Message
) -> Work[Message | Deferred[Message]]:
    answers: list[Deferred[Message]] = []
    for part in parts.cut(request):
        if part is not None:
            answers.append((yield from _answer_part(context, route, part)))
        yield
    return context.services.slicer.then(gather(answers), parts.together)


def _answer_part(context: RequestContext, route: Route, part: Message) -> Work[Deferred[Message]]:
    api = route.api
    answer: Any = api.handler(context, part)
    if isinstance(answer, GeneratorType):
        answer = yield from answer
    if not isinstance(answer, Deferred):
        return ready(answer)
    refuse = api.error_response
    return answer if refuse is None else recovered(answer, lambda error: refuse(part, route.version, error))


def read_bounded(route: Route, body: memoryview) -> Slices[tuple[Message, int]]:
    """The request, and how many elements it has."""
    kind, most = route.api.request, route.api.most_elements
    if not kind.KEEPS_VIEW and len(body) > MOST_BYTES:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"A {kind.__name__} of {len(body)} bytes is not taken.")
    work = kind.read_in_slices(Reader(body), route.version)
    elements = 0
    while elements <= most:
        try:
            elements += (read := next(work))
        except StopIteration as done:
            request: Message = done.value
            return request, elements
        yield read
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"A {kind.__name__} of more than {most} elements is not taken.")
