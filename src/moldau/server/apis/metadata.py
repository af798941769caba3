"""Metadata (key 3): brokers and topics as clients see them; asking for a topic may create it.

Versions: in 0 an empty list means all topics, from 1 on null does and an empty list means none. 1 adds racks, the
controller and the internal flag, 2 the cluster id, 4 lets the client forbid creation, 5 adds offline replicas, 6 tells
a missing listener (LISTENER_NOT_FOUND) from a missing leader, 7 adds leader epochs, 8 authorized operations (for the
cluster only up to 10), 9 is flexible, 10 adds topic ids, 12 lets the client ask by id, 13 has an error for the whole
request.

A topic that is to be created is waited for: the answer then has its partitions and leaders, and the client need not
come back. Kafka answers at once that there is no such topic and lets the client ask again.

Topics are described and encoded once and kept so (`encoded_topics`); an answer is mostly bytes put side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Sequence
from typing import Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import topic_name
from moldau.metadata.image import MetadataImage, PartitionRegistration, TopicImage
from moldau.protocol.api import ApiKey
from moldau.protocol.arrays import array_count, compact_array_count
from moldau.protocol.message import EncodedMessage, Message
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from moldau.protocol.wire import Writer
from moldau.security.acl import Operation
from moldau.server.apis.authorized_operations import NOT_REQUESTED, cluster_operations, topic_operations
from moldau.server.apis.cluster_view import alive_brokers, any_broker, offline_replicas
from moldau.server.authorization import TOPIC, Denied, cluster_allowed, denied_names, refusal
from moldau.server.context import RequestContext
from moldau.server.controller_channel import FORWARDING
from moldau.server.dispatch import Api
from moldau.slicing import Work, distinct
from moldau.types import NO_LEADER, ZERO_UUID, Uuid

# How long a controller is looked for; then the client is told to come back.
_CREATION_SECONDS: Final = 10.0
# Topics that one request creates; whoever asked for more comes back for the rest.
MOST_CREATED: Final = 20
_THROTTLES_SINCE: Final = 3
_FLEXIBLE_SINCE: Final = 9


def metadata(context: RequestContext, request: MetadataRequest) -> Work[Message | Deferred[Message]]:
    image = context.services.metadata.image
    topics = request.topics
    if topics is None or (context.version == 0 and not topics):
        answer = _Answer(context, request, image)
        hidden = denied_names(context, Operation.DESCRIBE, TOPIC, quiet=True)
        for known in list(image.topics.by_name.values()):
            if known.name in hidden:
                yield
            else:
                yield from answer.describe(known)
        return answer.response()
    if context.version < 12:
        for topic in topics:
            if topic.name is None or topic.topic_id != ZERO_UUID:
                raise KafkaError(
                    ErrorCode.INVALID_REQUEST, f"Topics cannot be asked for by id in version {context.version}."
                )
            yield
    denied = denied_names(context, Operation.DESCRIBE, TOPIC)
    ids = yield from distinct(topic.topic_id for topic in topics if topic.topic_id != ZERO_UUID)
    if ids:
        answer = _Answer(context, request, image)
        for topic_id in ids:
            yield from answer.by_id(topic_id, denied)
        return answer.response()
    names = yield from distinct(topic.name for topic in topics if topic.name is not None)
    refused: dict[str, int] = {}
    if request.allow_auto_topic_creation and context.services.config.auto_create_topics_enable:
        missing = []
        uncreated = _NotCreatable(context)
        for name in names:
            if name in denied:
                pass
            elif image.topics.get(name) is None and name in uncreated:
                refused[name] = ErrorCode.TOPIC_AUTHORIZATION_FAILED
            elif image.topics.get(name) is None and _may_be_created(name):
                missing.append(name)
            yield
        if missing:
            return _create_and_respond(context, request, names, missing[:MOST_CREATED], refused, denied)
    return (yield from _by_names(context, request, names, lambda name: refused.get(name, ErrorCode.NONE), denied))


def _by_names(
    context: RequestContext,
    request: MetadataRequest,
    names: Sequence[str],
    refused: Callable[[str], int],
    denied: Container[str],
) -> Work[Message]:
    """`refused` says why a topic could not be created, where that was tried; of `denied` nothing is told."""
    answer = _Answer(context, request, context.services.metadata.image)
    for name in names:
        if name in denied:
            answer.deny(MetadataResponseTopic(error_code=refusal(TOPIC).code, name=name))
            yield
        else:
            yield from answer.by_name(name, refused(name))
    return answer.response()


def error_response(request: MetadataRequest, version: int, error: KafkaError) -> MetadataResponse:
    return MetadataResponse(
        error_code=error.code,
        topics=[
            MetadataResponseTopic(
                error_code=error.code, name=topic.name if version >= 12 else topic.name or "", topic_id=topic.topic_id
            )
            for topic in request.topics or ()
        ],
    )


METADATA: Final = Api(ApiKey.METADATA, MetadataRequest, metadata, error_response)


# ------------------------------------------------------------------------------------------------------- creation


def _create_and_respond(
    context: RequestContext,
    request: MetadataRequest,
    names: list[str],
    missing: list[str],
    unwanted: dict[str, int],
    denied: Container[str],
) -> Deferred[Message]:
    creation = CreateTopicsRequest(
        topics=[_creatable(context, name) for name in missing], timeout_ms=context.services.config.request_timeout_ms
    )
    answer: Deferred[Message] = Deferred()

    def created(response: CreateTopicsResponse | None, error: BaseException | None) -> None:
        # If the controller is in this process, the image has the new topics already: it is published before its answer
        # leaves. From elsewhere they come a moment later, and the client asks again, as it does with Kafka.
        refused = dict(unwanted)
        refused.update((topic.name, topic.error_code) for topic in ([] if response is None else response.topics))
        # The whole request failed or timed out: the client shall come back.
        otherwise = ErrorCode.LEADER_NOT_AVAILABLE if error is not None else ErrorCode.NONE
        work = _by_names(context, request, names, lambda name: refused.get(name, otherwise), denied)
        context.services.slicer.run_into(work, answer)

    channel = context.services.controller_channel
    if context.services.authorization is None:
        channel.ask(creation, timeout=_CREATION_SECONDS, line=FORWARDING).then(created)
    else:
        # In the client's name: what it may not do, this node does not do for it.
        version = CreateTopicsRequest.MAX_VERSION
        asking = RequestContext(
            context.connection, context.services, ApiKey.CREATE_TOPICS, version, 0, context.client_id
        )
        channel.forward(asking, creation, timeout=_CREATION_SECONDS).then(created)
    return answer


class _NotCreatable:
    """The topics this client may not create."""

    def __init__(self, context: RequestContext) -> None:
        self._context = context
        self._denied: Container[str] | None = None

    def __contains__(self, name: object) -> bool:
        if self._denied is None:
            context = self._context
            is_free = cluster_allowed(context, Operation.CREATE, quiet=True)
            self._denied = () if is_free else Denied(context, Operation.CREATE, TOPIC)
        return name in self._denied


def _may_be_created(name: str) -> bool:
    """Internal topics are made by their coordinators, which know the settings they need."""
    return topic_name.why_invalid(name) is None and not topic_name.is_internal(name)


def _creatable(context: RequestContext, name: str) -> CreatableTopic:
    config = context.services.config
    return CreatableTopic(
        name=name, num_partitions=config.num_partitions, replication_factor=config.default_replication_factor
    )


# ------------------------------------------------------------------------------------------------------- answers


class _Answer:
    """One answer as it comes together, topic by topic, each in its bytes; known ones come from the cache."""

    def __init__(self, context: RequestContext, request: MetadataRequest, image: MetadataImage) -> None:
        self._context = context
        self._request = request
        self._image = image
        self._with_operations = context.version >= 8 and request.include_topic_authorized_operations
        self._cached = context.services.encoded_topics.of(image, context.version, context.listener_name)
        self._topics: list[bytes] = []

    def deny(self, topic: MetadataResponseTopic) -> None:
        out = Writer()
        MetadataResponseTopic.write_all(out, (topic,), self._context.version)
        self._topics.append(out.bytes())

    def by_id(self, topic_id: Uuid, denied: Container[str]) -> Work[None]:
        topic = self._image.topics.by_id(topic_id)
        if topic is not None and topic.name in denied:
            self.deny(MetadataResponseTopic(error_code=refusal(TOPIC).code, name=None, topic_id=topic_id))
            yield
            return
        if topic is not None:
            yield from self.describe(topic)
            return
        self._add(MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id))
        yield

    def by_name(self, name: str, refused: int) -> Work[None]:
        topic = self._image.topics.get(name)
        if topic is not None:
            yield from self.describe(topic)
            return
        if topic_name.why_invalid(name) is not None:
            code: int = ErrorCode.INVALID_TOPIC_EXCEPTION
        elif refused in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            # Created, here or by somebody else, and not yet seen here.
            code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        else:
            code = refused
        self._add(MetadataResponseTopic(error_code=code, name=name, is_internal=topic_name.is_internal(name)))
        yield

    def describe(self, topic: TopicImage) -> Work[None]:
        if self._with_operations:
            self._topics.append((yield from self._encode(topic, topic_operations(self._context, topic.name))))
            return
        cached = self._cached.get(topic.name)
        if cached is None or cached[0] is not topic:
            cached = self._cached[topic.name] = (topic, (yield from self._encode(topic, NOT_REQUESTED)))
        self._topics.append(cached[1])
        yield

    def _encode(self, topic: TopicImage, operations: int) -> Work[bytes]:
        listener, version = self._context.listener_name, self._context.version
        described = MetadataResponseTopic(
            name=topic.name,
            topic_id=topic.id,
            is_internal=topic_name.is_internal(topic.name),
            topic_authorized_operations=operations,
        )
        for index, state in topic.partitions.items():
            described.partitions.append(_partition(self._image, index, state, listener, version))
            yield
        out = Writer()
        yield from MetadataResponseTopic.write_slices(out, (described,), version)
        return out.bytes()

    def _add(self, topic: MetadataResponseTopic) -> None:
        if self._with_operations and topic.name is not None:
            topic.topic_authorized_operations = topic_operations(self._context, topic.name)
        self.deny(topic)

    def response(self) -> Message:
        """The topics go where the answer without any has its empty array: all that follows it is of fixed size."""
        version = self._context.version
        frame = self._without_topics().encode(version)
        flexible = version >= _FLEXIBLE_SINCE
        end = len(frame) - (4 if 8 <= version <= 10 else 0) - (2 if version >= 13 else 0) - flexible
        start = end - (1 if flexible else 4)
        count = compact_array_count(self._topics) if flexible else array_count(self._topics)
        content = b"".join((frame[:start], count, *self._topics, frame[end:]))
        return EncodedMessage(content, throttles=version >= _THROTTLES_SINCE)

    def _without_topics(self) -> MetadataResponse:
        context, version = self._context, self._context.version
        # The topics are those of one image; by the end of a long answer a newer one may know the brokers better.
        image = context.services.metadata.image
        return MetadataResponse(
            brokers=[
                MetadataResponseBroker(node_id=broker.id, host=endpoint.host, port=endpoint.port, rack=broker.rack)
                for broker, endpoint in alive_brokers(image, context.listener_name)
            ],
            cluster_id=context.services.cluster_id,
            controller_id=any_broker(context, image),
            cluster_authorized_operations=(
                cluster_operations(context)
                if 8 <= version <= 10 and self._request.include_cluster_authorized_operations
                else NOT_REQUESTED
            ),
        )


def _partition(
    image: MetadataImage, index: int, state: PartitionRegistration, listener: str, version: int
) -> MetadataResponsePartition:
    replicas, isr = list(state.replicas), list(state.isr)
    if version == 0:
        replicas, isr = _reachable(image, replicas, listener), _reachable(image, isr, listener)
    leader = state.leader
    code = ErrorCode.NONE
    if image.cluster.endpoint(leader, listener) is None:
        # A leader that is registered but cannot be reached over this listener is a mistake someone should hear of.
        code = ErrorCode.LEADER_NOT_AVAILABLE
        if version >= 6 and leader in image.cluster.brokers and not image.cluster.brokers[leader].fenced:
            code = ErrorCode.LISTENER_NOT_FOUND
        leader = NO_LEADER
    elif len(replicas) < len(state.replicas) or len(isr) < len(state.isr):
        code = ErrorCode.REPLICA_NOT_AVAILABLE
    return MetadataResponsePartition(
        error_code=code,
        partition_index=index,
        leader_id=leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=replicas,
        isr_nodes=isr,
        offline_replicas=offline_replicas(image, state, listener),
    )


def _reachable(image: MetadataImage, brokers: Iterable[int], listener: str) -> list[int]:
    """Version 0 names only brokers that are in the answer."""
    return [broker for broker in brokers if image.cluster.endpoint(broker, listener) is not None]
