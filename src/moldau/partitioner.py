"""Which partition a record goes to, under the place it has in kafka-python and aiokafka."""

from __future__ import annotations

from moldau.client.partitioner import ClusterMetadata, DefaultPartitioner, Partitioner, StickyPartitioner, murmur2

__all__ = ["ClusterMetadata", "DefaultPartitioner", "Partitioner", "StickyPartitioner", "murmur2"]
