"""What an operator's program uses, under the names it has in kafka-python."""

from __future__ import annotations

from moldau.client.admin.acls import (
    ACL,
    ACLFilter,
    ACLOperation,
    ACLPermissionType,
    ACLResourcePatternType,
    ResourcePattern,
    ResourcePatternFilter,
    ResourceType,
)
from moldau.client.admin.configs import ConfigSource as ConfigSourceType
from moldau.client.admin.configs import ConfigType
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
from moldau.client.admin.users import ScramMechanism, UserScramCredentialDeletion, UserScramCredentialUpsertion

__all__ = [
    "ACL",
    "ACLFilter",
    "ACLOperation",
    "ACLPermissionType",
    "ACLResourcePatternType",
    "AbortTransactionSpec",
    "AlterConfigOp",
    "ConfigFilterType",
    "ConfigResource",
    "ConfigResourceType",
    "ConfigSourceType",
    "ConfigType",
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
    "ResourcePattern",
    "ResourcePatternFilter",
    "ResourceType",
    "ScramMechanism",
    "TransactionDescription",
    "TransactionListing",
    "TransactionState",
    "UpdateFeatureType",
    "UserScramCredentialDeletion",
    "UserScramCredentialUpsertion",
]
