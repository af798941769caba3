"""Conversations on a real loop: results, errors, pauses, and one deadline for all of it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from on_a_loop import OnALoop
from scripted_peer import HANG_UP, SILENCE, ScriptedPeer, metadata

from moldau.client.conversation import Ask, AskAll, Conversation, Learn, Pause, retrying
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.errors import ErrorCode, KafkaError
from moldau.links.errors import ConnectionFailed, RequestTimedOut
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.metadata import MetadataRequest


@pytest.fixture
def loop() -> Iterator[OnALoop]:
    with OnALoop() as loop:
        yield loop


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    with ScriptedPeer({ApiKey.FIND_COORDINATOR: lambda _version, _request: FindCoordinatorResponse(node_id=7)}) as node:
        node.handlers[ApiKey.METADATA] = lambda _version, _request: metadata({1: node.address}, {"rivers": {0: (1, 3)}})
        yield node


@pytest.fixture
def network(loop: OnALoop, peer: ScriptedPeer) -> ClientNetwork:
    return loop.network(peer.address)


FIND = Ask(FindCoordinatorRequest(), at_most=0)


def test_steps_follow_each_other_and_the_last_word_is_the_result(
    loop: OnALoop, peer: ScriptedPeer, network: ClientNetwork
) -> None:
    def conversation() -> Conversation[tuple[int, int]]:
        view: ClusterView = yield Learn(["rivers"])
        answer = yield FIND
        return view.topic("rivers").partitions[0].leader_epoch, answer.node_id

    assert loop.perform(network, conversation()) == (3, 7)


def test_a_thousand_steps_that_need_no_waiting_do_not_pile_up(loop: OnALoop, network: ClientNetwork) -> None:
    def conversation() -> Conversation[int]:
        for _ in range(5000):
            yield Learn(["rivers"])
        return 5000

    assert loop.perform(network, conversation()) == 5000


def test_side_by_side_with_what_failed_in_its_place(loop: OnALoop, peer: ScriptedPeer, network: ClientNetwork) -> None:
    def conversation() -> Conversation[Any]:
        yield Learn()
        nobody = Ask(FindCoordinatorRequest(), to=9, at_most=0)
        return (yield AskAll([FIND, nobody, Ask(MetadataRequest(), to=1)]))

    found, missing, described = loop.perform(network, conversation())
    assert found.node_id == 7
    assert missing.code is ErrorCode.BROKER_NOT_AVAILABLE
    assert described.cluster_id == "scripted"

    def nothing() -> Conversation[Any]:
        return (yield AskAll([]))

    assert loop.perform(network, nothing()) == []


def test_what_failed_before_is_the_reason_when_time_ends_while_learning(
    loop: OnALoop, peer: ScriptedPeer, network: ClientNetwork
) -> None:
    def connected() -> Conversation[Any]:
        return (yield Learn(["rivers"]))

    def conversation() -> Conversation[None]:
        yield Pause(0, KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
        yield Learn(["lakes"])

    loop.perform(network, connected())
    peer.handlers[ApiKey.METADATA] = lambda _version, _request: SILENCE
    with pytest.raises(KafkaError) as raised:
        loop.perform(network, conversation(), 1.0)
    assert raised.value.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_errors_are_thrown_in_where_they_belong(loop: OnALoop, peer: ScriptedPeer, network: ClientNetwork) -> None:
    peer.handlers[ApiKey.FIND_COORDINATOR] = lambda _version, _request: HANG_UP

    def conversation() -> Conversation[str]:
        try:
            yield FIND
        except ConnectionFailed:
            view: ClusterView = yield Learn(["rivers"])
            return f"went on with {len(view.topics)}"
        return "not reached"

    assert loop.perform(network, conversation()) == "went on with 1"


def test_an_exception_of_its_own_ends_it(loop: OnALoop, network: ClientNetwork) -> None:
    def conversation() -> Conversation[None]:
        yield Learn()
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        loop.perform(network, conversation())


def test_what_may_pass_is_tried_again(loop: OnALoop, peer: ScriptedPeer, network: ClientNetwork) -> None:
    peer.handlers[ApiKey.FIND_COORDINATOR] = [
        lambda _version, _request: HANG_UP,
        lambda _version, _request: HANG_UP,
        lambda _version, _request: FindCoordinatorResponse(node_id=4),
    ]

    def attempt() -> Conversation[int]:
        answer = yield FIND
        return int(answer.node_id)

    assert loop.perform(network, retrying(attempt)) == 4
    assert len(peer.asked(ApiKey.FIND_COORDINATOR)) == 3


def test_silence_is_over_at_the_deadline_and_the_link_lives_on(
    loop: OnALoop, peer: ScriptedPeer, network: ClientNetwork
) -> None:
    peer.handlers[ApiKey.FIND_COORDINATOR] = lambda _version, _request: SILENCE

    def conversation() -> Conversation[None]:
        yield FIND

    with pytest.raises(RequestTimedOut):
        loop.perform(network, conversation(), 0.05)

    def several() -> Conversation[Any]:
        return (yield AskAll([FIND, FIND]))

    assert all(isinstance(each, RequestTimedOut) for each in loop.perform(network, several(), 0.05))
    assert network.connected


def test_a_pause_beyond_the_deadline_ends_with_its_reason(loop: OnALoop, network: ClientNetwork) -> None:
    def conversation() -> Conversation[None]:
        failures = 0
        while True:
            yield Pause(failures, KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, "still nobody"))
            failures += 1

    with pytest.raises(KafkaError, match="still nobody"):
        loop.perform(network, conversation(), 0.2)


def test_a_pause_over_something_stale_puts_the_view_in_doubt(
    loop: OnALoop, peer: ScriptedPeer, network: ClientNetwork
) -> None:
    def conversation(code: ErrorCode) -> Conversation[None]:
        yield Learn(["rivers"])
        yield Pause(0, KafkaError(code))
        yield Learn(["rivers"])

    loop.perform(network, conversation(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
    assert len(peer.asked(ApiKey.METADATA)) == 1
    loop.perform(network, conversation(ErrorCode.NOT_LEADER_OR_FOLLOWER))
    assert len(peer.asked(ApiKey.METADATA)) == 2
