"""CreatePartitions (key 37): gives a topic more partitions. Version 2 is flexible, 3 may be throttled by quota."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import TOPIC, Denied, named_once, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.mutation_quotas import charged
from moldau.server.parts import Parts

# The first version whose clients know that changes may be throttled.
_KNOWS_QUOTAS: Final = 3


def create_partitions(context: RequestContext, request: CreatePartitionsRequest) -> Deferred[CreatePartitionsResponse]:
    # What is named twice is refused for that.
    denied = Denied(context, Operation.ALTER, TOPIC)
    once = named_once(topic.name for topic in request.topics) if denied else ()
    refused = [topic.name for topic in request.topics if topic.name in once and topic.name in denied]
    if not refused:
        return _created(context, request)
    rows = error_response(
        request.changed(topics=[topic for topic in request.topics if topic.name in refused]),
        context.version,
        refusal(TOPIC),
    ).results
    allowed = request.changed(topics=[topic for topic in request.topics if topic.name not in refused])
    return mapped(_created(context, allowed), lambda response: response.changed(results=[*response.results, *rows]))


def _created(context: RequestContext, request: CreatePartitionsRequest) -> Deferred[CreatePartitionsResponse]:
    controller = controller_of(context)
    return charged(
        context,
        _KNOWS_QUOTAS,
        lambda charge: controller.create_partitions(request, charge),
        in_earnest=not request.validate_only,
    )


def error_response(request: CreatePartitionsRequest, version: int, error: KafkaError) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message)
            for topic in request.topics
        ]
    )


CREATE_PARTITIONS: Final = Api(
    ApiKey.CREATE_PARTITIONS,
    CreatePartitionsRequest,
    create_partitions,
    error_response,
    parts=(Parts(("topics",), ("results",), unique=("name",), size=50),),
)
