"""Brokers and controllers as they registered: where they listen, which disks they have, what they can do."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from moldau.config.listeners import SecurityProtocol
from moldau.dataclass import dataclass, field, replace
from moldau.metadata.partition_registration import LOST_DIRECTORY, is_reserved_directory
from moldau.protocol.messages.broker_registration_change_record import BrokerRegistrationChangeRecord
from moldau.protocol.messages.register_broker_record import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord
from moldau.protocol.messages.register_controller_record import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)
from moldau.types import Uuid


class Endpoint(NamedTuple):
    host: str
    port: int
    security_protocol: int = SecurityProtocol.PLAINTEXT


class FeatureRange(NamedTuple):
    """The levels of a feature that a node understands."""

    minimum: int
    maximum: int

    def __contains__(self, level: object) -> bool:
        return isinstance(level, int) and self.minimum <= level <= self.maximum


@dataclass(slots=True, frozen=True)
class BrokerRegistration:
    id: int
    # The offset of the record that registered this incarnation: a broker that was away cannot reuse an old one.
    epoch: int
    incarnation_id: Uuid
    listeners: Mapping[str, Endpoint]
    features: Mapping[str, FeatureRange] = field(default_factory=dict)
    rack: str | None = None
    fenced: bool = True
    in_controlled_shutdown: bool = False
    directories: tuple[Uuid, ...] = ()
    cordoned_directories: tuple[Uuid, ...] | None = None

    @property
    def is_active(self) -> bool:
        """Whether it may lead: clients reach it, and it is not about to leave."""
        return not self.fenced and not self.in_controlled_shutdown

    @property
    def has_uncordoned_directory(self) -> bool:
        """Whether new replicas may go to one of its disks."""
        cordoned = self.cordoned_directories
        return not cordoned or not self.directories or not set(self.directories) <= set(cordoned)

    def has_online_directory(self, directory: Uuid) -> bool:
        if is_reserved_directory(directory):
            return directory != LOST_DIRECTORY
        return not self.directories or directory in self.directories

    def merge(self, change: BrokerRegistrationChangeRecord) -> BrokerRegistration:
        """The registration after a change record: -1 unfences, 1 fences, 0 and empty lists leave things as they are."""
        return replace(
            self,
            fenced=self.fenced if change.fenced == 0 else change.fenced > 0,
            in_controlled_shutdown=self.in_controlled_shutdown or change.in_controlled_shutdown > 0,
            directories=tuple(change.log_dirs) or self.directories,
            cordoned_directories=(
                self.cordoned_directories if change.cordoned_log_dirs is None else tuple(change.cordoned_log_dirs)
            ),
        )

    def to_record(self) -> RegisterBrokerRecord:
        return RegisterBrokerRecord(
            broker_id=self.id,
            incarnation_id=self.incarnation_id,
            broker_epoch=self.epoch,
            end_points=[
                BrokerEndpoint(name=name, host=end.host, port=end.port, security_protocol=end.security_protocol)
                for name, end in self.listeners.items()
            ],
            features=[
                BrokerFeature(name=name, min_supported_version=span.minimum, max_supported_version=span.maximum)
                for name, span in self.features.items()
            ],
            rack=self.rack,
            fenced=self.fenced,
            in_controlled_shutdown=self.in_controlled_shutdown,
            log_dirs=list(self.directories),
            cordoned_log_dirs=None if self.cordoned_directories is None else list(self.cordoned_directories),
        )


def broker_from_record(record: RegisterBrokerRecord) -> BrokerRegistration:
    cordoned = record.cordoned_log_dirs
    return BrokerRegistration(
        id=record.broker_id,
        epoch=record.broker_epoch,
        incarnation_id=record.incarnation_id,
        listeners={end.name: Endpoint(end.host, end.port, end.security_protocol) for end in record.end_points},
        features={f.name: FeatureRange(f.min_supported_version, f.max_supported_version) for f in record.features},
        rack=record.rack,
        fenced=record.fenced,
        in_controlled_shutdown=record.in_controlled_shutdown,
        directories=tuple(record.log_dirs),
        cordoned_directories=None if cordoned is None else tuple(cordoned),
    )


@dataclass(slots=True, frozen=True)
class ControllerRegistration:
    id: int
    incarnation_id: Uuid
    listeners: Mapping[str, Endpoint]
    features: Mapping[str, FeatureRange]

    def to_record(self) -> RegisterControllerRecord:
        return RegisterControllerRecord(
            controller_id=self.id,
            incarnation_id=self.incarnation_id,
            end_points=[
                ControllerEndpoint(name=name, host=end.host, port=end.port, security_protocol=end.security_protocol)
                for name, end in self.listeners.items()
            ],
            features=[
                ControllerFeature(name=name, min_supported_version=span.minimum, max_supported_version=span.maximum)
                for name, span in self.features.items()
            ],
        )


def controller_from_record(record: RegisterControllerRecord) -> ControllerRegistration:
    return ControllerRegistration(
        id=record.controller_id,
        incarnation_id=record.incarnation_id,
        listeners={end.name: Endpoint(end.host, end.port, end.security_protocol) for end in record.end_points},
        features={f.name: FeatureRange(f.min_supported_version, f.max_supported_version) for f in record.features},
    )
