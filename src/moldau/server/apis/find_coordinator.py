"""FindCoordinator (key 10): which broker looks after a group, a transactional id, or the state of a share partition.

Versions: 0 knows groups only, 1 adds the type and a message, 3 is flexible, 4 asks for several keys at once, 5 may
answer that a transaction must be aborted, 6 knows the states of share groups, whose keys are group:topic id:partition.

The coordinator of an id is the leader of one partition of an internal topic, found by Kafka's hash. The topic is
created when it is first asked for; the answer waits for it, so that a client need not ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Final, NamedTuple

from moldau.coordinator.partition_hash import partition_for
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TRANSACTIONAL_ID, Denied, refusal, require_cluster
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.internal_topics import CONSUMER_OFFSETS, SHARE_GROUP_STATE, TRANSACTION_STATE
from moldau.slicing import Work, distinct, run_whole
from moldau.types import uuid_from_text

_SHARE: Final = 2
_TOPICS: Final = {0: CONSUMER_OFFSETS, 1: TRANSACTION_STATE, _SHARE: SHARE_GROUP_STATE}


class _Found(NamedTuple):
    code: ErrorCode = ErrorCode.NONE
    message: str | None = None
    node_id: int = -1
    host: str = ""
    port: int = -1


def find_coordinator(
    context: RequestContext, request: FindCoordinatorRequest
) -> Work[FindCoordinatorResponse | Deferred[FindCoordinatorResponse]]:
    keys = [request.key] if context.version < 4 else (yield from distinct(request.coordinator_keys))
    topic = _TOPICS.get(request.key_type)
    denied: Container[str] = ()
    if request.key_type == 0:
        denied, refused = Denied(context, Operation.DESCRIBE, GROUP), _Found(refusal(GROUP).code)
    elif request.key_type == 1:
        denied, refused = Denied(context, Operation.DESCRIBE, TRANSACTIONAL_ID), _Found(refusal(TRANSACTIONAL_ID).code)
    elif request.key_type == _SHARE:
        if context.version >= 6:
            require_cluster(context, Operation.CLUSTER_ACTION)
        else:
            topic = None
    if topic is None:
        unknown = _Found(ErrorCode.INVALID_REQUEST, f"The coordinator type {request.key_type} is not known.")
        return (yield from _response(context.version, keys, lambda _: unknown))

    malformed = _Found(ErrorCode.INVALID_REQUEST, "A share partition is named group:topic id:partition.")

    def find(key: str) -> _Found:
        if request.key_type == _SHARE and not _is_share_partition(key):
            return malformed
        return refused if key in denied else _find(context, topic, key)

    if context.services.metadata.image.topics.get(topic) is not None:
        return (yield from _response(context.version, keys, find))
    if all(key in denied for key in keys):
        return (yield from _response(context.version, keys, find))
    answer: Deferred[FindCoordinatorResponse] = Deferred()

    def created(_value: None, error: BaseException | None) -> None:
        def answer_to(key: str) -> _Found:
            if isinstance(error, KafkaError) and key not in denied:
                return _Found(error.code, error.message)
            return find(key)

        context.services.slicer.run_into(_response(context.version, keys, answer_to), answer)

    context.services.create_internal_topic(topic).then(created)
    return answer


def _is_share_partition(key: str) -> bool:
    # A group may have colons in its name.
    group, topic_id, partition = ("", "", *key.rsplit(":", 2))[-3:]
    try:
        uuid_from_text(topic_id)
        return bool(group) and int(partition) >= 0
    except ValueError:
        return False


def _find(context: RequestContext, topic: str, key: str) -> _Found:
    image = context.services.metadata.image
    known = image.topics.get(topic)
    index = partition_for(key, len(known.partitions)) if known is not None else 0
    state = known.partitions.get(index) if known is not None else None
    if state is not None and state.leader == context.services.config.node_id:
        _begin(context, topic, index)
    endpoint = image.cluster.endpoint(state.leader, context.listener_name) if state is not None else None
    if state is None or endpoint is None:
        return _Found(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator has no leader that can be reached here.")
    return _Found(node_id=state.leader, host=endpoint.host, port=endpoint.port)


def _begin(context: RequestContext, topic: str, index: int) -> None:
    """Of a topic that was created just now most partitions are still to be opened: this one is needed at once."""
    try:
        context.services.replicas.get(topic, index)
    except KafkaError:
        pass  # its disk is full or gone: whoever asks the coordinator hears of it


def _response(version: int, keys: Sequence[str], find: Callable[[str], _Found]) -> Work[FindCoordinatorResponse]:
    if version < 4:
        only = find(keys[0])
        return FindCoordinatorResponse(
            error_code=only.code, error_message=only.message, node_id=only.node_id, host=only.host, port=only.port
        )
    response = FindCoordinatorResponse()
    for key in keys:
        one = find(key)
        response.coordinators.append(
            Coordinator(
                key=key,
                node_id=one.node_id,
                host=one.host,
                port=one.port,
                error_code=one.code,
                error_message=one.message,
            )
        )
        yield
    return response


def error_response(request: FindCoordinatorRequest, version: int, error: KafkaError) -> FindCoordinatorResponse:
    keys = [request.key] if version < 4 else request.coordinator_keys
    return run_whole(_response(version, keys, lambda _: _Found(error.code, error.message)))


FIND_COORDINATOR: Final = Api(ApiKey.FIND_COORDINATOR, FindCoordinatorRequest, find_coordinator, error_response)
