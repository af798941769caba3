"""The end of a transaction: deciding it, and what is left when the partitions know.

Version 1: the epoch stays, so a request that is repeated looks like the first one, and only the state tells them apart.
Version 2 (KIP-890): every end raises the epoch. The markers carry the new one, so a late write of the old transaction
is refused wherever a marker stands; and a repeated request is known by its epoch, which is one behind.

A producer of version 2 adds partitions by writing to them and may not know whether a write arrived. So it may abort
what never began: the epoch is raised all the same.
"""

from __future__ import annotations

from typing import NamedTuple

from moldau.coordinator.txn.membership import check_producer
from moldau.coordinator.txn.states import TransactionState
from moldau.coordinator.txn.transaction import (
    EPOCH_PER_TRANSACTION,
    LARGEST_EPOCH,
    Producer,
    Transaction,
    epoch_exhausted,
)
from moldau.errors import ErrorCode, KafkaError
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID


class Prepared(NamedTuple):
    transaction: Transaction
    # The epoch a repeated initialization may name; None leaves it as it is.
    last_epoch: int | None


class Repeated(NamedTuple):
    """The transaction has ended like this before; the producer goes on with what is given here."""

    producer: Producer


def end(
    current: Transaction, producer: Producer, commit: bool, client_version: int, fresh_id: int | None, now_ms: int
) -> Prepared | Repeated | None:
    """What EndTxn asks for. None if that takes a new producer id and none is given; KafkaError if it cannot be."""
    if current.state.is_prepared:
        raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
    if current.state.is_complete and _is_repeated(current, producer):
        return _as_before(current, commit)
    check_producer(current, producer)
    if current.state == TransactionState.ONGOING:
        return _prepare(current, commit, client_version, fresh_id, now_ms)
    if current.state.is_complete and not current.speaks_v2:
        return _as_before(current, commit)
    if not commit and client_version >= EPOCH_PER_TRANSACTION:
        return _prepare(current._replace(start_ms=now_ms), False, client_version, fresh_id, now_ms)
    raise _not_allowed(current, commit)


def fence(current: Transaction, now_ms: int) -> Prepared:
    """Aborts an open transaction over its producer's head, and shuts the producer out by raising the epoch."""
    epoch = min(current.producer_epoch + 1, LARGEST_EPOCH)
    aborting = current.moved_to(TransactionState.PREPARE_ABORT, now_ms)._replace(
        producer_epoch=epoch, next_producer_id=NO_PRODUCER_ID
    )
    return Prepared(aborting, current.producer_epoch if current.speaks_v2 else NO_PRODUCER_EPOCH)


def complete(current: Transaction, now_ms: int) -> Transaction:
    """Every partition has its marker."""
    committed = current.state == TransactionState.PREPARE_COMMIT
    state = TransactionState.COMPLETE_COMMIT if committed else TransactionState.COMPLETE_ABORT
    producer = producer_after(current)
    return current.moved_to(state, now_ms)._replace(
        producer_id=producer.id,
        producer_epoch=producer.epoch,
        next_producer_id=NO_PRODUCER_ID,
        partitions=frozenset(),
    )


def producer_after(prepared: Transaction) -> Producer:
    """What the producer of a prepared transaction goes on with."""
    if prepared.next_producer_id != NO_PRODUCER_ID:
        return Producer(prepared.next_producer_id, 0)
    return prepared.producer


def _prepare(
    current: Transaction, commit: bool, client_version: int, fresh_id: int | None, now_ms: int
) -> Prepared | None:
    state = TransactionState.PREPARE_COMMIT if commit else TransactionState.PREPARE_ABORT
    prepared = current.moved_to(state, now_ms)._replace(client_version=client_version)
    if client_version < EPOCH_PER_TRANSACTION:
        return Prepared(prepared, None)
    if epoch_exhausted(current.producer_epoch):
        if fresh_id is None:
            return None
        prepared = prepared._replace(next_producer_id=fresh_id)
    prepared = prepared._replace(producer_epoch=current.producer_epoch + 1)
    return Prepared(prepared, current.producer_epoch)


def _is_repeated(current: Transaction, producer: Producer) -> bool:
    """Whether a producer of version 2 names what it had before the last end."""
    if not current.speaks_v2:
        return False
    if producer.id == current.producer_id:
        return producer.epoch + 1 == current.producer_epoch
    renewed = current.producer_epoch == 0 and producer.id == current.previous_producer_id
    return renewed and producer.epoch == LARGEST_EPOCH - 1


def _as_before(current: Transaction, commit: bool) -> Repeated:
    if current.state.commits != commit:
        raise _not_allowed(current, commit)
    return Repeated(current.producer)


def _not_allowed(current: Transaction, commit: bool) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_TXN_STATE,
        f"{current.transactional_id} is in the state {current.state.label} and cannot be "
        f"{'committed' if commit else 'aborted'}.",
    )
