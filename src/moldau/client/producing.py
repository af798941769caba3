"""Conversations of those who write: who am I, where does the topic live, and here are batches, one per partition."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from moldau.client.conversation import Ask, Conversation, Learn, Pause, retrying
from moldau.client.leaders import ask_leaders, by_topic
from moldau.client.metadata import ClusterView, TopicView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.errors import UnsupportedRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.types import NO_OFFSET, NO_PRODUCER_EPOCH, NO_PRODUCER_ID, ZERO_UUID, TopicPartition

ALL = -1

# From the next version on Produce names topics by id only.
_LAST_BY_NAME = 12

_REQUEST_TIMEOUT_MS = 30_000

# How often a topic that is not there is asked for again: a broker that creates topics by itself needs a moment.
CREATION_ATTEMPTS = 5


class ProducerId(NamedTuple):
    id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH


def init_producer_id() -> Conversation[ProducerId]:
    """An id under which the broker recognizes repeated batches; none from brokers that do not give any."""
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=_REQUEST_TIMEOUT_MS)

    def attempt() -> Conversation[ProducerId]:
        try:
            response: InitProducerIdResponse = yield Ask(request)
        except UnsupportedRequest:
            return ProducerId()
        code = error_code(response.error_code)
        if code is ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            return ProducerId()
        if code is not ErrorCode.NONE:
            raise KafkaError(code)
        return ProducerId(response.producer_id, response.producer_epoch)

    return retrying(attempt)


def topic_to_write(name: str, attempts: float = CREATION_ATTEMPTS, *, create: bool = True) -> Conversation[TopicView]:
    """The topic, created by the broker if it is set to do that and we do not mind.

    One that is not there is asked for again so many times, without end if somebody else may be about to create it.
    """
    failures = missing = 0
    while True:
        try:
            view: ClusterView = yield Learn([name], create=create)
            return view.topic(name)
        except KafkaError as error:
            if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                missing += 1
                if missing > attempts:
                    raise
                yield Pause(min(missing - 1, 1), error)
            elif error.retriable:
                yield Pause(failures, error)
                failures += 1
            else:
                raise


def deliver(
    batches: Mapping[TopicPartition, bytes], *, acks: int = ALL, transactional_id: str | None = None
) -> Conversation[dict[TopicPartition, int | KafkaError]]:
    """Sends one batch per partition; gives the offset each was written at, or why it was not."""

    def build(view: ClusterView, group: Mapping[TopicPartition, bytes]) -> Ask:
        ids = {name: view.topic(name).id for name in {where.topic for where in group}}
        # Answers from version 13 on name topics by id.
        names.update({id: name for name, id in ids.items()})
        request = ProduceRequest(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=_REQUEST_TIMEOUT_MS,
            topic_data=[
                TopicProduceData(
                    name=topic,
                    topic_id=ids[topic],
                    partition_data=[
                        PartitionProduceData(index=where.partition, records=group[where]) for where in partitions
                    ],
                )
                for topic, partitions in by_topic(group).items()
            ],
        )
        return Ask(request, at_most=_LAST_BY_NAME if ZERO_UUID in ids.values() else None, answered=acks != 0)

    names: dict[bytes, str] = {}

    def read(response: ProduceResponse | None) -> Iterable[tuple[TopicPartition, int | KafkaError]]:
        if response is None:
            yield from ((where, NO_OFFSET) for where in batches)
            return
        for topic in response.responses:
            name = topic.name or names.get(topic.topic_id, "")
            for entry in topic.partition_responses:
                where = TopicPartition(name, entry.index)
                yield where, _refusal(where, entry) or entry.base_offset

    return (yield from ask_leaders(batches, build, read, final=()))


def _refusal(where: TopicPartition, entry: PartitionProduceResponse) -> KafkaError | None:
    code = error_code(entry.error_code)
    if code is ErrorCode.NONE or code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        # A duplicate was written by an earlier attempt whose answer got lost: what was wanted.
        return None
    details = [error.batch_index_error_message for error in entry.record_errors if error.batch_index_error_message]
    message = entry.error_message or (details[0] if details else code.text)
    return KafkaError(code, f"Partition {where} refused the records: {message}")
