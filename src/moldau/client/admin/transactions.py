"""Transactions: which there are, what they wait for, and how to end one that its producer never will.

There are two ways to end one. A transaction its coordinator knows is ended by taking over its transactional id, as a
new producer would (`end_transaction`). One that is open in a partition but known to no coordinator hangs: only a marker
written into the partition ends it (`write_abort_marker`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from moldau.client.conversation import Ask, AskAll, Conversation, Learn, retrying
from moldau.client.leaders import ask_leaders, by_topic
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.versions import ByVersion
from moldau.protocol.messages import describe_producers as producers
from moldau.protocol.messages import describe_transactions as describing
from moldau.protocol.messages import write_txn_markers as markers
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from moldau.types import NO_OFFSET, TopicPartition

_TRANSACTION: Final = 1
_SEVERAL_KEYS_SINCE: Final = 4
# Neither at rest nor over: readers of committed records wait.
OPEN_STATES: Final = ("Ongoing", "PrepareCommit", "PrepareAbort", "PrepareEpochFence")
_DESCRIBED_AT_ONCE: Final = 500
# As short as it may be: nobody is going to use the epoch that is given.
_TIMEOUT_MS: Final = 1


class TransactionListing(NamedTuple):
    transactional_id: str
    producer_id: int
    state: str
    coordinator: int


class TransactionDescription(NamedTuple):
    transactional_id: str
    coordinator: int
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    # When its first partition was added, in milliseconds since the epoch; -1 if there was none yet.
    start_ms: int
    partitions: tuple[TopicPartition, ...]


class ActiveProducer(NamedTuple):
    """What a partition remembers of a producer; `transaction_start` is -1 if it has no transaction open there."""

    producer_id: int
    producer_epoch: int
    last_sequence: int
    last_timestamp: int
    coordinator_epoch: int
    transaction_start: int

    @property
    def in_transaction(self) -> bool:
        return self.transaction_start != NO_OFFSET


def list_transactions(
    *,
    states: Sequence[str] = (),
    producer_ids: Sequence[int] = (),
    longer_than_ms: int = -1,
    pattern: str | None = None,
) -> Conversation[list[TransactionListing]]:
    """Those of all coordinators, by transactional id."""

    def attempt() -> Conversation[list[TransactionListing]]:
        view: ClusterView = yield Learn((), anew=True)
        request = ListTransactionsRequest(
            state_filters=list(states),
            producer_id_filters=list(producer_ids),
            duration_filter=longer_than_ms,
            transactional_id_pattern=pattern,
        )
        nodes = sorted(view.brokers)
        responses = yield AskAll([Ask(request, to=node) for node in nodes])
        found: list[TransactionListing] = []
        for node, response in zip(nodes, responses, strict=True):
            if isinstance(response, KafkaError):
                raise response
            found += _listed(node, response)
        return sorted(found)

    return retrying(attempt)


def _listed(node: int, response: ListTransactionsResponse) -> Iterable[TransactionListing]:
    if response.unknown_state_filters:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"There is no state called {' or '.join(response.unknown_state_filters)}."
        )
    _check(response.error_code, f"Broker {node}")
    for row in response.transaction_states:
        yield TransactionListing(row.transactional_id, row.producer_id, row.transaction_state, node)


def describe_transaction(transactional_id: str) -> Conversation[TransactionDescription]:
    """KafkaError with TRANSACTIONAL_ID_NOT_FOUND if its coordinator does not know it."""

    def attempt() -> Conversation[TransactionDescription]:
        node = yield from _coordinator(transactional_id)
        request = describing.DescribeTransactionsRequest(transactional_ids=[transactional_id])
        response: describing.DescribeTransactionsResponse = yield Ask(request, to=node)
        (row,) = response.transaction_states
        _check(row.error_code, f"Transactional id {transactional_id}")
        return _described(node, row)

    return retrying(attempt)


def describe_listed(listings: Iterable[TransactionListing]) -> Conversation[list[TransactionDescription]]:
    """What their coordinators know of them, asked side by side. Who is no longer known there is left out, and so are
    those of a coordinator that does not answer."""
    by_node: dict[int, list[str]] = {}
    for each in listings:
        by_node.setdefault(each.coordinator, []).append(each.transactional_id)
    asks = [
        Ask(
            describing.DescribeTransactionsRequest(transactional_ids=names[start : start + _DESCRIBED_AT_ONCE]), to=node
        )
        for node, names in by_node.items()
        for start in range(0, len(names), _DESCRIBED_AT_ONCE)
    ]
    if not asks:
        return []
    yield Learn(())
    responses = yield AskAll(asks)
    return [
        _described(ask.to, row)
        for ask, response in zip(asks, responses, strict=True)
        if not isinstance(response, KafkaError)
        for row in response.transaction_states
        if row.error_code == ErrorCode.NONE
    ]


def _described(node: int, row: describing.TransactionState) -> TransactionDescription:
    return TransactionDescription(
        row.transactional_id,
        node,
        row.transaction_state,
        row.producer_id,
        row.producer_epoch,
        row.transaction_timeout_ms,
        row.transaction_start_time_ms,
        tuple(TopicPartition(topic.topic, index) for topic in row.topics for index in topic.partitions),
    )


def describe_producers(
    partitions: Iterable[TopicPartition],
) -> Conversation[dict[TopicPartition, list[ActiveProducer] | KafkaError]]:
    def build(view: ClusterView, group: Mapping[TopicPartition, None]) -> Ask:
        return Ask(
            producers.DescribeProducersRequest(
                topics=[
                    producers.TopicRequest(name=topic, partition_indexes=[where.partition for where in places])
                    for topic, places in by_topic(group).items()
                ]
            )
        )

    def read(
        response: producers.DescribeProducersResponse,
    ) -> Iterable[tuple[TopicPartition, list[ActiveProducer] | KafkaError]]:
        for topic in response.topics:
            for row in topic.partitions:
                where = TopicPartition(topic.name, row.partition_index)
                code = error_code(row.error_code)
                if code is not ErrorCode.NONE:
                    yield where, KafkaError(code, f"Partition {where}: {row.error_message or code.text}")
                    continue
                yield (
                    where,
                    [
                        ActiveProducer(
                            one.producer_id,
                            one.producer_epoch,
                            one.last_sequence,
                            one.last_timestamp,
                            one.coordinator_epoch,
                            one.current_txn_start_offset,
                        )
                        for one in row.active_producers
                    ],
                )

    return ask_leaders(dict.fromkeys(partitions), build, read)


class FencedProducer(NamedTuple):
    """The id and epoch that were given out last: whoever has a lower epoch is shut out."""

    producer_id: int
    producer_epoch: int


def end_transaction(transactional_id: str) -> Conversation[FencedProducer]:
    """Aborts what is open under the id and shuts out its producer: takes the id over, until that is through."""

    def attempt() -> Conversation[FencedProducer]:
        node = yield from _coordinator(transactional_id)
        request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=_TIMEOUT_MS)
        response: InitProducerIdResponse = yield Ask(request, to=node)
        _check(response.error_code, f"Transactional id {transactional_id}")
        return FencedProducer(response.producer_id, response.producer_epoch)

    return retrying(attempt)


def write_abort_marker(where: TopicPartition, producer: ActiveProducer) -> Conversation[None]:
    """Ends the transaction of a producer in one partition, whatever any coordinator thinks of it."""

    def build(view: ClusterView, group: Mapping[TopicPartition, None]) -> Ask:
        marker = markers.WritableTxnMarker(
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            transaction_result=False,
            topics=[markers.WritableTxnMarkerTopic(name=where.topic, partition_indexes=[where.partition])],
            # A partition that has seen no marker of this producer remembers -1, and takes any epoch from 0 on.
            coordinator_epoch=max(producer.coordinator_epoch, 0),
        )
        return Ask(markers.WriteTxnMarkersRequest(markers=[marker]))

    def read(response: markers.WriteTxnMarkersResponse) -> Iterable[tuple[TopicPartition, KafkaError | None]]:
        for marker in response.markers:
            for topic in marker.topics:
                for row in topic.partitions:
                    code = error_code(row.error_code)
                    place = TopicPartition(topic.name, row.partition_index)
                    yield place, None if code is ErrorCode.NONE else KafkaError(code, f"Partition {place}: {code.text}")

    answers = yield from ask_leaders({where: None}, build, read)
    failure = answers[where]
    if failure is not None:
        raise failure


def _coordinator(transactional_id: str) -> Conversation[int]:
    yield Learn((), anew=True)

    def request(version: int) -> FindCoordinatorRequest:
        if version >= _SEVERAL_KEYS_SINCE:
            return FindCoordinatorRequest(key_type=_TRANSACTION, coordinator_keys=[transactional_id])
        return FindCoordinatorRequest(key_type=_TRANSACTION, key=transactional_id)

    response: FindCoordinatorResponse = yield Ask(ByVersion(FindCoordinatorRequest, request))
    if response.coordinators:
        (found,) = response.coordinators
        _check(found.error_code, found.error_message or f"Transactional id {transactional_id}")
        return found.node_id
    _check(response.error_code, response.error_message or f"Transactional id {transactional_id}")
    return response.node_id


def _check(number: int, what: str) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, f"{what}: {code.text}")
