"""Which partitions belong to a transaction: adding them, and asking whether they do.

A marker goes to exactly the partitions that were added, so a write to any other would stay open for ever. That is why
a leader asks before the first write of a transaction to a partition (KIP-890), and why from transactions version 2 on
the leader adds the partition itself.
"""

from __future__ import annotations

from collections.abc import Iterable

from moldau.coordinator.txn.states import TransactionState
from moldau.coordinator.txn.transaction import Producer, Transaction
from moldau.errors import ErrorCode, KafkaError
from moldau.types import TopicPartition


def add_partitions(
    current: Transaction, producer: Producer, partitions: frozenset[TopicPartition], client_version: int, now_ms: int
) -> Transaction | None:
    """The transaction with the partitions; None if it has them already."""
    # First of all: while a transaction ends, its producer may already use the id and epoch it will have afterwards.
    if current.state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    check_producer(current, producer)
    if current.state == TransactionState.ONGOING and partitions <= current.partitions:
        return None
    return current.moved_to(TransactionState.ONGOING, now_ms)._replace(
        partitions=current.partitions | partitions,
        start_ms=current.start_ms if current.state == TransactionState.ONGOING else now_ms,
        client_version=client_version,
    )


def verify_partitions(
    current: Transaction, producer: Producer, partitions: Iterable[TopicPartition]
) -> dict[TopicPartition, ErrorCode]:
    """For each partition whether it is in the transaction; KafkaError if the producer may not ask."""
    check_producer(current, producer)
    if current.state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    return {
        partition: ErrorCode.NONE if partition in current.partitions else ErrorCode.TRANSACTION_ABORTABLE
        for partition in partitions
    }


def check_producer(current: Transaction, producer: Producer) -> None:
    if producer.id != current.producer_id:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_ID_MAPPING,
            f"{current.transactional_id} belongs to producer {current.producer_id}, not {producer.id}.",
        )
    if producer.epoch != current.producer_epoch:
        raise KafkaError(
            ErrorCode.PRODUCER_FENCED,
            f"Producer {producer.id} of {current.transactional_id} has epoch {producer.epoch}; "
            f"the current one is {current.producer_epoch}.",
        )
