"""Where the replicas of new partitions go: Kafka's striped placer.

Goals in this order: spread replicas over racks, then over brokers, then prefer brokers that are not fenced. Two rules
are never broken: one replica per broker, and the first replica (the leader) is not fenced.

Partition by partition, the walk over the racks starts one rack further, and inside a rack one broker further, from a
random start. So neighbouring partitions have different leaders, and when a broker fails its leaderships scatter over
many others. After as many partitions as there are unfenced brokers the order is shuffled, or the same groups of
brokers would repeat.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, TypeVar

from moldau.errors import ErrorCode, KafkaError
from moldau.runtime.ports import Random

T = TypeVar("T")


class UsableBroker(NamedTuple):
    id: int
    rack: str | None
    fenced: bool


class _Ring:
    """Brokers in a circle; each partition reads it from a start that is one further than the last one's."""

    __slots__ = ("_brokers", "_partition", "_start", "_taken")

    def __init__(self, brokers: Iterable[int], random: Random) -> None:
        self._brokers = sorted(brokers)
        self._start = random.below(len(self._brokers)) if self._brokers else 0
        self._partition = 0
        self._taken = 0

    def next(self, partition: int) -> int | None:
        """The next broker for this partition, or None when it has had all of them."""
        size = len(self._brokers)
        if size == 0:
            return None
        if partition != self._partition:
            self._partition = partition
            self._taken = 0
            self._start = (self._start + 1) % size
        if self._taken >= size:
            return None
        broker = self._brokers[(self._start + self._taken) % size]
        self._taken += 1
        return broker

    def shuffle(self, random: Random) -> None:
        _shuffle(self._brokers, random)


class _Rack:
    __slots__ = ("_fenced", "_unfenced")

    def __init__(self, brokers: Sequence[UsableBroker], random: Random) -> None:
        self._unfenced = _Ring((broker.id for broker in brokers if not broker.fenced), random)
        self._fenced = _Ring((broker.id for broker in brokers if broker.fenced), random)

    def next_leader(self, partition: int) -> int | None:
        return self._unfenced.next(partition)

    def next(self, partition: int) -> int | None:
        broker = self._unfenced.next(partition)
        return broker if broker is not None else self._fenced.next(partition)

    def shuffle(self, random: Random) -> None:
        self._unfenced.shuffle(random)
        self._fenced.shuffle(random)


class _Stripes:
    def __init__(self, brokers: Sequence[UsableBroker], random: Random) -> None:
        by_rack: dict[str | None, list[UsableBroker]] = {}
        for broker in brokers:
            by_rack.setdefault(broker.rack, []).append(broker)
        names = sorted(by_rack, key=lambda name: (name is not None, name or ""))
        self._racks = [_Rack(by_rack[name], random) for name in names]
        self._unfenced = sum(not broker.fenced for broker in brokers)
        self._first = random.below(len(self._racks))
        self._partition = 0
        self._random = random

    def place(self, replication_factor: int) -> tuple[int, ...]:
        if self._partition > 0 and self._unfenced > 1 and self._partition % self._unfenced == 0:
            _shuffle(self._racks, self._random)
            for rack in self._racks:
                rack.shuffle(self._random)
        partition, first, count = self._partition, self._first, len(self._racks)
        replicas: list[int] = []
        leader_rack = first
        while not replicas:
            leader = self._racks[leader_rack].next_leader(partition)
            if leader is not None:
                replicas.append(leader)
                break
            leader_rack = (leader_rack + 1) % count
        turn = first
        skip = leader_rack
        while len(replicas) < replication_factor:
            if turn == skip:
                # The leader's rack has had its turn once already.
                skip = -1
            else:
                follower = self._racks[turn].next(partition)
                if follower is not None:
                    replicas.append(follower)
            turn = (turn + 1) % count
        self._partition += 1
        self._first = (first + 1) % count
        return tuple(replicas)


def place_replicas(
    brokers: Sequence[UsableBroker], partitions: int, replication_factor: int, random: Random
) -> Iterator[tuple[int, ...]]:
    """Replicas for one partition after the other, the leader first; KafkaError(INVALID_REPLICATION_FACTOR) at once if
    they do not fit."""
    if replication_factor <= 0:
        raise _refuse(f"The replication factor must be at least 1, not {replication_factor}.")
    if all(broker.fenced for broker in brokers):
        raise _refuse("No broker can take a new partition: all are fenced or shutting down.")
    if replication_factor > len(brokers):
        raise _refuse(f"The replication factor cannot be {replication_factor} with {len(brokers)} broker(s).")
    stripes = _Stripes(brokers, random)
    return (stripes.place(replication_factor) for _ in range(partitions))


def _refuse(message: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, message)


def _shuffle(items: list[T], random: Random) -> None:
    for last in range(len(items) - 1, 0, -1):
        other = random.below(last + 1)
        items[last], items[other] = items[other], items[last]
