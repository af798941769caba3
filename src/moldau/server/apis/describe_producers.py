"""DescribeProducers (key 61): what partitions remember of the producers that write to them.

From it a tool sees transactions that are open in a partition, also those no coordinator knows any more.
"""

from __future__ import annotations

from typing import Final

from moldau.errors import KafkaError
from moldau.metadata.topic_name import validate
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from moldau.security.acl import Operation
from moldau.server.authorization import TOPIC, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.slicing import Work


def describe_producers(context: RequestContext, request: DescribeProducersRequest) -> Work[DescribeProducersResponse]:
    """A partition that is asked for twice is described once: it may have very many producers."""
    described: set[tuple[str, int]] = set()
    denied = Denied(context, Operation.READ, TOPIC)
    response = DescribeProducersResponse()
    for topic in request.topics:
        answered = TopicResponse(name=topic.name)
        response.topics.append(answered)
        yield
        for index in topic.partition_indexes:
            if (topic.name, index) not in described:
                described.add((topic.name, index))
                if topic.name in denied:
                    answered.partitions.append(_refused(index, refusal(TOPIC)))
                else:
                    answered.partitions.append(_partition(context, topic.name, index))
            yield
    return response


def _partition(context: RequestContext, topic: str, index: int) -> PartitionResponse:
    try:
        validate(topic)
        partition = context.services.replicas.get(topic, index)
        partition.check_leader(-1)
    except KafkaError as error:
        return _refused(index, error)
    return PartitionResponse(
        partition_index=index,
        active_producers=[
            ProducerState(
                producer_id=entry.producer_id,
                producer_epoch=entry.epoch,
                last_sequence=entry.last_sequence,
                last_timestamp=entry.last_timestamp,
                coordinator_epoch=entry.coordinator_epoch,
                current_txn_start_offset=entry.transaction_start,
            )
            for entry in partition.log.producers.entries.values()
        ],
    )


def _refused(index: int, error: KafkaError) -> PartitionResponse:
    return PartitionResponse(partition_index=index, error_code=error.code, error_message=error.message)


DESCRIBE_PRODUCERS: Final = Api(ApiKey.DESCRIBE_PRODUCERS, DescribeProducersRequest, describe_producers)
