"""Produce requests and their answers: batches in, outcomes out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from moldau.client.conversation import Ask
from moldau.client.metadata import ClusterView
from moldau.client.producer.batch import Batch
from moldau.client.producer.identity import ProducerIdentity
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.errors.named import BY_CODE
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.types import NO_OFFSET, NO_TIMESTAMP, ZERO_UUID, TopicPartition

if TYPE_CHECKING:
    from moldau.client.producer.sender import SendingLimits

# From the next version on Produce names topics by id only.
_LAST_BY_NAME: Final = 12

# Up to here a broker expects to be told of a transaction's partitions before records for them come.
_LAST_WITH_EXPLICIT_PARTITIONS: Final = 11


@dataclass(slots=True)
class Outcome:
    """What became of a batch."""

    error: KafkaError | None = None
    offset: int = NO_OFFSET
    append_time: int = NO_TIMESTAMP
    record_errors: Mapping[int, BaseException] = field(default_factory=dict)


def produce_request(
    view: ClusterView, batches: Sequence[Batch], limits: SendingLimits, identity: ProducerIdentity
) -> Ask:
    topics: dict[str, list[PartitionProduceData]] = {}
    for batch in batches:
        records = batch.wire(limits.compression, limits.level, identity.transactional)
        data = PartitionProduceData(index=batch.lane.partition, records=records)
        topics.setdefault(batch.lane.topic, []).append(data)
    ids = {name: view.topics[name].id if name in view.topics else ZERO_UUID for name in topics}
    request = ProduceRequest(
        transactional_id=identity.transactional_id,
        acks=limits.acks,
        timeout_ms=int(limits.request_timeout * 1000),
        topic_data=[
            TopicProduceData(name=name, topic_id=ids[name], partition_data=data) for name, data in topics.items()
        ],
    )
    at_most = _LAST_BY_NAME if ZERO_UUID in ids.values() else None
    if identity.transactional and not identity.implicit_partitions:
        at_most = _LAST_WITH_EXPLICIT_PARTITIONS
    return Ask(request, at_most=at_most)


def read_outcomes(
    view: ClusterView, batches: Sequence[Batch], response: ProduceResponse | None
) -> dict[Batch, Outcome]:
    if response is None:  # acks=0: sent, and nobody will say more
        return {batch: Outcome() for batch in batches}
    ids = {view.topics[batch.lane.topic].id: batch.lane.topic for batch in batches if batch.lane.topic in view.topics}
    said = dict(_partitions(response, ids))
    outcomes: dict[Batch, Outcome] = {}
    for batch in batches:
        entry = said.get(TopicPartition(batch.lane.topic, batch.lane.partition))
        if entry is None:
            missing = "The broker left out a partition it was sent records for."
            outcomes[batch] = Outcome(KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, missing))
        else:
            outcomes[batch] = _outcome(batch, entry)
    return outcomes


def _partitions(
    response: ProduceResponse, ids: Mapping[bytes, str]
) -> Iterable[tuple[TopicPartition, PartitionProduceResponse]]:
    for topic in response.responses:
        name = topic.name or ids.get(topic.topic_id, "")
        for entry in topic.partition_responses:
            yield TopicPartition(name, entry.index), entry


def _outcome(batch: Batch, entry: PartitionProduceResponse) -> Outcome:
    code = error_code(entry.error_code)
    if code is ErrorCode.NONE:
        return Outcome(None, entry.base_offset, entry.log_append_time_ms)
    if code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER:
        # Written by an earlier attempt whose answer got lost, so long ago that the broker has forgotten where.
        return Outcome()
    details = {each.batch_index: each.batch_index_error_message or code.text for each in entry.record_errors}
    where = TopicPartition(batch.lane.topic, batch.lane.partition)
    message = entry.error_message or next(iter(details.values()), code.text)
    others = "Another record of the same batch was refused."
    return Outcome(
        KafkaError(
            code, f"Partition {where} refused the records: {others if details and batch.count > 1 else message}"
        ),
        record_errors={index: BY_CODE[code](text) for index, text in details.items()},
    )
