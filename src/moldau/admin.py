"""What an operator's program uses, under the names it has in kafka-python."""

from __future__ import annotations

from moldau.client.admin.face import KafkaAdminClient
from moldau.client.admin.objects import AlterConfigOp, ConfigResource, ConfigResourceType, NewPartitions, NewTopic

__all__ = ["AlterConfigOp", "ConfigResource", "ConfigResourceType", "KafkaAdminClient", "NewPartitions", "NewTopic"]
