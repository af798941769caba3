"""CreatePartitions (key 37): gives a topic more partitions. Version 2 is flexible, 3 may be throttled by quota."""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)
from moldau.server.apis.forwarding import controller_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def create_partitions(context: RequestContext, request: CreatePartitionsRequest) -> Deferred[CreatePartitionsResponse]:
    return controller_of(context).create_partitions(request)


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
