"""SyncGroup (key 14): the leader of a classic group hands in the assignment, every member gets its part.

Versions: 3 knows static members, 4 is flexible, 5 names the protocol, so that a mismatch is noticed.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, require
from moldau.server.context import RequestContext, request_info
from moldau.server.dispatch import Api

_PROTOCOL_SINCE: Final = 5


def sync_group(context: RequestContext, request: SyncGroupRequest) -> Deferred[SyncGroupResponse]:
    if context.version >= _PROTOCOL_SINCE and (request.protocol_type is None or request.protocol_name is None):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    require(context, Operation.READ, GROUP, request.group_id)
    return context.services.groups.sync_group(request_info(context), request)


def error_response(request: SyncGroupRequest, version: int, error: KafkaError) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)


SYNC_GROUP: Final = Api(ApiKey.SYNC_GROUP, SyncGroupRequest, sync_group, error_response, most_elements=20_000)
