"""CreateTopics (key 19).

Versions: 4 lets the broker choose partitions and replicas (-1), 5 is flexible and returns the settings, partitions and
replication factor of the new topic, 6 may be throttled by quota, 7 returns the topic id.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from moldau.server.apis.forwarding import controller_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts


def create_topics(context: RequestContext, request: CreateTopicsRequest) -> Deferred[CreateTopicsResponse]:
    return controller_of(context).create_topics(request)


def error_response(request: CreateTopicsRequest, version: int, error: KafkaError) -> CreateTopicsResponse:
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreateTopicsResponse(
        topics=[CreatableTopicResult(name=name, error_code=error.code, error_message=error.message) for name in names]
    )


CREATE_TOPICS: Final = Api(
    ApiKey.CREATE_TOPICS,
    CreateTopicsRequest,
    create_topics,
    error_response,
    parts=(Parts(("topics",), ("topics",), unique=("name",), size=50),),
)
