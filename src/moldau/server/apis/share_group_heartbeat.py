"""ShareGroupHeartbeat (key 76): a member of a share group tells what it subscribes to and learns what it should read.

Version 1 is the first and only one; 0 was that of Kafka 4.0, which had share groups to try.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest, ShareGroupHeartbeatResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal, require
from moldau.server.context import RequestContext, request_info
from moldau.server.dispatch import Api


def share_group_heartbeat(
    context: RequestContext, request: ShareGroupHeartbeatRequest
) -> Deferred[ShareGroupHeartbeatResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    if Denied(context, Operation.DESCRIBE, TOPIC).among(request.subscribed_topic_names or ()):
        raise refusal(TOPIC)
    return context.services.groups.shares.heartbeat(request_info(context), request)


def error_response(request: ShareGroupHeartbeatRequest, version: int, error: KafkaError) -> ShareGroupHeartbeatResponse:
    return ShareGroupHeartbeatResponse(error_code=error.code, error_message=error.message)


SHARE_GROUP_HEARTBEAT: Final = Api(
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ShareGroupHeartbeatRequest,
    share_group_heartbeat,
    error_response,
    most_elements=20_000,
)
