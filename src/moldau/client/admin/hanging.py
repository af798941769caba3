"""Transactions that hang: open in a partition, but no coordinator is going to end them there.

Readers of committed records wait behind such a transaction for ever, and compaction stops before it. It is found by
asking both sides: the partitions which transactions they have open, the coordinators whether they know them.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from moldau.client.admin.transactions import (
    ActiveProducer,
    TransactionDescription,
    describe_producers,
    describe_transaction,
    list_transactions,
)
from moldau.client.conversation import Conversation
from moldau.errors import ErrorCode, KafkaError
from moldau.types import TopicPartition

# In these states a coordinator has yet to end the transaction in its partitions.
_UNDER_WAY: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")


class HangingTransaction(NamedTuple):
    where: TopicPartition
    producer: ActiveProducer
    why: str


def find_hanging(partitions: Sequence[TopicPartition], older_than_ms: int) -> Conversation[list[HangingTransaction]]:
    """Those whose last record was written before `older_than_ms`: younger ones may just be on their way."""
    active = yield from describe_producers(partitions)
    suspects: list[tuple[TopicPartition, ActiveProducer]] = []
    for where, producers in active.items():
        if isinstance(producers, KafkaError):
            raise producers
        suspects += [(where, one) for one in producers if one.in_transaction and one.last_timestamp < older_than_ms]
    if not suspects:
        return []
    known = yield from _transactions_of(sorted({one.producer_id for _, one in suspects}))
    found = []
    for where, producer in suspects:
        why = _why(known.get(producer.producer_id), where)
        if why is not None:
            found.append(HangingTransaction(where, producer, why))
    return found


def _transactions_of(producer_ids: list[int]) -> Conversation[dict[int, TransactionDescription]]:
    known: dict[int, TransactionDescription] = {}
    for listed in (yield from list_transactions(producer_ids=producer_ids)):
        try:
            known[listed.producer_id] = yield from describe_transaction(listed.transactional_id)
        except KafkaError as error:
            if error.code is not ErrorCode.TRANSACTIONAL_ID_NOT_FOUND:
                raise
    return known


def _why(known: TransactionDescription | None, where: TopicPartition) -> str | None:
    if known is None:
        return "no coordinator knows the producer"
    if known.state not in _UNDER_WAY:
        return f"its transactional id {known.transactional_id} is in the state {known.state}"
    if where not in known.partitions:
        return f"the transaction of {known.transactional_id} does not contain this partition"
    return None
