"""How many connections there may be, and how fast new ones may come.

Kafka's rules: `max.connections` for the broker and for each listener makes new clients wait until a connection ends;
the inter-broker listener is exempt from the broker's limit as long as there is another listener, because a cluster
must not be cut apart by its clients (an idle client is closed instead). `max.connections.per.ip` refuses at once.
`max.connection.creation.rate`, for the broker and for each listener, makes new clients wait. A quota for an address
(connection_creation_rate) makes only those wait that come from there: they are taken, and turned away after a while.

Pure: it counts and answers; who asks does the accepting, waiting and closing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Final

from moldau.dataclass import dataclass, field

if TYPE_CHECKING:
    from moldau.security.quota import Limits

INT_MAX: Final = 2**31 - 1
# Addresses whose rate is remembered; when there are more, all begin anew.
_MOST_ADDRESSES: Final = 10_000


@dataclass(slots=True, frozen=True)
class ConnectionLimits:
    max_connections: int = INT_MAX
    max_per_listener: Mapping[str, int] = field(default_factory=dict)
    max_per_ip: int = INT_MAX
    max_per_ip_overrides: Mapping[str, int] = field(default_factory=dict)
    max_rate: int = INT_MAX
    max_rate_per_listener: Mapping[str, int] = field(default_factory=dict)
    # The inter-broker listener, if it is not the only one.
    protected_listener: str | None = None


class Rate:
    """So many events a second, with at most one second's worth saved up."""

    __slots__ = ("_allowance", "_last", "_limit")

    def __init__(self, limit: int, now: float) -> None:
        self._limit = limit
        self._allowance = float(limit)
        self._last = now

    def take_if_due(self, now: float) -> float:
        """Counts one event if it is due; else the seconds until one is."""
        self._allowance = min(float(self._limit), self._allowance + (now - self._last) * self._limit)
        self._last = now
        if self._allowance < 1.0:
            return (1.0 - self._allowance) / self._limit
        self._allowance -= 1.0
        return 0.0

    def take(self, now: float) -> float:
        """Counts one event; returns how many seconds have to pass before the next one is due."""
        self._allowance = min(float(self._limit), self._allowance + (now - self._last) * self._limit) - 1.0
        self._last = now
        if self._allowance >= 1.0:
            return 0.0
        # A limit of zero lets nobody in; looking again once a second lets a changed limit take effect.
        return (1.0 - self._allowance) / self._limit if self._limit else 1.0


class ConnectionQuotas:
    def __init__(self, limits: ConnectionLimits, now: float) -> None:
        self.limits = limits
        self.total = 0
        self._per_listener: dict[str, int] = {}
        # Since the start, by listener.
        self.created: dict[str, int] = {}
        self._per_ip: dict[str, int] = {}
        self._rate = Rate(limits.max_rate, now) if limits.max_rate < INT_MAX else None
        # Quotas of addresses, and what comes from those that have one.
        self.address_limits: Limits | None = None
        self._address_rates: dict[str, tuple[float, Rate]] = {}
        self._listener_rates = {name: Rate(limit, now) for name, limit in limits.max_rate_per_listener.items()}

    def admits(self, address: str) -> bool:
        """Whether one more connection from this address is allowed."""
        limit = self.limits.max_per_ip_overrides.get(address, self.limits.max_per_ip)
        return self._per_ip.get(address, 0) < limit

    def address_delay(self, address: str, now: float) -> float:
        """Counts a new connection, if it may come; else the seconds after which another would."""
        limits = self.address_limits
        bound = None if limits is None else limits.of_address(address)
        if bound is None:
            return 0.0
        known = self._address_rates.get(address)
        if known is None or known[0] != bound:
            if len(self._address_rates) >= _MOST_ADDRESSES:
                self._address_rates.clear()
            known = self._address_rates[address] = bound, Rate(int(bound), now)
        return known[1].take_if_due(now)

    def opened(self, listener: str, address: str) -> None:
        self.total += 1
        self.created[listener] = self.created.get(listener, 0) + 1
        self._per_listener[listener] = self._per_listener.get(listener, 0) + 1
        self._per_ip[address] = self._per_ip.get(address, 0) + 1

    def closed(self, listener: str, address: str) -> None:
        self.total -= 1
        self._per_listener[listener] -= 1
        self._per_ip[address] -= 1
        if not self._per_ip[address]:
            del self._per_ip[address]

    def held(self, listener: str) -> int:
        return self._per_listener.get(listener, 0)

    def has_slot(self, listener: str) -> bool:
        """Whether the listener may accept another connection now."""
        count = self._per_listener.get(listener, 0)
        if count >= self.limits.max_per_listener.get(listener, INT_MAX):
            return False
        return listener == self.limits.protected_listener or self.total < self.limits.max_connections

    @property
    def exceeded(self) -> bool:
        """The protected listener took more than there was room for: a connection elsewhere has to go."""
        return self.total > self.limits.max_connections

    def delay(self, listener: str, now: float) -> float:
        """Counts a new connection; returns the seconds until the listener may accept the next."""
        delay = self._rate.take(now) if self._rate is not None else 0.0
        rate = self._listener_rates.get(listener)
        return max(delay, rate.take(now)) if rate is not None else delay
