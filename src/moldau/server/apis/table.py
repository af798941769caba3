"""Every API a node offers, in one place: a broker to its clients, a controller to brokers and other controllers.

What does not stand here is neither advertised nor answered.
"""

from __future__ import annotations

from typing import Final

from moldau.server.apis.add_offsets_to_txn import ADD_OFFSETS_TO_TXN
from moldau.server.apis.add_partitions_to_txn import ADD_PARTITIONS_TO_TXN
from moldau.server.apis.add_raft_voter import ADD_RAFT_VOTER
from moldau.server.apis.allocate_producer_ids import ALLOCATE_PRODUCER_IDS
from moldau.server.apis.alter_client_quotas import ALTER_CLIENT_QUOTAS
from moldau.server.apis.alter_configs import ALTER_CONFIGS, CONTROLLER_ALTER_CONFIGS
from moldau.server.apis.alter_partition import ALTER_PARTITION
from moldau.server.apis.alter_partition_reassignments import ALTER_PARTITION_REASSIGNMENTS
from moldau.server.apis.alter_replica_log_dirs import ALTER_REPLICA_LOG_DIRS
from moldau.server.apis.alter_share_group_offsets import ALTER_SHARE_GROUP_OFFSETS
from moldau.server.apis.alter_user_scram_credentials import ALTER_USER_SCRAM_CREDENTIALS
from moldau.server.apis.api_versions import API_VERSIONS
from moldau.server.apis.assign_replicas_to_dirs import ASSIGN_REPLICAS_TO_DIRS
from moldau.server.apis.begin_quorum_epoch import BEGIN_QUORUM_EPOCH
from moldau.server.apis.broker_heartbeat import BROKER_HEARTBEAT
from moldau.server.apis.broker_registration import BROKER_REGISTRATION
from moldau.server.apis.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from moldau.server.apis.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from moldau.server.apis.controller_registration import CONTROLLER_REGISTRATION
from moldau.server.apis.create_acls import CREATE_ACLS
from moldau.server.apis.create_delegation_token import CREATE_DELEGATION_TOKEN
from moldau.server.apis.create_partitions import CREATE_PARTITIONS
from moldau.server.apis.create_topics import CREATE_TOPICS
from moldau.server.apis.delete_acls import DELETE_ACLS
from moldau.server.apis.delete_groups import DELETE_GROUPS
from moldau.server.apis.delete_records import DELETE_RECORDS
from moldau.server.apis.delete_share_group_offsets import DELETE_SHARE_GROUP_OFFSETS
from moldau.server.apis.delete_topics import DELETE_TOPICS
from moldau.server.apis.describe_acls import DESCRIBE_ACLS
from moldau.server.apis.describe_client_quotas import DESCRIBE_CLIENT_QUOTAS
from moldau.server.apis.describe_cluster import CONTROLLER_DESCRIBE_CLUSTER, DESCRIBE_CLUSTER
from moldau.server.apis.describe_configs import DESCRIBE_CONFIGS
from moldau.server.apis.describe_delegation_token import DESCRIBE_DELEGATION_TOKEN
from moldau.server.apis.describe_groups import DESCRIBE_GROUPS
from moldau.server.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from moldau.server.apis.describe_producers import DESCRIBE_PRODUCERS
from moldau.server.apis.describe_quorum import DESCRIBE_QUORUM
from moldau.server.apis.describe_share_group_offsets import DESCRIBE_SHARE_GROUP_OFFSETS
from moldau.server.apis.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from moldau.server.apis.describe_transactions import DESCRIBE_TRANSACTIONS
from moldau.server.apis.describe_user_scram_credentials import DESCRIBE_USER_SCRAM_CREDENTIALS
from moldau.server.apis.elect_leaders import ELECT_LEADERS
from moldau.server.apis.end_quorum_epoch import END_QUORUM_EPOCH
from moldau.server.apis.end_txn import END_TXN
from moldau.server.apis.envelope import ENVELOPE
from moldau.server.apis.expire_delegation_token import EXPIRE_DELEGATION_TOKEN
from moldau.server.apis.fetch import FETCH
from moldau.server.apis.fetch_metadata import FETCH_METADATA
from moldau.server.apis.fetch_snapshot import FETCH_SNAPSHOT
from moldau.server.apis.find_coordinator import FIND_COORDINATOR
from moldau.server.apis.forwarding import forwarded
from moldau.server.apis.get_telemetry_subscriptions import GET_TELEMETRY_SUBSCRIPTIONS
from moldau.server.apis.heartbeat import HEARTBEAT
from moldau.server.apis.incremental_alter_configs import (
    CONTROLLER_INCREMENTAL_ALTER_CONFIGS,
    INCREMENTAL_ALTER_CONFIGS,
)
from moldau.server.apis.init_producer_id import INIT_PRODUCER_ID
from moldau.server.apis.join_group import JOIN_GROUP
from moldau.server.apis.leave_group import LEAVE_GROUP
from moldau.server.apis.list_config_resources import LIST_CONFIG_RESOURCES
from moldau.server.apis.list_groups import LIST_GROUPS
from moldau.server.apis.list_offsets import LIST_OFFSETS
from moldau.server.apis.list_partition_reassignments import LIST_PARTITION_REASSIGNMENTS
from moldau.server.apis.list_transactions import LIST_TRANSACTIONS
from moldau.server.apis.metadata import METADATA
from moldau.server.apis.offset_commit import OFFSET_COMMIT
from moldau.server.apis.offset_delete import OFFSET_DELETE
from moldau.server.apis.offset_fetch import OFFSET_FETCH
from moldau.server.apis.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from moldau.server.apis.produce import PRODUCE
from moldau.server.apis.push_telemetry import PUSH_TELEMETRY
from moldau.server.apis.remove_raft_voter import REMOVE_RAFT_VOTER
from moldau.server.apis.renew_delegation_token import RENEW_DELEGATION_TOKEN
from moldau.server.apis.sasl_authenticate import SASL_AUTHENTICATE
from moldau.server.apis.sasl_handshake import SASL_HANDSHAKE
from moldau.server.apis.share_acknowledge import SHARE_ACKNOWLEDGE
from moldau.server.apis.share_fetch import SHARE_FETCH
from moldau.server.apis.share_group_describe import SHARE_GROUP_DESCRIBE
from moldau.server.apis.share_group_heartbeat import SHARE_GROUP_HEARTBEAT
from moldau.server.apis.share_group_state import (
    DELETE_SHARE_GROUP_STATE,
    INITIALIZE_SHARE_GROUP_STATE,
    READ_SHARE_GROUP_STATE,
    READ_SHARE_GROUP_STATE_SUMMARY,
    WRITE_SHARE_GROUP_STATE,
)
from moldau.server.apis.streams_group_describe import STREAMS_GROUP_DESCRIBE
from moldau.server.apis.streams_group_heartbeat import STREAMS_GROUP_HEARTBEAT
from moldau.server.apis.sync_group import SYNC_GROUP
from moldau.server.apis.txn_offset_commit import TXN_OFFSET_COMMIT
from moldau.server.apis.unregister_broker import UNREGISTER_BROKER
from moldau.server.apis.update_features import UPDATE_FEATURES
from moldau.server.apis.update_raft_voter import UPDATE_RAFT_VOTER
from moldau.server.apis.vote import VOTE
from moldau.server.apis.write_txn_markers import WRITE_TXN_MARKERS
from moldau.server.dispatch import Api

BROKER_APIS: Final[tuple[Api, ...]] = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    OFFSET_COMMIT,
    OFFSET_FETCH,
    FIND_COORDINATOR,
    JOIN_GROUP,
    HEARTBEAT,
    LEAVE_GROUP,
    SYNC_GROUP,
    DESCRIBE_GROUPS,
    LIST_GROUPS,
    API_VERSIONS,
    forwarded(CREATE_TOPICS),
    forwarded(DELETE_TOPICS),
    DELETE_RECORDS,
    INIT_PRODUCER_ID,
    OFFSET_FOR_LEADER_EPOCH,
    ADD_PARTITIONS_TO_TXN,
    ADD_OFFSETS_TO_TXN,
    END_TXN,
    WRITE_TXN_MARKERS,
    TXN_OFFSET_COMMIT,
    DESCRIBE_ACLS,
    forwarded(CREATE_ACLS),
    forwarded(DELETE_ACLS),
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    ALTER_REPLICA_LOG_DIRS,
    DESCRIBE_LOG_DIRS,
    forwarded(CREATE_PARTITIONS),
    DELETE_GROUPS,
    forwarded(ELECT_LEADERS),
    INCREMENTAL_ALTER_CONFIGS,
    forwarded(ALTER_PARTITION_REASSIGNMENTS),
    forwarded(LIST_PARTITION_REASSIGNMENTS),
    OFFSET_DELETE,
    forwarded(UPDATE_FEATURES),
    DESCRIBE_CLUSTER,
    DESCRIBE_PRODUCERS,
    forwarded(UNREGISTER_BROKER),
    DESCRIBE_TRANSACTIONS,
    LIST_TRANSACTIONS,
    CONSUMER_GROUP_HEARTBEAT,
    CONSUMER_GROUP_DESCRIBE,
    GET_TELEMETRY_SUBSCRIPTIONS,
    PUSH_TELEMETRY,
    SHARE_FETCH,
    SHARE_ACKNOWLEDGE,
    INITIALIZE_SHARE_GROUP_STATE,
    READ_SHARE_GROUP_STATE,
    WRITE_SHARE_GROUP_STATE,
    DELETE_SHARE_GROUP_STATE,
    READ_SHARE_GROUP_STATE_SUMMARY,
    LIST_CONFIG_RESOURCES,
    DESCRIBE_TOPIC_PARTITIONS,
    forwarded(DESCRIBE_QUORUM),
    DESCRIBE_CLIENT_QUOTAS,
    forwarded(ALTER_CLIENT_QUOTAS),
    forwarded(ADD_RAFT_VOTER),
    forwarded(REMOVE_RAFT_VOTER),
    SASL_HANDSHAKE,
    SASL_AUTHENTICATE,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    forwarded(ALTER_USER_SCRAM_CREDENTIALS),
    forwarded(CREATE_DELEGATION_TOKEN),
    forwarded(RENEW_DELEGATION_TOKEN),
    forwarded(EXPIRE_DELEGATION_TOKEN),
    DESCRIBE_DELEGATION_TOKEN,
    SHARE_GROUP_HEARTBEAT,
    SHARE_GROUP_DESCRIBE,
    STREAMS_GROUP_HEARTBEAT,
    STREAMS_GROUP_DESCRIBE,
    DESCRIBE_SHARE_GROUP_OFFSETS,
    ALTER_SHARE_GROUP_OFFSETS,
    DELETE_SHARE_GROUP_OFFSETS,
)

CONTROLLER_APIS: Final[tuple[Api, ...]] = (
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DESCRIBE_ACLS,
    CREATE_ACLS,
    DELETE_ACLS,
    DESCRIBE_CONFIGS,
    CONTROLLER_ALTER_CONFIGS,
    CREATE_PARTITIONS,
    ELECT_LEADERS,
    CONTROLLER_INCREMENTAL_ALTER_CONFIGS,
    ALTER_PARTITION_REASSIGNMENTS,
    LIST_PARTITION_REASSIGNMENTS,
    ALTER_PARTITION,
    UPDATE_FEATURES,
    ENVELOPE,
    CONTROLLER_DESCRIBE_CLUSTER,
    BROKER_REGISTRATION,
    BROKER_HEARTBEAT,
    UNREGISTER_BROKER,
    ALLOCATE_PRODUCER_IDS,
    CONTROLLER_REGISTRATION,
    ASSIGN_REPLICAS_TO_DIRS,
    FETCH_METADATA,
    VOTE,
    BEGIN_QUORUM_EPOCH,
    END_QUORUM_EPOCH,
    DESCRIBE_QUORUM,
    FETCH_SNAPSHOT,
    ADD_RAFT_VOTER,
    REMOVE_RAFT_VOTER,
    UPDATE_RAFT_VOTER,
    DESCRIBE_CLIENT_QUOTAS,
    ALTER_CLIENT_QUOTAS,
    SASL_HANDSHAKE,
    SASL_AUTHENTICATE,
    CREATE_DELEGATION_TOKEN,
    RENEW_DELEGATION_TOKEN,
    EXPIRE_DELEGATION_TOKEN,
    DESCRIBE_DELEGATION_TOKEN,
    DESCRIBE_USER_SCRAM_CREDENTIALS,
    ALTER_USER_SCRAM_CREDENTIALS,
)
