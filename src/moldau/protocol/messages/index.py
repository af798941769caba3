# Generated from the definitions in schema/ by tools/generate_messages.py: do not edit.
"""Where each message lives and which versions it has, without importing any of them."""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple


class ApiEntry(NamedTuple):
    key: int
    name: str
    module: str
    min_version: int
    max_version: int
    flexible_since: int | None
    latest_unstable: bool
    listeners: tuple[str, ...]


class ApiKey(IntEnum):
    PRODUCE = 0
    FETCH = 1
    LIST_OFFSETS = 2
    METADATA = 3
    LEADER_AND_ISR = 4
    STOP_REPLICA = 5
    UPDATE_METADATA = 6
    CONTROLLED_SHUTDOWN = 7
    OFFSET_COMMIT = 8
    OFFSET_FETCH = 9
    FIND_COORDINATOR = 10
    JOIN_GROUP = 11
    HEARTBEAT = 12
    LEAVE_GROUP = 13
    SYNC_GROUP = 14
    DESCRIBE_GROUPS = 15
    LIST_GROUPS = 16
    SASL_HANDSHAKE = 17
    API_VERSIONS = 18
    CREATE_TOPICS = 19
    DELETE_TOPICS = 20
    DELETE_RECORDS = 21
    INIT_PRODUCER_ID = 22
    OFFSET_FOR_LEADER_EPOCH = 23
    ADD_PARTITIONS_TO_TXN = 24
    ADD_OFFSETS_TO_TXN = 25
    END_TXN = 26
    WRITE_TXN_MARKERS = 27
    TXN_OFFSET_COMMIT = 28
    DESCRIBE_ACLS = 29
    CREATE_ACLS = 30
    DELETE_ACLS = 31
    DESCRIBE_CONFIGS = 32
    ALTER_CONFIGS = 33
    ALTER_REPLICA_LOG_DIRS = 34
    DESCRIBE_LOG_DIRS = 35
    SASL_AUTHENTICATE = 36
    CREATE_PARTITIONS = 37
    CREATE_DELEGATION_TOKEN = 38
    RENEW_DELEGATION_TOKEN = 39
    EXPIRE_DELEGATION_TOKEN = 40
    DESCRIBE_DELEGATION_TOKEN = 41
    DELETE_GROUPS = 42
    ELECT_LEADERS = 43
    INCREMENTAL_ALTER_CONFIGS = 44
    ALTER_PARTITION_REASSIGNMENTS = 45
    LIST_PARTITION_REASSIGNMENTS = 46
    OFFSET_DELETE = 47
    DESCRIBE_CLIENT_QUOTAS = 48
    ALTER_CLIENT_QUOTAS = 49
    DESCRIBE_USER_SCRAM_CREDENTIALS = 50
    ALTER_USER_SCRAM_CREDENTIALS = 51
    VOTE = 52
    BEGIN_QUORUM_EPOCH = 53
    END_QUORUM_EPOCH = 54
    DESCRIBE_QUORUM = 55
    ALTER_PARTITION = 56
    UPDATE_FEATURES = 57
    ENVELOPE = 58
    FETCH_SNAPSHOT = 59
    DESCRIBE_CLUSTER = 60
    DESCRIBE_PRODUCERS = 61
    BROKER_REGISTRATION = 62
    BROKER_HEARTBEAT = 63
    UNREGISTER_BROKER = 64
    DESCRIBE_TRANSACTIONS = 65
    LIST_TRANSACTIONS = 66
    ALLOCATE_PRODUCER_IDS = 67
    CONSUMER_GROUP_HEARTBEAT = 68
    CONSUMER_GROUP_DESCRIBE = 69
    CONTROLLER_REGISTRATION = 70
    GET_TELEMETRY_SUBSCRIPTIONS = 71
    PUSH_TELEMETRY = 72
    ASSIGN_REPLICAS_TO_DIRS = 73
    LIST_CONFIG_RESOURCES = 74
    DESCRIBE_TOPIC_PARTITIONS = 75
    SHARE_GROUP_HEARTBEAT = 76
    SHARE_GROUP_DESCRIBE = 77
    SHARE_FETCH = 78
    SHARE_ACKNOWLEDGE = 79
    ADD_RAFT_VOTER = 80
    REMOVE_RAFT_VOTER = 81
    UPDATE_RAFT_VOTER = 82
    INITIALIZE_SHARE_GROUP_STATE = 83
    READ_SHARE_GROUP_STATE = 84
    WRITE_SHARE_GROUP_STATE = 85
    DELETE_SHARE_GROUP_STATE = 86
    READ_SHARE_GROUP_STATE_SUMMARY = 87
    STREAMS_GROUP_HEARTBEAT = 88
    STREAMS_GROUP_DESCRIBE = 89
    DESCRIBE_SHARE_GROUP_OFFSETS = 90
    ALTER_SHARE_GROUP_OFFSETS = 91
    DELETE_SHARE_GROUP_OFFSETS = 92


APIS: Final = (
    ApiEntry(0, "Produce", "produce", 3, 13, 9, False, ("broker",)),
    ApiEntry(1, "Fetch", "fetch", 4, 18, 12, False, ("broker", "controller")),
    ApiEntry(2, "ListOffsets", "list_offsets", 1, 11, 6, False, ("broker",)),
    ApiEntry(3, "Metadata", "metadata", 0, 13, 9, False, ("broker",)),
    ApiEntry(8, "OffsetCommit", "offset_commit", 2, 10, 8, False, ("broker",)),
    ApiEntry(9, "OffsetFetch", "offset_fetch", 1, 10, 6, False, ("broker",)),
    ApiEntry(10, "FindCoordinator", "find_coordinator", 0, 6, 3, False, ("broker",)),
    ApiEntry(11, "JoinGroup", "join_group", 0, 9, 6, False, ("broker",)),
    ApiEntry(12, "Heartbeat", "heartbeat", 0, 4, 4, False, ("broker",)),
    ApiEntry(13, "LeaveGroup", "leave_group", 0, 5, 4, False, ("broker",)),
    ApiEntry(14, "SyncGroup", "sync_group", 0, 5, 4, False, ("broker",)),
    ApiEntry(15, "DescribeGroups", "describe_groups", 0, 6, 5, False, ("broker",)),
    ApiEntry(16, "ListGroups", "list_groups", 0, 5, 3, False, ("broker",)),
    ApiEntry(17, "SaslHandshake", "sasl_handshake", 0, 1, None, False, ("broker", "controller")),
    ApiEntry(18, "ApiVersions", "api_versions", 0, 4, 3, False, ("broker", "controller")),
    ApiEntry(19, "CreateTopics", "create_topics", 2, 7, 5, False, ("broker", "controller")),
    ApiEntry(20, "DeleteTopics", "delete_topics", 1, 6, 4, False, ("broker", "controller")),
    ApiEntry(21, "DeleteRecords", "delete_records", 0, 2, 2, False, ("broker",)),
    ApiEntry(22, "InitProducerId", "init_producer_id", 0, 6, 2, True, ("broker",)),
    ApiEntry(23, "OffsetForLeaderEpoch", "offset_for_leader_epoch", 2, 4, 4, False, ("broker",)),
    ApiEntry(24, "AddPartitionsToTxn", "add_partitions_to_txn", 0, 5, 3, False, ("broker",)),
    ApiEntry(25, "AddOffsetsToTxn", "add_offsets_to_txn", 0, 4, 3, False, ("broker",)),
    ApiEntry(26, "EndTxn", "end_txn", 0, 5, 3, False, ("broker",)),
    ApiEntry(27, "WriteTxnMarkers", "write_txn_markers", 1, 2, 1, False, ("broker",)),
    ApiEntry(28, "TxnOffsetCommit", "txn_offset_commit", 0, 5, 3, False, ("broker",)),
    ApiEntry(29, "DescribeAcls", "describe_acls", 1, 3, 2, False, ("broker", "controller")),
    ApiEntry(30, "CreateAcls", "create_acls", 1, 3, 2, False, ("broker", "controller")),
    ApiEntry(31, "DeleteAcls", "delete_acls", 1, 3, 2, False, ("broker", "controller")),
    ApiEntry(32, "DescribeConfigs", "describe_configs", 1, 4, 4, False, ("broker", "controller")),
    ApiEntry(33, "AlterConfigs", "alter_configs", 0, 2, 2, False, ("broker", "controller")),
    ApiEntry(34, "AlterReplicaLogDirs", "alter_replica_log_dirs", 1, 2, 2, False, ("broker",)),
    ApiEntry(35, "DescribeLogDirs", "describe_log_dirs", 1, 5, 2, False, ("broker",)),
    ApiEntry(36, "SaslAuthenticate", "sasl_authenticate", 0, 2, 2, False, ("broker", "controller")),
    ApiEntry(37, "CreatePartitions", "create_partitions", 0, 3, 2, False, ("broker", "controller")),
    ApiEntry(38, "CreateDelegationToken", "create_delegation_token", 1, 3, 2, False, ("broker", "controller")),
    ApiEntry(39, "RenewDelegationToken", "renew_delegation_token", 1, 2, 2, False, ("broker", "controller")),
    ApiEntry(40, "ExpireDelegationToken", "expire_delegation_token", 1, 2, 2, False, ("broker", "controller")),
    ApiEntry(41, "DescribeDelegationToken", "describe_delegation_token", 1, 3, 2, False, ("broker", "controller")),
    ApiEntry(42, "DeleteGroups", "delete_groups", 0, 2, 2, False, ("broker",)),
    ApiEntry(43, "ElectLeaders", "elect_leaders", 0, 2, 2, False, ("broker", "controller")),
    ApiEntry(44, "IncrementalAlterConfigs", "incremental_alter_configs", 0, 1, 1, False, ("broker", "controller")),
    ApiEntry(
        45,
        "AlterPartitionReassignments",
        "alter_partition_reassignments",
        0,
        1,
        0,
        False,
        ("broker", "controller"),
    ),
    ApiEntry(
        46,
        "ListPartitionReassignments",
        "list_partition_reassignments",
        0,
        0,
        0,
        False,
        ("broker", "controller"),
    ),
    ApiEntry(47, "OffsetDelete", "offset_delete", 0, 0, None, False, ("broker",)),
    ApiEntry(48, "DescribeClientQuotas", "describe_client_quotas", 0, 1, 1, False, ("broker",)),
    ApiEntry(49, "AlterClientQuotas", "alter_client_quotas", 0, 1, 1, False, ("broker", "controller")),
    ApiEntry(
        50,
        "DescribeUserScramCredentials",
        "describe_user_scram_credentials",
        0,
        0,
        0,
        False,
        ("broker", "controller"),
    ),
    ApiEntry(51, "AlterUserScramCredentials", "alter_user_scram_credentials", 0, 0, 0, False, ("broker", "controller")),
    ApiEntry(52, "Vote", "vote", 0, 2, 0, False, ("controller",)),
    ApiEntry(53, "BeginQuorumEpoch", "begin_quorum_epoch", 0, 1, 1, False, ("controller",)),
    ApiEntry(54, "EndQuorumEpoch", "end_quorum_epoch", 0, 1, 1, False, ("controller",)),
    ApiEntry(55, "DescribeQuorum", "describe_quorum", 0, 2, 0, False, ("broker", "controller")),
    ApiEntry(56, "AlterPartition", "alter_partition", 2, 3, 2, False, ("controller",)),
    ApiEntry(57, "UpdateFeatures", "update_features", 0, 2, 0, False, ("broker", "controller")),
    ApiEntry(58, "Envelope", "envelope", 0, 0, 0, False, ("controller",)),
    ApiEntry(59, "FetchSnapshot", "fetch_snapshot", 0, 1, 0, False, ("controller",)),
    ApiEntry(60, "DescribeCluster", "describe_cluster", 0, 2, 0, False, ("broker", "controller")),
    ApiEntry(61, "DescribeProducers", "describe_producers", 0, 0, 0, False, ("broker",)),
    ApiEntry(62, "BrokerRegistration", "broker_registration", 0, 4, 0, False, ("controller",)),
    ApiEntry(63, "BrokerHeartbeat", "broker_heartbeat", 0, 2, 0, False, ("controller",)),
    ApiEntry(64, "UnregisterBroker", "unregister_broker", 0, 0, 0, False, ("broker", "controller")),
    ApiEntry(65, "DescribeTransactions", "describe_transactions", 0, 0, 0, False, ("broker",)),
    ApiEntry(66, "ListTransactions", "list_transactions", 0, 2, 0, False, ("broker",)),
    ApiEntry(67, "AllocateProducerIds", "allocate_producer_ids", 0, 0, 0, False, ("controller",)),
    ApiEntry(68, "ConsumerGroupHeartbeat", "consumer_group_heartbeat", 0, 1, 0, False, ("broker",)),
    ApiEntry(69, "ConsumerGroupDescribe", "consumer_group_describe", 0, 1, 0, False, ("broker",)),
    ApiEntry(70, "ControllerRegistration", "controller_registration", 0, 0, 0, False, ("controller",)),
    ApiEntry(71, "GetTelemetrySubscriptions", "get_telemetry_subscriptions", 0, 0, 0, False, ("broker",)),
    ApiEntry(72, "PushTelemetry", "push_telemetry", 0, 0, 0, False, ("broker",)),
    ApiEntry(73, "AssignReplicasToDirs", "assign_replicas_to_dirs", 0, 0, 0, False, ("controller",)),
    ApiEntry(74, "ListConfigResources", "list_config_resources", 0, 1, 0, False, ("broker",)),
    ApiEntry(75, "DescribeTopicPartitions", "describe_topic_partitions", 0, 0, 0, False, ("broker",)),
    ApiEntry(76, "ShareGroupHeartbeat", "share_group_heartbeat", 1, 1, 1, False, ("broker",)),
    ApiEntry(77, "ShareGroupDescribe", "share_group_describe", 1, 1, 1, False, ("broker",)),
    ApiEntry(78, "ShareFetch", "share_fetch", 1, 2, 1, False, ("broker",)),
    ApiEntry(79, "ShareAcknowledge", "share_acknowledge", 1, 2, 1, False, ("broker",)),
    ApiEntry(80, "AddRaftVoter", "add_raft_voter", 0, 1, 0, False, ("controller", "broker")),
    ApiEntry(81, "RemoveRaftVoter", "remove_raft_voter", 0, 0, 0, False, ("controller", "broker")),
    ApiEntry(82, "UpdateRaftVoter", "update_raft_voter", 0, 0, 0, False, ("controller",)),
    ApiEntry(83, "InitializeShareGroupState", "initialize_share_group_state", 0, 0, 0, False, ("broker",)),
    ApiEntry(84, "ReadShareGroupState", "read_share_group_state", 0, 0, 0, False, ("broker",)),
    ApiEntry(85, "WriteShareGroupState", "write_share_group_state", 0, 1, 0, False, ("broker",)),
    ApiEntry(86, "DeleteShareGroupState", "delete_share_group_state", 0, 0, 0, False, ("broker",)),
    ApiEntry(87, "ReadShareGroupStateSummary", "read_share_group_state_summary", 0, 1, 0, False, ("broker",)),
    ApiEntry(88, "StreamsGroupHeartbeat", "streams_group_heartbeat", 0, 0, 0, False, ("broker",)),
    ApiEntry(89, "StreamsGroupDescribe", "streams_group_describe", 0, 0, 0, False, ("broker",)),
    ApiEntry(90, "DescribeShareGroupOffsets", "describe_share_group_offsets", 0, 1, 0, False, ("broker",)),
    ApiEntry(91, "AlterShareGroupOffsets", "alter_share_group_offsets", 0, 0, 0, False, ("broker",)),
    ApiEntry(92, "DeleteShareGroupOffsets", "delete_share_group_offsets", 0, 0, 0, False, ("broker",)),
)

# Records by the topic they are written to and their role there: number -> (module, class).
RECORDS: Final[dict[tuple[str, str], dict[int, tuple[str, str]]]] = {
    ("__cluster_metadata", "metadata"): {
        0: ("register_broker_record", "RegisterBrokerRecord"),
        1: ("unregister_broker_record", "UnregisterBrokerRecord"),
        2: ("topic_record", "TopicRecord"),
        3: ("partition_record", "PartitionRecord"),
        4: ("config_record", "ConfigRecord"),
        5: ("partition_change_record", "PartitionChangeRecord"),
        7: ("fence_broker_record", "FenceBrokerRecord"),
        8: ("unfence_broker_record", "UnfenceBrokerRecord"),
        9: ("remove_topic_record", "RemoveTopicRecord"),
        10: ("delegation_token_record", "DelegationTokenRecord"),
        11: ("user_scram_credential_record", "UserScramCredentialRecord"),
        12: ("feature_level_record", "FeatureLevelRecord"),
        14: ("client_quota_record", "ClientQuotaRecord"),
        15: ("producer_ids_record", "ProducerIdsRecord"),
        17: ("broker_registration_change_record", "BrokerRegistrationChangeRecord"),
        18: ("access_control_entry_record", "AccessControlEntryRecord"),
        19: ("remove_access_control_entry_record", "RemoveAccessControlEntryRecord"),
        20: ("no_op_record", "NoOpRecord"),
        21: ("zk_migration_state_record", "ZkMigrationStateRecord"),
        22: ("remove_user_scram_credential_record", "RemoveUserScramCredentialRecord"),
        23: ("begin_transaction_record", "BeginTransactionRecord"),
        24: ("end_transaction_record", "EndTransactionRecord"),
        25: ("abort_transaction_record", "AbortTransactionRecord"),
        26: ("remove_delegation_token_record", "RemoveDelegationTokenRecord"),
        27: ("register_controller_record", "RegisterControllerRecord"),
        28: ("clear_elr_record", "ClearElrRecord"),
    },
    ("__consumer_offsets", "key"): {
        0: ("legacy_offset_commit_key", "LegacyOffsetCommitKey"),
        1: ("offset_commit_key", "OffsetCommitKey"),
        2: ("group_metadata_key", "GroupMetadataKey"),
        3: ("consumer_group_metadata_key", "ConsumerGroupMetadataKey"),
        4: ("consumer_group_partition_metadata_key", "ConsumerGroupPartitionMetadataKey"),
        5: ("consumer_group_member_metadata_key", "ConsumerGroupMemberMetadataKey"),
        6: ("consumer_group_target_assignment_metadata_key", "ConsumerGroupTargetAssignmentMetadataKey"),
        7: ("consumer_group_target_assignment_member_key", "ConsumerGroupTargetAssignmentMemberKey"),
        8: ("consumer_group_current_member_assignment_key", "ConsumerGroupCurrentMemberAssignmentKey"),
        10: ("share_group_member_metadata_key", "ShareGroupMemberMetadataKey"),
        11: ("share_group_metadata_key", "ShareGroupMetadataKey"),
        12: ("share_group_target_assignment_metadata_key", "ShareGroupTargetAssignmentMetadataKey"),
        13: ("share_group_target_assignment_member_key", "ShareGroupTargetAssignmentMemberKey"),
        14: ("share_group_current_member_assignment_key", "ShareGroupCurrentMemberAssignmentKey"),
        15: ("share_group_state_partition_metadata_key", "ShareGroupStatePartitionMetadataKey"),
        16: ("consumer_group_regular_expression_key", "ConsumerGroupRegularExpressionKey"),
        17: ("streams_group_metadata_key", "StreamsGroupMetadataKey"),
        19: ("streams_group_member_metadata_key", "StreamsGroupMemberMetadataKey"),
        20: ("streams_group_target_assignment_metadata_key", "StreamsGroupTargetAssignmentMetadataKey"),
        21: ("streams_group_target_assignment_member_key", "StreamsGroupTargetAssignmentMemberKey"),
        22: ("streams_group_current_member_assignment_key", "StreamsGroupCurrentMemberAssignmentKey"),
        23: ("streams_group_topology_key", "StreamsGroupTopologyKey"),
    },
    ("__consumer_offsets", "value"): {
        0: ("legacy_offset_commit_value", "LegacyOffsetCommitValue"),
        1: ("offset_commit_value", "OffsetCommitValue"),
        2: ("group_metadata_value", "GroupMetadataValue"),
        3: ("consumer_group_metadata_value", "ConsumerGroupMetadataValue"),
        4: ("consumer_group_partition_metadata_value", "ConsumerGroupPartitionMetadataValue"),
        5: ("consumer_group_member_metadata_value", "ConsumerGroupMemberMetadataValue"),
        6: ("consumer_group_target_assignment_metadata_value", "ConsumerGroupTargetAssignmentMetadataValue"),
        7: ("consumer_group_target_assignment_member_value", "ConsumerGroupTargetAssignmentMemberValue"),
        8: ("consumer_group_current_member_assignment_value", "ConsumerGroupCurrentMemberAssignmentValue"),
        10: ("share_group_member_metadata_value", "ShareGroupMemberMetadataValue"),
        11: ("share_group_metadata_value", "ShareGroupMetadataValue"),
        12: ("share_group_target_assignment_metadata_value", "ShareGroupTargetAssignmentMetadataValue"),
        13: ("share_group_target_assignment_member_value", "ShareGroupTargetAssignmentMemberValue"),
        14: ("share_group_current_member_assignment_value", "ShareGroupCurrentMemberAssignmentValue"),
        15: ("share_group_state_partition_metadata_value", "ShareGroupStatePartitionMetadataValue"),
        16: ("consumer_group_regular_expression_value", "ConsumerGroupRegularExpressionValue"),
        17: ("streams_group_metadata_value", "StreamsGroupMetadataValue"),
        19: ("streams_group_member_metadata_value", "StreamsGroupMemberMetadataValue"),
        20: ("streams_group_target_assignment_metadata_value", "StreamsGroupTargetAssignmentMetadataValue"),
        21: ("streams_group_target_assignment_member_value", "StreamsGroupTargetAssignmentMemberValue"),
        22: ("streams_group_current_member_assignment_value", "StreamsGroupCurrentMemberAssignmentValue"),
        23: ("streams_group_topology_value", "StreamsGroupTopologyValue"),
    },
    ("__share_group_state", "key"): {
        0: ("share_snapshot_key", "ShareSnapshotKey"),
        1: ("share_update_key", "ShareUpdateKey"),
    },
    ("__share_group_state", "value"): {
        0: ("share_snapshot_value", "ShareSnapshotValue"),
        1: ("share_update_value", "ShareUpdateValue"),
    },
    ("__transaction_state", "key"): {
        0: ("transaction_log_key", "TransactionLogKey"),
    },
    ("__transaction_state", "value"): {
        0: ("transaction_log_value", "TransactionLogValue"),
    },
}
