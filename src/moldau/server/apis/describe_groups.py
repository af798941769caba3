"""DescribeGroups (key 15): state and members of classic groups.

Versions: 3 says on request what the client may do with the group, 4 knows static members, 5 is flexible, 6 has a code
and a message for a group that does not exist; before, it is called dead.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_groups import DescribedGroup, DescribeGroupsRequest, DescribeGroupsResponse
from moldau.security.acl import Operation
from moldau.server.apis.authorized_operations import group_operations
from moldau.server.authorization import GROUP, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work

_MESSAGE_SINCE = 6


def describe_groups(context: RequestContext, request: DescribeGroupsRequest) -> Work[DescribeGroupsResponse]:
    response = DescribeGroupsResponse()
    denied = Denied(context, Operation.DESCRIBE, GROUP)
    for group_id in request.groups:
        if group_id in denied:
            refused = error_response(request.changed(groups=[group_id]), context.version, refusal(GROUP))
            response.groups += refused.groups
            yield
            continue
        group = yield from context.services.groups.describe_group(group_id, context.version)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = group_operations(context, group_id)
        response.groups.append(group)
        yield
    return response


def error_response(request: DescribeGroupsRequest, version: int, error: KafkaError) -> DescribeGroupsResponse:
    message = error.message if version >= _MESSAGE_SINCE else None
    return DescribeGroupsResponse(
        groups=[
            DescribedGroup(group_id=group_id, error_code=error.code, error_message=message)
            for group_id in request.groups
        ]
    )


DESCRIBE_GROUPS: Final = Api(ApiKey.DESCRIBE_GROUPS, DescribeGroupsRequest, describe_groups, error_response)
