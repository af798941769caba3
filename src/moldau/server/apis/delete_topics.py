"""DeleteTopics (key 20).

Versions: 3 tells that deletion is switched off (TOPIC_DELETION_DISABLED, before that INVALID_REQUEST), 4 is flexible,
5 adds a message, 6 takes names or ids.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from moldau.server.apis.forwarding import controller_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts
from moldau.types import ZERO_UUID


def delete_topics(context: RequestContext, request: DeleteTopicsRequest) -> Deferred[DeleteTopicsResponse]:
    return controller_of(context).delete_topics(request, context.version)


def error_response(request: DeleteTopicsRequest, version: int, error: KafkaError) -> DeleteTopicsResponse:
    asked = [(name, ZERO_UUID) for name in request.topic_names]
    return DeleteTopicsResponse(
        responses=[
            DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code, error_message=error.message)
            for name, topic_id in [*asked, *((topic.name, topic.topic_id) for topic in request.topics)]
        ]
    )


DELETE_TOPICS: Final = Api(
    ApiKey.DELETE_TOPICS,
    DeleteTopicsRequest,
    delete_topics,
    error_response,
    parts=(
        Parts(("topics",), ("responses",), unique=("name", "topic_id")),
        Parts(("topic_names",), ("responses",), unique=("name",)),
    ),
)
