"""A broker's life in its cluster: it registers, hears of its new life, asks to be let in, and says goodbye.

The controller is asked through the same requests wherever it is. Registration gives the broker an epoch, which fences
every earlier incarnation of it; heartbeats keep it, and report how far it has followed the metadata log. Until it has
seen its own registration there, the metadata it has may still call it the leader that it was in its earlier life, of
records that it does not have any more: it must not act upon it before. When it does, and has opened what it holds, it
asks to be unfenced, and is given partitions to lead.

With its registration a broker names the epoch it had when it last stopped in order. Without that the controller knows
that it was torn away, and that what it had written last may be gone from its disk.

A broker that has lost its connection to the controller, or hears of another controller, beats at once: the controller
takes one that is not heard of soon after its connection ended for dead.

A controller that does not know the broker or its epoch any more (somebody unregistered it, or it was registered anew)
is no reason to end: the broker registers again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from moldau.config.listeners import Endpoint
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.links.backoff import Backoff, chance_of
from moldau.metadata.features import supported_features
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from moldau.runtime.ports import Clock, Loop, Random, TimerHandle
from moldau.server.context import MetadataView
from moldau.server.controller_channel import ControllerChannel
from moldau.types import Uuid

logger = logging.getLogger("moldau.server")

# Heartbeats must not wait behind anything else that is asked of the controller.
_LINE: Final = "heartbeat"
# Until it is let in, and while it leaves, a broker asks again at once: somebody waits for it.
_HURRY_SECONDS: Final = 0.01
# How long a broker that leaves looks for a controller: perhaps all nodes of the cluster are being stopped.
_GOODBYE_SECONDS: Final = 5.0
# The controller does not have this broker, or not in this epoch.
_FORGOTTEN: Final = frozenset({ErrorCode.BROKER_ID_NOT_REGISTERED, ErrorCode.STALE_BROKER_EPOCH})
# What no further try will mend.
_FINAL: Final = frozenset(
    {
        ErrorCode.INCONSISTENT_CLUSTER_ID,
        ErrorCode.INVALID_REGISTRATION,
        ErrorCode.UNSUPPORTED_VERSION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
    }
)


class BrokerLifecycle:
    """`registered` is told each epoch the broker is given."""

    def __init__(
        self,
        broker_id: int,
        cluster_id: str,
        channel: ControllerChannel,
        metadata: MetadataView,
        clock: Clock,
        loop: Loop,
        random: Random,
        *,
        heartbeat_seconds: float,
        session_seconds: float = 9.0,
        registration_seconds: float = 60.0,
        offline_directories: Callable[[], Sequence[Uuid]] = tuple,
        registered: Callable[[int], None] = lambda epoch: None,
    ) -> None:
        self._broker_id = broker_id
        self._cluster_id = cluster_id
        self._channel = channel
        self._metadata = metadata
        self._clock = clock
        self._loop = loop
        self._heartbeat_seconds = heartbeat_seconds
        # Two heartbeats fit into a session, whatever becomes of the first.
        self._patience = session_seconds / 2
        self._registration_seconds = registration_seconds
        self._offline_directories = offline_directories
        self._told = registered
        self.incarnation = random.bytes(16)
        self._backoff = Backoff(0.1, 1.0, chance=chance_of(random))
        self._registration: BrokerRegistrationRequest | None = None
        self._give_up_at = 0.0
        self._failures = 0
        self._timer: TimerHandle | None = None
        self._asking = False
        self._leaving = self._abandoned = self._joins = False
        self.epoch = -1
        self.known: Deferred[None] = Deferred()
        # As the controller said last, and when that was.
        self.is_fenced = True
        self.heard_at = clock.monotonic()
        self.started: Deferred[None] = Deferred()
        self.stopped: Deferred[None] = Deferred()
        channel.watch(_LINE, self.hasten)

    def register(
        self,
        endpoints: Sequence[Endpoint],
        rack: str | None,
        directories: Sequence[Uuid],
        *,
        previous_epoch: int = -1,
    ) -> Deferred[None]:
        """Registers and keeps up the heartbeat; settles when this node's metadata has the new life. Without a
        controller for too long it fails: something is wrong with what the node was told about its cluster."""
        self._registration = BrokerRegistrationRequest(
            broker_id=self._broker_id,
            cluster_id=self._cluster_id,
            incarnation_id=self.incarnation,
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
            previous_broker_epoch=previous_epoch,
        )
        self._give_up_at = self._clock.monotonic() + self._registration_seconds
        self._register()
        return self.known

    def join(self) -> Deferred[None]:
        """Asks to be unfenced; settles when the broker has been let in."""
        self._joins = True
        self.hasten()
        return self.started

    def leave(self) -> Deferred[None]:
        """Hands over what this broker leads; settles when the controller lets it go."""
        self._leaving = True
        if self.epoch < 0:
            _settle(self.stopped)
        elif not self._asking:
            self._beat()
        return self.stopped

    @property
    def is_forsaken(self) -> bool:
        """No controller has answered for a whole session: it takes this broker for gone."""
        return self._clock.monotonic() - self.heard_at > self._patience * 2

    def abandon(self) -> None:
        """No more heartbeats: the node stops without goodbye."""
        self._abandoned = True
        self._cancel()

    def _cancel(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # ------------------------------------------------------------------------------------------------- registration

    def _register(self) -> None:
        self._cancel()
        assert self._registration is not None
        self._asking = True
        self._channel.ask(self._registration, timeout=self._patience, line=_LINE).then(self._registered)

    def _registered(self, response: BrokerRegistrationResponse | None, error: BaseException | None) -> None:
        self._asking = False
        if self._abandoned:
            return
        if response is None:
            self._not_registered(error)
            return
        self._failures = 0
        self.epoch = response.broker_epoch
        logger.debug("broker %d is registered with epoch %d", self._broker_id, self.epoch)
        self._told(self.epoch)
        self._beat()

    def _not_registered(self, error: BaseException | None) -> None:
        assert error is not None
        is_late = self._clock.monotonic() >= self._give_up_at
        is_final = not isinstance(error, KafkaError) or error.code in _FINAL
        if not self.known.settled and is_final:
            self.known.fail(error)
            return
        if not self.known.settled and is_late:
            self.known.fail(self._too_late(error))
            return
        if self._leaving:
            _settle(self.stopped)
            return
        logger.info("broker %d is not registered yet: %s", self._broker_id, error)
        self._timer = self._loop.call_later(self._backoff.delay(self._failures), self._register)
        self._failures += 1

    def _too_late(self, error: BaseException) -> KafkaError:
        setting = f"{self._registration_seconds * 1000:.0f} ms (initial.broker.registration.timeout.ms)"
        why = str(error).rstrip(".")
        return KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"The broker could not register within {setting}: {why}.")

    # --------------------------------------------------------------------------------------------------- heartbeats

    def hasten(self) -> None:
        """There is something to tell the controller, or to find out about it."""
        is_registered = self.epoch >= 0 and not self._failures
        if is_registered and self._timer is not None and not self._asking and not self._abandoned:
            self._beat()

    def _beat(self) -> None:
        self._cancel()
        request = BrokerHeartbeatRequest(
            broker_id=self._broker_id,
            broker_epoch=self.epoch,
            current_metadata_offset=self._metadata.image.offset,
            want_fence=not self._joins,
            want_shut_down=self._leaving,
            offline_log_dirs=sorted(self._offline_directories()),
        )
        self._asking = True
        patience = min(self._patience, _GOODBYE_SECONDS) if self._leaving else self._patience
        self._channel.ask(request, timeout=patience, line=_LINE).then(self._answered)

    def _answered(self, response: BrokerHeartbeatResponse | None, error: BaseException | None) -> None:
        self._asking = False
        if self._abandoned:
            return
        if response is not None:
            self.is_fenced, self.heard_at = response.is_fenced, self._clock.monotonic()
        if error is not None or response is None:
            logger.warning("a heartbeat of broker %d was refused: %s", self._broker_id, error)
            if self._leaving:
                _settle(self.stopped)
                return
            if isinstance(error, KafkaError) and error.code in _FORGOTTEN:
                self._register_again()
                return
        elif response.should_shut_down:
            _settle(self.stopped)
            return
        else:
            if response.is_caught_up:
                _settle(self.known)
            if not response.is_fenced:
                _settle(self.started)
        waiting = self._leaving or not self.known.settled or (self._joins and not self.started.settled)
        self._timer = self._loop.call_later(_HURRY_SECONDS if waiting else self._heartbeat_seconds, self._beat)

    def _register_again(self) -> None:
        assert self._registration is not None
        # This process has not ended since it had that epoch: nothing it wrote is lost.
        self._registration = self._registration.changed(previous_broker_epoch=self.epoch)
        self._timer = self._loop.call_later(self._backoff.delay(self._failures), self._register)
        self._failures += 1


def _settle(deferred: Deferred[None]) -> None:
    if not deferred.settled:
        deferred.resolve(None)
