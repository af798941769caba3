"""The instances of clients that ask what to push, and push: who may do it now (KIP-714).

An instance has an id that it keeps for its life, and comes again once in an interval. Who comes earlier is sent away,
but for three reasons: he pushes for the first time after having asked, he was told that what he pushed is not what is
wanted now and asks again, or he says good-bye. After that nothing of him is taken any more.

An id belongs to whoever logged in with it. What is known of an instance is forgotten with its connection, when it has
been silent for three intervals, and of the one that was silent longest when there are too many: such a client is
answered like a new one, which costs it nothing.

Pure: the time is passed in, in seconds.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from moldau.errors import ErrorCode, KafkaError
from moldau.security.principal import Principal
from moldau.server.telemetry.subscriptions import Subscription, Subscriptions
from moldau.types import Uuid

if TYPE_CHECKING:
    from moldau.server.connection import Connection

MOST_INSTANCES: Final = 16_384
LEAST_SILENCE_S: Final = 60.0
_INTERVALS_OF_SILENCE: Final = 3
_NEVER: Final = float("-inf")
# Told one of these, a client has reason to ask again at once.
_OUTDATED: Final = (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)


class ClientInstance:
    __slots__ = ("asked_at", "last_error", "peer", "pushed_at", "said_goodbye", "seen_at", "subscription", "taken")

    def __init__(self, subscription: Subscription, taken: Subscriptions, now: float) -> None:
        self.subscription = subscription
        # The settings that the subscription was made of.
        self.taken = taken
        # Where it came from last.
        self.peer: tuple[str, int] | None = None
        self.asked_at = self.pushed_at = _NEVER
        self.seen_at = now
        self.said_goodbye = False
        self.last_error = ErrorCode.NONE

    @property
    def interval_seconds(self) -> float:
        return self.subscription.interval_ms / 1000

    def forgotten_at(self) -> float:
        return self.seen_at + silence_seconds(self.subscription)

    def ask(self, now: float) -> None:
        """KafkaError(THROTTLING_QUOTA_EXCEEDED) if it is too early."""
        is_due = now - max(self.asked_at, self.pushed_at) >= self.interval_seconds
        if not is_due and self.last_error not in _OUTDATED:
            raise _too_early()
        self.asked_at = now
        self.last_error = ErrorCode.NONE

    def check_push(
        self, now: float, subscription_id: int, codec: int, size: int, most_bytes: int, *, terminating: bool
    ) -> None:
        """KafkaError if it may not push this."""
        try:
            self._check_push(now, subscription_id, codec, size, most_bytes, terminating=terminating)
            self.last_error = ErrorCode.NONE
        except KafkaError as error:
            self.last_error = error.code
            raise
        finally:
            # Refused or not: whoever says good-bye has gone.
            self.said_goodbye |= terminating

    def _check_push(
        self, now: float, subscription_id: int, codec: int, size: int, most_bytes: int, *, terminating: bool
    ) -> None:
        if self.said_goodbye:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "The client has said that it would push nothing more.")
        if self.asked_at > self.pushed_at or now - self.pushed_at >= self.interval_seconds:
            self.pushed_at = now
        elif not terminating:
            raise _too_early()
        if subscription_id != self.subscription.id:
            raise KafkaError(ErrorCode.UNKNOWN_SUBSCRIPTION_ID)
        if not 0 <= codec <= 4:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, f"There is no compression {codec}.")
        if size > most_bytes:
            raise KafkaError(ErrorCode.TELEMETRY_TOO_LARGE, f"{size} bytes are more than {most_bytes}.")


def silence_seconds(subscription: Subscription) -> float:
    """How long a client may say nothing before it is forgotten."""
    return max(LEAST_SILENCE_S, _INTERVALS_OF_SILENCE * subscription.interval_ms / 1000)


def _too_early() -> KafkaError:
    return KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The client has been here less than an interval ago.")


class ClientInstances:
    def __init__(self, most: int = MOST_INSTANCES) -> None:
        self._most = most
        # By who seems to be asking, the one who has been silent longest first.
        self._instances: OrderedDict[tuple[Principal, Uuid], ClientInstance] = OrderedDict()

    def __len__(self) -> int:
        return len(self._instances)

    def of(
        self,
        connection: Connection,
        instance_id: Uuid,
        subscriptions: Subscriptions,
        subscription: Callable[[], Subscription],
        now: float,
    ) -> ClientInstance:
        """The instance that asks; a new one where it is not known, or something else is wanted since."""
        key = connection.principal, instance_id
        known = self._instances.pop(key, None)
        if known is not None and now >= known.forgotten_at():
            known = None
        if known is None or known.taken is not subscriptions:
            said_goodbye = known is not None and known.said_goodbye
            known = ClientInstance(subscription(), subscriptions, now)
            known.said_goodbye = said_goodbye
        known.seen_at = now
        if known.peer != connection.peer:
            known.peer = connection.peer
            connection.when_closed(partial(self._disconnected, key, connection.peer))
        self._make_room(now)
        self._instances[key] = known
        return known

    def _disconnected(self, key: tuple[Principal, Uuid], peer: tuple[str, int]) -> None:
        known = self._instances.get(key)
        if known is not None and known.peer == peer:
            del self._instances[key]

    def _make_room(self, now: float) -> None:
        while self._instances:
            key, oldest = next(iter(self._instances.items()))
            if len(self._instances) < self._most and now < oldest.forgotten_at():
                break
            del self._instances[key]
