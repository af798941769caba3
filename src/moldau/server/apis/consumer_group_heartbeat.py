"""ConsumerGroupHeartbeat (key 68): a member of a consumer group tells what it has and learns what it should have.

Version 1 subscribes by regular expression, and the member chooses its own id.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal, require, visible_topics
from moldau.server.context import RequestContext, request_info
from moldau.server.dispatch import Api


def consumer_group_heartbeat(
    context: RequestContext, request: ConsumerGroupHeartbeatRequest
) -> Deferred[ConsumerGroupHeartbeatResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    if Denied(context, Operation.DESCRIBE, TOPIC).among(request.subscribed_topic_names or ()):
        raise refusal(TOPIC)
    return context.services.groups.consumer_group_heartbeat(request_info(context, visible_topics(context)), request)


def error_response(
    request: ConsumerGroupHeartbeatRequest, version: int, error: KafkaError
) -> ConsumerGroupHeartbeatResponse:
    return ConsumerGroupHeartbeatResponse(error_code=error.code, error_message=error.message)


CONSUMER_GROUP_HEARTBEAT: Final = Api(
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ConsumerGroupHeartbeatRequest,
    consumer_group_heartbeat,
    error_response,
    most_elements=20_000,
)
