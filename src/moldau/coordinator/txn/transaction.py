"""One transactional id as the log remembers it, and its record in `__transaction_state`.

Everything a transaction is stands in its newest record, so a replay needs no history. The value is version 1 where
the cluster's `transaction.version` is at least 1; version 0 has no room for the ids before and after this one, nor
for the version the client spoke.
"""

from __future__ import annotations

from itertools import groupby
from typing import Final, NamedTuple

from moldau.coordinator.record_framing import RecordType, RecordTypes
from moldau.coordinator.shard import CoordinatorRecord
from moldau.coordinator.txn.states import PREDECESSORS, TransactionState
from moldau.errors import ProtocolError
from moldau.protocol.messages.transaction_log_key import TransactionLogKey
from moldau.protocol.messages.transaction_log_value import PartitionsSchema, TransactionLogValue
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_TIMESTAMP, TopicPartition

TRANSACTIONS_TOPIC: Final = "__transaction_state"

RECORD_TYPES: Final[RecordTypes] = {TransactionLogKey.API_KEY: RecordType(TransactionLogKey, TransactionLogValue)}

# The levels of the feature transaction.version: 1 writes the newer record, 2 ends every transaction with a new epoch.
NEWER_RECORDS: Final = 1
EPOCH_PER_TRANSACTION: Final = 2

LARGEST_EPOCH: Final = (1 << 15) - 1


def epoch_exhausted(epoch: int) -> bool:
    """The largest epoch is never given to a producer, so that there is always one to shut it out with."""
    return epoch >= LARGEST_EPOCH - 1


class Producer(NamedTuple):
    """What a producer says it is."""

    id: int
    epoch: int


class Transaction(NamedTuple):
    transactional_id: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    state: TransactionState
    partitions: frozenset[TopicPartition]
    # When the first partition was added; -1 before the first transaction.
    start_ms: int
    updated_ms: int
    # The producer id before the last transition: a client may repeat a request under it.
    previous_producer_id: int = NO_PRODUCER_ID
    # Where a transaction ends and the epochs are used up: the id its producer goes on with.
    next_producer_id: int = NO_PRODUCER_ID
    # The transaction.version the producer speaks.
    client_version: int = 0

    @property
    def producer(self) -> Producer:
        return Producer(self.producer_id, self.producer_epoch)

    @property
    def speaks_v2(self) -> bool:
        return self.client_version >= EPOCH_PER_TRANSACTION

    def timed_out(self, now_ms: int) -> bool:
        return self.state == TransactionState.ONGOING and self.start_ms + self.timeout_ms < now_ms

    def moved_to(self, state: TransactionState, now_ms: int) -> Transaction:
        """The next transaction in the making; the caller sets what else changes."""
        if self.state not in PREDECESSORS[state]:
            raise RuntimeError(f"{self.transactional_id} cannot go from {self.state.label} to {state.label}")
        return self._replace(
            state=state, updated_ms=max(now_ms, self.updated_ms), previous_producer_id=self.producer_id
        )


def new_transaction(transactional_id: str, producer_id: int, now_ms: int) -> Transaction:
    """An id that was never heard of; it has no epoch until it is initialized."""
    return Transaction(
        transactional_id,
        producer_id,
        NO_PRODUCER_EPOCH,
        0,
        TransactionState.EMPTY,
        frozenset(),
        start_ms=NO_TIMESTAMP,
        updated_ms=now_ms,
    )


# ---------------------------------------------------------------------------------------------------------- records


def transaction_record(transaction: Transaction, transaction_version: int) -> CoordinatorRecord:
    version = 1 if transaction_version >= NEWER_RECORDS else 0
    partitions = None
    if transaction.state != TransactionState.EMPTY:
        partitions = [
            PartitionsSchema(topic=topic, partition_ids=[partition.partition for partition in of_topic])
            for topic, of_topic in groupby(sorted(transaction.partitions), key=lambda partition: partition.topic)
        ]
    value = TransactionLogValue(
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_status=transaction.state,
        transaction_partitions=partitions,
        transaction_last_update_timestamp_ms=transaction.updated_ms,
        transaction_start_timestamp_ms=transaction.start_ms,
    )
    if version >= 1:
        value.previous_producer_id = transaction.previous_producer_id
        value.next_producer_id = transaction.next_producer_id
        value.client_transaction_version = transaction.client_version
    return CoordinatorRecord(TransactionLogKey(transactional_id=transaction.transactional_id), value, version)


def tombstone(transactional_id: str) -> CoordinatorRecord:
    return CoordinatorRecord(TransactionLogKey(transactional_id=transactional_id), None)


def transaction_from_record(transactional_id: str, value: TransactionLogValue) -> Transaction:
    try:
        state = TransactionState(value.transaction_status)
    except ValueError:
        raise ProtocolError(
            f"{transactional_id} is in the state {value.transaction_status}, which is not known"
        ) from None
    return Transaction(
        transactional_id,
        value.producer_id,
        value.producer_epoch,
        value.transaction_timeout_ms,
        state,
        frozenset(
            TopicPartition(topic.topic, partition)
            for topic in value.transaction_partitions or ()
            for partition in topic.partition_ids
        ),
        start_ms=value.transaction_start_timestamp_ms,
        updated_ms=value.transaction_last_update_timestamp_ms,
        previous_producer_id=value.previous_producer_id,
        next_producer_id=value.next_producer_id,
        client_version=value.client_transaction_version,
    )
