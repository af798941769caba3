"""Topics of a cluster that breaks: asked for until they are there, and until they are gone."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from moldau.client.admin.topics import NewTopic, create_topics
from moldau.client.conversation import CONTROLLER, Ask, Conversation, Learn, Pause, retrying
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from moldau.simulation.cluster_watch import MIN_IN_SYNC
from moldau.types import Uuid

TOPIC_SETTINGS: Final = {"min.insync.replicas": str(MIN_IN_SYNC), "internal.segment.bytes": "20000"}


def creating(name: str, partitions: int, configs: Mapping[str, str]) -> Conversation[None]:
    topic = NewTopic(name, partitions, 3, {**TOPIC_SETTINGS, **configs})
    failures = 0
    while True:
        (outcome,) = yield from retrying(lambda: create_topics([topic]), final=())
        if outcome.error is None or outcome.error.code is ErrorCode.TOPIC_ALREADY_EXISTS:
            break
        yield Pause(failures, outcome.error)
        failures += 1
    yield from retrying(lambda: _known(name), final=())


def deleting(name: str, topic_id: Uuid) -> Conversation[None]:
    """By its id: a request that was held up somewhere must not delete the next topic of that name. A broker that is cut
    off may still know the last one."""
    yield from retrying(lambda: _known_as(name, topic_id), final=())
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=None, topic_id=topic_id)], timeout_ms=10_000)
    failures = 0
    while True:
        try:
            response: DeleteTopicsResponse = yield Ask(request, to=CONTROLLER)
            error = error_code(response.responses[0].error_code)
        except KafkaError as failure:
            error = failure.code
        if error in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_ID):
            return
        yield Pause(failures, KafkaError(error))
        failures += 1


def _known_as(name: str, topic_id: Uuid) -> Conversation[None]:
    view: ClusterView = yield Learn([name], anew=True)
    if view.topic(name).id != topic_id:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID, f"{name} is still the topic of an earlier life.")


def _known(name: str) -> Conversation[None]:
    yield Learn([name], anew=True)
