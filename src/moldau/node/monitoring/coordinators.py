"""Groups and transactions that this broker coordinates."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Final

from moldau.coordinator.group.classic_group import ClassicGroup
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.txn.coordinator import TransactionCoordinator
from moldau.coordinator.txn.states import LABELS, TransactionState
from moldau.metrics.exposition import GAUGE, Family, Sample, labels
from moldau.slicing import pieces

_GROUPS: Final = "kafka_coordinator_group_groupmetadatamanager_"
_BY_PROTOCOL: Final = "kafka_server_group_coordinator_metrics_"


def of_groups(groups: GroupCoordinator) -> Iterator[Family]:
    counts = _GroupCounts(groups)
    yield Family(_GROUPS + "numgroups", GAUGE, "Groups coordinated here.", counts.all())
    for state in ("PreparingRebalance", "CompletingRebalance", "Stable", "Dead", "Empty"):
        name = _GROUPS + "numgroups" + state.lower()
        yield Family(name, GAUGE, f"Groups of the classic protocol that are {state}.", counts.classic(state))
    yield Family(_GROUPS + "numoffsets", GAUGE, "Committed offsets kept here.", counts.of_offsets())
    yield Family(_BY_PROTOCOL + "group_count", GAUGE, "Groups by their protocol.", counts.by_protocol())
    for protocol in ("consumer", "share", "streams"):
        words = f"Groups of the {protocol} protocol by state."
        yield Family(f"{_BY_PROTOCOL}{protocol}_group_count", GAUGE, words, counts.by_state(protocol))


class _GroupCounts:
    """Goes over all groups once, when the first of the counts is asked for."""

    def __init__(self, groups: GroupCoordinator) -> None:
        self._groups = groups
        self._is_counted = False
        self._protocols: Counter[str] = Counter(dict.fromkeys(("classic", "consumer", "share", "streams"), 0))
        self._classic: Counter[str] = Counter()
        self._states: Counter[tuple[str, str]] = Counter()
        self._offsets = 0

    def _counted(self) -> Iterator[None]:
        if self._is_counted:
            return
        for _partition, shard, _committed in self._groups.runtime.shards():
            yield from self._count(shard)
        self._is_counted = True

    def _count(self, shard: GroupShard) -> Iterator[None]:
        self._offsets += len(shard.offsets)
        for some in pieces(shard.groups):
            for group in some:
                self._protocols[group.TYPE] += 1
                if isinstance(group, ClassicGroup):
                    self._classic[str(group.state)] += 1
                else:
                    self._states[group.TYPE, group.state] += 1
            yield None

    def all(self) -> Iterator[Sample | None]:
        yield from self._counted()
        yield "", "", self._protocols.total()

    def classic(self, state: str) -> Iterator[Sample | None]:
        yield from self._counted()
        yield "", "", self._classic[state]

    def of_offsets(self) -> Iterator[Sample | None]:
        yield from self._counted()
        yield "", "", self._offsets

    def by_protocol(self) -> Iterator[Sample | None]:
        yield from self._counted()
        for protocol, count in self._protocols.items():
            yield "", labels(protocol=protocol), count

    def by_state(self, protocol: str) -> Iterator[Sample | None]:
        yield from self._counted()
        for (kind, state), count in sorted(self._states.items()):
            if kind == protocol:
                yield "", labels(state=state), count


def of_transactions(transactions: TransactionCoordinator, now_ms: int) -> Iterator[Family]:
    counts = _TransactionCounts(transactions, now_ms)
    yield Family("moldau_transactions", GAUGE, "Transactional ids known here, by state.", counts.by_state())
    longest = "How long the transaction that has been open longest is open."
    yield Family("moldau_transaction_longest_open_seconds", GAUGE, longest, counts.longest())


class _TransactionCounts:
    def __init__(self, transactions: TransactionCoordinator, now_ms: int) -> None:
        self._transactions = transactions
        self._now_ms = now_ms
        self._states: Counter[str] = Counter(dict.fromkeys(LABELS, 0))
        self._longest_ms = 0

    def by_state(self) -> Iterator[Sample | None]:
        for _partition, shard, committed in self._transactions.runtime.shards():
            for some in pieces(shard.transactions_at(committed).values()):
                for transaction in some:
                    self._states[transaction.state.label] += 1
                    if transaction.state is TransactionState.ONGOING:
                        self._longest_ms = max(self._longest_ms, self._now_ms - transaction.start_ms)
                yield None
        for state, count in self._states.items():
            yield "", labels(state=state), count

    def longest(self) -> Iterator[Sample]:
        yield "", "", self._longest_ms / 1000
