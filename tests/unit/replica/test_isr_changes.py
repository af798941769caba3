"""Proposals on their way to the controller: batched, one request at a time, sent again until something is known."""

from __future__ import annotations

from typing import Any

import pytest

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, MoldauError
from moldau.metadata.broker_registration import BrokerRegistration
from moldau.metadata.image import EMPTY_IMAGE, ClusterImage
from moldau.protocol.messages.alter_partition import (
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from moldau.replica.follower import Follower
from moldau.replica.in_sync_rules import IsrProposal
from moldau.replica.isr import IsrChanges
from moldau.simulation.clock import VirtualClock
from moldau.simulation.loop import Schedule, SimulatedLoop
from moldau.types import TopicPartition

TOPIC_ID = bytes(15) + b"\x09"


class Led:
    """A partition, as far as a proposal needs one."""

    def __init__(self, index: int) -> None:
        self.topic_id = TOPIC_ID
        self.topic_partition = TopicPartition("orders", index)
        self.followers = {2: Follower(2), 3: Follower(3)}
        self.followers[3].broker_epoch = 33
        self.isr: tuple[int, ...] = (1, 2)
        self.proposal: IsrProposal | None = None
        self.not_attempted: list[IsrProposal] = []

    def isr_committed(self, isr: tuple[int, ...], leader_epoch: int, partition_epoch: int) -> bool:
        self.isr, self.proposal = isr, None
        return True

    def isr_not_attempted(self, proposal: IsrProposal) -> None:
        self.not_attempted.append(proposal)
        self.proposal = None


class Stage:
    def __init__(self) -> None:
        self.schedule = Schedule(VirtualClock())
        self.asked: list[tuple[Any, Deferred[Any]]] = []
        self.changed: list[Any] = []
        self.image = EMPTY_IMAGE
        self.isr = IsrChanges(
            1,
            lambda: 11,
            self,
            lambda: self.image,
            lambda: 1000,
            self.schedule.clock,
            SimulatedLoop(self.schedule),
            self.changed.append,
        )

    def ask(self, request: Any) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        self.asked.append((request.decode(request.encode(3), 3), answer))
        return answer

    def propose(self, led: Led, isr: tuple[int, ...] = (1, 2, 3)) -> IsrProposal:
        led.proposal = IsrProposal(led, isr, 5, 7, len(isr) > len(led.isr))  # type: ignore[arg-type]
        self.isr.propose(led.proposal)
        return led.proposal

    def answer(self, *results: tuple[int, int], error: int = 0) -> None:
        """By partition its error code."""
        partitions = [
            ResponsePartitionData(
                partition_index=index, error_code=code, leader_id=1, leader_epoch=5, isr=[1, 2, 3], partition_epoch=8
            )
            for index, code in results
        ]
        topics = [ResponseTopicData(topic_id=TOPIC_ID, partitions=partitions)]
        self.asked.pop(0)[1].resolve(AlterPartitionResponse(error_code=error, topics=topics))

    @property
    def sent(self) -> list[list[int]]:
        return [
            [part.partition_index for topic in request.topics for part in topic.partitions] for request, _ in self.asked
        ]


def test_what_is_proposed_in_one_turn_goes_together_with_its_epochs() -> None:
    stage = Stage()
    first, second = Led(0), Led(1)
    stage.propose(first)
    stage.propose(second, (1,))
    assert stage.sent == []
    stage.schedule.run_for(0.01)
    assert stage.sent == [[0, 1]]
    [(request, _)] = stage.asked
    assert (request.broker_id, request.broker_epoch) == (1, 11)
    asked = request.topics[0].partitions[0]
    assert (asked.leader_epoch, asked.partition_epoch, asked.leader_recovery_state) == (5, 7, 0)
    # Of broker 2 nothing has been heard yet.
    assert [(one.broker_id, one.broker_epoch) for one in asked.new_isr_with_epochs] == [(1, 11), (2, -1), (3, 33)]


def test_one_request_at_a_time() -> None:
    stage = Stage()
    first, second = Led(0), Led(1)
    stage.propose(first)
    stage.schedule.run_for(0.01)
    stage.propose(second)
    stage.schedule.run_for(1)
    assert stage.sent == [[0]]
    stage.answer((0, 0))
    assert (first.isr, stage.changed, stage.isr.expansions) == ((1, 2, 3), [first], 1)
    stage.schedule.run_for(1)
    assert stage.sent == [[1]]


@pytest.mark.parametrize(
    "refused",
    [ErrorCode.STALE_BROKER_EPOCH, ErrorCode.NOT_CONTROLLER, ErrorCode.UNKNOWN_SERVER_ERROR, None],
)
def test_what_was_not_answered_is_sent_again(refused: ErrorCode | None) -> None:
    stage = Stage()
    stage.propose(Led(0))
    stage.schedule.run_for(0.01)
    if refused is None:
        stage.asked.pop(0)[1].fail(MoldauError("nobody there"))
    else:
        stage.answer(error=refused)
    assert stage.sent == []
    stage.schedule.run_for(0.1)
    assert stage.sent == [[0]]


def test_the_controller_has_a_moment_before_it_is_asked_again_and_none_when_it_has_answered() -> None:
    stage = Stage()
    stage.propose(Led(0))
    stage.schedule.run_for(0.01)
    stage.answer((0, ErrorCode.UNKNOWN_SERVER_ERROR))
    stage.schedule.run_for(0.01)
    assert stage.sent == []
    stage.schedule.run_for(0.1)
    stage.propose(Led(1))
    stage.answer((0, ErrorCode.NONE))
    stage.schedule.run_for(0.01)
    assert stage.sent == [[1]]


def test_a_partition_the_answer_leaves_out_or_fails_is_sent_again() -> None:
    stage = Stage()
    stage.propose(Led(0))
    stage.propose(Led(1))
    stage.schedule.run_for(0.01)
    stage.answer((1, ErrorCode.UNKNOWN_SERVER_ERROR))
    stage.schedule.run_for(0.1)
    assert stage.sent == [[0, 1]]


@pytest.mark.parametrize("code", [ErrorCode.INELIGIBLE_REPLICA, ErrorCode.OPERATION_NOT_ATTEMPTED])
def test_what_was_not_tried_is_taken_back(code: ErrorCode) -> None:
    stage, led = Stage(), Led(0)
    proposal = stage.propose(led)
    stage.schedule.run_for(0.01)
    stage.answer((0, code))
    assert (led.not_attempted, stage.changed) == ([proposal], [led])


@pytest.mark.parametrize(
    "code", [ErrorCode.FENCED_LEADER_EPOCH, ErrorCode.INVALID_UPDATE_VERSION, ErrorCode.UNKNOWN_TOPIC_ID]
)
def test_after_other_refusals_the_metadata_is_waited_for(code: ErrorCode) -> None:
    """It may have been taken by an earlier try: both sets go on being waited for."""
    stage, led = Stage(), Led(0)
    stage.propose(led)
    stage.schedule.run_for(0.01)
    stage.answer((0, code))
    stage.schedule.run_for(1)
    assert (stage.sent, led.not_attempted, led.proposal is not None) == ([], [], True)


def test_what_the_metadata_has_overtaken_is_not_sent() -> None:
    stage, led = Stage(), Led(0)
    stage.propose(led)
    led.proposal = None
    stage.schedule.run_for(1)
    assert stage.sent == []


def test_nothing_is_sent_after_the_end() -> None:
    stage = Stage()
    stage.propose(Led(0))
    stage.schedule.run_for(0.01)
    stage.isr.close()
    stage.asked.pop(0)[1].fail(MoldauError("nobody there"))
    stage.propose(Led(1))
    stage.schedule.run_for(1)
    assert stage.sent == []


def test_who_may_be_in_sync_as_the_metadata_tells() -> None:
    stage = Stage()
    brokers = {
        2: BrokerRegistration(2, 20, bytes(16), {}, fenced=False),
        3: BrokerRegistration(3, 30, bytes(16), {}, fenced=True),
        4: BrokerRegistration(4, 40, bytes(16), {}, fenced=False, in_controlled_shutdown=True),
    }
    stage.image = type(EMPTY_IMAGE)(cluster=ClusterImage(brokers, {}))
    may_join, is_stale = stage.isr.may_join, stage.isr.is_stale
    assert may_join(2, 20)
    assert may_join(2, -1), "a broker that does not tell its epoch"
    assert not may_join(2, 19)
    assert not may_join(2, None)
    assert not may_join(3, 30)
    assert not may_join(4, 40)
    assert not may_join(5, 50)
    assert is_stale(2, 19)
    assert not is_stale(2, 20)
    assert not is_stale(2, 21), "our metadata is behind"
    assert [stage.isr.is_alive(broker) for broker in (2, 3, 4, 5)] == [True, False, True, False]
