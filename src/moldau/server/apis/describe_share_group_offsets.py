"""DescribeShareGroupOffsets (key 90): where share groups stand in their partitions. Version 1 adds the lag."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, gather, mapped, ready
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponseGroup,
    DescribeShareGroupOffsetsResponsePartition,
    DescribeShareGroupOffsetsResponseTopic,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts
from moldau.slicing import Work
from moldau.types import NO_OFFSET


def describe_share_group_offsets(
    context: RequestContext, request: DescribeShareGroupOffsetsRequest
) -> Work[Deferred[DescribeShareGroupOffsetsResponse]]:
    denied = Denied(context, Operation.DESCRIBE, GROUP)
    answers: list[Deferred[DescribeShareGroupOffsetsResponseGroup]] = []
    for group in request.groups:
        if group.group_id in denied:
            answers.append(ready(_failed(group, refusal(GROUP))))
        else:
            answers.append((yield from _describe(context, group)))
        yield
    return mapped(gather(answers), lambda groups: DescribeShareGroupOffsetsResponse(groups=groups))


def _describe(
    context: RequestContext, group: DescribeShareGroupOffsetsRequestGroup
) -> Work[Deferred[DescribeShareGroupOffsetsResponseGroup]]:
    hidden = Denied(context, Operation.DESCRIBE, TOPIC)
    shares = context.services.groups.shares
    if group.topics is None:
        everything = yield from shares.describe_offsets(group)

        def seen(found: DescribeShareGroupOffsetsResponseGroup) -> DescribeShareGroupOffsetsResponseGroup:
            found.topics = [topic for topic in found.topics if topic.topic_name not in hidden]
            return found

        return mapped(everything, seen)
    refused = [
        DescribeShareGroupOffsetsResponseTopic(
            topic_name=topic.topic_name,
            partitions=[
                DescribeShareGroupOffsetsResponsePartition(
                    partition_index=number,
                    start_offset=NO_OFFSET,
                    error_code=refusal(TOPIC).code,
                    error_message=refusal(TOPIC).message,
                )
                for number in topic.partitions
            ],
        )
        for topic in group.topics
        if topic.topic_name in hidden
    ]
    visible = [topic for topic in group.topics if topic.topic_name not in hidden]
    described = yield from shares.describe_offsets(
        DescribeShareGroupOffsetsRequestGroup(group_id=group.group_id, topics=visible)
    )

    def complete(found: DescribeShareGroupOffsetsResponseGroup) -> DescribeShareGroupOffsetsResponseGroup:
        if not found.error_code:
            found.topics += refused
        return found

    return mapped(described, complete)


def _failed(group: DescribeShareGroupOffsetsRequestGroup, error: KafkaError) -> DescribeShareGroupOffsetsResponseGroup:
    return DescribeShareGroupOffsetsResponseGroup(
        group_id=group.group_id, error_code=error.code, error_message=error.message
    )


def error_response(
    request: DescribeShareGroupOffsetsRequest, version: int, error: KafkaError
) -> DescribeShareGroupOffsetsResponse:
    return DescribeShareGroupOffsetsResponse(groups=[_failed(group, error) for group in request.groups])


DESCRIBE_SHARE_GROUP_OFFSETS: Final = Api(
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS,
    DescribeShareGroupOffsetsRequest,
    describe_share_group_offsets,
    error_response,
    parts=(Parts(("groups", "topics", "partitions"), ("groups", "topics", "partitions"), size=500),),
    most_elements=100_000,
)
