"""DeleteTopics (key 20).

Versions: 3 tells that deletion is switched off (TOPIC_DELETION_DISABLED, before that INVALID_REQUEST), 4 is flexible,
5 adds a message, 6 takes names or ids.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import TOPIC, Denied, cluster_allowed, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.mutation_quotas import charged
from moldau.server.parts import Parts
from moldau.types import ZERO_UUID, Uuid

# The first version whose clients know that changes may be throttled.
_KNOWS_QUOTAS: Final = 5


def delete_topics(context: RequestContext, request: DeleteTopicsRequest) -> Deferred[DeleteTopicsResponse]:
    if context.services.authorization is None or cluster_allowed(context, Operation.DELETE, quiet=True):
        return _deleted(context, request)
    allowed, rows = _allowed(context, request)
    return mapped(_deleted(context, allowed), lambda response: response.changed(responses=[*response.responses, *rows]))


def _deleted(context: RequestContext, request: DeleteTopicsRequest) -> Deferred[DeleteTopicsResponse]:
    controller = controller_of(context)
    return charged(context, _KNOWS_QUOTAS, lambda charge: controller.delete_topics(request, context.version, charge))


def _allowed(
    context: RequestContext, request: DeleteTopicsRequest
) -> tuple[DeleteTopicsRequest, list[DeletableTopicResult]]:
    """What may be deleted or is refused for another reason, and the answers to the rest. Nobody learns here whether
    there is a topic that he may not describe, nor its name."""
    topics = context.services.metadata.image.topics
    hidden = Denied(context, Operation.DESCRIBE, TOPIC)
    denied = Denied(context, Operation.DELETE, TOPIC)
    rows: list[DeletableTopicResult] = []

    def may_pass(name: str | None, topic_id: Uuid) -> bool:
        if name is not None and topic_id != ZERO_UUID:
            return True  # which cannot be
        known = topics.by_id(topic_id) if name is None else topics.get(name)
        if name is None and known is None:
            return True
        called = name if known is None or name is not None else known.name
        assert called is not None
        if called not in hidden and (known is None or called not in denied):
            return True
        shown = None if name is None and called in hidden else called
        rows.append(DeletableTopicResult(name=shown, topic_id=topic_id, error_code=refusal(TOPIC).code))
        return False

    return request.changed(
        topic_names=[name for name in request.topic_names if may_pass(name, ZERO_UUID)],
        topics=[topic for topic in request.topics if may_pass(topic.name, topic.topic_id)],
    ), rows


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
