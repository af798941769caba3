"""Offsets of partitions: find them by time, and move their start (DeleteRecords)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.client.conversation import Ask, Conversation
from moldau.client.leaders import ask_leaders, by_topic
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.types import NO_EPOCH, NO_OFFSET, NO_TIMESTAMP, TopicPartition

# Kafka's stand-ins for a timestamp.
LATEST: Final = -1
EARLIEST: Final = -2
MAX_TIMESTAMP: Final = -3

# In DeleteRecords: everything up to the high watermark.
TO_THE_END: Final = -1

_REQUEST_TIMEOUT_MS = 30_000


class IsolationLevel(IntEnum):
    READ_UNCOMMITTED = 0
    READ_COMMITTED = 1


class FoundOffset(NamedTuple):
    """`offset` is -1 when no record is that young."""

    offset: int
    timestamp: int = NO_TIMESTAMP
    leader_epoch: int = NO_EPOCH

    @property
    def found(self) -> bool:
        return self.offset != NO_OFFSET


def list_offsets(
    wanted: Mapping[TopicPartition, int], *, isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED
) -> Conversation[dict[TopicPartition, FoundOffset | KafkaError]]:
    """For each partition the first offset at or after a timestamp, or one of EARLIEST, LATEST, MAX_TIMESTAMP."""

    def build(view: ClusterView, group: Mapping[TopicPartition, int]) -> Ask:
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=isolation,
            topics=[
                ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsPartition(
                            partition_index=where.partition,
                            current_leader_epoch=view.partition(where).leader_epoch,
                            timestamp=group[where],
                        )
                        for where in partitions
                    ],
                )
                for topic, partitions in by_topic(group).items()
            ],
            timeout_ms=_REQUEST_TIMEOUT_MS,
        )
        return Ask(request)

    def read(response: ListOffsetsResponse) -> Iterable[tuple[TopicPartition, FoundOffset | KafkaError]]:
        for topic in response.topics:
            for entry in topic.partitions:
                where = TopicPartition(topic.name, entry.partition_index)
                found = FoundOffset(entry.offset, entry.timestamp, entry.leader_epoch)
                yield where, _problem(where, entry.error_code) or found

    return ask_leaders(wanted, build, read)


def delete_records(
    before: Mapping[TopicPartition, int],
) -> Conversation[dict[TopicPartition, int | KafkaError]]:
    """Moves the start of partitions up to the given offsets (-1: to the high watermark); gives the new starts."""

    def build(view: ClusterView, group: Mapping[TopicPartition, int]) -> Ask:
        request = DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=where.partition, offset=group[where])
                        for where in partitions
                    ],
                )
                for topic, partitions in by_topic(group).items()
            ],
            timeout_ms=_REQUEST_TIMEOUT_MS,
        )
        return Ask(request)

    def read(response: DeleteRecordsResponse) -> Iterable[tuple[TopicPartition, int | KafkaError]]:
        for topic in response.topics:
            for entry in topic.partitions:
                where = TopicPartition(topic.name, entry.partition_index)
                yield where, _problem(where, entry.error_code) or entry.low_watermark

    return ask_leaders(before, build, read)


def _problem(where: TopicPartition, number: int) -> KafkaError | None:
    code = error_code(number)
    return None if code is ErrorCode.NONE else KafkaError(code, f"Partition {where}: {code.text}")
