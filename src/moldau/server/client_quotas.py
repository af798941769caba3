"""What clients use, beside what they may: who used more is answered, told to wait, and not listened to for so long.

Bytes produced are those of whole requests, bytes fetched those of the records that leave, time is what the loop spends
on a request. Nobody is held to anything unless there is a quota for it: `active` is all that the fast ways look at, and
what it is true for goes the readable one. Brokers are not held to quotas of clients: neither followers that fetch nor
what brokers ask each other.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.api import ApiKey
from moldau.security.principal import THIS_NODE
from moldau.security.quota import (
    CONNECTION_RATE,
    FETCH_RATE,
    MUTATION_RATE,
    PRODUCE_RATE,
    REQUEST_PERCENTAGE,
    Limits,
)
from moldau.security.usage import RateWindow, TokenBucket

if TYPE_CHECKING:
    from moldau.config.broker import BrokerConfig
    from moldau.runtime.ports import Clock
    from moldau.server.connection import Connection
    from moldau.server.context import RequestContext

_MEASURED: Final = frozenset({PRODUCE_RATE, FETCH_RATE, REQUEST_PERCENTAGE})
# What only brokers ask.
_OF_BROKERS: Final = frozenset({ApiKey.WRITE_TXN_MARKERS, ApiKey.ENVELOPE})
_FETCHES: Final = frozenset({ApiKey.FETCH, ApiKey.SHARE_FETCH})
# The longest wait that an answer can tell.
_LONGEST_MS: Final = 2**31 - 1
# Fetches that bring what is allowed in a sample.
_FETCHES_A_SAMPLE: Final = 4
# Names are chosen by clients: when so many are known, those that nothing was heard of lately are forgotten.
_MOST_KNOWN: Final = 10_000


class ClientQuotas:
    """A publisher of the metadata. `limited` hears of the rates of new connections by address."""

    def __init__(
        self, now: Callable[[], float], *, samples: int = 11, sample_seconds: int = 1, burst_seconds: int = 11
    ) -> None:
        self.active = False
        self.limits = Limits({})
        self.connection_rates_changed: Callable[[Limits | None], None] = lambda limits: None
        self._quotas: object = None
        self._now = now
        self._samples, self._seconds, self._burst = samples, float(sample_seconds), float(burst_seconds)
        self._windows: dict[tuple[str, ...], RateWindow] = {}
        self._buckets: dict[tuple[str, ...], TokenBucket] = {}

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        if image.client_quotas is self._quotas:
            return
        self._quotas = image.client_quotas
        self.limits = Limits(image.client_quotas)
        self.active = bool(self.limits.kinds & _MEASURED)
        self.connection_rates_changed(self.limits if CONNECTION_RATE in self.limits.kinds else None)

    # ----------------------------------------------------------------------------------------------- bytes and time

    def throttle_ms(self, connection: Connection, key: int, response: Any) -> int:
        """Counts what a request came to; how long its client is to wait."""
        if key in _OF_BROKERS or connection.principal is THIS_NODE:
            return 0
        # No follower produces: whoever does has only said to be one.
        if connection.is_follower and key != ApiKey.PRODUCE:
            return 0
        wait = 0.0
        if key == ApiKey.PRODUCE:
            wait = self._use(PRODUCE_RATE, connection, connection.asked_bytes)
        elif key in _FETCHES and response is not None:
            wait = self._use(FETCH_RATE, connection, _fetched(response))
        if REQUEST_PERCENTAGE in self.limits.kinds:
            spent = self._use(REQUEST_PERCENTAGE, connection, connection.spent_seconds * 100)
            # Time is not saved up, and nobody waits longer for it than a sample takes.
            wait = max(wait, min(spent, self._seconds))
        return min(round(wait * 1000), _LONGEST_MS)

    def most_fetched(self, connection: Connection, asked: int) -> int:
        """Bytes a fetch may bring: no more than is allowed in a part of a sample. So much may be above the bound at any
        time, and what follows waits for it."""
        limit = self.limits.of_client(FETCH_RATE, connection.principal.name, connection.client_id or "")
        return asked if limit is None else min(asked, max(1, int(limit.bound * self._seconds / _FETCHES_A_SAMPLE)))

    def _use(self, kind: str, connection: Connection, value: float) -> float:
        limit = self.limits.of_client(kind, connection.principal.name, connection.client_id or "")
        if limit is None:
            return 0.0
        now = self._now()
        name = kind, *limit.shared_by
        window = self._windows.get(name)
        if window is None:
            self._forget(self._windows, now)
            window = self._windows[name] = RateWindow(self._samples, self._seconds)
        window.record(value, now)
        return window.wait(limit.bound, now)

    def used(self) -> Iterator[tuple[str, dict[str, str], float]]:
        """What is limited, for whom, and how much of it he used a second lately."""
        now = self._now()
        for (kind, *sharers), window in self._windows.items():
            yield kind, dict(zip(sharers[::2], sharers[1::2], strict=True)), window.rate(now)

    def _forget(self, known: dict[tuple[str, ...], Any], now: float) -> None:
        if len(known) >= _MOST_KNOWN:
            lately = now - max(self._samples * self._seconds, self._burst)
            for name in [name for name, usage in known.items() if usage.touched < lately]:
                del known[name]

    # -------------------------------------------------------------------------------------------------- mutations

    def mutations(self, context: RequestContext, *, strict: bool) -> Mutations | None:
        """What a client's request may create and remove; None if nothing limits it."""
        if MUTATION_RATE not in self.limits.kinds or context.principal is THIS_NODE:
            return None
        limit = self.limits.of_client(MUTATION_RATE, context.principal.name, context.client_id or "")
        if limit is None:
            return None
        now = self._now()
        bucket = self._buckets.get(limit.shared_by)
        if bucket is None:
            self._forget(self._buckets, now)
            bucket = self._buckets[limit.shared_by] = TokenBucket(limit.bound, self._burst, now)
        return Mutations(bucket, limit.bound, self._burst, self._now, strict=strict)


class Mutations:
    """Partitions one request creates or deletes. Who asks in a version that knows of quotas is refused what he would
    have to wait for; an older client gets it, and waits afterwards."""

    def __init__(
        self, bucket: TokenBucket, bound: float, burst: float, now: Callable[[], float], *, strict: bool
    ) -> None:
        self._bucket = bucket
        self._bound = bound
        self._burst = burst
        self._now = now
        self._strict = strict
        self._refused = False

    @property
    def throttle_ms(self) -> int:
        """Who knows the error waits for what he was refused, and not for what he got."""
        if self._strict and not self._refused:
            return 0
        return min(round(self._bucket.wait(self._bound, self._burst, self._now()) * 1000), _LONGEST_MS)

    def charge(self, partitions: int) -> None:
        now = self._now()
        if self._strict and self._bucket.wait(self._bound, self._burst, now) > 0:
            self._refused = True
            raise EXCEEDED
        self._bucket.take(partitions, self._bound, self._burst, now)


def quotas_of(config: BrokerConfig, clock: Clock) -> ClientQuotas:
    return ClientQuotas(
        clock.monotonic,
        samples=config.quota_window_num,
        sample_seconds=config.quota_window_size_seconds,
        burst_seconds=config.controller_quota_window_num * config.controller_quota_window_size_seconds,
    )


# Of a node before it knows its cluster, and of one that is not a broker.
UNLIMITED: Final = ClientQuotas(lambda: 0.0)

EXCEEDED: Final = KafkaError(
    ErrorCode.THROTTLING_QUOTA_EXCEEDED, "The quota for changes of partitions is used up; try again later."
)


def _fetched(response: Any) -> int:
    return sum(len(part.records or b"") for topic in response.responses for part in topic.partitions)
