"""Requests from broker to broker: found in the metadata, collected while one is under way, and read back."""

from __future__ import annotations

from typing import Any

import pytest

from moldau.coordinator.marker import Marker
from moldau.coordinator.txn.transaction import Producer
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.message import Message
from moldau.protocol.messages import add_partitions_to_txn as adding
from moldau.protocol.messages import write_txn_markers as marking
from moldau.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from moldau.server.marker_requests import MarkerErrand, marker_requests
from moldau.server.membership_requests import MembershipErrand, membership_requests
from moldau.server.other_brokers import TIMEOUT_SECONDS, Address, OtherBrokers
from moldau.types import TopicPartition

T0, T1, U0 = TopicPartition("t", 0), TopicPartition("t", 1), TopicPartition("u", 0)


def image(*, fenced: bool = False) -> MetadataImage:
    delta = MetadataDelta(MetadataImage())
    for broker in (1, 2):
        points = [
            BrokerEndpoint(name=name, host=f"{name.lower()}{broker}", port=9000 + broker) for name in ("IN", "OUT")
        ]
        delta.replay(RegisterBrokerRecord(broker_id=broker, fenced=fenced, end_points=points))
    return delta.apply(0, 1)


class Wires:
    """Keeps what was asked; a test answers."""

    def __init__(self) -> None:
        self.asked: list[tuple[Address, Any, float | None, str]] = []
        self.answers: list[Deferred[Message]] = []

    def ask(
        self, address: Address, request: Message, *, timeout: float | None = None, line: str = ""
    ) -> Deferred[Message]:
        self.asked.append((address, request, timeout, line))
        self.answers.append(Deferred())
        return self.answers[-1]

    def others(self, metadata: MetadataImage | None = None) -> OtherBrokers:
        known = image() if metadata is None else metadata
        return OtherBrokers(self, "IN", lambda: known)


class Sent(dict[TopicPartition, ErrorCode]):
    """Results as they come."""

    wanted = True

    def errand(self, producer_id: int, *places: TopicPartition, epoch: int = 0) -> MarkerErrand:
        return MarkerErrand(Marker(producer_id, epoch, True, 7, 2), places, self.update, lambda: self.wanted)


def markers_answer(*rows: tuple[int, TopicPartition, int]) -> marking.WriteTxnMarkersResponse:
    return marking.WriteTxnMarkersResponse(
        markers=[
            marking.WritableTxnMarkerResult(
                producer_id=producer_id,
                topics=[
                    marking.WritableTxnMarkerTopicResult(
                        name=place.topic,
                        partitions=[
                            marking.WritableTxnMarkerPartitionResult(partition_index=place.partition, error_code=code)
                        ],
                    )
                ],
            )
            for producer_id, place, code in rows
        ]
    )


def test_a_broker_is_asked_at_the_listener_for_brokers_with_a_limit() -> None:
    wires = Wires()
    marker_requests(wires.others()).add(2, Sent().errand(5, T1, U0, T0))
    ((address, request, timeout, line),) = wires.asked
    assert (address, timeout, line) == (Address("in2", 9002), TIMEOUT_SECONDS, "markers")
    (row,) = request.markers
    assert (row.producer_id, row.coordinator_epoch, row.transaction_version) == (5, 7, 2)
    assert [(topic.name, topic.partition_indexes) for topic in row.topics] == [("t", [0, 1]), ("u", [0])]


@pytest.mark.parametrize("metadata", [MetadataImage(), image(fenced=True)])
def test_who_cannot_be_found_is_not_asked(metadata: MetadataImage) -> None:
    wires, sent = Wires(), Sent()
    requests = marker_requests(wires.others(metadata))
    for _ in range(2):
        requests.add(2, sent.errand(5, T0))
    assert wires.asked == []
    assert sent == {T0: ErrorCode.BROKER_NOT_AVAILABLE}


def test_what_comes_while_a_request_is_under_way_goes_with_the_next() -> None:
    wires, first, more, again, other = Wires(), Sent(), Sent(), Sent(), Sent()
    requests = marker_requests(wires.others())
    requests.add(2, first.errand(5, T0))
    requests.add(2, more.errand(6, T0))
    requests.add(2, again.errand(6, T1, epoch=1))
    requests.add(1, other.errand(6, U0))
    assert [address.host for address, *_ in wires.asked] == ["in2", "in1"]
    wires.answers[0].resolve(markers_answer((5, T0, 0)))
    # The answer names a producer once: the second marker of one waits for its own request.
    assert [row.producer_epoch for row in wires.asked[2][1].markers] == [0]
    wires.answers[2].resolve(markers_answer((6, T0, 6)))
    assert [row.producer_epoch for row in wires.asked[3][1].markers] == [1]
    wires.answers[3].fail(MoldauError("gone"))
    wires.answers[1].resolve(markers_answer())
    assert first == {T0: ErrorCode.NONE}
    assert more == {T0: ErrorCode.NOT_LEADER_OR_FOLLOWER}
    assert again == {T1: ErrorCode.NETWORK_EXCEPTION}
    assert other == {U0: ErrorCode.NETWORK_EXCEPTION}, "an answer that says nothing of it is none"
    assert len(wires.asked) == 4


def test_what_nobody_wants_any_more_is_not_sent() -> None:
    """Its coordinator has lost the partition while the broker was busy."""
    wires, first, lost, last = Wires(), Sent(), Sent(), Sent()
    requests = marker_requests(wires.others())
    for producer_id, sent in enumerate((first, lost, last)):
        requests.add(2, sent.errand(producer_id, T0))
    lost.wanted = False
    wires.answers[0].resolve(markers_answer((0, T0, 0)))
    assert [row.producer_id for row in wires.asked[1][1].markers] == [2]
    last.wanted = False
    wires.answers[1].resolve(markers_answer((2, T0, 0)))
    assert lost == {}
    requests.add(2, first.errand(9, T0))
    assert len(wires.asked) == 3


def test_whoever_fails_over_an_answer_holds_up_nobody() -> None:
    wires, sent = Wires(), Sent()
    requests = marker_requests(wires.others())

    def broken(_: object) -> None:
        raise ZeroDivisionError

    requests.add(2, sent.errand(5, T0)._replace(done=broken))
    requests.add(2, sent.errand(6, T1))
    with pytest.raises(ZeroDivisionError):
        wires.answers[0].resolve(markers_answer((5, T0, 0)))
    wires.answers[1].resolve(markers_answer((6, T1, 0)))
    assert sent == {T1: ErrorCode.NONE}


def test_a_request_holds_so_much_and_no_more() -> None:
    wires, sent = Wires(), Sent()
    requests = marker_requests(wires.others())
    requests.add(2, sent.errand(0, T0))
    places = [TopicPartition("t", number) for number in range(600)]
    for producer_id in range(1, 6):
        requests.add(2, sent.errand(producer_id, *places))
    wires.answers[0].resolve(markers_answer((0, T0, 0)))
    wires.answers[1].resolve(markers_answer())
    assert [len(request.markers) for _, request, *_ in wires.asked] == [1, 2, 2]


# --------------------------------------------------------------------------------------------------------- membership


def membership_answer(code: int, *rows: tuple[str, TopicPartition, int]) -> adding.AddPartitionsToTxnResponse:
    return adding.AddPartitionsToTxnResponse(
        error_code=code,
        results_by_transaction=[
            adding.AddPartitionsToTxnResult(
                transactional_id=name,
                topic_results=[
                    adding.AddPartitionsToTxnTopicResult(
                        name=place.topic,
                        results_by_partition=[
                            adding.AddPartitionsToTxnPartitionResult(
                                partition_index=place.partition, partition_error_code=each
                            )
                        ],
                    )
                ],
            )
            for name, place, each in rows
        ],
    )


def question(name: str, *places: TopicPartition, add: bool = True) -> MembershipErrand:
    return MembershipErrand(name, Producer(5, 1), places, add, Deferred())


def results(errand: MembershipErrand) -> Any:
    seen: list[Any] = []
    errand.answer.then(lambda value, error: seen.append(value))
    return seen[0] if seen else None


def test_transactions_are_asked_about_together() -> None:
    wires = Wires()
    requests = membership_requests(wires.others())
    first, x, again, y = question("w", T0), question("x", T0, U0), question("x", T1), question("y", T1, add=False)
    for errand in (first, x, again, y):
        requests.add(2, errand)
    wires.answers[0].resolve(membership_answer(0, ("w", T0, 0)))
    rows = wires.asked[1][1].transactions
    assert [(row.transactional_id, row.verify_only) for row in rows] == [("x", False), ("y", True)]
    answer = membership_answer(0, ("y", T1, 120), ("x", T0, 55), ("x", U0, 3))
    wires.answers[1].resolve(answer)
    assert results(first) == {T0: ErrorCode.NONE}
    assert results(y) == {T1: ErrorCode.TRANSACTION_ABORTABLE}
    # What was not tried because of another partition is asked again; what does not exist is told.
    assert results(x) == {T0: ErrorCode.NETWORK_EXCEPTION, U0: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert results(again) is None
    wires.answers[2].resolve(membership_answer(31))
    assert results(again) == {T1: ErrorCode.INVALID_TXN_STATE}


@pytest.mark.parametrize("error", [MoldauError("gone"), KafkaError(ErrorCode.UNSUPPORTED_VERSION)])
def test_no_answer_is_a_reason_to_ask_again(error: MoldauError) -> None:
    wires, errand = Wires(), question("x", T0)
    membership_requests(wires.others()).add(1, errand)
    wires.answers[0].fail(error)
    assert results(errand) == {T0: ErrorCode.NETWORK_EXCEPTION}
