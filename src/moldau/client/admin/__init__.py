"""What an operator asks of a cluster. One file per noun; every operation is a conversation (`cluster.run(...)`).

    topics, pages     topics and their partitions, all at once or by the page
    configs           settings that live in the cluster
    offsets           offsets by time, and deleting records
    brokers, replicas brokers, what lies on their disks, who leads, and moving that
    features, quorum  what the cluster as a whole can do, and the quorum that keeps its metadata
    groups, group_changes   groups of both protocols: their members and offsets
    share_groups      the same of share groups
    transactions, hanging   transactions and producers, and ending those that hang
    acls, users       who may do what, and by which password

Operations on many things at once give one outcome per thing: one topic that exists already does not hide that the
other five were created. `face` is `KafkaAdminClient`, kafka-python's class over all of it; what is used most is here,
and loaded when first asked for: whoever wants one operation should not pay for the messages of all.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moldau.client.admin.brokers import (
        BrokerDescription,
        ClusterDescription,
        LogDirectory,
        ReplicaOnDisk,
        describe_cluster,
        describe_log_dirs,
    )
    from moldau.client.admin.configs import (
        ConfigChange,
        ConfigOperation,
        ConfigResource,
        ConfigSource,
        ConfigValue,
        ResourceType,
        alter_configs,
        describe_configs,
    )
    from moldau.client.admin.offsets import (
        EARLIEST,
        LATEST,
        MAX_TIMESTAMP,
        FoundOffset,
        IsolationLevel,
        delete_records,
        list_offsets,
    )
    from moldau.client.admin.topics import (
        NewTopic,
        TopicOutcome,
        create_partitions,
        create_topics,
        delete_topics,
        describe_topics,
        list_topics,
    )

__all__ = [
    "EARLIEST",
    "LATEST",
    "MAX_TIMESTAMP",
    "BrokerDescription",
    "ClusterDescription",
    "ConfigChange",
    "ConfigOperation",
    "ConfigResource",
    "ConfigSource",
    "ConfigValue",
    "FoundOffset",
    "IsolationLevel",
    "LogDirectory",
    "NewTopic",
    "ReplicaOnDisk",
    "ResourceType",
    "TopicOutcome",
    "alter_configs",
    "create_partitions",
    "create_topics",
    "delete_records",
    "delete_topics",
    "describe_cluster",
    "describe_configs",
    "describe_log_dirs",
    "describe_topics",
    "list_offsets",
    "list_topics",
]

_WHERE = {
    "brokers": (
        "BrokerDescription",
        "ClusterDescription",
        "LogDirectory",
        "ReplicaOnDisk",
        "describe_cluster",
        "describe_log_dirs",
    ),
    "configs": (
        "ConfigChange",
        "ConfigOperation",
        "ConfigResource",
        "ConfigSource",
        "ConfigValue",
        "ResourceType",
        "alter_configs",
        "describe_configs",
    ),
    "offsets": (
        "EARLIEST",
        "LATEST",
        "MAX_TIMESTAMP",
        "FoundOffset",
        "IsolationLevel",
        "delete_records",
        "list_offsets",
    ),
    "topics": (
        "NewTopic",
        "TopicOutcome",
        "create_partitions",
        "create_topics",
        "delete_topics",
        "describe_topics",
        "list_topics",
    ),
}


def __getattr__(name: str) -> Any:
    for module, names in _WHERE.items():
        if name in names:
            value = getattr(import_module(f"{__name__}.{module}"), name)
            globals()[name] = value
            return value
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
