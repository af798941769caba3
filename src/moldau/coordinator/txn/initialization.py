"""A producer takes over a transactional id: the next epoch shuts out whoever had it before.

Three kinds of caller. A new producer names no epoch; it gets the next one. A producer that goes on after an error names
the id and epoch it has (KIP-360); it gets the next one if nobody took over meanwhile. And one that repeats such a call
because the answer was lost names the epoch before the current one, and is given the current one again.

A transaction that is still open is aborted first. The caller is told to try again (CONCURRENT_TRANSACTIONS) and gets
its epoch when the abort is through.
"""

from __future__ import annotations

from typing import NamedTuple

from moldau.coordinator.txn.states import TransactionState
from moldau.coordinator.txn.transaction import Producer, Transaction, epoch_exhausted
from moldau.errors import ErrorCode, KafkaError
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP


class Initialized(NamedTuple):
    transaction: Transaction
    # The epoch a repeated call may name; -1 if this call named none.
    last_epoch: int


def initialize(
    current: Transaction,
    timeout_ms: int,
    expected: Producer | None,
    last_epoch: int,
    fresh_id: int | None,
    now_ms: int,
) -> Initialized | None:
    """The id with its next epoch, for a transaction at rest. None if that takes a new producer id and none is given.

    `expected` is what the caller says it has, `last_epoch` what the initialization before left.
    """
    check_expected(current, expected)
    if epoch_exhausted(current.producer_epoch) and (expected is None or expected.epoch == current.producer_epoch):
        if fresh_id is None:
            return None
        producer_id, epoch = fresh_id, 0
        last = NO_PRODUCER_EPOCH if expected is None else current.producer_epoch
    else:
        producer_id = current.producer_id
        epoch, last = _next_epoch(current.producer_epoch, expected, last_epoch)
    initialized = current.moved_to(TransactionState.EMPTY, now_ms)._replace(
        producer_id=producer_id,
        producer_epoch=epoch,
        timeout_ms=timeout_ms,
        partitions=frozenset(),
        start_ms=NO_TIMESTAMP,
        next_producer_id=NO_PRODUCER_ID,
        client_version=0,
    )
    return Initialized(initialized, last)


def check_expected(current: Transaction, expected: Producer | None) -> None:
    """Refuses a caller whose producer id is neither the current one, nor the one before with its epochs used up."""
    if expected is None or current.producer_epoch == NO_PRODUCER_EPOCH or expected.id == current.producer_id:
        return
    if expected.id == current.previous_producer_id and epoch_exhausted(expected.epoch):
        return
    raise fenced(current, expected)


def check_may_abort(current: Transaction, expected: Producer | None) -> None:
    """Refuses a caller that has been shut out before it can abort the transaction of whoever shut it out."""
    check_expected(current, expected)
    if expected is not None and expected.epoch != current.producer_epoch:
        raise fenced(current, expected)


def fenced(current: Transaction, claimed: Producer) -> KafkaError:
    return KafkaError(
        ErrorCode.PRODUCER_FENCED,
        f"{current.transactional_id} belongs to producer {current.producer_id} with epoch {current.producer_epoch}; "
        f"producer {claimed.id} with epoch {claimed.epoch} has been shut out.",
    )


def _next_epoch(current: int, expected: Producer | None, last_epoch: int) -> tuple[int, int]:
    """The epoch to give, and the one a repeated call may name."""
    if expected is None:
        return current + 1, NO_PRODUCER_EPOCH
    if current == NO_PRODUCER_EPOCH or expected.epoch == current:
        return current + 1, current
    if expected.epoch == last_epoch:
        return current, last_epoch
    raise KafkaError(
        ErrorCode.PRODUCER_FENCED, f"The producer has epoch {expected.epoch}; epoch {current} has taken over."
    )
