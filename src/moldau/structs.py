"""The small things applications pass around, under the place they have in kafka-python."""

from __future__ import annotations

from moldau.client.structs import (
    ConsumerGroupMetadata,
    MemberState,
    OffsetAndMetadata,
    OffsetAndTimestamp,
    TopicPartition,
    TopicPartitionReplica,
)

__all__ = [
    "ConsumerGroupMetadata",
    "MemberState",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
    "TopicPartitionReplica",
]
