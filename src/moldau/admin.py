"""What an operator's program uses, under the names it has in kafka-python."""

from __future__ import annotations

from moldau.client.admin.acls import ACL, ACLFilter, ResourcePattern, ResourcePatternFilter
from moldau.client.admin.configs import ConfigType
from moldau.client.admin.face import KafkaAdminClient
from moldau.client.admin.objects import (
    AbortTransactionSpec,
    AlterConfigOp,
    ConfigFilterType,
    ConfigResource,
    ConfigResourceType,
    ConfigSourceType,
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
from moldau.security.acl import Operation as ACLOperation
from moldau.security.acl import PatternType as ACLResourcePatternType
from moldau.security.acl import Permission as ACLPermissionType
from moldau.security.acl import ResourceType

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
