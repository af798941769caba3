"""`KafkaAdminClient`: kafka-python's class over the conversations of this room.

Answers are plain lists and dictionaries with the field names of Kafka's protocol, as there. Whoever wants typed ones
has the conversations themselves. One part per noun: topics, settings, groups, transactions, cluster, users and ACLs.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, ClassVar

from moldau.client.admin.cluster_face import ClusterAdmin
from moldau.client.admin.config_face import ConfigAdmin
from moldau.client.admin.group_face import GroupAdmin
from moldau.client.admin.security_face import SecurityAdmin
from moldau.client.admin.share_group_face import ShareGroupAdmin
from moldau.client.admin.topic_face import TopicAdmin
from moldau.client.admin.transaction_face import TransactionAdmin
from moldau.client.session import Session, delegated
from moldau.client.settings import COMMON, merged


class KafkaAdminClient:
    DEFAULT_CONFIG: ClassVar[dict[str, Any]] = dict(COMMON)

    def __init__(self, **configs: Any) -> None:
        self.config = merged({}, configs)
        self._session = Session(self.config, "admin", "admin client")
        self._topics = TopicAdmin(self._session)
        self._configs = ConfigAdmin(self._session)
        self._groups = GroupAdmin(self._session)
        self._share_groups = ShareGroupAdmin(self._session)
        self._transactions = TransactionAdmin(self._session)
        self._cluster = ClusterAdmin(self._session)
        self._security = SecurityAdmin(self._session)
        self._session.open()

    create_topics = delegated("_topics", TopicAdmin.create_topics)
    wait_for_topics = delegated("_topics", TopicAdmin.wait_for_topics)
    delete_topics = delegated("_topics", TopicAdmin.delete_topics)
    list_topics = delegated("_topics", TopicAdmin.list_topics)
    describe_topics = delegated("_topics", TopicAdmin.describe_topics)
    describe_topic_partitions = delegated("_topics", TopicAdmin.describe_topic_partitions)
    create_partitions = delegated("_topics", TopicAdmin.create_partitions)
    delete_records = delegated("_topics", TopicAdmin.delete_records)
    list_partition_offsets = delegated("_topics", TopicAdmin.list_partition_offsets)

    describe_configs = delegated("_configs", ConfigAdmin.describe_configs)
    alter_configs = delegated("_configs", ConfigAdmin.alter_configs)
    incremental_alter_configs = alter_configs
    reset_configs = delegated("_configs", ConfigAdmin.reset_configs)
    list_config_resources = delegated("_configs", ConfigAdmin.list_config_resources)

    list_groups = delegated("_groups", GroupAdmin.list_groups)
    list_consumer_groups = delegated("_groups", GroupAdmin.list_consumer_groups)
    describe_groups = delegated("_groups", GroupAdmin.describe_groups)
    describe_consumer_groups = describe_groups
    find_coordinator = delegated("_groups", GroupAdmin.find_coordinator)
    list_group_offsets = delegated("_groups", GroupAdmin.list_group_offsets)
    list_consumer_group_offsets = delegated("_groups", GroupAdmin.list_consumer_group_offsets)
    alter_group_offsets = delegated("_groups", GroupAdmin.alter_group_offsets)
    reset_group_offsets = delegated("_groups", GroupAdmin.reset_group_offsets)
    delete_group_offsets = delegated("_groups", GroupAdmin.delete_group_offsets)
    remove_group_members = delegated("_groups", GroupAdmin.remove_group_members)
    delete_groups = delegated("_groups", GroupAdmin.delete_groups)
    delete_consumer_groups = delete_groups

    list_share_groups = delegated("_share_groups", ShareGroupAdmin.list_share_groups)
    describe_share_groups = delegated("_share_groups", ShareGroupAdmin.describe_share_groups)
    list_share_group_offsets = delegated("_share_groups", ShareGroupAdmin.list_share_group_offsets)
    alter_share_group_offsets = delegated("_share_groups", ShareGroupAdmin.alter_share_group_offsets)
    delete_share_group_offsets = delegated("_share_groups", ShareGroupAdmin.delete_share_group_offsets)
    delete_share_groups = delegated("_share_groups", ShareGroupAdmin.delete_share_groups)

    list_transactions = delegated("_transactions", TransactionAdmin.list_transactions)
    describe_transactions = delegated("_transactions", TransactionAdmin.describe_transactions)
    describe_producers = delegated("_transactions", TransactionAdmin.describe_producers)
    abort_transaction = delegated("_transactions", TransactionAdmin.abort_transaction)
    fence_producers = delegated("_transactions", TransactionAdmin.fence_producers)
    find_hanging_transactions = delegated("_transactions", TransactionAdmin.find_hanging_transactions)

    describe_cluster = delegated("_cluster", ClusterAdmin.describe_cluster)
    describe_log_dirs = delegated("_cluster", ClusterAdmin.describe_log_dirs)
    alter_replica_log_dirs = delegated("_cluster", ClusterAdmin.alter_replica_log_dirs)
    api_versions = delegated("_cluster", ClusterAdmin.api_versions)
    get_broker_version_data = delegated("_cluster", ClusterAdmin.get_broker_version_data)
    describe_features = delegated("_cluster", ClusterAdmin.describe_features)
    update_features = delegated("_cluster", ClusterAdmin.update_features)
    describe_metadata_quorum = delegated("_cluster", ClusterAdmin.describe_metadata_quorum)
    elect_leaders = delegated("_cluster", ClusterAdmin.elect_leaders)
    alter_partition_reassignments = delegated("_cluster", ClusterAdmin.alter_partition_reassignments)
    list_partition_reassignments = delegated("_cluster", ClusterAdmin.list_partition_reassignments)

    describe_acls = delegated("_security", SecurityAdmin.describe_acls)
    create_acls = delegated("_security", SecurityAdmin.create_acls)
    delete_acls = delegated("_security", SecurityAdmin.delete_acls)
    alter_user_scram_credentials = delegated("_security", SecurityAdmin.alter_user_scram_credentials)
    describe_user_scram_credentials = delegated("_security", SecurityAdmin.describe_user_scram_credentials)

    def close(self) -> None:
        if not self._session.closed:
            self._session.closed = True
            self._session.background.close(self._session.network.close)

    def __enter__(self) -> KafkaAdminClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if hasattr(self, "_session"):
            self.close()
