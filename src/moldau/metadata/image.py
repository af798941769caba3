"""Immutable images of the cluster's metadata: what every reader on a node looks at.

An image is shared freely and never changes; the next one shares every part that did not change. Maps inside an image
are plain dictionaries for speed, typed as read-only mappings: whoever wants something else builds a delta.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from moldau.dataclass import dataclass, field
from moldau.metadata.acls import NO_ACLS, AclsImage
from moldau.metadata.broker_registration import BrokerRegistration, ControllerRegistration, Endpoint, FeatureRange
from moldau.metadata.credentials import ScramKey
from moldau.metadata.features import METADATA_VERSION, MINIMUM_METADATA_VERSION
from moldau.metadata.partition_registration import (
    LOST_DIRECTORY,
    MIGRATING_DIRECTORY,
    NO_LEADER_CHANGE,
    UNASSIGNED_DIRECTORY,
    LeaderRecoveryState,
    PartitionRegistration,
)
from moldau.security.delegation_token import DelegationToken
from moldau.security.quota import Quotas
from moldau.security.scram_credential import ScramCredential
from moldau.types import Uuid

__all__ = [
    "EMPTY_IMAGE",
    "LOST_DIRECTORY",
    "MIGRATING_DIRECTORY",
    "NO_LEADER_CHANGE",
    "UNASSIGNED_DIRECTORY",
    "AclsImage",
    "BrokerRegistration",
    "ClusterImage",
    "ConfigResource",
    "ConfigsImage",
    "ControllerRegistration",
    "Endpoint",
    "FeatureRange",
    "FeaturesImage",
    "LeaderRecoveryState",
    "MetadataImage",
    "PartitionRegistration",
    "ProducerIdsImage",
    "ResourceType",
    "TopicImage",
    "TopicsImage",
]


class TopicImage(NamedTuple):
    name: str
    id: Uuid
    partitions: Mapping[int, PartitionRegistration]


class TopicsImage(NamedTuple):
    by_name: Mapping[str, TopicImage]
    ids: Mapping[Uuid, TopicImage]

    def get(self, name: str) -> TopicImage | None:
        return self.by_name.get(name)

    def by_id(self, topic_id: Uuid) -> TopicImage | None:
        return self.ids.get(topic_id)

    def partition(self, name: str, partition: int) -> PartitionRegistration | None:
        topic = self.by_name.get(name)
        return None if topic is None else topic.partitions.get(partition)


class ClusterImage(NamedTuple):
    brokers: Mapping[int, BrokerRegistration]
    controllers: Mapping[int, ControllerRegistration]

    def alive(self) -> Iterator[BrokerRegistration]:
        return (broker for broker in self.brokers.values() if not broker.fenced)

    def endpoint(self, broker_id: int, listener: str) -> Endpoint | None:
        """Where clients of `listener` reach the broker; None if it is fenced, unknown or has no such listener."""
        broker = self.brokers.get(broker_id)
        return None if broker is None or broker.fenced else broker.listeners.get(listener)


class ResourceType(IntEnum):
    """What a configuration belongs to; the numbers are those of the wire and of the records."""

    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class ConfigResource(NamedTuple):
    type: int
    name: str


_NOTHING: Final[Mapping[str, str]] = {}


class ConfigsImage(NamedTuple):
    resources: Mapping[ConfigResource, Mapping[str, str]]

    def of(self, resource_type: int, name: str) -> Mapping[str, str]:
        # A plain tuple finds the same key as a ConfigResource and costs less to make.
        return self.resources.get((resource_type, name), _NOTHING)  # type: ignore[call-overload, no-any-return]

    def topic(self, name: str) -> Mapping[str, str]:
        return self.of(ResourceType.TOPIC, name)

    def broker(self, broker_id: int | None) -> Mapping[str, str]:
        """The dynamic settings of one broker, or with None those that hold for every broker."""
        return self.of(ResourceType.BROKER, "" if broker_id is None else str(broker_id))

    def group(self, name: str) -> Mapping[str, str]:
        return self.of(ResourceType.GROUP, name)

    def client_metrics(self, name: str) -> Mapping[str, str]:
        return self.of(ResourceType.CLIENT_METRICS, name)


class FeaturesImage(Mapping[str, int]):
    """The finalized level of every feature that is switched on."""

    __slots__ = ("_levels",)

    def __init__(self, levels: Mapping[str, int]) -> None:
        self._levels = levels

    @property
    def metadata_version(self) -> int:
        return self._levels.get(METADATA_VERSION, MINIMUM_METADATA_VERSION)

    def __getitem__(self, name: str) -> int:
        return self._levels[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._levels)

    def __len__(self) -> int:
        return len(self._levels)

    def __repr__(self) -> str:
        return f"FeaturesImage({dict(self._levels)!r})"


class ProducerIdsImage(NamedTuple):
    # The first producer id that no block contains yet.
    next: int


@dataclass(slots=True, frozen=True)
class MetadataImage:
    # The last record this image contains, and the epoch it was written in; -1 for the empty image.
    offset: int = -1
    epoch: int = -1
    timestamp: int = -1
    topics: TopicsImage = field(default=TopicsImage({}, {}))
    cluster: ClusterImage = field(default=ClusterImage({}, {}))
    configs: ConfigsImage = field(default=ConfigsImage({}))
    features: FeaturesImage = field(default_factory=lambda: FeaturesImage({}))
    producer_ids: ProducerIdsImage = field(default=ProducerIdsImage(0))
    acls: AclsImage = NO_ACLS
    client_quotas: Quotas = field(default_factory=dict)
    scram: Mapping[ScramKey, ScramCredential] = field(default_factory=dict)
    # By id.
    tokens: Mapping[str, DelegationToken] = field(default_factory=dict)

    @property
    def metadata_version(self) -> int:
        return self.features.metadata_version

    def same_content(self, other: MetadataImage) -> bool:
        """Equal but for how far along the log they were taken."""
        return (
            self.topics == other.topics
            and self.cluster == other.cluster
            and self.configs == other.configs
            and self.features == other.features
            and self.producer_ids == other.producer_ids
            and self.acls.by_id == other.acls.by_id
            and self.client_quotas == other.client_quotas
            and self.scram == other.scram
            and self.tokens == other.tokens
        )


EMPTY_IMAGE: Final = MetadataImage()
