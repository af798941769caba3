"""The part of `KafkaAdminClient` for transactions and producers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from time import time
from typing import Any, NamedTuple

from moldau.client.admin import transactions
from moldau.client.admin.answer import or_raise
from moldau.client.admin.objects import (
    AbortTransactionSpec,
    PartitionProducerState,
    ProducerState,
    TransactionDescription,
    TransactionListing,
    TransactionState,
)
from moldau.client.session import Session
from moldau.types import TopicPartition

# Kafka's tool gives a transaction this much longer than it may take before it calls it hanging.
_SLACK_MS = 5 * 60_000

_OVER = (
    TransactionState.EMPTY,
    TransactionState.COMPLETE_COMMIT,
    TransactionState.COMPLETE_ABORT,
    TransactionState.DEAD,
)


class FencedProducer(NamedTuple):
    producer_id: int
    producer_epoch: int


class TransactionAdmin:
    def __init__(self, session: Session) -> None:
        self._session = session

    def list_transactions(
        self,
        broker_ids: Sequence[int] | None = None,
        producer_id_filters: Sequence[int] | None = None,
        state_filters: Sequence[Any] | None = None,
        duration_filter_ms: int | None = None,
        transactional_id_pattern: str | None = None,
    ) -> dict[int, list[TransactionListing]]:
        """By the broker that coordinates them."""
        found = self._session.ask(
            transactions.list_transactions(
                states=[str(getattr(each, "value", each)) for each in state_filters or ()],
                producer_ids=list(producer_id_filters or ()),
                longer_than_ms=-1 if duration_filter_ms is None else int(duration_filter_ms),
                pattern=transactional_id_pattern,
            )
        )
        nodes = sorted(self._session.network.view.brokers) if broker_ids is None else broker_ids
        listed: dict[int, list[TransactionListing]] = {node: [] for node in nodes}
        for each in found:
            if each.coordinator in listed:
                state = TransactionState.named(each.state)
                listed[each.coordinator].append(TransactionListing(each.transactional_id, each.producer_id, state))
        return listed

    def describe_transactions(self, transactional_ids: Iterable[str]) -> dict[str, TransactionDescription]:
        described = {}
        for transactional_id in transactional_ids:
            found = self._session.ask(transactions.describe_transaction(transactional_id))
            described[transactional_id] = TransactionDescription(
                found.coordinator,
                TransactionState.named(found.state),
                found.producer_id,
                found.producer_epoch,
                found.timeout_ms,
                found.start_ms,
                set(found.partitions),
            )
        return described

    def describe_producers(
        self, partitions: Iterable[TopicPartition], broker_id: int | None = None
    ) -> dict[TopicPartition, PartitionProducerState]:
        """What the leaders of partitions remember of producers."""
        found = self._session.ask(transactions.describe_producers([TopicPartition(*where) for where in partitions]))
        return {
            where: PartitionProducerState([ProducerState(*each) for each in or_raise(producers)])
            for where, producers in found.items()
        }

    def abort_transaction(self, spec: AbortTransactionSpec) -> None:
        """Writes the end of a transaction into a partition, whatever its coordinator thinks: for those that hang."""
        producer = transactions.ActiveProducer(
            spec.producer_id, spec.producer_epoch, -1, -1, spec.coordinator_epoch, -1
        )
        self._session.ask(transactions.write_abort_marker(TopicPartition(*spec.topic_partition), producer))

    def fence_producers(self, transactional_ids: Iterable[str]) -> dict[str, FencedProducer]:
        """Shuts out the producers of these ids and aborts what they have open."""
        return {
            transactional_id: FencedProducer(*self._session.ask(transactions.end_transaction(transactional_id)))
            for transactional_id in transactional_ids
        }

    def find_hanging_transactions(
        self, broker_ids: Sequence[int] | None = None, max_transaction_timeout_ms: int = 900_000
    ) -> list[dict[str, Any]]:
        """Those that are open for longer than any may be. (`client.admin.hanging` looks into the partitions too.)"""
        now = int(time() * 1000)
        listed = self.list_transactions(broker_ids)
        names = sorted({each.transactional_id for group in listed.values() for each in group})
        return [
            {
                "transactional_id": name,
                "producer_id": found.producer_id,
                "producer_epoch": found.producer_epoch,
                "state": found.state.value,
                "age_ms": now - found.transaction_start_time_ms,
                "coordinator_id": found.coordinator_id,
                "topic_partitions": sorted(found.topic_partitions),
            }
            for name, found in self.describe_transactions(names).items()
            if found.state not in _OVER
            and 0 <= found.transaction_start_time_ms <= now - max_transaction_timeout_ms - _SLACK_MS
        ]
