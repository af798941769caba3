"""OffsetDelete (key 47): deletes committed offsets of topics a group no longer subscribes to."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def offset_delete(context: RequestContext, request: OffsetDeleteRequest) -> Deferred[OffsetDeleteResponse]:
    require(context, Operation.DELETE, GROUP, request.group_id)
    denied = Denied(context, Operation.READ, TOPIC)
    topics = context.services.metadata.image.topics
    known: list[OffsetDeleteRequestTopic] = []
    refused: dict[str, OffsetDeleteResponseTopic] = {}
    for topic in request.topics:
        if topic.name in denied:
            rows = refused.setdefault(topic.name, OffsetDeleteResponseTopic(name=topic.name)).partitions
            rows += [_refused(row.partition_index, refusal(TOPIC).code) for row in topic.partitions]
            continue
        found = topics.get(topic.name)
        partitions = found.partitions if found is not None else {}
        present = [row for row in topic.partitions if row.partition_index in partitions]
        missing = [row for row in topic.partitions if row.partition_index not in partitions]
        if present:
            known.append(OffsetDeleteRequestTopic(name=topic.name, partitions=present))
        if missing:
            rows = refused.setdefault(topic.name, OffsetDeleteResponseTopic(name=topic.name)).partitions
            rows += [_refused(row.partition_index, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION) for row in missing]

    def complete(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        if not response.error_code:
            for topic in response.topics:
                if topic.name in refused:
                    topic.partitions += refused.pop(topic.name).partitions
            response.topics += refused.values()
        return response

    # Asked even if nothing is left of the request: whether the group exists comes first.
    answer = context.services.groups.delete_offsets(OffsetDeleteRequest(group_id=request.group_id, topics=known))
    return mapped(answer, complete)


def _refused(index: int, code: ErrorCode) -> OffsetDeleteResponsePartition:
    return OffsetDeleteResponsePartition(partition_index=index, error_code=code)


def error_response(request: OffsetDeleteRequest, version: int, error: KafkaError) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)


OFFSET_DELETE: Final = Api(
    ApiKey.OFFSET_DELETE,
    OffsetDeleteRequest,
    offset_delete,
    error_response,
    parts=(Parts(("topics", "partitions"), ("topics", "partitions"), size=500),),
)
