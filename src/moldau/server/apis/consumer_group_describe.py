"""ConsumerGroupDescribe (key 69): state, members and assignments of consumer groups.

Version 1 says which protocol a member speaks.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
    DescribedGroup,
)
from moldau.server.apis.authorized_operations import group_operations
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def consumer_group_describe(
    context: RequestContext, request: ConsumerGroupDescribeRequest
) -> Work[ConsumerGroupDescribeResponse]:
    response = ConsumerGroupDescribeResponse()
    for group_id in request.group_ids:
        group = yield from context.services.groups.describe_consumer_group(group_id)
        if request.include_authorized_operations and not group.error_code:
            group.authorized_operations = group_operations(context, group_id)
        response.groups.append(group)
        yield
    return response


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
