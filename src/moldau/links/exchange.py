"""The protocol state of one connection, without a socket: requests in, frames out; frames in, answers out.

The life of a connection: `ApiVersions` goes out first, alone. A node that does not know the version asked for says so
and is asked again in one it knows. From then on each request is written in the highest common version. Kafka answers
in the order of the requests, so the oldest one in flight owns the next frame, and its correlation id proves it.

With SASL the node next wants to know who we are, and again before the session it grants is over; `authenticate` does
both. Steps that wait for somebody else are taken by `aside`, whoever that is, and come back later. Requests wait here
while versions are being agreed on, while we prove ourselves, and while `max_in_flight` others are unanswered.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from struct import Struct
from typing import Any, Final

from moldau import __version__
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError, ProtocolError, error_code
from moldau.links.errors import NoLogin
from moldau.links.security import Mechanism
from moldau.links.versions import NodeVersions, Request, api_name
from moldau.protocol.api import RESPONSES, ApiKey, request_header_version, response_header_version
from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.messages.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from moldau.protocol.messages.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from moldau.protocol.wire import Reader

# As which software our clients and nodes introduce themselves.
OUR_NAME: Final = "moldau"

_LENGTH = Struct(">i")
# The length of a request, and its header up to the correlation id.
_HEADER = Struct(">ihhi")
_CORRELATION_AND_ERROR = Struct(">ih")
# A request of so few bytes is one piece from the beginning.
_SHORT = 4096
_HIGHEST_CORRELATION = 0x7FFFFFFF
_UNASKED = 100


# One step of an authentication: the token to send, None when there is nothing more to say.
Step = Callable[[], "bytes | None"]
# Takes it elsewhere, and says what came of it.
Aside = Callable[[Step, Callable[["bytes | None", "BaseException | None"], None]], None]


def _here(step: Step, done: Callable[[bytes | None, BaseException | None], None]) -> None:
    done(step(), None)


class Call(Deferred[Any]):
    """One request and, later, its answer. `version` is known once it was written."""

    __slots__ = ("answered", "at_most", "correlation_id", "request", "seconds", "version")

    def __init__(self, request: Request, at_most: int | None, answered: bool) -> None:
        super().__init__()
        self.request = request
        self.at_most = at_most
        self.answered = answered
        self.version = -1
        self.correlation_id = -1
        # How long an answer may take.
        self.seconds = 0.0

    def result(self) -> Any:
        """The answer, or the exception it ended in; only once settled."""
        if not self.settled:
            raise RuntimeError("the answer is not here yet")
        if self._error is not None:
            raise self._error
        return self._value


class Exchange:
    def __init__(
        self,
        client_id: str,
        *,
        max_in_flight: int = 5,
        mechanism: Callable[[], Mechanism] | None = None,
        aside: Aside = _here,
    ) -> None:
        # What ends a header, by its version.
        self._header_ends = {
            version: RequestHeader(client_id=client_id).encode(version)[_HEADER.size - _LENGTH.size :]
            for version in range(RequestHeader.MIN_VERSION, RequestHeader.MAX_VERSION + 1)
        }
        self.max_in_flight = max_in_flight
        self.versions: NodeVersions | None = None
        # Versions are agreed on, and the node knows who we are: from here on requests are answered.
        self.ready = False
        # Seconds the node's trust lasts, set by each authentication for whoever keeps time; 0 if it does not end.
        self.session_lifetime = 0.0
        self._mechanism = mechanism
        self._aside = aside
        self._authenticating = False
        self._in_flight: deque[Call] = deque()
        self._waiting: deque[Call] = deque()
        self._outgoing: list[bytes] = []
        self._next_correlation = 0
        # Requests that want no answer. librdkafka's mock broker gives one all the same, and others may.
        self._unasked: deque[int] = deque(maxlen=_UNASKED)
        self._ended: MoldauError | None = None
        self._negotiate(ApiVersionsRequest.MAX_VERSION)

    @property
    def idle(self) -> bool:
        return not self._in_flight and not self._waiting

    @property
    def unanswered(self) -> int:
        return len(self._in_flight)

    def call(self, request: Request, *, at_most: int | None = None, answered: bool = True) -> Call:
        """Takes a request on; `answered=False` for the one kind the broker does not answer (Produce with acks 0)."""
        call = Call(request, at_most, answered)
        if self._ended is not None:
            call.fail(self._ended)
        else:
            self._waiting.append(call)
            self._write_waiting()
        return call

    def take_outgoing(self) -> list[bytes]:
        """The frames to be sent now, lengths included."""
        outgoing, self._outgoing = self._outgoing, []
        return outgoing

    def frame(self, data: memoryview) -> None:
        """One whole frame from the node, without its length. ProtocolError means the connection is of no more use."""
        if len(data) < _LENGTH.size:
            raise ProtocolError("The broker sent an answer without a correlation id.")
        (correlation_id,) = _LENGTH.unpack_from(data)
        if correlation_id in self._unasked:
            return
        if not self._in_flight:
            raise ProtocolError("The broker sent an answer to which there was no request.")
        call = self._in_flight[0]
        if correlation_id != call.correlation_id:
            raise ProtocolError(
                f"The broker answered request {correlation_id} while request {call.correlation_id} was next in line."
            )
        if self.versions is None:
            self._in_flight.popleft()
            self._agree(call, data)
        else:
            # Decoded before it leaves the queue: if that fails, `lost` still knows the call and settles it.
            response = _decode(call, data)
            self._in_flight.popleft()
            self._write_waiting()
            call.resolve(response)

    def alone(self, data: memoryview, start: int, end: int) -> Call | None:
        """The call that a frame answers, if it is the only one and others could be asked."""
        if len(self._in_flight) != 1 or self._waiting or self._authenticating or not self.ready:
            return None
        if end - start < _LENGTH.size:
            return None
        call = self._in_flight[0]
        return call if _LENGTH.unpack_from(data, start)[0] == call.correlation_id else None

    def go_on(self, call: Call, request: Request) -> None:
        """The only call is answered, and asks this now."""
        call.request = request
        self._in_flight.clear()
        self._write(call)

    def lost(self, error: MoldauError) -> None:
        """The connection ended: every request without an answer ends with it."""
        if self._ended is not None:
            return
        self._ended = error
        unanswered = [*self._in_flight, *self._waiting]
        self._in_flight.clear()
        self._waiting.clear()
        self._outgoing.clear()
        for call in unanswered:
            call.fail(error)

    # ---------------------------------------------------------------------------------------- agreeing on versions

    def _negotiate(self, version: int) -> None:
        request = ApiVersionsRequest(client_software_name=OUR_NAME, client_software_version=__version__)
        call = Call(request, version, True)
        call.version = version
        self._write(call)

    def _agree(self, call: Call, data: memoryview) -> None:
        if len(data) < _CORRELATION_AND_ERROR.size:
            raise ProtocolError("The broker's answer to ApiVersions is too short.")
        _, code = _CORRELATION_AND_ERROR.unpack_from(data)
        if code == ErrorCode.UNSUPPORTED_VERSION and call.version > 0:
            self._negotiate(_offered_instead(data, call.version))
            return
        if code != ErrorCode.NONE:
            raise KafkaError(error_code(code), f"The broker refused ApiVersions: {error_code(code).text}")
        self.versions = NodeVersions.from_response(_decode(call, data))
        if self._mechanism is None:
            self.ready = True
            self._write_waiting()
        else:
            self.authenticate()

    # ---------------------------------------------------------------------------------------------- who we are

    def authenticate(self) -> None:
        """Begins to prove who we are. Requests under way are not disturbed; further ones wait until it is done."""
        if self._mechanism is None or self._authenticating or self._ended is not None:
            return
        self._authenticating = True
        self.session_lifetime = 0.0
        mechanism = self._mechanism()
        self._say(SaslHandshakeRequest(mechanism=mechanism.name), lambda answer: self._introduced(mechanism, answer))

    def _introduced(self, mechanism: Mechanism, answer: SaslHandshakeResponse) -> None:
        code = error_code(answer.error_code)
        if code is not ErrorCode.NONE:
            offered = ", ".join(answer.mechanisms) or "none"
            raise KafkaError(code, f"{mechanism.name} is not possible here; the broker offers {offered}.")
        self._take(mechanism, mechanism.first, 0)

    def _take(self, mechanism: Mechanism, step: Step, lifetime_ms: int) -> None:
        def taken(token: bytes | None, error: BaseException | None) -> None:
            if self._ended is not None:
                return
            if error is not None:
                raise _no_login(mechanism, error)
            if token is None:
                self._trusted(lifetime_ms)
            else:
                request = SaslAuthenticateRequest(auth_bytes=token)
                self._say(request, lambda answer: self._heard_token(mechanism, answer))

        if mechanism.waits:
            self._aside(step, taken)
        else:
            taken(step(), None)

    def _heard_token(self, mechanism: Mechanism, answer: SaslAuthenticateResponse) -> None:
        code = error_code(answer.error_code)
        if code is not ErrorCode.NONE:
            raise KafkaError(code, answer.error_message or None)
        self._take(mechanism, lambda: mechanism.answer(answer.auth_bytes), answer.session_lifetime_ms)

    def _trusted(self, lifetime_ms: int) -> None:
        self.session_lifetime = lifetime_ms / 1000
        self._authenticating = False
        self.ready = True
        self._write_waiting()

    def _say(self, request: Request, heard: Callable[[Any], None]) -> None:
        """One step of the authentication. What `heard` raises is the end of the connection."""
        assert self.versions is not None
        call = Call(request, None, True)
        call.version = self.versions.pick(request)
        call.then(lambda answer, error: None if error is not None else heard(answer))
        self._write(call)

    # -------------------------------------------------------------------------------------------------- writing

    def _write_waiting(self) -> None:
        if self.versions is None or self._authenticating:
            return
        while self._waiting and len(self._in_flight) < self.max_in_flight:
            call = self._waiting.popleft()
            try:
                call.version = self.versions.pick(call.request, call.at_most)
                self._write(call)
            except MoldauError as error:
                # The node cannot be asked this, or not in these words; nothing was sent, the connection is fine.
                call.fail(error)

    def _write(self, call: Call) -> None:
        key, version = call.request.API_KEY, call.version
        body = call.request.encode(version)
        call.correlation_id = self._next_correlation
        self._next_correlation = 0 if call.correlation_id == _HIGHEST_CORRELATION else call.correlation_id + 1
        end = self._header_ends[request_header_version(key, version)]
        size = _HEADER.size - _LENGTH.size + len(end) + len(body)
        header = _HEADER.pack(size, key, version, call.correlation_id) + end
        if len(body) <= _SHORT:
            self._outgoing.append(header + body)
        else:
            self._outgoing += (header, body)
        if call.answered:
            self._in_flight.append(call)
        else:
            self._unasked.append(call.correlation_id)
            call.resolve(None)


def _no_login(mechanism: Mechanism, error: BaseException) -> MoldauError:
    if isinstance(error, KafkaError) and error.code is ErrorCode.NETWORK_EXCEPTION:
        return NoLogin(error.message)
    if isinstance(error, MoldauError):
        return error
    # Whatever an application's own source of tokens raises.
    return KafkaError(ErrorCode.SASL_AUTHENTICATION_FAILED, f"Nothing to log in with by {mechanism.name}: {error}.")


def _decode(call: Call, data: memoryview) -> Any:
    key, version = call.request.API_KEY, call.version
    read = getattr(call.request, "read_answer", None)
    if read is not None:
        answer = read(data, version)
        if answer is not None:
            return answer
    try:
        source = Reader(data, _LENGTH.size)
        if response_header_version(key, version) > 0:
            source.tags()
        # Bytes behind the end are not looked at, as in other clients: librdkafka's test broker, for one, sends some.
        return RESPONSES[key].read(source, version)
    except ProtocolError as error:
        raise ProtocolError(
            f"The broker's answer to {api_name(key)} version {version} cannot be read: {error}"
        ) from error


def _offered_instead(data: memoryview, refused: int) -> int:
    """The version to try after a refusal, always lower than the one refused.

    Kafka's refusal is written in version 0 and holds the range it does accept. Not everybody is that helpful (some
    answer in a form that cannot be read); version 0 is what everybody knows.
    """
    try:
        answer = ApiVersionsResponse.decode(data[_LENGTH.size :], 0)
    except ProtocolError:
        return 0
    for api in answer.api_keys:
        if api.api_key == ApiKey.API_VERSIONS:
            return max(0, min(api.max_version, refused - 1))
    return 0
