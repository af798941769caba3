"""OffsetDelete (key 47): deletes committed offsets of topics a group no longer subscribes to."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api


def offset_delete(context: RequestContext, request: OffsetDeleteRequest) -> Deferred[OffsetDeleteResponse]:
    topics = context.services.metadata.image.topics
    known: list[OffsetDeleteRequestTopic] = []
    unknown: list[OffsetDeleteRequestTopic] = []
    for topic in request.topics:
        (unknown if topics.get(topic.name) is None else known).append(topic)
    refused = [
        OffsetDeleteResponseTopic(
            name=topic.name,
            partitions=[
                OffsetDeleteResponsePartition(
                    partition_index=row.partition_index, error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
                for row in topic.partitions
            ],
        )
        for topic in unknown
    ]

    def complete(response: OffsetDeleteResponse) -> OffsetDeleteResponse:
        if not response.error_code:
            response.topics += refused
        return response

    if refused and not known:
        return ready(OffsetDeleteResponse(topics=refused))
    answer = context.services.groups.delete_offsets(OffsetDeleteRequest(group_id=request.group_id, topics=known))
    return mapped(answer, complete)


def error_response(request: OffsetDeleteRequest, version: int, error: KafkaError) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)


OFFSET_DELETE: Final = Api(ApiKey.OFFSET_DELETE, OffsetDeleteRequest, offset_delete, error_response)
