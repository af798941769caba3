"""A broker's life in its cluster: it registers, proves that it has caught up, is let in, and says goodbye.

The controller is asked through the same requests a remote one would get. Registration gives the broker an epoch, which
fences every earlier incarnation of it; heartbeats keep it, and report how far it has followed the metadata log. Only
when it has seen its own registration there is it unfenced and given partitions to lead.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any

from moldau.config.listeners import Endpoint
from moldau.deferred import Deferred
from moldau.errors import KafkaError, error_code
from moldau.metadata.features import supported_features
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from moldau.runtime.ports import Loop, Random, TimerHandle
from moldau.server.context import MetadataView
from moldau.types import Uuid

logger = logging.getLogger("moldau.server")


class BrokerLifecycle:
    def __init__(
        self,
        broker_id: int,
        cluster_id: str,
        controller: Any,
        metadata: MetadataView,
        loop: Loop,
        random: Random,
        heartbeat_seconds: float,
        offline_directories: Callable[[], Sequence[Uuid]] = tuple,
    ) -> None:
        self._broker_id = broker_id
        self._cluster_id = cluster_id
        self._controller = controller
        self._metadata = metadata
        self._loop = loop
        self._heartbeat_seconds = heartbeat_seconds
        self._offline_directories = offline_directories
        self._incarnation = random.bytes(16)
        self._timer: TimerHandle | None = None
        self._leaving = False
        self.epoch = -1
        self.started: Deferred[None] = Deferred()
        self.stopped: Deferred[None] = Deferred()

    def register(self, endpoints: Sequence[Endpoint], rack: str | None, directories: Sequence[Uuid]) -> Deferred[None]:
        """Registers and keeps up the heartbeat; settles when the broker has been let in."""
        request = BrokerRegistrationRequest(
            broker_id=self._broker_id,
            cluster_id=self._cluster_id,
            incarnation_id=self._incarnation,
            listeners=[
                Listener(name=e.name, host=e.host, port=e.port, security_protocol=e.security_protocol)
                for e in endpoints
            ],
            features=[
                Feature(name=name, min_supported_version=levels.minimum, max_supported_version=levels.maximum)
                for name, levels in supported_features().items()
            ],
            rack=rack,
            log_dirs=sorted(directories),
        )
        answer: Deferred[BrokerRegistrationResponse] = self._controller.register_broker(request)
        answer.then(self._registered)
        return self.started

    def leave(self) -> Deferred[None]:
        """Hands over what this broker leads; settles when the controller lets it go."""
        self._leaving = True
        if self.epoch < 0:
            self.stopped.resolve(None)
        else:
            self._beat()
        return self.stopped

    def abandon(self) -> None:
        """No more heartbeats: the node stops without goodbye."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _registered(self, response: BrokerRegistrationResponse | None, error: BaseException | None) -> None:
        if response is not None and response.error_code:
            error = KafkaError(error_code(response.error_code))
        if error is not None:
            self.started.fail(error)
            return
        assert response is not None
        self.epoch = response.broker_epoch
        logger.debug("broker %d is registered with epoch %d", self._broker_id, self.epoch)
        self._beat()

    def _beat(self) -> None:
        self.abandon()
        request = BrokerHeartbeatRequest(
            broker_id=self._broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata.image.offset,
            want_shut_down=self._leaving,
            offline_log_dirs=sorted(self._offline_directories()),
        )
        answer: Deferred[BrokerHeartbeatResponse] = self._controller.broker_heartbeat(request)
        answer.then(self._answered)

    def _answered(self, response: BrokerHeartbeatResponse | None, error: BaseException | None) -> None:
        if error is not None or response is None:
            logger.warning("a heartbeat of broker %d was refused: %s", self._broker_id, error)
            if self._leaving:
                _settle(self.stopped)
                return
        elif response.should_shut_down:
            _settle(self.stopped)
            return
        elif not response.is_fenced:
            _settle(self.started)
        # Until it is let in, and while it leaves, a broker asks again at once: somebody waits for it.
        waiting = self._leaving or not self.started.settled
        self._timer = self._loop.call_later(0.01 if waiting else self._heartbeat_seconds, self._beat)


def _settle(deferred: Deferred[None]) -> None:
    if not deferred.settled:
        deferred.resolve(None)
