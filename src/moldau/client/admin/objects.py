"""What applications hand to `KafkaAdminClient`, as kafka-python has it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from moldau.client.admin.configs import ConfigOperation as AlterConfigOp
from moldau.client.admin.configs import ResourceType as ConfigResourceType

__all__ = ["AlterConfigOp", "ConfigResource", "ConfigResourceType", "NewPartitions", "NewTopic"]


class NewTopic:
    def __init__(
        self,
        name: str,
        num_partitions: int = -1,
        replication_factor: int = -1,
        replica_assignments: Mapping[int, Sequence[int]] | None = None,
        topic_configs: Mapping[str, str] | None = None,
    ) -> None:
        self.name = name
        self.num_partitions = num_partitions
        self.replication_factor = replication_factor
        self.replica_assignments = dict(replica_assignments or {})
        self.topic_configs = dict(topic_configs or {})


class NewPartitions:
    """`total_count` is how many there shall be in all; `new_assignments` place the new ones."""

    def __init__(self, total_count: int, new_assignments: Sequence[Sequence[int]] | None = None) -> None:
        self.total_count = total_count
        self.new_assignments = new_assignments


class ConfigResource:
    """A topic or broker by name; `configs` are names to ask for, or values (or pairs of operation and value) to set."""

    def __init__(self, resource_type: Any, name: Any, configs: Any = None) -> None:
        if isinstance(resource_type, str):
            resource_type = ConfigResourceType[resource_type.upper()]
        self.resource_type = ConfigResourceType(resource_type)
        self.name = str(name)
        self.configs = configs
