"""What a broker puts into an Envelope, and what the controller takes out: a client's request, and who made it.

A request travels as it was sent, header and all, in the client's own version; so does its answer. The client's name
and address go with it, because for the controller the request comes from the broker.
"""

from __future__ import annotations

from struct import Struct
from typing import Any, Final, NamedTuple

from moldau.errors import ErrorCode, KafkaError, ProtocolError, error_code
from moldau.protocol.api import RESPONSES, request_header_version, response_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages.default_principal_data import DefaultPrincipalData
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.wire import Reader, Writer
from moldau.security.principal import Principal
from moldau.server.context import RequestContext
from moldau.server.dispatch import DispatchTable
from moldau.slicing import Work

_KEY_AND_VERSION: Final = Struct(">hh")
_CORRELATION: Final = Struct(">i")
# A principal is written with the version of its form in front.
_VERSION: Final = Struct(">h")
# The form of a principal that everybody knows.
_PRINCIPAL_VERSION: Final = 0
_NOWHERE: Final = bytes(4)


class Sealed(NamedTuple):
    """A forwarded request before it is read: its route's key, its header, and where its body begins."""

    api_key: int
    version: int
    header: RequestHeader
    body: memoryview


class ForwardedConnection:
    """The client of a forwarded request, as far as a handler looks at it; `carrier` is the broker's connection."""

    __slots__ = ("_carrier", "client_id", "listener_name", "peer", "principal", "software")

    def __init__(self, carrier: Any, principal: Principal, host: str, client_id: str | None) -> None:
        self._carrier = carrier
        self.listener_name: str = carrier.listener_name
        self.principal = principal
        self.peer = (host, 0)
        self.client_id = client_id
        self.software = None

    @property
    def table(self) -> DispatchTable:
        table: DispatchTable = self._carrier.table
        return table

    def is_open(self) -> bool:
        return bool(self._carrier.is_open())


def seal(context: RequestContext, request: Message) -> Work[EnvelopeRequest]:
    header = RequestHeader(
        request_api_key=context.api_key,
        request_api_version=context.version,
        correlation_id=context.correlation_id,
        client_id=context.client_id,
    ).encode(request_header_version(context.api_key, context.version))
    kind, name, by_token = context.principal
    principal = DefaultPrincipalData(type=kind, name=name, token_authenticated=by_token)
    return EnvelopeRequest(
        request_data=(yield from written(request, context.version, header)),
        request_principal=_VERSION.pack(_PRINCIPAL_VERSION) + principal.encode(_PRINCIPAL_VERSION),
        client_host_address=packed_host(context.peer[0]),
    )


def written(message: Message, version: int, head: bytes) -> Work[bytes]:
    """The message as bytes, behind `head`."""
    out = Writer()
    out.buffer += head
    yield from message.write_in_slices(out, version)
    return out.bytes()


def answer_in(envelope: EnvelopeResponse, context: RequestContext) -> Work[Message]:
    """The controller's answer to what was forwarded; KafkaError if it did not get that far."""
    code = error_code(envelope.error_code)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, f"The controller did not take the forwarded request: {code.text}")
    source = Reader(envelope.response_data or b"")
    correlation_id = source.int32()
    if correlation_id != context.correlation_id:
        raise ProtocolError(
            f"the controller answered request {correlation_id} where {context.correlation_id} was forwarded"
        )
    if response_header_version(context.api_key, context.version) > 0:
        source.tags()
    answer: Message = yield from RESPONSES[context.api_key].read_in_slices(source, context.version)
    return answer


def unseal(envelope: EnvelopeRequest) -> Sealed:
    """KafkaError INVALID_REQUEST if there is no request in it."""
    data = memoryview(envelope.request_data)
    if len(data) < _KEY_AND_VERSION.size:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The envelope holds no request.")
    api_key, version = _KEY_AND_VERSION.unpack_from(data)
    try:
        source = Reader(data)
        header = RequestHeader.read(source, request_header_version(api_key, version))
    except (KeyError, ProtocolError):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The header of the forwarded request cannot be read.") from None
    return Sealed(api_key, version, header, data[source.pos :])


def client_of(envelope: EnvelopeRequest, carrier: Any, client_id: str | None) -> ForwardedConnection:
    """KafkaError if it does not say in a known way who the client is."""
    raw = envelope.request_principal
    try:
        if raw is None:
            raise ProtocolError("no principal")
        (version,) = _VERSION.unpack_from(raw) if len(raw) >= _VERSION.size else (-1,)
        if version != _PRINCIPAL_VERSION:
            raise ProtocolError("a principal of an unknown version")
        principal = DefaultPrincipalData.decode(raw[_VERSION.size :], version)
    except ProtocolError:
        raise KafkaError(ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE) from None
    host = unpacked_host(envelope.client_host_address)
    who = Principal(principal.type, principal.name, principal.token_authenticated)
    return ForwardedConnection(carrier, who, host, client_id)


def packed_host(host: str) -> bytes:
    """An address as its four or sixteen bytes. A host that is none (the simulator's have names) is nowhere."""
    from ipaddress import ip_address

    try:
        return ip_address(host).packed
    except ValueError:
        return _NOWHERE


def unpacked_host(raw: bytes) -> str:
    from ipaddress import ip_address

    try:
        return str(ip_address(raw))
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The client's address in the envelope is none.") from None
