"""ShareAcknowledge (key 79): a member of a share group says what became of its records, without asking for others.

Version 2 adds locks that are renewed, and says how long they last. 0 was that of Kafka 4.0.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.share_acknowledge import (
    AcknowledgementBatch,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareAcknowledgeRequest,
    ShareAcknowledgeResponse,
    ShareAcknowledgeTopicResponse,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.leader_hints import MOVED, leader_hint
from moldau.server.share.acknowledging import (
    Outcomes,
    acknowledge,
    check_member,
    denied_topics,
    require_share_groups,
)
from moldau.server.share.share_sessions import FINAL_EPOCH, Place
from moldau.slicing import Work
from moldau.types import Uuid


def share_acknowledge(
    context: RequestContext, request: ShareAcknowledgeRequest
) -> Work[Deferred[ShareAcknowledgeResponse]]:
    require_share_groups(context)
    group_id, member_id = check_member(request.group_id, request.member_id)
    require(context, Operation.READ, GROUP, group_id)
    shares, epoch = context.services.share_partitions, request.share_session_epoch
    session = shares.sessions.acknowledge(group_id, member_id, epoch)
    said: list[tuple[Place, Sequence[AcknowledgementBatch]]] = []
    for topic in request.topics:
        for row in topic.partitions:
            said.append(((topic.topic_id, row.partition_index), row.acknowledgement_batches))
            yield
        yield
    outcomes, told = yield from acknowledge(context, session, said, denied_topics(context), renews=request.is_renew_ack)
    if epoch == FINAL_EPOCH:
        shares.sessions.end(session)
    lock_ms = shares.configs.of(group_id).share_record_lock_duration_ms
    return context.services.slicer.then(told, lambda _: _response(context, outcomes, lock_ms))


def _response(context: RequestContext, outcomes: Outcomes, lock_ms: int) -> Work[ShareAcknowledgeResponse]:
    response = ShareAcknowledgeResponse(acquisition_lock_timeout_ms=lock_ms)
    by_topic: dict[Uuid, ShareAcknowledgeTopicResponse] = {}
    for place, error in outcomes.items():
        row = PartitionData(partition_index=place[1])
        topic = by_topic.get(place[0])
        if topic is None:
            topic = by_topic[place[0]] = ShareAcknowledgeTopicResponse(topic_id=place[0])
            response.responses.append(topic)
        topic.partitions.append(row)
        if error is not None:
            row.error_code, row.error_message = error.code, error.message
            if error.code in MOVED:
                _name_leader(context, response, row, place)
        yield
    return response


def _name_leader(context: RequestContext, response: ShareAcknowledgeResponse, row: PartitionData, place: Place) -> None:
    hint = leader_hint(context.services, context.listener_name, *place)
    if hint is None:
        return
    row.current_leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
    if hint.endpoint is not None and all(node.node_id != hint.leader_id for node in response.node_endpoints):
        response.node_endpoints.append(
            NodeEndpoint(node_id=hint.leader_id, host=hint.endpoint.host, port=hint.endpoint.port, rack=hint.rack)
        )


def error_response(request: ShareAcknowledgeRequest, version: int, error: KafkaError) -> ShareAcknowledgeResponse:
    return ShareAcknowledgeResponse(error_code=error.code, error_message=error.message)


SHARE_ACKNOWLEDGE: Final = Api(
    ApiKey.SHARE_ACKNOWLEDGE, ShareAcknowledgeRequest, share_acknowledge, error_response, most_elements=100_000
)
