"""A controller makes itself known: where it listens and what it can do, through the one that is active.

Other nodes find controllers by what is registered, and the features of the cluster may only rise to what all of them
understand. A publisher: whenever the metadata does not hold this incarnation of the controller, it registers (again).
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Final

from moldau.config.listeners import Endpoint
from moldau.links.backoff import Backoff, chance_of
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import supported_features
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.controller_registration import ControllerRegistrationRequest, Feature, Listener
from moldau.runtime.ports import Loop, Random, TimerHandle
from moldau.server.controller_channel import ControllerChannel

logger = logging.getLogger("moldau.server")

# The metadata.version (3.7-IV0) that has a record for controllers.
_REGISTRATIONS_SINCE: Final = 15


class ControllerLifecycle:
    def __init__(
        self, node_id: int, endpoints: Sequence[Endpoint], channel: ControllerChannel, loop: Loop, random: Random
    ) -> None:
        self._node_id = node_id
        self._channel = channel
        self._loop = loop
        self._backoff = Backoff(0.1, 10.0, chance=chance_of(random))
        self._request = ControllerRegistrationRequest(
            controller_id=node_id,
            incarnation_id=random.bytes(16),
            listeners=[
                Listener(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in endpoints
            ],
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in supported_features().items()
            ],
        )
        self._is_needed = False
        self._asking = False
        self._failures = 0
        self._timer: TimerHandle | None = None
        self._closed = False

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        known = image.cluster.controllers.get(self._node_id)
        is_known = known is not None and known.incarnation_id == self._request.incarnation_id
        self._is_needed = not is_known and image.metadata_version >= _REGISTRATIONS_SINCE
        if self._is_needed and not self._asking and self._timer is None:
            # In a turn of its own: the controller of this node may be about to hear of the same records.
            self._timer = self._loop.call_later(0.0, self._register)

    def close(self) -> None:
        self._closed = True
        if self._timer is not None:
            self._timer.cancel()

    def _register(self) -> None:
        self._timer = None
        if self._closed or not self._is_needed:
            return
        self._asking = True
        self._channel.ask(self._request, line="registration").then(self._answered)

    def _answered(self, _response: object, error: BaseException | None) -> None:
        self._asking = False
        if error is None:
            self._failures = 0
            return
        logger.info("controller %d is not registered yet: %s", self._node_id, error)
        if not self._closed:
            self._timer = self._loop.call_later(self._backoff.delay(self._failures), self._register)
            self._failures += 1
