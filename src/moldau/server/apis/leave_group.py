"""LeaveGroup (key 13): members leave a classic group.

Versions: 3 takes several members, so that a tool can remove static ones by their instance id; 4 is flexible, 5 takes a
reason.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, require
from moldau.server.context import RequestContext, request_info
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def leave_group(context: RequestContext, request: LeaveGroupRequest) -> Deferred[LeaveGroupResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    return context.services.groups.leave_group(request_info(context), request)


def error_response(request: LeaveGroupRequest, version: int, error: KafkaError) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error.code)


LEAVE_GROUP: Final = Api(
    ApiKey.LEAVE_GROUP, LeaveGroupRequest, leave_group, error_response, parts=(Parts(("members",), ("members",)),)
)
