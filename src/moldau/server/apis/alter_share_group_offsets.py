"""AlterShareGroupOffsets (key 91): moves where a share group without members begins to read."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsResponse,
    AlterShareGroupOffsetsResponsePartition,
    AlterShareGroupOffsetsResponseTopic,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def alter_share_group_offsets(
    context: RequestContext, request: AlterShareGroupOffsetsRequest
) -> Deferred[AlterShareGroupOffsetsResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    denied = Denied(context, Operation.READ, TOPIC)
    error = refusal(TOPIC)
    refused = [
        AlterShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            partitions=[
                AlterShareGroupOffsetsResponsePartition(
                    partition_index=row.partition_index, error_code=error.code, error_message=error.message
                )
                for row in topic.partitions
            ],
        )
        for topic in request.topics
        if topic.topic_name in denied
    ]
    allowed = [topic for topic in request.topics if topic.topic_name not in denied]

    def complete(response: AlterShareGroupOffsetsResponse) -> AlterShareGroupOffsetsResponse:
        if not response.error_code:
            response.responses += refused
        return response

    return mapped(context.services.groups.shares.alter_offsets(request.changed(topics=allowed)), complete)


def error_response(
    request: AlterShareGroupOffsetsRequest, version: int, error: KafkaError
) -> AlterShareGroupOffsetsResponse:
    return AlterShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)


ALTER_SHARE_GROUP_OFFSETS: Final = Api(
    ApiKey.ALTER_SHARE_GROUP_OFFSETS,
    AlterShareGroupOffsetsRequest,
    alter_share_group_offsets,
    error_response,
    # Each part writes down all of what the group has a state for.
    parts=(Parts(("topics", "partitions"), ("responses", "partitions"), size=2000),),
    most_elements=50_000,
)
