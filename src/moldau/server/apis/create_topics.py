"""CreateTopics (key 19).

Versions: 4 lets the broker choose partitions and replicas (-1), 5 is flexible and returns the settings, partitions and
replication factor of the new topic, 6 may be throttled by quota, 7 returns the topic id.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred, mapped
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.security.acl import Operation
from moldau.server.apis.forwarding import controller_of
from moldau.server.authorization import TOPIC, Denied, cluster_allowed, named_once, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.mutation_quotas import charged
from moldau.server.parts import Parts

# The first version whose clients know that changes may be throttled.
_KNOWS_QUOTAS: Final = 6


def create_topics(context: RequestContext, request: CreateTopicsRequest) -> Deferred[CreateTopicsResponse]:
    if context.services.authorization is None:
        return _created(context, request)
    refused: set[str] = set()
    if not cluster_allowed(context, Operation.CREATE, quiet=True):
        # What is named twice, or never can be created, is refused for that.
        once = named_once(topic.name for topic in request.topics) - {topic_name.CLUSTER_METADATA}
        refused = Denied(context, Operation.CREATE, TOPIC).among(once)
    rows = error_response(
        request.changed(topics=[topic for topic in request.topics if topic.name in refused]),
        context.version,
        refusal(TOPIC),
    ).topics
    hidden = Denied(context, Operation.DESCRIBE_CONFIGS, TOPIC, quiet=True)
    allowed = request.changed(topics=[topic for topic in request.topics if topic.name not in refused])
    created = _created(context, allowed)
    return mapped(
        created,
        lambda response: response.changed(
            topics=[*(_without_settings(topic) if topic.name in hidden else topic for topic in response.topics), *rows]
        ),
    )


def _created(context: RequestContext, request: CreateTopicsRequest) -> Deferred[CreateTopicsResponse]:
    controller = controller_of(context)
    return charged(
        context,
        _KNOWS_QUOTAS,
        lambda charge: controller.create_topics(request, charge),
        in_earnest=not request.validate_only,
    )


def _without_settings(topic: CreatableTopicResult) -> CreatableTopicResult:
    if topic.error_code:
        return topic
    code = ErrorCode.TOPIC_AUTHORIZATION_FAILED
    return topic.changed(configs=[], num_partitions=-1, replication_factor=-1, topic_config_error_code=code)


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
