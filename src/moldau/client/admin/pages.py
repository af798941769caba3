"""Topics a page at a time (DescribeTopicPartitions): for clusters whose topics do not fit into one answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from moldau.client.conversation import Ask, Conversation, retrying
from moldau.errors import ErrorCode, error_code
from moldau.protocol.messages import describe_topic_partitions as paging
from moldau.types import Uuid


@dataclass(slots=True, frozen=True)
class PartitionOnPage:
    index: int
    leader: int
    leader_epoch: int
    replicas: tuple[int, ...]
    isr: tuple[int, ...]
    # Replicas that may lead although they are not in sync (KIP-966); None where brokers do not keep them.
    eligible_leaders: tuple[int, ...] | None
    last_known_eligible: tuple[int, ...] | None
    offline: tuple[int, ...]
    error: ErrorCode


@dataclass(slots=True, frozen=True)
class TopicOnPage:
    name: str | None
    id: Uuid
    internal: bool
    partitions: tuple[PartitionOnPage, ...]
    error: ErrorCode
    # As bits; the lowest number means that it was not asked for.
    authorized_operations: int


@dataclass(slots=True, frozen=True)
class Page:
    topics: tuple[TopicOnPage, ...]
    # Where the next page begins: topic and partition. None after the last.
    next: tuple[str, int] | None


def describe_page(
    topics: Sequence[str], *, most: int = 2000, begin: tuple[str, int] | None = None
) -> Conversation[Page]:
    request = paging.DescribeTopicPartitionsRequest(
        topics=[paging.TopicRequest(name=name) for name in sorted(topics)],
        response_partition_limit=most,
        cursor=None if begin is None else paging.RequestCursor(topic_name=begin[0], partition_index=begin[1]),
    )

    def attempt() -> Conversation[Page]:
        response: paging.DescribeTopicPartitionsResponse = yield Ask(request)
        cursor = response.next_cursor
        return Page(
            tuple(_topic(row) for row in response.topics),
            None if cursor is None else (cursor.topic_name, cursor.partition_index),
        )

    return retrying(attempt)


def _topic(row: paging.DescribeTopicPartitionsResponseTopic) -> TopicOnPage:
    return TopicOnPage(
        row.name,
        row.topic_id,
        row.is_internal,
        tuple(_partition(each) for each in row.partitions),
        error_code(row.error_code),
        row.topic_authorized_operations,
    )


def _partition(row: paging.DescribeTopicPartitionsResponsePartition) -> PartitionOnPage:
    eligible, known = row.eligible_leader_replicas, row.last_known_elr
    return PartitionOnPage(
        row.partition_index,
        row.leader_id,
        row.leader_epoch,
        tuple(row.replica_nodes),
        tuple(row.isr_nodes),
        None if eligible is None else tuple(eligible),
        None if known is None else tuple(known),
        tuple(row.offline_replicas),
        error_code(row.error_code),
    )
