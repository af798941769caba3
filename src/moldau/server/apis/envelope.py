"""Envelope (key 58), at controllers: a broker passes on what one of its clients asked.

What is inside is handled as if the client had come here itself, and answered in its version. If the answer is that this
is not the active controller, the envelope says so, and the broker looks for the right one; all else is for the client.
"""

from __future__ import annotations

from struct import Struct
from types import GeneratorType
from typing import Any, Final

from moldau.deferred import Deferred, failed, ready
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.protocol.slices import freed
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api, Route, route_key
from moldau.server.envelopes import client_of, unseal, written
from moldau.server.request_channel import MANY_ELEMENTS, handled, read_bounded, says_error
from moldau.slicing import Work

# What a broker may pass on, as Kafka has it: requests of clients that change the cluster or ask about its quorum.
FORWARDABLE: Final = frozenset(
    {
        ApiKey.CREATE_TOPICS,
        ApiKey.DELETE_TOPICS,
        ApiKey.CREATE_ACLS,
        ApiKey.DELETE_ACLS,
        ApiKey.ALTER_CONFIGS,
        ApiKey.CREATE_PARTITIONS,
        ApiKey.CREATE_DELEGATION_TOKEN,
        ApiKey.RENEW_DELEGATION_TOKEN,
        ApiKey.EXPIRE_DELEGATION_TOKEN,
        ApiKey.ELECT_LEADERS,
        ApiKey.INCREMENTAL_ALTER_CONFIGS,
        ApiKey.ALTER_PARTITION_REASSIGNMENTS,
        ApiKey.LIST_PARTITION_REASSIGNMENTS,
        ApiKey.ALTER_CLIENT_QUOTAS,
        ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
        ApiKey.DESCRIBE_QUORUM,
        ApiKey.UPDATE_FEATURES,
        ApiKey.UNREGISTER_BROKER,
        ApiKey.ADD_RAFT_VOTER,
        ApiKey.REMOVE_RAFT_VOTER,
    }
)

_CORRELATION: Final = Struct(">i")


def envelope(context: RequestContext, request: EnvelopeRequest) -> Work[EnvelopeResponse | Deferred[EnvelopeResponse]]:
    require_cluster(context, Operation.CLUSTER_ACTION)
    sealed = unseal(request)
    route = context.connection.table.routes.get(route_key(sealed.api_key, sealed.version))
    if sealed.api_key not in FORWARDABLE:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"The API with key {sealed.api_key} is not passed on.")
    if route is None:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION)
    client: Any = client_of(request, context.connection, sealed.header.client_id)
    correlation_id = sealed.header.correlation_id
    inner = RequestContext(
        client, context.services, sealed.api_key, sealed.version, correlation_id, sealed.header.client_id
    )
    try:
        asked, elements = yield from read_bounded(route, sealed.body)
    except ProtocolError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The forwarded request cannot be read.") from None
    try:
        answer = handled(inner, route, asked)
        if isinstance(answer, GeneratorType):
            answer = yield from answer
    except KafkaError as error:
        answer = failed(error)
    if not isinstance(answer, Deferred):
        answer = ready(answer)
    slicer, many = context.services.slicer, elements > MANY_ELEMENTS
    refused = None if many else asked
    envelope: Deferred[EnvelopeResponse] = Deferred()

    def settled(value: Message | None, error: BaseException | None) -> None:
        if value is not None:
            slicer.run_into(_sealed(route, correlation_id, value), envelope)
        elif isinstance(error, KafkaError):
            slicer.run_into(_refused(route, refused, correlation_id, error), envelope)
        else:
            assert error is not None
            envelope.fail(error)
        if many:
            slicer.run(freed(asked, alone=True))

    answer.then(settled)
    return envelope


def _refused(route: Route, request: Message | None, correlation_id: int, error: KafkaError) -> Work[EnvelopeResponse]:
    """`request` is None if it named so much that only an error for all of it can be said."""
    build = route.api.error_response
    if error.code is ErrorCode.NOT_CONTROLLER or build is None:
        return EnvelopeResponse(error_code=error.code)
    response = build(request or route.api.request(), route.version, error)
    if request is None and not says_error(response, route.version):
        return EnvelopeResponse(error_code=error.code)
    return (yield from _sealed(route, correlation_id, response))


def _sealed(route: Route, correlation_id: int, answer: Message) -> Work[EnvelopeResponse]:
    head = _CORRELATION.pack(correlation_id) + route.response_tags
    data = yield from written(answer, route.version, head)
    yield from freed(answer)
    return EnvelopeResponse(response_data=data)


def error_response(request: EnvelopeRequest, version: int, error: KafkaError) -> EnvelopeResponse:
    return EnvelopeResponse(error_code=error.code)


ENVELOPE: Final = Api(ApiKey.ENVELOPE, EnvelopeRequest, envelope, error_response)
