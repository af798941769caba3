"""Heartbeat (key 12): a member of a classic group is still there. Version 3 knows static members, 4 is flexible."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, require
from moldau.server.context import RequestContext, request_info
from moldau.server.dispatch import Api


def heartbeat(context: RequestContext, request: HeartbeatRequest) -> Deferred[HeartbeatResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    return context.services.groups.heartbeat(request_info(context), request)


def error_response(request: HeartbeatRequest, version: int, error: KafkaError) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error.code)


HEARTBEAT: Final = Api(ApiKey.HEARTBEAT, HeartbeatRequest, heartbeat, error_response)
