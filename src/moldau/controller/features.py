"""Finalized feature levels: what the whole cluster has agreed to use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from moldau.controller.decision import Decision
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.broker_registration import BrokerRegistration, FeatureRange
from moldau.metadata.features import (
    METADATA_VERSION,
    MINIMUM_METADATA_VERSION,
    downgrade_loses_metadata,
    release_of,
    supported_range,
)
from moldau.metadata.records import FeatureLevelRecord, MetadataError
from moldau.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdatableFeatureResult,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)
from moldau.timeline import SnapshotRegistry, TimelineMap

_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE = 1, 2, 3


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
        self, request: UpdateFeaturesRequest, version: int, brokers: Iterable[BrokerRegistration]
    ) -> Decision[UpdateFeaturesResponse]:
        """All updates or none."""
        brokers = list(brokers)
        records = []
        for wanted in request.feature_updates:
            try:
                self._check(wanted, _upgrade_type(wanted, version), brokers)
            except KafkaError as error:
                return Decision([], _refused(request, wanted.feature, error, version))
            records.append(FeatureLevelRecord(name=wanted.feature, feature_level=wanted.max_version_level))
        results = [
            UpdatableFeatureResult(feature=wanted.feature, error_message=None) for wanted in request.feature_updates
        ]
        response = UpdateFeaturesResponse(error_message=None, results=results)
        return Decision([] if request.validate_only else records, response)

    def _check(self, wanted: FeatureUpdateKey, upgrade_type: int, brokers: list[BrokerRegistration]) -> None:
        name, level = wanted.feature, wanted.max_version_level
        current = self._levels.get(name, 0)
        if upgrade_type not in (_UPGRADE, _SAFE_DOWNGRADE, _UNSAFE_DOWNGRADE):
            raise _invalid(f"{name} cannot be updated: the upgrade type {upgrade_type} is not known.")
        if level < 0:
            raise _invalid(f"{name} cannot be {level}: a level is not negative.")
        span = supported_range(name)
        if level not in span:
            raise _invalid(f"{name} cannot be {level}: this controller supports {span.minimum} to {span.maximum}.")
        for broker in brokers:
            span = broker.features.get(name, FeatureRange(0, 0))
            if level not in span:
                raise _invalid(
                    f"{name} cannot be {level}: broker {broker.id} supports {span.minimum} to {span.maximum}."
                )
        if level < current and upgrade_type == _UPGRADE:
            raise _invalid(f"{name} is at {current}; going down to {level} needs a downgrade, safe or unsafe.")
        if level > current and upgrade_type != _UPGRADE:
            raise _invalid(f"{name} is at {current}; going up to {level} is not a downgrade.")
        if name == METADATA_VERSION and level < current and downgrade_loses_metadata(current, level):
            raise _invalid(
                f"{name} cannot go from {release_of(current)} to {release_of(level)}: records would be lost."
            )


def _upgrade_type(wanted: FeatureUpdateKey, version: int) -> int:
    """Version 0 had a flag instead of the type."""
    if version == 0:
        return _SAFE_DOWNGRADE if wanted.allow_downgrade else _UPGRADE
    return wanted.upgrade_type


def _refused(request: UpdateFeaturesRequest, culprit: str, error: KafkaError, version: int) -> UpdateFeaturesResponse:
    """Since version 2 one error speaks for the request; before, every feature has a result."""
    if version >= 2:
        return UpdateFeaturesResponse(error_code=error.code, error_message=error.message)
    return UpdateFeaturesResponse(
        error_message=None,
        results=[
            UpdatableFeatureResult(
                feature=wanted.feature,
                error_code=error.code,
                error_message=error.message if wanted.feature == culprit else f"Not updated, because {culprit} failed.",
            )
            for wanted in request.feature_updates
        ],
    )


def _invalid(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_UPDATE_VERSION, message)
