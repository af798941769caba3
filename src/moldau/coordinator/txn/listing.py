"""What the tools see: DescribeTransactions and ListTransactions. Both show only what is committed."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from itertools import groupby

from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.txn.shard import TransactionShard
from moldau.coordinator.txn.states import LABELS, TransactionState
from moldau.coordinator.txn.transaction import Transaction
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import describe_transactions as describing
from moldau.protocol.messages import list_transactions as listing
from moldau.slicing import Work, pieces


def describe(runtime: CoordinatorRuntime[TransactionShard], transactional_id: str) -> describing.TransactionState:
    if not transactional_id:
        return describing.TransactionState(error_code=ErrorCode.INVALID_REQUEST, transactional_id=transactional_id)
    try:
        transaction = runtime.read(
            "describe a transaction",
            runtime.partition_of(transactional_id),
            lambda shard, committed: shard.get_at(transactional_id, committed),
        )
    except KafkaError as error:
        return describing.TransactionState(error_code=error.code, transactional_id=transactional_id)
    if transaction is None:
        return describing.TransactionState(
            error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND, transactional_id=transactional_id
        )
    return describing.TransactionState(
        transactional_id=transactional_id,
        transaction_state=transaction.state.label,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.start_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            describing.TopicData(topic=topic, partitions=[place.partition for place in places])
            for topic, places in groupby(sorted(transaction.partitions), key=lambda place: place.topic)
        ],
    )


def list_all(
    runtime: CoordinatorRuntime[TransactionShard], request: listing.ListTransactionsRequest, now_ms: int
) -> Work[listing.ListTransactionsResponse]:
    """Everything but the pattern is looked at."""
    unknown = [name for name in request.state_filters if name not in LABELS]
    if runtime.loading:
        return listing.ListTransactionsResponse(
            error_code=ErrorCode.COORDINATOR_LOAD_IN_PROGRESS, unknown_state_filters=unknown
        )
    wanted = _Filter(request, now_ms)
    response = listing.ListTransactionsResponse(unknown_state_filters=unknown)
    for transactions in pieces(_committed(runtime)):
        response.transaction_states += [
            listing.TransactionState(
                transactional_id=transaction.transactional_id,
                producer_id=transaction.producer_id,
                transaction_state=transaction.state.label,
            )
            for transaction in transactions
            if wanted.matches(transaction)
        ]
        yield
    return response


def only(response: listing.ListTransactionsResponse, names: Collection[str]) -> Work[listing.ListTransactionsResponse]:
    """The answer without what the pattern does not stand for."""
    rows, response.transaction_states = response.transaction_states, []
    for some in pieces(rows):
        response.transaction_states += [row for row in some if row.transactional_id in names]
        yield
    return response


def refused(response: listing.ListTransactionsResponse, error: KafkaError) -> listing.ListTransactionsResponse:
    return listing.ListTransactionsResponse(error_code=error.code, unknown_state_filters=response.unknown_state_filters)


def _committed(runtime: CoordinatorRuntime[TransactionShard]) -> Iterable[Transaction]:
    for _, shard, committed in runtime.shards():
        yield from shard.transactions_at(committed).values()


class _Filter:
    """The conditions of a request; one that is empty lets everything pass."""

    def __init__(self, request: listing.ListTransactionsRequest, now_ms: int) -> None:
        # Names that are not known filter nothing in, but they do filter.
        self._by_state = bool(request.state_filters)
        self._states = {LABELS[name] for name in request.state_filters if name in LABELS}
        self._producers = set(request.producer_id_filters)
        self._duration = request.duration_filter
        self._now_ms = now_ms

    def matches(self, transaction: Transaction) -> bool:
        if transaction.state == TransactionState.DEAD:
            return False
        if self._by_state and transaction.state not in self._states:
            return False
        if self._producers and transaction.producer_id not in self._producers:
            return False
        return self._duration < 0 or self._now_ms - transaction.start_ms > self._duration
