"""`KafkaAdminClient` beside kafka-python's, and beside what the broker offers: nothing is missing unnoticed."""

from __future__ import annotations

import inspect
from typing import Any

import kafka.admin
import pytest

from moldau import admin as ours
from moldau import errors
from moldau.admin import KafkaAdminClient
from moldau.protocol.api import ApiKey
from moldau.server.apis.table import BROKER_APIS

# Names of kafka.admin that are not here, and why.
MISSING_NAMES: dict[str, str] = {}

# By which method an operator reaches each request of the broker; the others are the producer's and the consumer's.
REACHED_BY = {
    ApiKey.LIST_OFFSETS: "list_partition_offsets",
    ApiKey.METADATA: "describe_topics",
    ApiKey.OFFSET_COMMIT: "alter_group_offsets",
    ApiKey.OFFSET_FETCH: "list_group_offsets",
    ApiKey.FIND_COORDINATOR: "find_coordinator",
    ApiKey.LEAVE_GROUP: "remove_group_members",
    ApiKey.DESCRIBE_GROUPS: "describe_groups",
    ApiKey.LIST_GROUPS: "list_groups",
    ApiKey.API_VERSIONS: "api_versions",
    ApiKey.CREATE_TOPICS: "create_topics",
    ApiKey.DELETE_TOPICS: "delete_topics",
    ApiKey.DELETE_RECORDS: "delete_records",
    ApiKey.INIT_PRODUCER_ID: "fence_producers",
    ApiKey.WRITE_TXN_MARKERS: "abort_transaction",
    ApiKey.DESCRIBE_CONFIGS: "describe_configs",
    ApiKey.ALTER_REPLICA_LOG_DIRS: "alter_replica_log_dirs",
    ApiKey.DESCRIBE_LOG_DIRS: "describe_log_dirs",
    ApiKey.CREATE_PARTITIONS: "create_partitions",
    ApiKey.DELETE_GROUPS: "delete_groups",
    ApiKey.INCREMENTAL_ALTER_CONFIGS: "alter_configs",
    ApiKey.OFFSET_DELETE: "delete_group_offsets",
    ApiKey.DESCRIBE_CLUSTER: "describe_cluster",
    ApiKey.DESCRIBE_PRODUCERS: "describe_producers",
    ApiKey.DESCRIBE_TRANSACTIONS: "describe_transactions",
    ApiKey.LIST_TRANSACTIONS: "list_transactions",
    ApiKey.CONSUMER_GROUP_DESCRIBE: "describe_groups",
    ApiKey.LIST_CONFIG_RESOURCES: "list_config_resources",
    ApiKey.DESCRIBE_TOPIC_PARTITIONS: "describe_topic_partitions",
    ApiKey.ELECT_LEADERS: "elect_leaders",
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: "alter_partition_reassignments",
    ApiKey.LIST_PARTITION_REASSIGNMENTS: "list_partition_reassignments",
    ApiKey.DESCRIBE_QUORUM: "describe_metadata_quorum",
    ApiKey.UPDATE_FEATURES: "update_features",
    ApiKey.DESCRIBE_ACLS: "describe_acls",
    ApiKey.CREATE_ACLS: "create_acls",
    ApiKey.DELETE_ACLS: "delete_acls",
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: "describe_user_scram_credentials",
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS: "alter_user_scram_credentials",
    ApiKey.SHARE_GROUP_DESCRIBE: "describe_share_groups",
    ApiKey.DESCRIBE_SHARE_GROUP_OFFSETS: "list_share_group_offsets",
    ApiKey.ALTER_SHARE_GROUP_OFFSETS: "alter_share_group_offsets",
    ApiKey.DELETE_SHARE_GROUP_OFFSETS: "delete_share_group_offsets",
}
NOT_FOR_OPERATORS = {
    ApiKey.PRODUCE,
    ApiKey.FETCH,
    ApiKey.JOIN_GROUP,
    ApiKey.HEARTBEAT,
    ApiKey.SYNC_GROUP,
    ApiKey.OFFSET_FOR_LEADER_EPOCH,
    ApiKey.ADD_PARTITIONS_TO_TXN,
    ApiKey.ADD_OFFSETS_TO_TXN,
    ApiKey.END_TXN,
    ApiKey.TXN_OFFSET_COMMIT,
    ApiKey.CONSUMER_GROUP_HEARTBEAT,
    ApiKey.SHARE_GROUP_HEARTBEAT,
    ApiKey.SHARE_FETCH,
    ApiKey.SHARE_ACKNOWLEDGE,
    ApiKey.STREAMS_GROUP_HEARTBEAT,
    # Clients tell of themselves.
    ApiKey.GET_TELEMETRY_SUBSCRIPTIONS,
    ApiKey.PUSH_TELEMETRY,
    # Brokers ask each other these.
    ApiKey.INITIALIZE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE,
    ApiKey.WRITE_SHARE_GROUP_STATE,
    ApiKey.DELETE_SHARE_GROUP_STATE,
    ApiKey.READ_SHARE_GROUP_STATE_SUMMARY,
    # Replaces every setting of a resource at once: its incremental successor takes its place.
    ApiKey.ALTER_CONFIGS,
    # A connection's own beginning.
    ApiKey.SASL_HANDSHAKE,
    ApiKey.SASL_AUTHENTICATE,
    # For `moldau brokers`, `groups`, `quorum`, `quotas` and `tokens`; kafka-python has no methods for them.
    ApiKey.STREAMS_GROUP_DESCRIBE,
    ApiKey.DESCRIBE_CLIENT_QUOTAS,
    ApiKey.ALTER_CLIENT_QUOTAS,
    ApiKey.CREATE_DELEGATION_TOKEN,
    ApiKey.RENEW_DELEGATION_TOKEN,
    ApiKey.EXPIRE_DELEGATION_TOKEN,
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
    ApiKey.UNREGISTER_BROKER,
    ApiKey.ADD_RAFT_VOTER,
    ApiKey.REMOVE_RAFT_VOTER,
}


def methods(kind: type) -> dict[str, Any]:
    return {name: each for name, each in inspect.getmembers(kind, callable) if not name.startswith("_")}


def test_every_method_is_here_and_takes_the_same_arguments() -> None:
    mine = methods(KafkaAdminClient)
    for name, theirs in methods(kafka.admin.KafkaAdminClient).items():
        assert name in mine, f"{name} is missing"
        wanted = list(inspect.signature(theirs).parameters.values())
        offered = list(inspect.signature(mine[name]).parameters.values())
        assert [each.name for each in offered[: len(wanted)]] == [each.name for each in wanted], name
        for here, there in zip(offered, wanted, strict=False):
            optional = there.default is not inspect.Parameter.empty
            assert (here.default is not inspect.Parameter.empty) == optional, f"{name}({here.name})"
            if isinstance(there.default, bool | int | str | None):
                assert here.default == there.default, f"{name}({here.name})"


def test_every_name_is_here_or_there_is_a_reason() -> None:
    theirs = {name for name in kafka.admin.__all__ if not name.startswith("_")}
    assert theirs - set(ours.__all__) == set(MISSING_NAMES)


def test_every_request_of_the_broker_can_be_made() -> None:
    """A request that is added to the broker's table belongs into one of the two lists."""
    offered = {api.key for api in BROKER_APIS}
    assert offered <= REACHED_BY.keys() | NOT_FOR_OPERATORS
    assert set(REACHED_BY.values()) <= methods(KafkaAdminClient).keys()


@pytest.mark.parametrize(
    ("key", "method", "arguments"),
    [
        (ApiKey.ELECT_LEADERS, "elect_leaders", (0,)),
        (ApiKey.ALTER_PARTITION_REASSIGNMENTS, "alter_partition_reassignments", ({},)),
        (ApiKey.LIST_PARTITION_REASSIGNMENTS, "list_partition_reassignments", ()),
        (ApiKey.DESCRIBE_QUORUM, "describe_metadata_quorum", ()),
        (ApiKey.UPDATE_FEATURES, "update_features", ({"group.version": 1}, True)),
    ],
)
def test_what_a_broker_does_not_offer_is_refused_in_a_sentence(
    bootstrap: str, key: ApiKey, method: str, arguments: tuple[Any, ...]
) -> None:
    """And where it is offered (Apache Kafka does), it works."""
    with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
        if key in admin.api_versions():
            assert isinstance(getattr(admin, method)(*arguments), dict)
        else:
            with pytest.raises(errors.UnsupportedVersionError, match="The broker does not offer"):
                getattr(admin, method)(*arguments)
