"""The small things applications pass around, as kafka-python has them."""

from __future__ import annotations

from typing import Final, NamedTuple

from moldau.types import TopicPartition

__all__ = [
    "ConsumerGroupMetadata",
    "MemberState",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "TopicPartition",
    "TopicPartitionReplica",
]


class TopicPartitionReplica(NamedTuple):
    topic: str
    partition: int
    broker_id: int


class OffsetAndMetadata(NamedTuple):
    """A committed offset: the next one to read, and whatever the application wrote beside it."""

    offset: int
    metadata: str | None = ""
    leader_epoch: int = -1


class OffsetAndTimestamp(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int = -1


class MemberState:
    UNJOINED: Final = "<unjoined>"
    REBALANCING: Final = "<rebalancing>"
    STABLE: Final = "<stable>"


class ConsumerGroupMetadata(NamedTuple):
    """Which member of which generation of a group; a transaction with offsets of an older one is refused."""

    group_id: str | None = None
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    state: str = MemberState.UNJOINED
