"""The consumer and what goes with it, under the place it has in kafka-python."""

from __future__ import annotations

from moldau.client.consumer.face import KafkaConsumer
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.rebalancing import ConsumerRebalanceListener

__all__ = ["ConsumerRebalanceListener", "ConsumerRecord", "KafkaConsumer"]
