"""Replication that may not take more than its share: the replicas a topic names, within a rate of the broker.

Only what catches up is throttled. A replica that is in sync is never held back: it would fall out, and the throttle for
a few moved partitions would cost their availability.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moldau.config.broker import BrokerConfig
from moldau.config.definition import LONG_MAX
from moldau.replica.partition import Partition
from moldau.runtime.ports import Clock


class Allowance:
    """So many bytes a second. What is taken at once may be more than there is, and is waited for afterwards."""

    def __init__(self, rate: Callable[[], int], clock: Clock) -> None:
        self._rate = rate
        self._clock = clock
        self._left = 0.0
        self._at = clock.monotonic()
        self._full = True

    @property
    def is_used_up(self) -> bool:
        rate = self._rate()
        if rate >= LONG_MAX:
            return False
        now = self._clock.monotonic()
        if self._full:
            self._left, self._full = float(rate), False
        self._left = min(float(rate), self._left + (now - self._at) * rate)
        self._at = now
        return self._left <= 0

    def take(self, size: int) -> None:
        if self._rate() < LONG_MAX:
            self._left -= size


class LeaderThrottle:
    """What this broker sends to followers that catch up."""

    def __init__(self, broker_id: int, config: Callable[[], BrokerConfig], clock: Clock) -> None:
        self._broker_id = broker_id
        self._allowance = Allowance(lambda: config().leader_replication_throttled_rate, clock)

    def holds_back(self, partition: Partition, follower: int) -> bool:
        return follower not in partition.isr and self._applies(partition) and self._allowance.is_used_up

    def sent(self, partition: Partition, follower: int, size: int) -> None:
        if size and follower not in partition.isr and self._applies(partition):
            self._allowance.take(size)

    def _applies(self, partition: Partition) -> bool:
        names = partition.log.config.leader_replication_throttled_replicas
        return bool(names) and _names(names, partition, self._broker_id)


class FollowerThrottle:
    """What this broker fetches from leaders while it catches up."""

    def __init__(self, broker_id: int, config: Callable[[], BrokerConfig], clock: Clock) -> None:
        self._broker_id = broker_id
        self._allowance = Allowance(lambda: config().follower_replication_throttled_rate, clock)

    def holds_back(self, partition: Partition) -> bool:
        return self._applies(partition) and self._allowance.is_used_up

    def took(self, partition: Partition, size: int) -> None:
        if self._applies(partition):
            self._allowance.take(size)

    def _applies(self, partition: Partition) -> bool:
        names = partition.log.config.follower_replication_throttled_replicas
        return bool(names) and _names(names, partition, self._broker_id)


def _names(names: Sequence[str], partition: Partition, broker_id: int) -> bool:
    return "*" in names or f"{partition.topic_partition.partition}:{broker_id}" in names
