"""What applications hand to `KafkaAdminClient` and get from it, as kafka-python has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import IntEnum, StrEnum
from typing import Any, NamedTuple

from moldau.client.admin.configs import ConfigOperation as AlterConfigOp
from moldau.client.admin.configs import ResourceType as ConfigResourceType
from moldau.client.admin.features import UpgradeType as UpdateFeatureType
from moldau.client.admin.group_changes import MemberToRemove
from moldau.client.admin.offsets import IsolationLevel
from moldau.types import TopicPartition

__all__ = [
    "AbortTransactionSpec",
    "AlterConfigOp",
    "ConfigFilterType",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSourceType",
    "GroupState",
    "GroupType",
    "IsolationLevel",
    "MemberToRemove",
    "NewPartitions",
    "NewTopic",
    "OffsetSpec",
    "OffsetTimestamp",
    "PartitionProducerState",
    "ProducerState",
    "RecordsToDelete",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "UpdateFeatureType",
]


class NewTopic:
    def __init__(
        self,
        name: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignments: Mapping[int, Sequence[int]] | None = None,
        topic_configs: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments = dict(replica_assignments or {})
        self.topic_configs = dict(topic_configs or {})


class NewPartitions:
    """`total_count` is how many there shall be in all; `new_assignments` place the new ones."""

    def __init__(self, total_count: int, new_assignments: Sequence[Sequence[int]] | None = None) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments


class ConfigResource:
    """A topic or broker by name; `configs` are names to ask for, or values (or pairs of operation and value) to set."""

    def __init__(self, resource_type: Any, name: Any, configs: Any = None) -> None:
        if isinstance(resource_type, str):
            resource_type = ConfigResourceType[resource_type.upper()]
        self.resource_type = ConfigResourceType(resource_type)
        self.name = str(name)
        self.configs = configs


class ConfigSourceType(IntEnum):
    """Where a value comes from; answers have the names."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8


class ConfigFilterType(IntEnum):
    ALL = 0
    DYNAMIC = 1
    MODIFIED = 2
    DEFAULT = 3
    STATIC = 4


class RecordsToDelete(NamedTuple):
    """aiokafka's way to say up to where."""

    before_offset: int


class OffsetSpec(IntEnum):
    """Stand-ins for a time: the end, the beginning, the record with the largest time, and with tiered storage the
    beginning of what is kept by the broker itself and the end of what is not."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5


class OffsetTimestamp(int):
    """Milliseconds since the epoch, where a plain number would be an offset."""


class GroupState(StrEnum):
    UNKNOWN = "Unknown"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"
    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    NOT_READY = "NotReady"


class GroupType(StrEnum):
    UNKNOWN = "Unknown"
    CONSUMER = "consumer"
    CLASSIC = "classic"
    SHARE = "share"
    STREAMS = "streams"


class TransactionState(StrEnum):
    EMPTY = "Empty"
    ONGOING = "Ongoing"
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"
    DEAD = "Dead"
    PREPARE_EPOCH_FENCE = "PrepareEpochFence"
    UNKNOWN = "Unknown"

    @classmethod
    def named(cls, word: str) -> TransactionState:
        """UNKNOWN for words of brokers that are newer than this."""
        try:
            return cls(word)
        except ValueError:
            return cls.UNKNOWN


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: TransactionState


class TransactionDescription(NamedTuple):
    coordinator_id: int
    state: TransactionState
    producer_id: int
    producer_epoch: int
    transaction_timeout_ms: int
    transaction_start_time_ms: int
    topic_partitions: set[TopicPartition]


class ProducerState(NamedTuple):
    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    current_transaction_start_offset: int


class PartitionProducerState(NamedTuple):
    active_producers: list[ProducerState]


class AbortTransactionSpec(NamedTuple):
    """As `describe_producers` tells it of the partition."""

    topic_partition: TopicPartition
    producer_id: int
    producer_epoch: int
    coordinator_epoch: int = -1
