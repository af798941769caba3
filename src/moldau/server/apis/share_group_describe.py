"""ShareGroupDescribe (key 77): state, members and assignments of share groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.share_group_describe import (
    DescribedGroup,
    ShareGroupDescribeRequest,
    ShareGroupDescribeResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.authorized_operations import group_operations
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def share_group_describe(
    context: RequestContext, request: ShareGroupDescribeRequest
) -> Work[ShareGroupDescribeResponse]:
    response = ShareGroupDescribeResponse()
    denied = Denied(context, Operation.DESCRIBE, GROUP)
    hidden = Denied(context, Operation.DESCRIBE, TOPIC)
    for group_id in request.group_ids:
        if group_id in denied:
            error = refusal(GROUP)
            response.groups.append(
                DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
            )
            yield
            continue
        group = yield from context.services.groups.shares.describe(group_id)
        if hidden and not group.error_code and hidden.among(_topics(group)):
            group = DescribedGroup(
                group_id=group_id,
                error_code=ErrorCode.TOPIC_AUTHORIZATION_FAILED,
                error_message="The group has topics that this client may not describe.",
            )
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = group_operations(context, group_id)
        response.groups.append(group)
        yield
    return response


def _topics(group: DescribedGroup) -> Iterator[str]:
    """Every topic its members are subscribed to or have."""
    for member in group.members:
        yield from member.subscribed_topic_names
        for topic in member.assignment.topic_partitions:
            yield topic.topic_name


def error_response(request: ShareGroupDescribeRequest, version: int, error: KafkaError) -> ShareGroupDescribeResponse:
    return ShareGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
            for group_id in request.group_ids
        ]
    )


SHARE_GROUP_DESCRIBE: Final = Api(
    ApiKey.SHARE_GROUP_DESCRIBE, ShareGroupDescribeRequest, share_group_describe, error_response
)
