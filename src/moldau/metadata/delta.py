"""The difference between two images, built record by record.

A delta remembers only what the records touch. `apply` copies a map once if anything in it changed, so a batch that
creates five thousand partitions costs one copy of one topic, and a batch that changes nothing shares everything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, NamedTuple, TypeVar

from moldau.metadata.acls import AclsDelta, missing
from moldau.metadata.broker_registration import (
    BrokerRegistration,
    ControllerRegistration,
    broker_from_record,
    controller_from_record,
)
from moldau.metadata.client_quotas import ClientQuotasDelta
from moldau.metadata.credentials import ScramKey, credential_from_record, scram_key, token_from_record
from moldau.metadata.image import (
    EMPTY_IMAGE,
    ClusterImage,
    ConfigResource,
    ConfigsImage,
    FeaturesImage,
    MetadataImage,
    ProducerIdsImage,
    ResourceType,
)
from moldau.metadata.records import (
    AccessControlEntryRecord,
    BrokerRegistrationChangeRecord,
    ClearElrRecord,
    ClientQuotaRecord,
    ConfigRecord,
    DelegationTokenRecord,
    FeatureLevelRecord,
    FenceBrokerRecord,
    Message,
    MetadataError,
    NoOpRecord,
    PartitionChangeRecord,
    PartitionRecord,
    ProducerIdsRecord,
    RegisterBrokerRecord,
    RegisterControllerRecord,
    RemoveAccessControlEntryRecord,
    RemoveDelegationTokenRecord,
    RemoveTopicRecord,
    RemoveUserScramCredentialRecord,
    TopicRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
    UserScramCredentialRecord,
)
from moldau.metadata.topics_delta import LocalChanges, TopicDelta, TopicsDelta
from moldau.security.delegation_token import DelegationToken
from moldau.security.scram_credential import ScramCredential
from moldau.slicing import Work

K = TypeVar("K")
V = TypeVar("V")

__all__ = ["ConfigChange", "LocalChanges", "MetadataDelta", "TopicDelta", "TopicsDelta"]


class ConfigChange(NamedTuple):
    """The settings of one resource after the delta; empty when none are left."""

    resource: ConfigResource
    settings: dict[str, str]


class MetadataDelta:
    """With `is_snapshot` the records are the whole state: what they do not mention is gone once `finish_snapshot` is
    called, although the delta still says what that means for someone who was at `base`."""

    def __init__(self, base: MetadataImage, *, is_snapshot: bool = False) -> None:
        self.base = base
        self._is_snapshot = is_snapshot
        self.topics = TopicsDelta(base.topics)
        # By id, the registration after the delta; None for one that is gone.
        self.brokers: dict[int, BrokerRegistration | None] = {}
        self.controllers: dict[int, ControllerRegistration | None] = {}
        # By name, the level after the delta; 0 for one that was switched off.
        self.features: dict[str, int] = {}
        self.next_producer_id: int | None = None
        self._configs: dict[ConfigResource, dict[str, str]] = {}
        self.acls = AclsDelta(base.acls, is_snapshot=is_snapshot)
        self.client_quotas = ClientQuotasDelta(base.client_quotas, is_snapshot=is_snapshot)
        # None for those that were removed.
        self.scram: dict[ScramKey, ScramCredential | None] = {}
        self.tokens: dict[str, DelegationToken | None] = {}

    def replay(self, record: Message) -> None:
        """Takes over one record; MetadataError if it does not fit what came before."""
        apply = _REPLAY.get(type(record))
        if apply is None:
            raise MetadataError(f"a {type(record).__name__} cannot be applied to the metadata")
        apply(self, record)

    @classmethod
    def whole(cls, image: MetadataImage) -> MetadataDelta:
        """From nothing to `image`, whose parts it shares: for somebody who only reads it."""
        delta = cls(EMPTY_IMAGE)
        for topic in image.topics.by_name.values():
            delta.topics.changed[topic.id] = TopicDelta(topic.name, topic.id, None, topic.partitions)
        delta.brokers.update(image.cluster.brokers)
        delta.controllers.update(image.cluster.controllers)
        delta.features.update(image.features)
        delta.next_producer_id = image.producer_ids.next or None
        delta._configs.update((resource, dict(settings)) for resource, settings in image.configs.resources.items())
        delta.acls = AclsDelta.whole(image.acls)
        delta.client_quotas = ClientQuotasDelta.whole(image.client_quotas)
        delta.scram.update(image.scram)
        delta.tokens.update(image.tokens)
        return delta

    @property
    def is_empty(self) -> bool:
        return not (
            self.topics.is_changed
            or self.brokers
            or self.controllers
            or self.features
            or self._configs
            or self.acls.is_changed
            or self.client_quotas.is_changed
            or self.scram
            or self.tokens
            or self.next_producer_id is not None
        )

    def config_changes(self) -> Iterator[ConfigChange]:
        return (ConfigChange(resource, settings) for resource, settings in self._configs.items())

    def config_changed(self, resource_type: int, name: str) -> bool:
        return ConfigResource(resource_type, name) in self._configs

    def finish_snapshot(self) -> Work[None]:
        base = self.base
        yield from self.topics.finish_snapshot()
        for broker_id in base.cluster.brokers:
            self.brokers.setdefault(broker_id, None)
        for controller_id in base.cluster.controllers:
            self.controllers.setdefault(controller_id, None)
        for name in base.features:
            self.features.setdefault(name, 0)
        for resource in base.configs.resources:
            self._configs.setdefault(resource, {})
        for user in base.scram:
            self.scram.setdefault(user, None)
        for token in base.tokens:
            self.tokens.setdefault(token, None)
        if self.next_producer_id is None:
            self.next_producer_id = 0

    def apply(self, offset: int, epoch: int, timestamp: int = -1) -> MetadataImage:
        """The image after the delta; `offset` and `epoch` are those of the last record in it."""
        base = self.base
        return MetadataImage(
            offset,
            epoch,
            timestamp,
            self.topics.apply(),
            self._cluster(),
            self._applied_configs(),
            self._applied_features(),
            base.producer_ids if self.next_producer_id is None else ProducerIdsImage(self.next_producer_id),
            self.acls.apply(),
            self.client_quotas.apply(),
            _applied(base.scram, self.scram),
            _applied(base.tokens, self.tokens),
        )

    def _cluster(self) -> ClusterImage:
        cluster = self.base.cluster
        if not self.brokers and not self.controllers:
            return cluster
        brokers = {**cluster.brokers, **self.brokers}
        controllers = {**cluster.controllers, **self.controllers}
        return ClusterImage(
            {number: broker for number, broker in brokers.items() if broker is not None},
            {number: controller for number, controller in controllers.items() if controller is not None},
        )

    def _applied_configs(self) -> ConfigsImage:
        if not self._configs:
            return self.base.configs
        resources = dict(self.base.configs.resources)
        for resource, settings in self._configs.items():
            if settings:
                resources[resource] = settings
            else:
                resources.pop(resource, None)
        return ConfigsImage(resources)

    def _applied_features(self) -> FeaturesImage:
        if not self.features:
            return self.base.features
        levels = {**self.base.features, **self.features}
        return FeaturesImage({name: level for name, level in levels.items() if level > 0})

    # ------------------------------------------------------------------------------------------------- by record

    def _topic(self, record: TopicRecord) -> None:
        self.topics.create(record.name, record.topic_id)

    def _remove_topic(self, record: RemoveTopicRecord) -> None:
        name = self.topics.remove(record.topic_id)
        # A topic's settings leave with it and have no records of their own.
        resource = ConfigResource(ResourceType.TOPIC, name)
        if resource in self._configs or resource in self.base.configs.resources:
            self._configs[resource] = {}

    def _partition(self, record: PartitionRecord) -> None:
        self.topics.set_partition(record)

    def _partition_change(self, record: PartitionChangeRecord) -> None:
        self.topics.change_partition(record)

    def _clear_elr(self, record: ClearElrRecord) -> None:
        self.topics.clear_elr(record.topic_name)

    def _register_broker(self, record: RegisterBrokerRecord) -> None:
        self.brokers[record.broker_id] = broker_from_record(record)

    def _unregister_broker(self, record: UnregisterBrokerRecord) -> None:
        self._broker(record.broker_id, record.broker_epoch)
        self.brokers[record.broker_id] = None

    def _broker_change(self, record: BrokerRegistrationChangeRecord) -> None:
        self.brokers[record.broker_id] = self._broker(record.broker_id, record.broker_epoch).merge(record)

    def _fence(self, record: FenceBrokerRecord) -> None:
        self._broker_change(BrokerRegistrationChangeRecord(broker_id=record.id, broker_epoch=record.epoch, fenced=1))

    def _unfence(self, record: UnfenceBrokerRecord) -> None:
        self._broker_change(BrokerRegistrationChangeRecord(broker_id=record.id, broker_epoch=record.epoch, fenced=-1))

    def _broker(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.brokers[broker_id] if broker_id in self.brokers else self.base.cluster.brokers.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise MetadataError(
                f"the metadata log changes broker {broker_id} at epoch {epoch}, which is not registered"
            )
        return broker

    def _register_controller(self, record: RegisterControllerRecord) -> None:
        self.controllers[record.controller_id] = controller_from_record(record)

    def _config(self, record: ConfigRecord) -> None:
        resource = ConfigResource(record.resource_type, record.resource_name)
        settings = self._configs.get(resource)
        if settings is None:
            before = {} if self._is_snapshot else self.base.configs.resources.get(resource, {})
            settings = self._configs[resource] = dict(before)
        if record.value is None:
            settings.pop(record.name, None)
        else:
            settings[record.name] = record.value

    def _feature(self, record: FeatureLevelRecord) -> None:
        self.features[record.name] = record.feature_level

    def _producer_ids(self, record: ProducerIdsRecord) -> None:
        self.next_producer_id = record.next_producer_id

    def _acl(self, record: AccessControlEntryRecord) -> None:
        self.acls.add(record)

    def _remove_acl(self, record: RemoveAccessControlEntryRecord) -> None:
        if not self.acls.remove(record):
            raise MetadataError(missing(record))

    def _client_quota(self, record: ClientQuotaRecord) -> None:
        self.client_quotas.replay(record)

    def _scram(self, record: UserScramCredentialRecord) -> None:
        self.scram[scram_key(record)] = credential_from_record(record)

    def _remove_scram(self, record: RemoveUserScramCredentialRecord) -> None:
        self.scram[scram_key(record)] = None

    def _token(self, record: DelegationTokenRecord) -> None:
        self.tokens[record.token_id] = token_from_record(record)

    def _remove_token(self, record: RemoveDelegationTokenRecord) -> None:
        self.tokens[record.token_id] = None

    def _nothing(self, record: NoOpRecord) -> None:
        pass


def _applied(before: Mapping[K, V], changes: Mapping[K, V | None]) -> Mapping[K, V]:
    if not changes:
        return before
    return {key: value for key, value in {**before, **changes}.items() if value is not None}


_REPLAY: Final[dict[type, Callable[[MetadataDelta, Any], None]]] = {
    TopicRecord: MetadataDelta._topic,
    RemoveTopicRecord: MetadataDelta._remove_topic,
    PartitionRecord: MetadataDelta._partition,
    PartitionChangeRecord: MetadataDelta._partition_change,
    ClearElrRecord: MetadataDelta._clear_elr,
    RegisterBrokerRecord: MetadataDelta._register_broker,
    UnregisterBrokerRecord: MetadataDelta._unregister_broker,
    BrokerRegistrationChangeRecord: MetadataDelta._broker_change,
    FenceBrokerRecord: MetadataDelta._fence,
    UnfenceBrokerRecord: MetadataDelta._unfence,
    RegisterControllerRecord: MetadataDelta._register_controller,
    ConfigRecord: MetadataDelta._config,
    FeatureLevelRecord: MetadataDelta._feature,
    ProducerIdsRecord: MetadataDelta._producer_ids,
    AccessControlEntryRecord: MetadataDelta._acl,
    RemoveAccessControlEntryRecord: MetadataDelta._remove_acl,
    ClientQuotaRecord: MetadataDelta._client_quota,
    NoOpRecord: MetadataDelta._nothing,
    UserScramCredentialRecord: MetadataDelta._scram,
    RemoveUserScramCredentialRecord: MetadataDelta._remove_scram,
    DelegationTokenRecord: MetadataDelta._token,
    RemoveDelegationTokenRecord: MetadataDelta._remove_token,
}
