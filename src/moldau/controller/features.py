"""Finalized feature levels: what the whole cluster has agreed to use.

kraft.version is not among them: it belongs to the quorum, which writes it into its own part of the log when asked to.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Protocol

from moldau.controller.decision import Decision
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.broker_registration import BrokerRegistration, ControllerRegistration, FeatureRange
from moldau.metadata.features import (
    CONTROLLERS_SINCE,
    ELIGIBLE_LEADER_REPLICAS_VERSION,
    FEATURES,
    KRAFT_VERSION,
    METADATA_VERSION,
    MINIMUM_METADATA_VERSION,
    downgrade_loses_metadata,
    release_of,
    supported_range,
)
from moldau.metadata.records import FeatureLevelRecord, Message, MetadataError, NoOpRecord
from moldau.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from moldau.timeline import SnapshotRegistry, TimelineMap

_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3
_OFF = FeatureRange(0, 0)


class QuorumFeatures(Protocol):
    """What the quorum of controllers knows about itself."""

    @property
    def kraft_version(self) -> int: ...

    def voter_ids(self) -> Collection[int]: ...

    def upgrade_kraft_version(self, level: int, *, validate_only: bool) -> None:
        """Appends what makes it so; KafkaError if the quorum cannot go there."""
        ...


class QuorumOfThisNode:
    """One that has nobody else in it and never will."""

    kraft_version = 0

    def voter_ids(self) -> Collection[int]:
        return ()

    def upgrade_kraft_version(self, level: int, *, validate_only: bool) -> None:
        raise _invalid(f"{KRAFT_VERSION} cannot be {level}: the voters of this quorum are fixed.")


class Nodes:
    """Who has to understand a new level: this controller, all brokers and all other controllers."""

    def __init__(
        self,
        brokers: Iterable[BrokerRegistration],
        controllers: Iterable[ControllerRegistration],
        voter_ids: Collection[int],
        this_controller: int,
    ) -> None:
        self.spans: list[tuple[str, Mapping[str, FeatureRange]]] = []
        self.spans += [(f"broker {broker.id}", broker.features) for broker in brokers]
        others = [controller for controller in controllers if controller.id != this_controller]
        self.spans += [(f"controller {controller.id}", controller.features) for controller in others]
        self.unheard = set(voter_ids).difference((this_controller, *(controller.id for controller in others)))


class FeatureControl:
    def __init__(self, registry: SnapshotRegistry) -> None:
        self._levels: TimelineMap[str, int] = TimelineMap(registry)

    @property
    def is_empty(self) -> bool:
        """Whether the log has not said anything yet: the first records of every log are feature levels."""
        return len(self._levels) == 0

    @property
    def finalized(self) -> Mapping[str, int]:
        return dict(self._levels.items())

    @property
    def metadata_version(self) -> int:
        return self._levels.get(METADATA_VERSION, MINIMUM_METADATA_VERSION)

    @property
    def eligible_leaders(self) -> bool:
        return self._levels.get(ELIGIBLE_LEADER_REPLICAS_VERSION, 0) > 0

    def replay(self, record: FeatureLevelRecord) -> None:
        if record.feature_level not in supported_range(record.name):
            span = supported_range(record.name)
            raise MetadataError(
                f"the cluster uses {record.name} at level {record.feature_level}; "
                f"this version supports {span.minimum} to {span.maximum}"
            )
        if record.feature_level == 0:
            self._levels.pop(record.name)
        else:
            self._levels[record.name] = record.feature_level

    def update(
        self, request: UpdateFeaturesRequest, version: int, nodes: Nodes, quorum: QuorumFeatures
    ) -> Decision[UpdateFeaturesResponse]:
        """All updates or none."""
        wanted_levels = {wanted.feature: wanted.max_version_level for wanted in request.feature_updates}
        records: list[Message] = []
        kraft_version: int | None = None
        for wanted in request.feature_updates:
            name, level = wanted.feature, wanted.max_version_level
            try:
                current = quorum.kraft_version if name == KRAFT_VERSION else self._levels.get(name, 0)
                self._check(wanted, _upgrade_type(wanted, version), current, nodes, wanted_levels)
                if name == KRAFT_VERSION:
                    kraft_version = level if level != current else None
                    if kraft_version is not None:
                        quorum.upgrade_kraft_version(level, validate_only=True)
                else:
                    records.append(FeatureLevelRecord(name=name, feature_level=level))
            except KafkaError as error:
                return Decision([], _refused(error))
        if kraft_version is not None and not request.validate_only:
            quorum.upgrade_kraft_version(kraft_version, validate_only=False)
            # Something to wait for: it is committed behind what the quorum wrote.
            records.append(NoOpRecord())
        results = [
            UpdatableFeatureResult(feature=wanted.feature, error_message=None) for wanted in request.feature_updates
        ]
        response = UpdateFeaturesResponse(error_message=None, results=results)
        return Decision([] if request.validate_only else records, response)

    def _check(
        self,
        wanted: FeatureUpdateKey,
        upgrade_type: int,
        current: int,
        nodes: Nodes,
        wanted_levels: Mapping[str, int],
    ) -> None:
        name, level = wanted.feature, wanted.max_version_level
        if upgrade_type not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
            raise _invalid(f"{name} cannot be updated: the upgrade type {upgrade_type} is not known.")
        if level < 0:
            raise _invalid(f"{name} cannot be {level}: a level is not negative.")
        self._check_supported(name, level, nodes)
        if level < current and upgrade_type == _UPGRADE:
            raise _invalid(f"{name} is at {current}; going down to {level} needs a downgrade, safe or unsafe.")
        if level > current and upgrade_type != _UPGRADE:
            raise _invalid(f"{name} is at {current}; going up to {level} is not a downgrade.")
        if name == KRAFT_VERSION and level < current:
            raise _invalid(f"{name} is at {current} and cannot go down.")
        if name == METADATA_VERSION:
            if level < current and downgrade_loses_metadata(current, level):
                raise _invalid(
                    f"{name} cannot go from {release_of(current)} to {release_of(level)}: records would be lost."
                )
            return
        needed = FEATURES[name].needs_metadata_version
        if level > 0 and wanted_levels.get(METADATA_VERSION, self.metadata_version) < needed:
            raise _invalid(f"{name} cannot be {level}: it needs a metadata.version of {release_of(needed)}.")

    def _check_supported(self, name: str, level: int, nodes: Nodes) -> None:
        feature = FEATURES.get(name)
        highest = feature.built if feature is not None else 0
        lowest = feature.supported.minimum if feature is not None else 0
        if feature is None or not lowest <= level <= highest:
            raise _invalid(f"{name} cannot be {level}: this controller supports {lowest} to {highest}.")
        for who, features in nodes.spans:
            span = features.get(name, _OFF)
            if level not in span:
                raise _invalid(f"{name} cannot be {level}: {who} supports {span.minimum} to {span.maximum}.")
        if nodes.unheard and self.metadata_version >= CONTROLLERS_SINCE:
            raise _invalid(
                f"{name} cannot be {level}: controller {min(nodes.unheard)} has not registered and may not support it."
            )


def check_levels(who: str, offered: Mapping[str, FeatureRange], finalized: Mapping[str, int]) -> None:
    """KafkaError(UNSUPPORTED_VERSION) unless a node that offers these can work at the levels of the cluster."""
    for name, level in finalized.items():
        span = offered.get(name, _OFF)
        if level not in span:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION,
                f"{who} supports {name} from {span.minimum} to {span.maximum}, but the cluster has finalized {level}.",
            )


def _upgrade_type(wanted: FeatureUpdateKey, version: int) -> int:
    """Version 0 had a flag instead of the type."""
    if version == 0:
        return _SAFE_DOWNGRADE if wanted.allow_downgrade else _UPGRADE
    return wanted.upgrade_type


def _refused(error: KafkaError) -> UpdateFeaturesResponse:
    """One error speaks for the request in every version, since nothing of it is done."""
    return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_UPDATE_VERSION, message)
