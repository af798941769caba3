"""OffsetFetch (key 9): the offsets a group has committed.

Versions: 2 asks for all topics with null and has a code for the whole answer, 5 adds leader epochs, 6 is flexible, 7
can ask for stable offsets only, 8 takes several groups, 9 member epochs, 10 topics by id.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from moldau.deferred import Deferred, gather, mapped, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from moldau.security.acl import Operation
from moldau.server.authorization import GROUP, TOPIC, Denied, refusal, require
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts

_GROUP_CODE_SINCE = 2
_SEVERAL_SINCE = 8
_IDS_SINCE = 10


def offset_fetch(context: RequestContext, request: OffsetFetchRequest) -> Deferred[OffsetFetchResponse]:
    groups, stable = context.services.groups, request.require_stable
    if context.version >= _SEVERAL_SINCE:
        image = context.services.metadata.image
        by_id = context.version >= _IDS_SINCE
        denied = Denied(context, Operation.DESCRIBE, GROUP)
        answers = [
            _fetch_group(context, group, image, by_id, stable)
            if group.group_id not in denied
            else ready(OffsetFetchResponseGroup(group_id=group.group_id, error_code=refusal(GROUP).code))
            for group in request.groups
        ]
        return mapped(gather(answers), lambda rows: OffsetFetchResponse(groups=rows))
    require(context, Operation.DESCRIBE, GROUP, request.group_id)
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    only = OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)
    fetched = _shown(context, only, lambda: groups.fetch_offsets(only, require_stable=stable))
    return mapped(fetched, lambda group: _single(request, group, context.version))


def _fetch_group(
    context: RequestContext, group: OffsetFetchRequestGroup, image: MetadataImage, by_id: bool, stable: bool
) -> Deferred[OffsetFetchResponseGroup]:
    unknown: list[OffsetFetchResponseTopics] = []
    if by_id and group.topics is not None:
        known = []
        for topic in group.topics:
            found = image.topics.by_id(topic.topic_id)
            if found is None:
                unknown.append(_failed_topic(topic, ErrorCode.UNKNOWN_TOPIC_ID))
            else:
                topic.name = found.name
                known.append(topic)
        group.topics = known

    def complete(response: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        if by_id and not response.error_code:
            response.topics = [*_with_ids(response.topics, image), *unknown]
        return response

    groups = context.services.groups
    return mapped(_shown(context, group, lambda: groups.fetch_offsets(group, require_stable=stable)), complete)


def _shown(
    context: RequestContext, group: OffsetFetchRequestGroup, fetch: Callable[[], Deferred[OffsetFetchResponseGroup]]
) -> Deferred[OffsetFetchResponseGroup]:
    """What may be told of it: topics that were named are refused, of all others nothing is said."""
    denied = Denied(context, Operation.DESCRIBE, TOPIC, quiet=group.topics is None)
    if not denied:
        return fetch()
    refused = [_failed_topic(topic, refusal(TOPIC).code) for topic in group.topics or () if topic.name in denied]
    if group.topics is not None:
        group.topics = [topic for topic in group.topics if topic.name not in denied]

    def complete(response: OffsetFetchResponseGroup) -> OffsetFetchResponseGroup:
        if not response.error_code:
            response.topics = [*(topic for topic in response.topics if topic.name not in denied), *refused]
        return response

    return mapped(fetch(), complete)


def _with_ids(topics: list[OffsetFetchResponseTopics], image: MetadataImage) -> list[OffsetFetchResponseTopics]:
    """All topics of a group were asked for: those that no longer exist have no id to be named by."""
    rows = []
    for row in topics:
        topic = image.topics.get(row.name)
        if topic is not None:
            row.topic_id = topic.id
            rows.append(row)
    return rows


def _failed_topic(topic: OffsetFetchRequestTopics, code: ErrorCode) -> OffsetFetchResponseTopics:
    return OffsetFetchResponseTopics(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, metadata="", error_code=code)
            for index in topic.partition_indexes
        ],
    )


def _single(request: OffsetFetchRequest, group: OffsetFetchResponseGroup, version: int) -> OffsetFetchResponse:
    """The answer for one group, as versions before 8 have it."""
    if group.error_code:
        return _failed(request, group.error_code, version)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=row.partition_index,
                        committed_offset=row.committed_offset,
                        committed_leader_epoch=row.committed_leader_epoch,
                        metadata=row.metadata,
                        error_code=row.error_code,
                    )
                    for row in topic.partitions
                ],
            )
            for topic in group.topics
        ]
    )


def _failed(request: OffsetFetchRequest, code: int, version: int) -> OffsetFetchResponse:
    if version >= _GROUP_CODE_SINCE:
        return OffsetFetchResponse(error_code=code)
    return OffsetFetchResponse(
        topics=[
            OffsetFetchResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetFetchResponsePartition(
                        partition_index=index, committed_offset=-1, metadata="", error_code=code
                    )
                    for index in topic.partition_indexes
                ],
            )
            for topic in request.topics or ()
        ]
    )


def error_response(request: OffsetFetchRequest, version: int, error: KafkaError) -> OffsetFetchResponse:
    if version < _SEVERAL_SINCE:
        return _failed(request, error.code, version)
    return OffsetFetchResponse(
        groups=[OffsetFetchResponseGroup(group_id=group.group_id, error_code=error.code) for group in request.groups]
    )


OFFSET_FETCH: Final = Api(
    ApiKey.OFFSET_FETCH,
    OffsetFetchRequest,
    offset_fetch,
    error_response,
    parts=(
        Parts(
            ("groups", "topics", "partition_indexes"),
            ("groups", "topics", "partitions"),
            size=50,
            once=lambda group: group.group_id if group.topics is None else None,
        ),
        Parts(("topics", "partition_indexes"), ("topics", "partitions")),
    ),
)
