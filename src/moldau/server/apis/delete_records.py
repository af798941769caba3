"""DeleteRecords (key 21): moves the start of a partition forward; everything before it is gone for readers at once.

Version 2 is flexible. The answer waits until the in-sync replicas have moved their start as well.
"""

from __future__ import annotations

from typing import Final

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.topic_name import is_internal
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from moldau.replica.delayed_outcomes import DelayedOutcomes, PendingDelete
from moldau.replica.manager import ReplicaManager
from moldau.replica.partition import Partition
from moldau.security.acl import Operation
from moldau.server.authorization import TOPIC, Denied, refusal
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api
from moldau.server.parts import Parts
from moldau.types import NO_OFFSET

# Instead of an offset: up to the high watermark.
HIGH_WATERMARK: Final = -1


def delete_records(context: RequestContext, request: DeleteRecordsRequest) -> Deferred[DeleteRecordsResponse]:
    replicas = context.services.replicas
    pending: list[tuple[PendingDelete, DeleteRecordsPartitionResult]] = []
    topics = []
    denied = Denied(context, Operation.DELETE, TOPIC)
    for topic in request.topics:
        results = []
        for asked in topic.partitions:
            result = DeleteRecordsPartitionResult(partition_index=asked.partition_index, low_watermark=NO_OFFSET)
            results.append(result)
            if topic.name in denied:
                result.error_code = refusal(TOPIC).code
                continue
            try:
                partition, required = _delete(replicas, topic.name, asked.partition_index, asked.offset)
                pending.append((PendingDelete(partition, required), result))
            except KafkaError as error:
                result.error_code = error.code
        topics.append(DeleteRecordsTopicResult(name=topic.name, partitions=results))
    answer: Deferred[DeleteRecordsResponse] = Deferred()

    def respond() -> None:
        for delete, result in pending:
            result.low_watermark = delete.low_watermark
            result.error_code = delete.error
        answer.resolve(DeleteRecordsResponse(topics=topics))

    deletes = [delete for delete, _ in pending]
    waited_for = [delete.partition for delete in deletes]
    replicas.deletes.wait(DelayedOutcomes(deletes, respond), waited_for, max(0, request.timeout_ms))
    return answer


def _delete(replicas: ReplicaManager, topic: str, index: int, offset: int) -> tuple[Partition, int]:
    """Moves the log start; returns the partition and the offset all its replicas must reach."""
    partition = replicas.get(topic, index)
    if is_internal(topic):
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"Records of {topic} are deleted by the broker alone.")
    partition.check_leader(-1)
    log = partition.log
    if not log.config.delete:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"Records of {topic} cannot be deleted: its cleanup.policy is compact."
        )
    target = log.high_watermark if offset == HIGH_WATERMARK else offset
    if target < 0 or target > log.high_watermark:
        raise KafkaError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"{partition.topic_partition} can be deleted up to offset {log.high_watermark}, not {target}.",
        )
    log.local.advance_log_start(target)
    return partition, target


DELETE_RECORDS: Final = Api(
    ApiKey.DELETE_RECORDS,
    DeleteRecordsRequest,
    delete_records,
    parts=(Parts(("topics", "partitions"), ("topics", "partitions"), size=500),),
)
