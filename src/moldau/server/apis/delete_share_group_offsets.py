"""DeleteShareGroupOffsets (key 92): a share group without members forgets how far it was in some topics."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsResponse,
    DeleteShareGroupOffsetsResponseTopic,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def delete_share_group_offsets(
    context: RequestContext, request: DeleteShareGroupOffsetsRequest
) -> Deferred[DeleteShareGroupOffsetsResponse]:
    require(context, Operation.DELETE, GROUP, request.group_id)
    denied = Denied(context, Operation.READ, TOPIC)
    error = refusal(TOPIC)
    refused = [
        DeleteShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name, error_code=error.code, error_message=error.message
        )
        for topic in request.topics
        if topic.topic_name in denied
    ]
    allowed = [topic for topic in request.topics if topic.topic_name not in denied]

    def complete(response: DeleteShareGroupOffsetsResponse) -> DeleteShareGroupOffsetsResponse:
        if not response.error_code:
            response.responses += refused
        return response

    return mapped(context.services.groups.shares.delete_offsets(request.changed(topics=allowed)), complete)


def error_response(
    request: DeleteShareGroupOffsetsRequest, version: int, error: KafkaError
) -> DeleteShareGroupOffsetsResponse:
    return DeleteShareGroupOffsetsResponse(error_code=error.code, error_message=error.message)


DELETE_SHARE_GROUP_OFFSETS: Final = Api(
    ApiKey.DELETE_SHARE_GROUP_OFFSETS,
    DeleteShareGroupOffsetsRequest,
    delete_share_group_offsets,
    error_response,
    # Each part writes down all of what the group has a state for.
    parts=(Parts(("topics",), ("responses",), size=2000),),
    most_elements=50_000,
)
