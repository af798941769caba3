"""OffsetCommit (key 8): stores the offsets a group has consumed.

Versions: 2 to 4 carry a retention time, 6 the leader epoch, 7 the instance id, 8 is flexible, 9 takes member epochs of
the consumer protocol, 10 names topics by id. The coordinator works with names, so ids are looked up here, and what is
not known is answered here.

Two ways lead to it. A commit of few partitions that are all there is read, decided and answered by the compiled one;
whatever needs a second thought, and every refusal, goes through the generated classes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from moldau import _speed
from moldau.deferred import Deferred, mapped, ready, recovered
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from moldau.runtime.ports import Chunk
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, DeniedTopics, refusal, require
from moldau.server.commit_runs import plain_commit
from moldau.server.context import RequestContext, Services, request_info
from moldau.server.dispatch import DECLINED, Api, RawAnswer, RawHandler
from moldau.server.parts import Parts
from moldau.server.permitted_runs import may_commit
from moldau.server.request_channel import LARGE_REQUEST

if TYPE_CHECKING:
    from moldau.server.connection import Connection

if _speed.COMPILED:
    from moldau._speed.commits import encode_commit, parse_commit

_IDS_SINCE = 10


def raw_offset_commit(services: Services) -> RawHandler:
    """The compiled way; it declines what it does not know, before anything has changed."""

    def commit_bytes(
        connection: Connection, data: memoryview, start: int, end: int, version: int, correlation_id: int
    ) -> RawAnswer:
        # One long name may be as large as a request of many parts.
        plan = parse_commit(data, start, end, version) if end - start <= LARGE_REQUEST else None
        if plan is None or services.client_quotas.active:
            return DECLINED
        topics = plan[4]
        authorization = services.authorization
        if authorization is not None and not may_commit(services, authorization, connection, plan):
            return DECLINED
        commit = plain_commit(services, version, plan)
        written = None if commit is None else services.groups.plain_commits.commit(commit)
        if written is None:
            return DECLINED
        if written is True:
            return [encode_commit(version, correlation_id, topics, 0)]

        def answer(_: None) -> list[Chunk]:
            return [encode_commit(version, correlation_id, topics, 0)]

        def refuse(error: KafkaError) -> list[Chunk]:
            return [encode_commit(version, correlation_id, topics, error.code)]

        return recovered(mapped(written, answer), refuse)

    return commit_bytes


def offset_commit(context: RequestContext, request: OffsetCommitRequest) -> Deferred[OffsetCommitResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    refused: list[OffsetCommitResponseTopic] = []
    denied = DeniedTopics(context, Operation.READ)
    request.topics = [
        known for topic in request.topics if (known := _known(context, topic, refused, denied)) is not None
    ]
    if refused and not request.topics:
        return ready(OffsetCommitResponse(topics=refused))

    def complete(response: OffsetCommitResponse) -> OffsetCommitResponse:
        rows = {(row.name, row.topic_id): row for row in response.topics}
        for row in refused:
            same = rows.get((row.name, row.topic_id))
            if same is None:
                response.topics.append(row)
            else:
                same.partitions += row.partitions
        return response

    return mapped(context.services.groups.commit_offsets(request_info(context), request), complete)


def _known(
    context: RequestContext,
    topic: OffsetCommitRequestTopic,
    refused: list[OffsetCommitResponseTopic],
    denied: DeniedTopics,
) -> OffsetCommitRequestTopic | None:
    """The part of the topic that exists, with its name; the rest becomes an answer."""
    topics = context.services.metadata.image.topics
    by_id = context.version >= _IDS_SINCE
    if (topic.topic_id if by_id else topic.name) in denied:
        refused.append(_failed(topic, refusal(TOPIC).code))
        return None
    found = topics.by_id(topic.topic_id) if by_id else topics.get(topic.name)
    if found is None:
        code = ErrorCode.UNKNOWN_TOPIC_ID if by_id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        refused.append(_failed(topic, code))
        return None
    missing = [row for row in topic.partitions if row.partition_index not in found.partitions]
    if missing:
        gone = OffsetCommitRequestTopic(name=found.name, topic_id=found.id, partitions=missing)
        refused.append(_failed(gone, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    present = [row for row in topic.partitions if row.partition_index in found.partitions]
    if not present:
        return None
    return OffsetCommitRequestTopic(name=found.name, topic_id=found.id, partitions=present)


def _failed(topic: OffsetCommitRequestTopic, code: ErrorCode) -> OffsetCommitResponseTopic:
    return OffsetCommitResponseTopic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetCommitResponsePartition(partition_index=row.partition_index, error_code=code)
            for row in topic.partitions
        ],
    )


def error_response(request: OffsetCommitRequest, version: int, error: KafkaError) -> OffsetCommitResponse:
    return OffsetCommitResponse(topics=[_failed(topic, error.code) for topic in request.topics])


OFFSET_COMMIT: Final = Api(
    ApiKey.OFFSET_COMMIT,
    OffsetCommitRequest,
    offset_commit,
    error_response,
    raw=raw_offset_commit if _speed.COMPILED else None,
    parts=(Parts(("topics", "partitions"), ("topics", "partitions"), size=500),),
)
