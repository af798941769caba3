"""Nodes that ask each other: on real sockets, where peers hang up and talk nonsense, and in simulated time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from on_a_loop import PATIENCE, OnALoop, eventually
from scripted_peer import HANG_UP, SILENCE, ScriptedPeer, metadata
from simulated_peer import SILENCE as NO_ANSWER
from simulated_peer import SimulatedPeer

from moldau.deferred import Deferred
from moldau.errors import MoldauError, ProtocolError
from moldau.links.addresses import Address
from moldau.links.errors import ConnectionFailed, RequestTimedOut, UnsupportedRequest
from moldau.links.peers import Peers
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.fetch import FetchRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.runtime.chance import SystemRandom
from moldau.simulation.world import World
from moldau.supervision.layout import hold_ports

# ------------------------------------------------------------------------------------------------- on real sockets


@pytest.fixture
def loop() -> Iterator[OnALoop]:
    with OnALoop() as loop:
        yield loop


@pytest.fixture
def peers(loop: OnALoop) -> Iterator[Peers]:
    background = loop.background
    peers = loop.call(
        lambda: Peers(
            background.clock,
            background.loop,
            background.network,
            SystemRandom(),
            "node-7",
            request_timeout=PATIENCE,
            connect_timeout=PATIENCE,
            backoff_first=0.001,
            backoff_limit=0.01,
        )
    )
    yield peers
    loop.call(peers.close)


def here(_version: int, _request: Any) -> Any:
    return metadata({})


def test_one_connection_answers_many(loop: OnALoop, peers: Peers) -> None:
    with ScriptedPeer({ApiKey.METADATA: here}) as peer:
        calls = loop.call(lambda: [peers.ask(peer.address, MetadataRequest()) for _ in range(5)])
        for call in calls:
            assert loop.outcome(call).cluster_id == "scripted"
        assert len(peer.asked(ApiKey.API_VERSIONS)) == 1
        versions = loop.call(lambda: peers.versions(peer.address))
        assert versions is not None
        assert versions.offers(ApiKey.METADATA)
        assert loop.call(lambda: peers.versions(Address("elsewhere", 1))) is None


def test_a_version_above_which_nothing_may_be_said(loop: OnALoop, peers: Peers) -> None:
    with ScriptedPeer({ApiKey.METADATA: here}) as peer:
        loop.get(lambda: peers.ask(peer.address, MetadataRequest(), at_most=3))
        assert peer.versions_asked(ApiKey.METADATA) == [3]


def test_a_request_that_is_not_offered_fails_alone(loop: OnALoop, peers: Peers) -> None:
    with ScriptedPeer({ApiKey.METADATA: here}) as peer:
        with pytest.raises(UnsupportedRequest):
            loop.get(lambda: peers.ask(peer.address, CreateTopicsRequest()))
        loop.get(lambda: peers.ask(peer.address, MetadataRequest()))
        assert len(peer.asked(ApiKey.API_VERSIONS)) == 1


def test_after_a_hang_up_the_next_one_asks_on_a_new_connection(loop: OnALoop, peers: Peers) -> None:
    with ScriptedPeer({ApiKey.METADATA: [lambda _version, _request: HANG_UP, here]}) as peer:
        with pytest.raises(ConnectionFailed):
            loop.get(lambda: peers.ask(peer.address, MetadataRequest()))
        assert loop.get(lambda: peers.ask(peer.address, MetadataRequest())).cluster_id == "scripted"
        assert len(peer.asked(ApiKey.API_VERSIONS)) == 2


def test_addresses_that_nobody_asks_any_more_are_forgotten(world: World) -> None:
    """A node that comes back at another address each time must not be remembered at all of them."""
    asking = Asking(world)
    for port in range(1, 40):
        SimulatedPeer(machine := world.process("answerer"), port, {ApiKey.METADATA: here})
        asking.outcome(asking.peers.ask(Address(THERE.host, port), MetadataRequest()))
        machine.die()
        world.run_for(60.0)
    assert len(asking.peers._lines) <= 11
    SimulatedPeer(world.process("answerer"), 39, {ApiKey.METADATA: here})
    value, _seconds = asking.outcome(asking.peers.ask(Address(THERE.host, 39), MetadataRequest()))
    assert value.cluster_id == "scripted"


def test_who_watches_a_line_hears_of_every_connection_that_ended_without_our_doing(world: World) -> None:
    machine = world.process("answerer")
    SimulatedPeer(machine, THERE.port, {ApiKey.METADATA: here})
    asking = Asking(world)
    lost: list[str] = []
    asking.peers.watch("heartbeat", lambda: lost.append("heartbeat"))
    for line in ("heartbeat", "other"):
        asking.outcome(asking.peers.ask(THERE, MetadataRequest(), line=line))
    # Nobody asks anything when it happens.
    machine.die()
    world.run_for(0.1)
    assert lost == ["heartbeat"]
    SimulatedPeer(world.process("answerer"), THERE.port, {ApiKey.METADATA: here})
    asking.outcome(asking.peers.ask(THERE, MetadataRequest(), line="heartbeat"))
    asking.peers.forget(THERE)
    world.run_for(0.1)
    assert lost == ["heartbeat"]


@pytest.mark.parametrize("nonsense", [b"\0\0\0\1" + b"\xff" * 20, b"\0\0\0\x2a" + bytes(40), b""])
def test_nonsense_ends_the_connection_and_not_the_peer(loop: OnALoop, peers: Peers, nonsense: bytes) -> None:
    with ScriptedPeer({ApiKey.METADATA: [lambda _version, _request: nonsense, here]}) as peer:
        with pytest.raises((ProtocolError, ConnectionFailed)):
            loop.get(lambda: peers.ask(peer.address, MetadataRequest()))
        assert loop.get(lambda: peers.ask(peer.address, MetadataRequest())).cluster_id == "scripted"


def test_a_line_that_waits_holds_back_no_other(loop: OnALoop, peers: Peers) -> None:
    with ScriptedPeer({ApiKey.METADATA: here, ApiKey.FETCH: lambda _version, _request: SILENCE}) as peer:
        waiting = loop.call(lambda: peers.ask(peer.address, FetchRequest(), line="fetch"))
        assert loop.get(lambda: peers.ask(peer.address, MetadataRequest())).cluster_id == "scripted"
        assert not waiting.settled
        # A connection of its own, which the other end may get round to later.
        eventually(lambda: len(peer.asked(ApiKey.API_VERSIONS)) == 2)


def test_closing_fails_what_waits_and_whatever_comes_later(loop: OnALoop, peers: Peers) -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda _version, _request: SILENCE}) as peer:
        waiting = loop.call(lambda: peers.ask(peer.address, MetadataRequest()))
        loop.call(peers.close)
        for ask in (lambda: waiting, lambda: peers.ask(peer.address, MetadataRequest())):
            with pytest.raises(ConnectionFailed, match="stopped"):
                loop.get(ask)


def test_an_address_that_is_none_is_answered_as_well(loop: OnALoop, peers: Peers) -> None:
    nobody = Address("127.0.0.1", *hold_ports(1))
    for address in (nobody, Address("a" * 80 + ".example", 9092)):
        for _ in range(3):
            with pytest.raises(ConnectionFailed):
                loop.get(lambda address=address: peers.ask(address, MetadataRequest()))  # type: ignore[misc]


# ------------------------------------------------------------------------------------------------ in simulated time


class Asking:
    """One node's peers in a world, and what became of what it asked."""

    def __init__(self, world: World, **options: Any) -> None:
        self.world = world
        runtime = world.process("asker")
        self.peers = Peers(
            runtime.clock,
            runtime.loop,
            runtime.network,
            runtime.random,
            "node-7",
            **{"request_timeout": 10.0, "connect_timeout": 4.0, "backoff_first": 0.05, "backoff_limit": 1.0, **options},
        )

    def outcome(self, promised: Deferred[Any]) -> Any:
        """What it came to, and how many seconds that took from now."""
        began = self.world.clock.monotonic()
        self.world.run_until(lambda: promised.settled)
        ended: list[Any] = []
        promised.then(lambda value, error: ended.append(value if error is None else error))
        return ended[0], self.world.clock.monotonic() - began


@pytest.fixture
def world() -> Iterator[World]:
    with World("links") as world:
        world.fabric.slow_chance = 0.0
        yield world


THERE = Address("answerer", 9093)


def answering(world: World, metadata_handler: Callable[[int, Any], Any] = here) -> SimulatedPeer:
    handlers = {ApiKey.METADATA: metadata_handler, ApiKey.FETCH: lambda _version, _request: NO_ANSWER}
    return SimulatedPeer(world.process("answerer"), THERE.port, handlers)


def test_silence_gives_the_connection_up_and_all_that_waits_on_it(world: World) -> None:
    peer = answering(world, lambda _version, _request: NO_ANSWER)
    asking = Asking(world)
    short = asking.peers.ask(THERE, MetadataRequest(), timeout=2.0)
    long = asking.peers.ask(THERE, MetadataRequest(), timeout=60.0)
    error, seconds = asking.outcome(short)
    assert isinstance(error, RequestTimedOut)
    assert "answerer:9093 did not answer Metadata" in str(error)
    assert seconds == pytest.approx(2.0, abs=0.01)
    error, seconds = asking.outcome(long)
    assert isinstance(error, RequestTimedOut)
    assert seconds == 0.0
    peer.handlers[ApiKey.METADATA] = here
    answer, _ = asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    assert answer.cluster_id == "scripted"
    assert peer.connections == 2


def test_the_usual_time_is_the_one_it_was_given(world: World) -> None:
    answering(world, lambda _version, _request: NO_ANSWER)
    error, seconds = Asking(world, request_timeout=3.0).outcome(
        Asking(world, request_timeout=3.0).peers.ask(THERE, MetadataRequest())
    )
    assert isinstance(error, RequestTimedOut)
    assert seconds == pytest.approx(3.0, abs=0.01)


def test_a_line_that_is_given_up_leaves_the_others_alone(world: World) -> None:
    peer = answering(world)
    asking = Asking(world)
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    error, _ = asking.outcome(asking.peers.ask(THERE, FetchRequest(), line="fetch", timeout=1.0))
    assert isinstance(error, RequestTimedOut)
    answer, seconds = asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    assert answer.cluster_id == "scripted"
    assert seconds < 0.01
    assert peer.connections == 2


def test_who_is_away_is_called_less_and_less_often_however_often_he_is_asked(world: World) -> None:
    asking = Asking(world)
    failures = 0

    def insist(_value: Any = None, _error: BaseException | None = None) -> None:
        nonlocal failures
        failures += 1
        asking.peers.ask(THERE, MetadataRequest()).then(insist)

    insist()
    world.run_for(1.0)
    # 50, 100, 200, 400 ms, then a second, each a fifth more or less.
    assert failures in (4, 5, 6)
    world.run_for(30.0)
    assert 25 <= failures <= 45
    peer = answering(world)
    world.run_for(1.5)
    assert peer.connections == 1


def test_what_is_asked_in_the_pause_waits_for_it_or_for_its_own_end(world: World) -> None:
    asking = Asking(world, backoff_first=4.0, backoff_limit=4.0)
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    peer = answering(world)
    short = asking.peers.ask(THERE, MetadataRequest(), timeout=1.0)
    patient = asking.peers.ask(THERE, MetadataRequest(), timeout=9.0)
    error, seconds = asking.outcome(short)
    assert isinstance(error, RequestTimedOut)
    assert seconds == pytest.approx(1.0)
    assert peer.connections == 0
    answer, seconds = asking.outcome(patient)
    assert answer.cluster_id == "scripted"
    assert 1.0 < seconds < 4.8


def test_the_pause_is_part_of_the_time_allowed(world: World) -> None:
    asking = Asking(world, backoff_first=4.0, backoff_limit=4.0)
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    answering(world, lambda _version, _request: NO_ANSWER)
    error, seconds = asking.outcome(asking.peers.ask(THERE, MetadataRequest(), timeout=6.0))
    assert isinstance(error, RequestTimedOut)
    assert seconds == pytest.approx(6.0, abs=0.01)


def test_a_connection_that_does_not_come_about_is_given_up(world: World) -> None:
    answering(world)
    world.fabric.cut("asker", "answerer")
    asking = Asking(world)
    error, seconds = asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    assert isinstance(error, ConnectionFailed)
    assert "timed out" in str(error)
    assert seconds == pytest.approx(4.0, abs=0.01)
    world.fabric.mend()
    answer, _ = asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    assert answer.cluster_id == "scripted"


def test_a_connection_that_nobody_used_for_long_is_made_anew(world: World) -> None:
    peer = answering(world)
    asking = Asking(world)
    for pause in (0.0, 500.0, 600.0):
        world.run_for(pause)
        answer, seconds = asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
        assert answer.cluster_id == "scripted"
        assert seconds < 0.01
    assert peer.connections == 2


class Again:
    """A question that is asked again as often as it is told to; what the last answer says is heard in the end."""

    API_KEY, MIN_VERSION, MAX_VERSION = MetadataRequest.API_KEY, 12, 12

    def __init__(self, left: int, seen: list[bytes]) -> None:
        self.left = left
        self.seen = seen

    def encode(self, version: int) -> bytes:
        return MetadataRequest(topics=[MetadataRequestTopic(name=f"left-{self.left}")]).encode(version)

    def go_on(self, data: memoryview, version: int) -> Again | None:
        self.seen.append(bytes(data[4:]))
        return Again(self.left - 1, self.seen) if self.left else None


def asked_for(peer: SimulatedPeer) -> list[str]:
    return [request.topics[0].name for _, key, request in peer.asked if key == ApiKey.METADATA and request.topics]


def test_a_question_that_goes_on_is_asked_anew_with_each_answer_and_answered_by_the_last(world: World) -> None:
    peer, seen = answering(world), list[bytes]()
    asking = Asking(world)
    answer, _ = asking.outcome(asking.peers.ask(THERE, Again(3, seen)))
    assert answer.cluster_id == "scripted"
    assert asked_for(peer) == ["left-3", "left-2", "left-1", "left-0"]
    assert len(seen) == 4
    assert len(set(seen)) == 1
    assert (peer.connections, asking.peers.said.requests, asking.peers.said.answers) == (1, 5, 5)
    answer, _ = asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    assert answer.cluster_id == "scripted"


def test_each_answer_to_a_question_that_goes_on_has_its_own_time(world: World) -> None:
    peer, seen = answering(world), list[bytes]()
    asking = Asking(world)
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    peer.pause = 1.5
    answer, seconds = asking.outcome(asking.peers.ask(THERE, Again(2, seen), timeout=2.0))
    assert answer.cluster_id == "scripted"
    assert seconds == pytest.approx(4.5, abs=0.1)
    seen.clear()
    peer.handlers[ApiKey.METADATA] = lambda version, asked: NO_ANSWER if len(seen) == 2 else here(version, asked)
    error, seconds = asking.outcome(asking.peers.ask(THERE, Again(9, seen), timeout=2.0))
    assert isinstance(error, RequestTimedOut)
    assert seconds == pytest.approx(5.0, abs=0.1)


def test_nothing_goes_on_once_trust_has_to_be_renewed(world: World) -> None:
    peer, seen = answering(world), list[bytes]()
    asking = Asking(world)
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    promised = asking.peers.ask(THERE, Again(3, seen))
    link = asking.peers._line(THERE, "").link
    assert link is not None
    link._renew_at = world.clock.monotonic()
    answer, _ = asking.outcome(promised)
    assert answer.cluster_id == "scripted"
    assert (seen, asked_for(peer)) == ([], ["left-3"])


def test_beside_another_question_none_goes_on(world: World) -> None:
    """Answers come in order: whoever asked next would wait for both."""
    peer, seen = answering(world), list[bytes]()
    asking = Asking(world)
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    first, other = asking.peers.ask(THERE, Again(3, seen)), asking.peers.ask(THERE, MetadataRequest())
    for promised in (first, other):
        answer, _ = asking.outcome(promised)
        assert answer.cluster_id == "scripted"
    assert (seen, asked_for(peer)) == ([], ["left-3"])


def test_who_is_forgotten_is_called_again_when_somebody_asks(world: World) -> None:
    peer = answering(world)
    asking = Asking(world)
    waiting = asking.peers.ask(THERE, FetchRequest(), line="fetch")
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    asking.peers.forget(THERE)
    error, _ = asking.outcome(waiting)
    assert isinstance(error, ConnectionFailed)
    answer, _ = asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    assert answer.cluster_id == "scripted"
    assert peer.connections == 3


def test_closing_in_the_pause_fails_what_waits_for_its_end(world: World) -> None:
    asking = Asking(world)
    asking.outcome(asking.peers.ask(THERE, MetadataRequest()))
    waiting = asking.peers.ask(THERE, MetadataRequest())
    assert not waiting.settled
    asking.peers.close()
    error, seconds = asking.outcome(waiting)
    assert isinstance(error, ConnectionFailed)
    assert seconds == 0.0
    peer = answering(world)
    world.run_for(20.0)
    assert peer.connections == 0


def test_answers_that_arrive_after_the_end_trouble_nobody(world: World) -> None:
    asking = Asking(world)
    answering(world)
    answers = [asking.peers.ask(THERE, MetadataRequest()) for _ in range(3)]
    errors: list[BaseException | None] = []
    for answer in answers:
        answer.then(lambda _value, error: (errors.append(error), asking.peers.close()))  # type: ignore[func-returns-value]
    world.run_for(1.0)
    assert [isinstance(error, MoldauError) for error in errors] == [False, True, True]
