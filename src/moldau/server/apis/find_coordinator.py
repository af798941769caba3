"""FindCoordinator (key 10): which broker looks after a group or a transactional id.

Versions: 0 knows groups only, 1 adds the type and a message, 3 is flexible, 4 asks for several keys at once, 6 knows
share groups.

A group is spread over the living brokers by Kafka's hash of its name, so that a client that only wants to know where
the group lives (librdkafka asks even with assigned partitions) gets a stable answer; what it may do there is what that
broker advertises. Transactions have no coordinator, and a client that asks is told to try again later.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from moldau.server.apis.cluster_view import alive_brokers
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api

_GROUP, _TRANSACTION, _SHARE = 0, 1, 2


class _Found(NamedTuple):
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    node_id: int = -1
    host: str = ""
    port: int = -1


def find_coordinator(context: RequestContext, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    if context.version < 4:
        found = _find(context, request.key_type, request.key)
        return FindCoordinatorResponse(
            error_code=found.code,
            error_message=found.message,
            node_id=found.node_id,
            host=found.host,
            port=found.port,
        )
    return FindCoordinatorResponse(
        coordinators=[
            _coordinator(key, _find(context, request.key_type, key)) for key in dict.fromkeys(request.coordinator_keys)
        ]
    )


def java_hash(text: str) -> int:
    """The hash Kafka spreads names by, as a number that is not negative."""
    units = text.encode("utf-16-be")
    value = 0
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & 0xFFFFFFFF
    return value & 0x7FFFFFFF


def _find(context: RequestContext, key_type: int, key: str) -> _Found:
    if key_type == _TRANSACTION:
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, "This broker does not coordinate transactions.")
    if key_type != _GROUP:
        return _Found(ErrorCode.INVALID_REQUEST, f"The coordinator type {key_type} is not known.")
    brokers = sorted(alive_brokers(context.services.metadata.image, context.listener_name), key=lambda pair: pair[0].id)
    if not brokers:
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, "No broker can be reached over this listener.")
    broker, endpoint = brokers[java_hash(key) % len(brokers)]
    return _Found(node_id=broker.id, host=endpoint.host, port=endpoint.port)


def _coordinator(key: str, found: _Found) -> Coordinator:
    return Coordinator(
        key=key,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
        error_code=found.code,
        error_message=found.message,
    )


def error_response(request: FindCoordinatorRequest, version: int, error: KafkaError) -> FindCoordinatorResponse:
    found = _Found(error.code, error.message)
    if version < 4:
        return FindCoordinatorResponse(error_code=found.code, error_message=found.message, node_id=-1, port=-1)
    return FindCoordinatorResponse(coordinators=[_coordinator(key, found) for key in request.coordinator_keys])


FIND_COORDINATOR: Final = Api(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, find_coordinator, error_response)
