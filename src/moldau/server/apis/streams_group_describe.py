"""StreamsGroupDescribe (key 89): state, topology, members and tasks of streams groups."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.streams_group_describe import (
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.authorized_operations import group_operations
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def streams_group_describe(
    context: RequestContext, request: StreamsGroupDescribeRequest
) -> Work[StreamsGroupDescribeResponse]:
    response = StreamsGroupDescribeResponse()
    denied = Denied(context, Operation.DESCRIBE, GROUP)
    hidden = Denied(context, Operation.DESCRIBE, TOPIC)
    for group_id in request.group_ids:
        if group_id in denied:
            refused = error_response(request.changed(group_ids=[group_id]), context.version, refusal(GROUP))
            response.groups += refused.groups
            yield
            continue
        group = yield from context.services.groups.streams.describe(group_id)
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
    """Every topic of its topology."""
    for each in () if group.topology is None else group.topology.subtopologies or ():
        yield from each.source_topics
        yield from each.repartition_sink_topics
        for topic in (*each.repartition_source_topics, *each.state_changelog_topics):
            yield topic.name


def error_response(
    request: StreamsGroupDescribeRequest, version: int, error: KafkaError
) -> StreamsGroupDescribeResponse:
    return StreamsGroupDescribeResponse(
        groups=[
            DescribedGroup(group_id=group_id, error_code=error.code, error_message=error.message)
            for group_id in request.group_ids
        ]
    )


STREAMS_GROUP_DESCRIBE: Final = Api(
    ApiKey.STREAMS_GROUP_DESCRIBE, StreamsGroupDescribeRequest, streams_group_describe, error_response
)
