"""CreatePartitions (key 37): gives a topic more partitions. Version 2 is flexible, 3 may be throttled by quota."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import TOPIC, Denied, named_once, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.mutation_quotas import metered
from moldau.server.parts import Parts


def create_partitions(context: RequestContext, request: CreatePartitionsRequest) -> Deferred[CreatePartitionsResponse]:
    # What is named twice is refused for that.
    denied = Denied(context, Operation.ALTER, TOPIC)
    once = named_once(topic.name for topic in request.topics) if denied else ()
    refused = [topic.name for topic in request.topics if topic.name in once and topic.name in denied]
    if not refused:
        return controller_of(context).create_partitions(request)
    rows = error_response(
        request.changed(topics=[topic for topic in request.topics if topic.name in refused]),
        context.version,
        refusal(TOPIC),
    ).results
    allowed = request.changed(topics=[topic for topic in request.topics if topic.name not in refused])
    created = controller_of(context).create_partitions(allowed)
    return mapped(created, lambda response: response.changed(results=[*response.results, *rows]))


def error_response(request: CreatePartitionsRequest, version: int, error: KafkaError) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )


def _partitions(context: RequestContext, topic: CreatePartitionsTopic) -> int:
    """How many more there are to be."""
    known = context.services.metadata.image.topics.get(topic.name)
    return 0 if known is None else max(0, topic.count - len(known.partitions))


CREATE_PARTITIONS: Final = metered(
    Api(
        ApiKey.CREATE_PARTITIONS,
        CreatePartitionsRequest,
        create_partitions,
        error_response,
        parts=(Parts(("topics",), ("results",), unique=("name",), size=50),),
    ),
    strict_since=3,
    count=_partitions,
)
