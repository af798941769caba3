"""The state of a transaction, since when, what it waits for, and what would unblock it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from moldau.errors import KafkaError
from moldau.quantities import format_time
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.transactions import TransactionDescription
    from moldau.client.cluster import Cluster


# Past this share of its timeout a transaction is said to be open for long: a producer commits well before.
_LONG: Final = 0.5


@dataclass(slots=True, frozen=True)
class OpenTime:
    """For how long a transaction has been open, and how long it may be until its coordinator aborts it."""

    seconds: float
    timeout: float

    @property
    def long(self) -> bool:
        return self.seconds > self.timeout * _LONG

    @property
    def overdue(self) -> bool:
        """Its coordinator should have aborted it, or does not get an outcome to its partitions."""
        return self.seconds > self.timeout


def open_times(described: Iterable[TransactionDescription], now_ms: int) -> dict[str, OpenTime]:
    """By transactional id, of those that are open."""
    from moldau.client.admin.transactions import OPEN_STATES

    return {
        each.transactional_id: OpenTime(max(0, now_ms - each.start_ms) / 1000, each.timeout_ms / 1000)
        for each in described
        if each.state in OPEN_STATES and each.start_ms >= 0
    }


def held_back(cluster: Cluster, transaction: TransactionDescription) -> dict[TopicPartition, int | None]:
    """Per partition in which the transaction is still open, the records that readers of committed ones wait for."""
    from moldau.client.admin import LATEST, IsolationLevel, list_offsets
    from moldau.client.admin.transactions import describe_producers

    if not transaction.partitions:
        return {}
    active = cluster.run(describe_producers(transaction.partitions))
    wanted = dict.fromkeys(transaction.partitions, LATEST)
    ends = cluster.run(list_offsets(wanted))
    stable = cluster.run(list_offsets(wanted, isolation=IsolationLevel.READ_COMMITTED))
    held: dict[TopicPartition, int | None] = {}
    for where in transaction.partitions:
        producers, end, readable = active[where], ends[where], stable[where]
        if isinstance(producers, KafkaError) or isinstance(end, KafkaError) or isinstance(readable, KafkaError):
            held[where] = None
        elif any(one.producer_id == transaction.producer_id and one.in_transaction for one in producers):
            held[where] = end.offset - readable.offset
    return held


def transaction_sentences(
    transaction: TransactionDescription, held: dict[TopicPartition, int | None], now_ms: int
) -> list[str]:
    name, state = transaction.transactional_id, transaction.state
    who = (
        f"{name} is in the state {state}; producer {transaction.producer_id} with epoch {transaction.producer_epoch}, "
        f"coordinator {transaction.coordinator}."
    )
    if state == "Ongoing":
        return [who, *_ongoing(transaction, held, now_ms)]
    if state.startswith("Prepare"):
        return [who, *_prepared(transaction, held)]
    if state.startswith("Complete"):
        outcome = "committed" if state == "CompleteCommit" else "aborted"
        return [
            who,
            f"Its last transaction was {outcome}; it had begun at {format_time(transaction.start_ms)}.",
            "It waits for nothing: a new transaction begins with the first partition its producer writes to.",
        ]
    return [who, "It waits for nothing: its producer has initialized and not begun a transaction."]


def _ongoing(transaction: TransactionDescription, held: dict[TopicPartition, int | None], now_ms: int) -> list[str]:
    deadline = transaction.start_ms + transaction.timeout_ms
    left = (deadline - now_ms) / 1000
    when = f"in {left:.0f}s" if left > 0 else "any moment, its time is up"
    return [
        f"Open since {format_time(transaction.start_ms)}, that is for {(now_ms - transaction.start_ms) / 1000:.0f}s, "
        f"in {_places(transaction.partitions)}.",
        *_held_sentences(held),
        "It waits for its producer to commit or abort.",
        f"The coordinator aborts it after its timeout of {transaction.timeout_ms / 1000:g}s: {when} "
        "(looked at every transaction.abort.timed.out.transaction.cleanup.interval.ms).",
        f"`moldau transactions abort {transaction.transactional_id}` aborts it now and shuts the producer out.",
    ]


def _prepared(transaction: TransactionDescription, held: dict[TopicPartition, int | None]) -> list[str]:
    outcome = "committed" if transaction.state == "PrepareCommit" else "aborted"
    sentences = [f"It is decided that it is {outcome}; the partitions are being told, again and again until all know."]
    away = [where for where, count in held.items() if count is None]
    waiting = [where for where, count in held.items() if count is not None]
    if away:
        sentences.append(f"It waits for {_places(away)}, which cannot be reached: they need a leader.")
    if waiting:
        sentences.append(
            f"It waits for the marker in {_places(waiting)}: their leaders need enough replicas in sync to take it."
        )
    if not held:
        sentences.append("Every partition has its marker; the coordinator is about to write that down.")
    return [*sentences, *_held_sentences(held)]


def _held_sentences(held: dict[TopicPartition, int | None]) -> list[str]:
    return [
        f"Readers of committed records wait in {where}: {count} offsets are held back there."
        for where, count in held.items()
        if count
    ]


def _places(partitions: tuple[TopicPartition, ...] | list[TopicPartition]) -> str:
    return ", ".join(map(str, sorted(partitions))) or "no partition"
