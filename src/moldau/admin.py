"""What an operator's program uses, under the names it has in kafka-python."""

from __future__ import annotations

from moldau.client.admin.face import KafkaAdminClient
from moldau.client.admin.objects import (
    AbortTransactionSpec,
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    GroupState,
    GroupType,
    IsolationLevel,
    MemberToRemove,
    NewPartitions,
    NewTopic,
    OffsetSpec,
    OffsetTimestamp,
    PartitionProducerState,
    ProducerState,
    RecordsToDelete,
    TransactionDescription,
    TransactionListing,
    TransactionState,
    UpdateFeatureType,
)

__all__ = [
    "AbortTransactionSpec",
    "AlterConfigOp",
    "ConfigFilterType",
    "ConfigResource",
    "ConfigResourceType",
    "GroupState",
    "GroupType",
    "IsolationLevel",
    "KafkaAdminClient",
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
