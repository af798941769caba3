"""The producer and what goes with it, under the place it has in kafka-python."""

from __future__ import annotations

from moldau.client.producer.delivery import FutureRecordMetadata, RecordMetadata
from moldau.client.producer.face import KafkaProducer

__all__ = ["FutureRecordMetadata", "KafkaProducer", "RecordMetadata"]
