"""AddPartitionsToTxn as brokers send it to each other: whether partitions are in a transaction, or to add them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Final, NamedTuple, cast

from moldau.coordinator.txn.transaction import Producer
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, error_code
from moldau.protocol.message import Message
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from moldau.server.other_brokers import Errands, OtherBrokers, code_of
from moldau.types import TopicPartition

_LANE: Final = "transactions"

Results = dict[TopicPartition, ErrorCode]


class MembershipErrand(NamedTuple):
    transactional_id: str
    producer: Producer
    partitions: Sequence[TopicPartition]
    add: bool
    answer: Deferred[Results]

    @property
    def key(self) -> str:
        # The answer names transactions.
        return self.transactional_id

    @property
    def size(self) -> int:
        return len(self.partitions)

    def wanted(self) -> bool:
        return True


def membership_requests(brokers: OtherBrokers) -> Errands[MembershipErrand]:
    return Errands(brokers, _LANE, _request, _settle)


def _request(errands: Iterable[MembershipErrand]) -> AddPartitionsToTxnRequest:
    return AddPartitionsToTxnRequest(
        transactions=[
            AddPartitionsToTxnTransaction(
                transactional_id=errand.transactional_id,
                producer_id=errand.producer.id,
                producer_epoch=errand.producer.epoch,
                verify_only=not errand.add,
                topics=[
                    AddPartitionsToTxnTopic(name=topic, partitions=[place.partition for place in of_topic])
                    for topic, of_topic in groupby(sorted(errand.partitions), key=lambda place: place.topic)
                ],
            )
            for errand in errands
        ]
    )


def _settle(errands: list[MembershipErrand], response: Message | None, error: BaseException | None) -> None:
    codes: dict[tuple[str, TopicPartition], ErrorCode] = {}
    missing = code_of(error)
    if response is not None:
        answer = cast("AddPartitionsToTxnResponse", response)
        if answer.error_code:
            # The whole request was refused; whoever writes cannot do anything about it but abort.
            missing = ErrorCode.INVALID_TXN_STATE
        for row in answer.results_by_transaction:
            for topic in row.topic_results:
                for result in topic.results_by_partition:
                    place = TopicPartition(topic.name, result.partition_index)
                    codes[row.transactional_id, place] = _as_here(error_code(result.partition_error_code))
    for errand in errands:
        errand.answer.resolve(
            {place: codes.get((errand.transactional_id, place), missing) for place in errand.partitions}
        )


def _as_here(code: ErrorCode) -> ErrorCode:
    # Another partition of the request is not known there yet: asked again, it will be.
    return ErrorCode.NETWORK_EXCEPTION if code == ErrorCode.OPERATION_NOT_ATTEMPTED else code
