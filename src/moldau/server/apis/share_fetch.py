"""ShareFetch (key 78): a member of a share group acquires records, and says what became of those it had.

Version 1 is the first of Kafka 4.1; 2 adds how strictly the number of records is meant (`share_acquire_mode`) and
locks that are renewed. 0 was that of Kafka 4.0, which had share groups to try.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moldau.deferred import Deferred, chained, mapped, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.share_fetch import (
    AcknowledgementBatch,
    AcquiredRecords,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    ShareFetchableTopicResponse,
    ShareFetchRequest,
    ShareFetchResponse,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, DeniedTopics, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.leader_hints import MOVED, leader_hint
from moldau.server.share.acknowledging import (
    Outcomes,
    acknowledge,
    check_member,
    denied_topics,
    require_share_groups,
    why_not,
)
from moldau.server.share.share_fetch import Fetched, ShareFetchCall, ShareFetchOptions
from moldau.server.share.share_sessions import FINAL_EPOCH, INITIAL_EPOCH, Place, ShareSession
from moldau.slicing import Work
from moldau.types import Uuid

# Of the acquire modes: never more records than were asked for.
_RECORD_LIMIT: Final = 1


def share_fetch(
    context: RequestContext, request: ShareFetchRequest
) -> Work[ShareFetchResponse | Deferred[ShareFetchResponse]]:
    require_share_groups(context)
    group_id, member_id = check_member(request.group_id, request.member_id)
    require(context, Operation.READ, GROUP, group_id)
    renews = request.is_renew_ack
    if renews and (request.max_bytes or request.min_bytes or request.max_records or request.max_wait_ms):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A request that renews locks does not ask for records.")
    said: list[tuple[Place, Sequence[AcknowledgementBatch]]] = []
    wanted: dict[Place, None] = {}
    for topic in request.topics:
        for row in topic.partitions:
            place = (topic.topic_id, row.partition_index)
            wanted[place] = None
            if row.acknowledgement_batches:
                said.append((place, row.acknowledgement_batches))
            yield
        yield
    shares, connection = context.services.share_partitions, context.connection
    epoch = request.share_session_epoch
    try:
        session = shares.sessions.fetch(group_id, member_id, epoch, wanted, connection, acknowledges=bool(said))
    except KafkaError as error:
        if error.code is ErrorCode.SHARE_SESSION_LIMIT_REACHED:
            return _later(context, request, error)
        raise
    connection.when_closed(lambda: shares.sessions.connection_closed(connection))
    if not connection.open:
        shares.sessions.connection_closed(connection)
    if epoch not in (INITIAL_EPOCH, FINAL_EPOCH):
        for forgotten in request.forgotten_topics_data:
            for index in forgotten.partitions:
                session.partitions.pop((forgotten.topic_id, index), None)
                yield
            yield
    denied = denied_topics(context)
    outcomes, told = yield from acknowledge(context, session, said, denied, renews=renews)
    fetched: Deferred[list[Fetched]] = ready([])
    if epoch == FINAL_EPOCH:
        shares.sessions.end(session)
    elif not renews:
        fetched = yield from _fetch(context, request, session, denied)
    lock_ms = shares.configs.of(group_id).share_record_lock_duration_ms
    return context.services.slicer.then(
        chained(told, lambda: fetched), lambda found: _response(context, found, outcomes, lock_ms)
    )


def _fetch(
    context: RequestContext, request: ShareFetchRequest, session: ShareSession, denied: DeniedTopics
) -> Work[Deferred[list[Fetched]]]:
    services, connection = context.services, context.connection
    places: list[Place] = []
    refused: list[Fetched] = []
    for place in session.rotated():
        error = why_not(context, denied, place[0])
        if error is None:
            places.append(place)
        else:
            refused.append(Fetched(place, error=error))
        yield
    most = min(services.client_quotas.most_fetched(connection, request.max_bytes), services.config.fetch_max_bytes)
    options = ShareFetchOptions(
        # What is refused is told at once.
        0 if refused else request.max_wait_ms,
        request.min_bytes,
        most,
        request.max_records,
        request.batch_size,
        request.share_acquire_mode == _RECORD_LIMIT,
    )
    now_ms = int(services.runtime.clock.monotonic() * 1000)
    shares = services.share_partitions
    call = ShareFetchCall(session, options, shares, services.replicas, services.slicer, now_ms)
    answer = call.run(places)
    if not answer.settled:
        connection.gives_way(call.give_way)
    return mapped(answer, lambda found: refused + found)


def _response(
    context: RequestContext, fetched: Sequence[Fetched], outcomes: Outcomes, lock_ms: int
) -> Work[ShareFetchResponse]:
    response = ShareFetchResponse(acquisition_lock_timeout_ms=lock_ms)
    rows: dict[Place, PartitionData] = {}
    for found in fetched:
        row = rows[found.place] = PartitionData(partition_index=found.place[1], records=found.records)
        row.acquired_records = [
            AcquiredRecords(first_offset=first, last_offset=last, delivery_count=count)
            for first, last, count in found.acquired
        ]
        if found.error is not None:
            row.error_code, row.error_message = found.error.code, found.error.message
            _name_leader(context, response, row, found.place, found.error)
        yield
    for place, error in outcomes.items():
        row = rows.setdefault(place, PartitionData(partition_index=place[1], records=b""))
        if error is not None:
            row.acknowledge_error_code, row.acknowledge_error_message = error.code, error.message
            _name_leader(context, response, row, place, error)
        yield
    by_topic: dict[Uuid, ShareFetchableTopicResponse] = {}
    for (topic_id, _), row in rows.items():
        topic = by_topic.get(topic_id)
        if topic is None:
            topic = by_topic[topic_id] = ShareFetchableTopicResponse(topic_id=topic_id)
            response.responses.append(topic)
        topic.partitions.append(row)
        yield
    return response


def _name_leader(
    context: RequestContext, response: ShareFetchResponse, row: PartitionData, place: Place, error: KafkaError
) -> None:
    hint = leader_hint(context.services, context.listener_name, *place) if error.code in MOVED else None
    if hint is None:
        return
    row.current_leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
    if hint.endpoint is not None and all(node.node_id != hint.leader_id for node in response.node_endpoints):
        response.node_endpoints.append(
            NodeEndpoint(node_id=hint.leader_id, host=hint.endpoint.host, port=hint.endpoint.port, rack=hint.rack)
        )


def _later(context: RequestContext, request: ShareFetchRequest, error: KafkaError) -> Deferred[ShareFetchResponse]:
    """Who cannot have a session is not to ask for one all the time."""
    answer: Deferred[ShareFetchResponse] = Deferred()
    refused = error_response(request, context.version, error)
    context.services.runtime.loop.call_later(max(0, request.max_wait_ms) / 1000, lambda: answer.resolve(refused))
    return answer


def error_response(request: ShareFetchRequest, version: int, error: KafkaError) -> ShareFetchResponse:
    return ShareFetchResponse(error_code=error.code, error_message=error.message)


SHARE_FETCH: Final = Api(ApiKey.SHARE_FETCH, ShareFetchRequest, share_fetch, error_response, most_elements=100_000)
