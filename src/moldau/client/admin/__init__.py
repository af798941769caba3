"""What an operator asks of a cluster. One file per noun; every operation is a conversation (`cluster.run(...)`).

    topics, pages     topics and their partitions, all at once or by the page
    configs           settings that live in the cluster
    offsets           offsets by time, and deleting records
    brokers, replicas brokers, what lies on their disks, who leads, and moving that
    features          what the cluster as a whole can do, and the quorum that keeps its metadata
    groups, group_changes   groups of both protocols: their members and offsets
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
        BrokerDescription as BrokerDescription,
    )
    from moldau.client.admin.brokers import (
        ClusterDescription as ClusterDescription,
    )
    from moldau.client.admin.brokers import (
        LogDirectory as LogDirectory,
    )
    from moldau.client.admin.brokers import (
        ReplicaOnDisk as ReplicaOnDisk,
    )
    from moldau.client.admin.brokers import (
        describe_cluster as describe_cluster,
    )
    from moldau.client.admin.brokers import (
        describe_log_dirs as describe_log_dirs,
    )
    from moldau.client.admin.configs import (
        ConfigChange as ConfigChange,
    )
    from moldau.client.admin.configs import (
        ConfigOperation as ConfigOperation,
    )
    from moldau.client.admin.configs import (
        ConfigResource as ConfigResource,
    )
    from moldau.client.admin.configs import (
        ConfigSource as ConfigSource,
    )
    from moldau.client.admin.configs import (
        ConfigValue as ConfigValue,
    )
    from moldau.client.admin.configs import (
        ResourceType as ResourceType,
    )
    from moldau.client.admin.configs import (
        alter_configs as alter_configs,
    )
    from moldau.client.admin.configs import (
        describe_configs as describe_configs,
    )
    from moldau.client.admin.offsets import (
        EARLIEST as EARLIEST,
    )
    from moldau.client.admin.offsets import (
        LATEST as LATEST,
    )
    from moldau.client.admin.offsets import (
        MAX_TIMESTAMP as MAX_TIMESTAMP,
    )
    from moldau.client.admin.offsets import (
        FoundOffset as FoundOffset,
    )
    from moldau.client.admin.offsets import (
        IsolationLevel as IsolationLevel,
    )
    from moldau.client.admin.offsets import (
        delete_records as delete_records,
    )
    from moldau.client.admin.offsets import (
        list_offsets as list_offsets,
    )
    from moldau.client.admin.topics import (
        NewTopic as NewTopic,
    )
    from moldau.client.admin.topics import (
        TopicOutcome as TopicOutcome,
    )
    from moldau.client.admin.topics import (
        create_partitions as create_partitions,
    )
    from moldau.client.admin.topics import (
        create_topics as create_topics,
    )
    from moldau.client.admin.topics import (
        delete_topics as delete_topics,
    )
    from moldau.client.admin.topics import (
        describe_topics as describe_topics,
    )
    from moldau.client.admin.topics import (
        list_topics as list_topics,
    )

_WHERE = {
    "EARLIEST": "moldau.client.admin.offsets",
    "LATEST": "moldau.client.admin.offsets",
    "MAX_TIMESTAMP": "moldau.client.admin.offsets",
    "BrokerDescription": "moldau.client.admin.brokers",
    "ClusterDescription": "moldau.client.admin.brokers",
    "ConfigChange": "moldau.client.admin.configs",
    "ConfigOperation": "moldau.client.admin.configs",
    "ConfigResource": "moldau.client.admin.configs",
    "ConfigSource": "moldau.client.admin.configs",
    "ConfigValue": "moldau.client.admin.configs",
    "FoundOffset": "moldau.client.admin.offsets",
    "IsolationLevel": "moldau.client.admin.offsets",
    "LogDirectory": "moldau.client.admin.brokers",
    "NewTopic": "moldau.client.admin.topics",
    "ReplicaOnDisk": "moldau.client.admin.brokers",
    "ResourceType": "moldau.client.admin.configs",
    "TopicOutcome": "moldau.client.admin.topics",
    "alter_configs": "moldau.client.admin.configs",
    "create_partitions": "moldau.client.admin.topics",
    "create_topics": "moldau.client.admin.topics",
    "delete_records": "moldau.client.admin.offsets",
    "delete_topics": "moldau.client.admin.topics",
    "describe_cluster": "moldau.client.admin.brokers",
    "describe_configs": "moldau.client.admin.configs",
    "describe_log_dirs": "moldau.client.admin.brokers",
    "describe_topics": "moldau.client.admin.topics",
    "list_offsets": "moldau.client.admin.offsets",
    "list_topics": "moldau.client.admin.topics",
}

__all__ = sorted(_WHERE)


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(where), name)
    globals()[name] = value
    return value
