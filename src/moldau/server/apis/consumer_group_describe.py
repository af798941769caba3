"""ConsumerGroupDescribe (key 69): state, members and assignments of consumer groups.

Version 1 says which protocol a member speaks.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from moldau.security.acl import Operation
from moldau.server.apis.authorized_operations import group_operations
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def consumer_group_describe(
    context: RequestContext, request: ConsumerGroupDescribeRequest
) -> Work[ConsumerGroupDescribeResponse]:
    response = ConsumerGroupDescribeResponse()
    denied = Denied(context, Operation.DESCRIBE, GROUP)
    hidden = Denied(context, Operation.DESCRIBE, TOPIC)
    for group_id in request.group_ids:
        if group_id in denied:
            refused = error_response(request.changed(group_ids=[group_id]), context.version, refusal(GROUP))
            response.groups += refused.groups
            yield
            continue
        group = yield from context.services.groups.describe_consumer_group(group_id)
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
        for assignment in (member.assignment, member.target_assignment):
            for topic in assignment.topic_partitions:
                yield topic.topic_name


def error_response(
    request: ConsumerGroupDescribeRequest, version: int, error: KafkaError
) -> ConsumerGroupDescribeResponse:
    return ConsumerGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
            for group_id in request.group_ids
        ]
    )


CONSUMER_GROUP_DESCRIBE: Final = Api(
    ApiKey.CONSUMER_GROUP_DESCRIBE, ConsumerGroupDescribeRequest, consumer_group_describe, error_response
)
