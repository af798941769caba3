"""Envelope (key 58), at controllers: a broker passes on what one of its clients asked.

What is inside is handled as if the client had come here itself, and answered in its version. If the answer is that this
is not the active controller, the envelope says so, and the broker looks for the right one; all else is for the client.
"""

from __future__ import annotations

from struct import Struct
from types import GeneratorType
from typing import Any, Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.api import ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.security.acl import Operation
from moldau.server.authorization import require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api, Route, route_key
from moldau.server.envelopes import client_of, unseal
from moldau.server.request_channel import handled, read_bounded
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
        asked, _elements = yield from read_bounded(route, sealed.body)
    except ProtocolError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The forwarded request cannot be read.") from None
    try:
        answer = handled(inner, route, asked)
        if isinstance(answer, GeneratorType):
            answer = yield from answer
    except KafkaError as error:
        return _refused(route, asked, correlation_id, error)
    if isinstance(answer, Deferred):
        return _later(route, asked, correlation_id, answer)
    return _sealed(route, correlation_id, answer)


def _later(route: Route, asked: Message, correlation_id: int, answer: Deferred[Message]) -> Deferred[EnvelopeResponse]:
    envelope: Deferred[EnvelopeResponse] = Deferred()

    def settled(value: Message | None, error: BaseException | None) -> None:
        if value is not None:
            envelope.resolve(_sealed(route, correlation_id, value))
        elif isinstance(error, KafkaError):
            envelope.resolve(_refused(route, asked, correlation_id, error))
        else:
            assert error is not None
            envelope.fail(error)

    answer.then(settled)
    return envelope


def _refused(route: Route, asked: Message, correlation_id: int, error: KafkaError) -> EnvelopeResponse:
    build = route.api.error_response
    if error.code is ErrorCode.NOT_CONTROLLER or build is None:
        return EnvelopeResponse(error_code=error.code)
    return _sealed(route, correlation_id, build(asked, route.version, error))


def _sealed(route: Route, correlation_id: int, answer: Message) -> EnvelopeResponse:
    return EnvelopeResponse(
        response_data=_CORRELATION.pack(correlation_id) + route.response_tags + answer.encode(route.version)
    )


def error_response(request: EnvelopeRequest, version: int, error: KafkaError) -> EnvelopeResponse:
    return EnvelopeResponse(error_code=error.code)


ENVELOPE: Final = Api(ApiKey.ENVELOPE, EnvelopeRequest, envelope, error_response)
