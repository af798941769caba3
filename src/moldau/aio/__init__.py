"""The clients for asyncio, under aiokafka's names.

    async with AIOKafkaProducer(bootstrap_servers="127.0.0.1:9092") as producer:
        await producer.send_and_wait("rivers", b"vltava")

The same core as the other face: one thread per client does the network, so a coroutine that computes for a while does
not delay heartbeats or acknowledgements. What has to wait is waited for off the event loop.
"""

from __future__ import annotations

from moldau.aio.admin import AIOKafkaAdminClient
from moldau.aio.batch import BatchBuilder
from moldau.aio.client import AIOKafkaClient
from moldau.aio.consumer import AIOKafkaConsumer
from moldau.aio.helpers import create_ssl_context
from moldau.aio.producer import AIOKafkaProducer
from moldau.aio.share_consumer import AIOKafkaShareConsumer
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.rebalancing import ConsumerRebalanceListener
from moldau.client.producer.delivery import RecordMetadata
from moldau.client.share.acknowledgements import AcknowledgeType
from moldau.client.structs import OffsetAndMetadata, OffsetAndTimestamp
from moldau.errors.named import ConsumerStoppedError, IllegalOperation
from moldau.types import TopicPartition

__all__ = [
    "AIOKafkaAdminClient",
    "AIOKafkaClient",
    "AIOKafkaConsumer",
    "AIOKafkaProducer",
    "AIOKafkaShareConsumer",
    "AcknowledgeType",
    "BatchBuilder",
    "ConsumerRebalanceListener",
    "ConsumerRecord",
    "ConsumerStoppedError",
    "IllegalOperation",
    "OffsetAndMetadata",
    "OffsetAndTimestamp",
    "RecordMetadata",
    "TopicPartition",
    "create_ssl_context",
]
