"""Controllers: where each of them is reached, and which feature levels it could live with."""

from __future__ import annotations

from collections.abc import Mapping

from moldau.controller.decision import Decision
from moldau.controller.features import FeatureControl, check_levels
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.broker_registration import ControllerRegistration, FeatureRange, controller_from_record
from moldau.metadata.features import CONTROLLERS_SINCE
from moldau.metadata.records import RegisterControllerRecord
from moldau.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from moldau.protocol.messages.register_controller_record import ControllerEndpoint, ControllerFeature
from moldau.timeline import SnapshotRegistry, TimelineMap


class ControllerControl:
    def __init__(self, registry: SnapshotRegistry) -> None:
        self.registrations: TimelineMap[int, ControllerRegistration] = TimelineMap(registry)

    def register(
        self, request: ControllerRegistrationRequest, features: FeatureControl
    ) -> Decision[ControllerRegistrationResponse]:
        """A controller may come again at any time, as another incarnation or with other endpoints: the last counts."""
        if features.metadata_version < CONTROLLERS_SINCE:
            raise KafkaError(
                ErrorCode.UNSUPPORTED_VERSION, "The metadata.version is too old for controllers to register."
            )
        offered: Mapping[str, FeatureRange] = {
            feature.name: FeatureRange(feature.min_supported_version, feature.max_supported_version)
            for feature in request.features
        }
        check_levels(f"Controller {request.controller_id}", offered, features.finalized)
        record = RegisterControllerRecord(
            controller_id=request.controller_id,
            incarnation_id=request.incarnation_id,
            end_points=[
                ControllerEndpoint(name=end.name, host=end.host, port=end.port, security_protocol=end.security_protocol)
                for end in request.listeners
            ],
            features=[
                ControllerFeature(name=name, min_supported_version=span.minimum, max_supported_version=span.maximum)
                for name, span in offered.items()
            ],
        )
        return Decision([record], ControllerRegistrationResponse(error_message=None))

    def replay(self, record: RegisterControllerRecord) -> None:
        self.registrations[record.controller_id] = controller_from_record(record)
