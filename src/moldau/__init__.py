"""Moldau: Kafka, in Python.

The clients are here under kafka-python's names. They are loaded when first asked for, so that `import moldau` and the
commands that need none of them stay light.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from moldau.client.admin.face import KafkaAdminClient as KafkaAdminClient
    from moldau.client.admin.objects import OffsetSpec as OffsetSpec
    from moldau.client.admin.offsets import IsolationLevel as IsolationLevel
    from moldau.client.consumer.face import KafkaConsumer as KafkaConsumer
    from moldau.client.consumer.fetched import ConsumerRecord as ConsumerRecord
    from moldau.client.consumer.rebalancing import AsyncConsumerRebalanceListener as AsyncConsumerRebalanceListener
    from moldau.client.consumer.rebalancing import ConsumerRebalanceListener as ConsumerRebalanceListener
    from moldau.client.producer.delivery import RecordMetadata as RecordMetadata
    from moldau.client.producer.face import KafkaProducer as KafkaProducer
    from moldau.client.serializer import DefaultSerializer as DefaultSerializer
    from moldau.client.serializer import Deserializer as Deserializer
    from moldau.client.serializer import JsonSerializer as JsonSerializer
    from moldau.client.serializer import Serializer as Serializer
    from moldau.client.share.acknowledgements import AcknowledgeType as AcknowledgeType
    from moldau.client.share.acquired import ShareRecord as ShareRecord
    from moldau.client.share.face import KafkaShareConsumer as KafkaShareConsumer
    from moldau.client.structs import ConsumerGroupMetadata as ConsumerGroupMetadata
    from moldau.client.structs import OffsetAndMetadata as OffsetAndMetadata
    from moldau.client.structs import OffsetAndTimestamp as OffsetAndTimestamp
    from moldau.client.structs import TopicPartitionReplica as TopicPartitionReplica
    from moldau.types import TopicPartition as TopicPartition

__version__ = "0.1.0"

_WHERE = {
    "AcknowledgeType": "moldau.client.share.acknowledgements",
    "AsyncConsumerRebalanceListener": "moldau.client.consumer.rebalancing",
    "ConsumerRebalanceListener": "moldau.client.consumer.rebalancing",
    "ConsumerRecord": "moldau.client.consumer.fetched",
    "IsolationLevel": "moldau.client.admin.offsets",
    "KafkaAdminClient": "moldau.client.admin.face",
    "KafkaConsumer": "moldau.client.consumer.face",
    "ConsumerGroupMetadata": "moldau.client.structs",
    "DefaultSerializer": "moldau.client.serializer",
    "Deserializer": "moldau.client.serializer",
    "JsonSerializer": "moldau.client.serializer",
    "KafkaProducer": "moldau.client.producer.face",
    "KafkaShareConsumer": "moldau.client.share.face",
    "OffsetAndMetadata": "moldau.client.structs",
    "OffsetAndTimestamp": "moldau.client.structs",
    "OffsetSpec": "moldau.client.admin.objects",
    "RecordMetadata": "moldau.client.producer.delivery",
    "Serializer": "moldau.client.serializer",
    "ShareRecord": "moldau.client.share.acquired",
    "TopicPartition": "moldau.types",
    "TopicPartitionReplica": "moldau.client.structs",
}

__all__ = ["__version__", *sorted(_WHERE)]


def __getattr__(name: str) -> Any:
    where = _WHERE.get(name)
    if where is None:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(where), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *_WHERE})
