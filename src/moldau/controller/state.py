"""The controller's state: one object per noun, and the one way to change them, `replay`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from moldau.config.broker import BrokerConfig
from moldau.controller.acls import AclControl
from moldau.controller.brokers import BrokerControl
from moldau.controller.client_quotas import ClientQuotaControl
from moldau.controller.configs import ConfigControl
from moldau.controller.controllers import ControllerControl
from moldau.controller.delegation_tokens import DelegationTokenControl
from moldau.controller.features import FeatureControl
from moldau.controller.leadership import LeadershipControl
from moldau.controller.partitions import PartitionControl
from moldau.controller.producer_ids import ProducerIdControl
from moldau.controller.reassignments import ReassignmentControl
from moldau.controller.scram import ScramControl
from moldau.controller.sessions import BrokerSessions
from moldau.controller.topics import TopicControl
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata import records as kinds
from moldau.metadata.committed import MetadataTransaction
from moldau.metadata.image import ConfigResource, ResourceType
from moldau.metadata.records import Message, MetadataError
from moldau.runtime.ports import Clock, Random
from moldau.timeline import SnapshotRegistry


class ControllerState:
    def __init__(
        self, cluster_id: str, config: BrokerConfig, sessions: BrokerSessions, random: Random, clock: Clock
    ) -> None:
        self.registry = SnapshotRegistry()
        self.features = FeatureControl(self.registry)
        self.brokers = BrokerControl(self.registry, cluster_id, sessions)
        self.controllers = ControllerControl(self.registry)
        self.configs = ConfigControl(self.registry, config, self._check_exists, self.features)
        self.topics = TopicControl(self.registry, self.brokers, self.configs, random)
        self.leadership = LeadershipControl(self.topics, self.brokers, self.configs, self.features)
        self.partitions = PartitionControl(self.topics, self.brokers, self.leadership, random)
        self.reassignments = ReassignmentControl(self.topics, self.brokers, self.configs, self.leadership)
        self.acls = AclControl(self.registry, random)
        self.client_quotas = ClientQuotaControl(self.registry)
        self.producer_ids = ProducerIdControl(self.registry)
        self.scram = ScramControl(self.registry, self.features)
        self.tokens = DelegationTokenControl(self.registry, config, self.features, clock, random)
        # Records of a transaction with their offsets. Most decisions are one batch, all or nothing by itself; large
        # ones are not, and neither are those of other controllers.
        self._transaction: MetadataTransaction[tuple[Message, int]] = MetadataTransaction()
        self._handlers: dict[type, Callable[[Any, int], None]] = {
            kinds.TopicRecord: lambda record, _: self.topics.replay_topic(record),
            kinds.PartitionRecord: lambda record, _: self.topics.replay_partition(record),
            kinds.PartitionChangeRecord: lambda record, _: self.topics.replay_partition_change(record),
            kinds.RemoveTopicRecord: lambda record, _: self.topics.replay_remove(record),
            kinds.ClearElrRecord: lambda record, _: self.topics.replay_clear_elr(record),
            kinds.RegisterBrokerRecord: self.brokers.replay_register,
            kinds.UnregisterBrokerRecord: lambda record, _: self.brokers.replay_unregister(record),
            kinds.BrokerRegistrationChangeRecord: lambda record, _: self.brokers.replay_change(record),
            kinds.FenceBrokerRecord: lambda record, _: self.brokers.replay_fence(record),
            kinds.UnfenceBrokerRecord: lambda record, _: self.brokers.replay_unfence(record),
            kinds.ConfigRecord: lambda record, _: self.configs.replay(record),
            kinds.FeatureLevelRecord: lambda record, _: self.features.replay(record),
            kinds.ProducerIdsRecord: lambda record, _: self.producer_ids.replay(record),
            kinds.RegisterControllerRecord: lambda record, _: self.controllers.replay(record),
            kinds.AccessControlEntryRecord: lambda record, _: self.acls.replay(record),
            kinds.RemoveAccessControlEntryRecord: lambda record, _: self.acls.replay_remove(record),
            kinds.ClientQuotaRecord: lambda record, _: self.client_quotas.replay(record),
            kinds.UserScramCredentialRecord: lambda record, _: self.scram.replay(record),
            kinds.RemoveUserScramCredentialRecord: lambda record, _: self.scram.replay_remove(record),
            kinds.DelegationTokenRecord: lambda record, _: self.tokens.replay(record),
            kinds.RemoveDelegationTokenRecord: lambda record, _: self.tokens.replay_remove(record),
            kinds.NoOpRecord: _nothing,
        }

    @property
    def in_transaction(self) -> bool:
        return self._transaction.is_open

    def replay(self, record: Message, offset: int) -> None:
        """Applies one record; MetadataError if it does not fit what came before."""
        for due, at in self._transaction.admit(record, (record, offset)):
            self.apply(due, at)

    def apply(self, record: Message, offset: int) -> None:
        """The same at once, for whoever writes a transaction and knows how it will end."""
        handler = self._handlers.get(type(record))
        if handler is None:
            raise MetadataError(f"a {type(record).__name__} cannot be applied to the metadata")
        handler(record, offset)

    def _check_exists(self, resource: ConfigResource) -> None:
        if resource.type == ResourceType.TOPIC and self.topics.get(resource.name) is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {resource.name!r}.")
        if (
            resource.type == ResourceType.BROKER
            and resource.name
            and int(resource.name) not in self.brokers.registrations
        ):
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"There is no broker {resource.name}.")


def _nothing(record: Message, offset: int) -> None:
    pass
