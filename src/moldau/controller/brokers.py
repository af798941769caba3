"""Brokers: their registrations, and the epochs that tell one incarnation from the next.

A broker's epoch is the offset its registration was written at. It only grows, so a request from a process that was
replaced in the meantime is recognised by its old epoch.
"""

from __future__ import annotations

from collections.abc import Mapping

from moldau.controller.features import check_levels
from moldau.controller.placement import UsableBroker
from moldau.controller.sessions import BrokerSessions
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.broker_registration import BrokerRegistration, FeatureRange, broker_from_record
from moldau.metadata.features import METADATA_VERSION
from moldau.metadata.partition_registration import LOST_DIRECTORY, UNASSIGNED_DIRECTORY, is_reserved_directory
from moldau.metadata.records import (
    BrokerRegistrationChangeRecord,
    FenceBrokerRecord,
    MetadataError,
    RegisterBrokerRecord,
    UnfenceBrokerRecord,
    UnregisterBrokerRecord,
)
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest
from moldau.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature
from moldau.timeline import SnapshotRegistry, TimelineMap
from moldau.types import Uuid, uuid_to_text


class BrokerControl:
    def __init__(self, registry: SnapshotRegistry, cluster_id: str, sessions: BrokerSessions) -> None:
        self._cluster_id = cluster_id
        self.sessions = sessions
        self.registrations: TimelineMap[int, BrokerRegistration] = TimelineMap(registry)
        # The offset of the record itself; the epoch differs from it when a living broker amends its registration.
        self._registered_at: TimelineMap[int, int] = TimelineMap(registry)

    # --------------------------------------------------------------------------------------------------- questions

    def is_active(self, broker_id: int) -> bool:
        broker = self.registrations.get(broker_id)
        return broker is not None and broker.is_active

    def has_online_directory(self, broker_id: int, directory: Uuid | None) -> bool:
        """Whether the disk of a replica is there; one that has no directory yet will be given a good one."""
        broker = self.registrations.get(broker_id)
        return broker is not None and (directory is None or broker.has_online_directory(directory))

    def registered_at(self, broker_id: int) -> int:
        return self._registered_at[broker_id]

    def usable(self) -> list[UsableBroker]:
        """Where new replicas may go."""
        return [
            UsableBroker(broker.id, broker.rack, broker.fenced)
            for broker in self.registrations.values()
            if not broker.in_controlled_shutdown
            and not self.sessions.is_shutting_down(broker.id)
            and broker.has_uncordoned_directory
        ]

    def default_directory(self, broker_id: int) -> Uuid:
        """The directory of a new replica: with one disk there is no choice, with several the broker makes it."""
        broker = self.registrations.get(broker_id)
        if broker is None:
            return UNASSIGNED_DIRECTORY
        if not broker.directories:
            return LOST_DIRECTORY
        return broker.directories[0] if len(broker.directories) == 1 else UNASSIGNED_DIRECTORY

    def check_epoch(self, broker_id: int, epoch: int) -> BrokerRegistration:
        """The registration that a request of this broker speaks for; STALE_BROKER_EPOCH for one of the past."""
        broker = self.registrations.get(broker_id)
        if broker is None:
            raise KafkaError(ErrorCode.STALE_BROKER_EPOCH, f"Broker {broker_id} is not registered.")
        if broker.epoch != epoch:
            raise KafkaError(
                ErrorCode.STALE_BROKER_EPOCH,
                f"Broker {broker_id} is registered with epoch {broker.epoch}, not {epoch}.",
            )
        return broker

    # --------------------------------------------------------------------------------------------------- decisions

    def check_registration(self, request: BrokerRegistrationRequest) -> BrokerRegistration | None:
        """The registration this request replaces; KafkaError if it may not."""
        if request.cluster_id != self._cluster_id:
            raise KafkaError(
                ErrorCode.INCONSISTENT_CLUSTER_ID, f"This is the cluster {self._cluster_id}, not {request.cluster_id}."
            )
        existing = self.registrations.get(request.broker_id)
        if (
            existing is not None
            and existing.incarnation_id != request.incarnation_id
            and self.sessions.blocks_registration(
                request.broker_id, has_its_directories=not set(request.log_dirs).isdisjoint(existing.directories)
            )
        ):
            raise KafkaError(
                ErrorCode.DUPLICATE_BROKER_REGISTRATION,
                f"Another process is registered as broker {request.broker_id} and its session has not run out.",
            )
        if request.is_migrating_zk_broker:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, "Brokers of a ZooKeeper migration cannot register.")
        self._check_directories(request)
        return existing

    def registration_record(
        self,
        request: BrokerRegistrationRequest,
        existing: BrokerRegistration | None,
        new_epoch: int,
        finalized: Mapping[str, int],
    ) -> RegisterBrokerRecord:
        """A new incarnation starts fenced with a new epoch; the same one keeps what it has."""
        amends = existing is not None and existing.incarnation_id == request.incarnation_id
        return RegisterBrokerRecord(
            broker_id=request.broker_id,
            incarnation_id=request.incarnation_id,
            broker_epoch=existing.epoch if existing is not None and amends else new_epoch,
            end_points=[
                BrokerEndpoint(name=end.name, host=end.host, port=end.port, security_protocol=end.security_protocol)
                for end in request.listeners
            ],
            features=[
                BrokerFeature(name=name, min_supported_version=span.minimum, max_supported_version=span.maximum)
                for name, span in _checked_features(request, finalized).items()
            ],
            rack=request.rack,
            fenced=existing.fenced if existing is not None and amends else True,
            in_controlled_shutdown=existing.in_controlled_shutdown if existing is not None and amends else False,
            log_dirs=list(request.log_dirs),
        )

    def _check_directories(self, request: BrokerRegistrationRequest) -> None:
        directories = request.log_dirs
        if not directories:
            raise _invalid(f"Broker {request.broker_id} has no log directory.")
        if any(is_reserved_directory(directory) for directory in directories):
            raise _invalid(f"Broker {request.broker_id} names a log directory by an id that is reserved.")
        if len(set(directories)) != len(directories):
            raise _invalid(f"Broker {request.broker_id} names a log directory twice.")
        for broker in self.registrations.values():
            shared = set(directories).intersection(broker.directories)
            if shared and broker.id != request.broker_id:
                raise _invalid(f"Broker {broker.id} has the log directory {uuid_to_text(shared.pop())} already.")

    # ------------------------------------------------------------------------------------------------------ replay

    def replay_register(self, record: RegisterBrokerRecord, offset: int) -> None:
        existing = self.registrations.get(record.broker_id)
        self.registrations[record.broker_id] = broker_from_record(record)
        self._registered_at[record.broker_id] = offset
        self.sessions.register(
            record.broker_id,
            fenced=record.fenced,
            new_incarnation=existing is None or existing.incarnation_id != record.incarnation_id,
        )

    def replay_unregister(self, record: UnregisterBrokerRecord) -> None:
        self._registered(record.broker_id, record.broker_epoch)
        del self.registrations[record.broker_id]
        del self._registered_at[record.broker_id]
        self.sessions.remove(record.broker_id)

    def replay_change(self, record: BrokerRegistrationChangeRecord) -> None:
        broker = self._registered(record.broker_id, record.broker_epoch)
        self.registrations[record.broker_id] = broker.merge(record)

    def replay_fence(self, record: FenceBrokerRecord) -> None:
        self.replay_change(BrokerRegistrationChangeRecord(broker_id=record.id, broker_epoch=record.epoch, fenced=1))

    def replay_unfence(self, record: UnfenceBrokerRecord) -> None:
        self.replay_change(BrokerRegistrationChangeRecord(broker_id=record.id, broker_epoch=record.epoch, fenced=-1))

    def _registered(self, broker_id: int, epoch: int) -> BrokerRegistration:
        broker = self.registrations.get(broker_id)
        if broker is None or broker.epoch != epoch:
            raise MetadataError(
                f"the metadata log changes broker {broker_id} at epoch {epoch}, which is not registered"
            )
        return broker


def _checked_features(request: BrokerRegistrationRequest, finalized: Mapping[str, int]) -> dict[str, FeatureRange]:
    """What the broker supports, once it is sure that it can work at the levels the cluster has agreed on."""
    offered = {
        feature.name: FeatureRange(feature.min_supported_version, feature.max_supported_version)
        for feature in request.features
    }
    if METADATA_VERSION not in offered:
        raise _invalid(f"Broker {request.broker_id} does not say which {METADATA_VERSION} it supports.")
    check_levels(f"Broker {request.broker_id}", offered, finalized)
    return offered


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REGISTRATION, message)
