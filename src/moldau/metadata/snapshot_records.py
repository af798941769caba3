"""An image as the records that rebuild it: what a metadata snapshot contains."""

from __future__ import annotations

from collections.abc import Iterator

from moldau.metadata import client_quotas
from moldau.metadata.credentials import credential_record, token_record
from moldau.metadata.features import METADATA_VERSION
from moldau.metadata.image import MetadataImage
from moldau.metadata.records import (
    ConfigRecord,
    FeatureLevelRecord,
    Message,
    ProducerIdsRecord,
    TopicRecord,
)


def image_records(image: MetadataImage) -> Iterator[Message]:
    """In Kafka's order: the metadata.version first, because it says how to read the rest; a topic before its
    partitions."""
    if METADATA_VERSION in image.features:
        yield FeatureLevelRecord(name=METADATA_VERSION, feature_level=image.metadata_version)
    for name, level in image.features.items():
        if name != METADATA_VERSION:
            yield FeatureLevelRecord(name=name, feature_level=level)
    for controller in image.cluster.controllers.values():
        yield controller.to_record()
    for broker in image.cluster.brokers.values():
        yield broker.to_record()
    for topic in image.topics.by_name.values():
        yield TopicRecord(name=topic.name, topic_id=topic.id)
        for index, partition in topic.partitions.items():
            yield partition.to_record(topic.id, index)
    for resource, settings in image.configs.resources.items():
        for name, value in settings.items():
            yield ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
    if image.producer_ids.next > 0:
        yield ProducerIdsRecord(broker_id=-1, broker_epoch=-1, next_producer_id=image.producer_ids.next)
    yield from image.acls.records()
    yield from client_quotas.records_of(image.client_quotas)
    for key, credential in image.scram.items():
        yield credential_record(key, credential)
    for token in image.tokens.values():
        yield token_record(token)
