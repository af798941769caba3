"""Every API a broker offers, in one place. What does not stand here is neither advertised nor answered."""

from __future__ import annotations

from typing import Final

from moldau.server.apis.alter_configs import ALTER_CONFIGS
from moldau.server.apis.api_versions import API_VERSIONS
from moldau.server.apis.create_partitions import CREATE_PARTITIONS
from moldau.server.apis.create_topics import CREATE_TOPICS
from moldau.server.apis.delete_records import DELETE_RECORDS
from moldau.server.apis.delete_topics import DELETE_TOPICS
from moldau.server.apis.describe_cluster import DESCRIBE_CLUSTER
from moldau.server.apis.describe_configs import DESCRIBE_CONFIGS
from moldau.server.apis.describe_log_dirs import DESCRIBE_LOG_DIRS
from moldau.server.apis.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from moldau.server.apis.fetch import FETCH
from moldau.server.apis.find_coordinator import FIND_COORDINATOR
from moldau.server.apis.incremental_alter_configs import INCREMENTAL_ALTER_CONFIGS
from moldau.server.apis.init_producer_id import INIT_PRODUCER_ID
from moldau.server.apis.list_config_resources import LIST_CONFIG_RESOURCES
from moldau.server.apis.list_offsets import LIST_OFFSETS
from moldau.server.apis.metadata import METADATA
from moldau.server.apis.offset_for_leader_epoch import OFFSET_FOR_LEADER_EPOCH
from moldau.server.apis.produce import PRODUCE
from moldau.server.dispatch import Api

BROKER_APIS: Final[tuple[Api, ...]] = (
    PRODUCE,
    FETCH,
    LIST_OFFSETS,
    METADATA,
    FIND_COORDINATOR,
    API_VERSIONS,
    CREATE_TOPICS,
    DELETE_TOPICS,
    DELETE_RECORDS,
    INIT_PRODUCER_ID,
    OFFSET_FOR_LEADER_EPOCH,
    DESCRIBE_CONFIGS,
    ALTER_CONFIGS,
    DESCRIBE_LOG_DIRS,
    CREATE_PARTITIONS,
    INCREMENTAL_ALTER_CONFIGS,
    DESCRIBE_CLUSTER,
    LIST_CONFIG_RESOURCES,
    DESCRIBE_TOPIC_PARTITIONS,
)
