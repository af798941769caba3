"""JoinGroup (key 11): a member enters a classic group, or the next generation of it.

The answer waits until everybody has joined. Versions: 1 has a rebalance timeout of its own, 4 tells a new member its id
and lets it join again, 5 knows static members, 6 is flexible, 7 names the protocol type, 8 takes a reason, 9 can tell
a leader not to assign.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, require, visible_topics
from moldau.server.context import RequestContext, request_info
from moldau.server.dispatch import Api

_NULL_PROTOCOL_SINCE = 7


def join_group(context: RequestContext, request: JoinGroupRequest) -> Deferred[JoinGroupResponse]:
    require(context, Operation.READ, GROUP, request.group_id)
    answer = context.services.groups.join_group(request_info(context, visible_topics(context)), request)
    return mapped(answer, lambda response: _shape(response, context.version))


def _shape(response: JoinGroupResponse, version: int) -> JoinGroupResponse:
    if response.protocol_name is None and version < _NULL_PROTOCOL_SINCE:
        response.protocol_name = ""
    return response


def error_response(request: JoinGroupRequest, version: int, error: KafkaError) -> JoinGroupResponse:
    return _shape(JoinGroupResponse(error_code=error.code, member_id=request.member_id), version)


JOIN_GROUP: Final = Api(ApiKey.JOIN_GROUP, JoinGroupRequest, join_group, error_response, most_elements=2000)
