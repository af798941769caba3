"""Links to several nodes, what is known of them, and beginning again: on a real loop, with peers that obey the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from on_a_loop import PATIENCE, OnALoop, eventually
from scram_broker import ScramBroker, broker_with, secured_by
from scripted_peer import HANG_UP, SILENCE, ScriptedPeer, metadata

from moldau.client.conversation import CONTROLLER, Ask, Learn
from moldau.client.errors import NoBrokerAnswers
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.links.errors import ConnectionFailed
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.metadata import MetadataResponse

NOBODY = Address("127.0.0.1", 1)


@pytest.fixture
def loop() -> Iterator[OnALoop]:
    with OnALoop() as loop:
        yield loop


class Nodes:
    """Peers that all tell of the same cluster: `view` says what they answer to Metadata."""

    def __init__(self, count: int) -> None:
        self.peers = [
            ScriptedPeer(
                {
                    ApiKey.METADATA: lambda _version, _request: self.view(),
                    ApiKey.FIND_COORDINATOR: lambda _version, _request: FindCoordinatorResponse(node_id=7),
                }
            )
            for _ in range(count)
        ]
        self.brokers = {number: peer.address for number, peer in enumerate(self.peers, 1)}
        self.view: Callable[[], Any] = lambda: metadata(self.brokers, {"rivers": {0: (1, 0)}}, controller=count)

    def close(self) -> None:
        for peer in self.peers:
            peer.close()


@pytest.fixture
def nodes() -> Iterator[Nodes]:
    nodes = Nodes(2)
    yield nodes
    nodes.close()


def learn(loop: OnALoop, network: ClientNetwork, *topics: str, **options: Any) -> ClusterView:
    return loop.get(lambda: network.learn(Learn(topics, **options)))


def know_node_alone(loop: OnALoop, network: ClientNetwork, bootstrap: Address) -> None:
    """Learns of node 1, connects to it, and forgets the way it came."""
    learn(loop, network)
    loop.get(lambda: network.link(1).ready)
    loop.call(lambda: network._links[bootstrap, ""].close())


def test_the_cluster_is_learned_from_whoever_answers(loop: OnALoop, nodes: Nodes) -> None:
    network = loop.network(NOBODY, nodes.peers[0].address)
    view = learn(loop, network, "rivers")
    assert {broker.address for broker in view.brokers.values()} == set(nodes.brokers.values())
    assert network.connected
    # Known is known: no second question.
    learn(loop, network, "rivers")
    assert len(nodes.peers[0].asked(ApiKey.METADATA)) == 1
    learn(loop, network, "rivers", anew=True)
    assert len(nodes.peers[0].asked(ApiKey.METADATA)) == 2


def test_requests_find_their_node_and_lines_are_apart(loop: OnALoop, nodes: Nodes) -> None:
    network = loop.network(nodes.peers[0].address)
    learn(loop, network)
    loop.get(lambda: network.ask(Ask(FindCoordinatorRequest(), to=2, at_most=0), PATIENCE))
    loop.get(lambda: network.ask(Ask(FindCoordinatorRequest(), to=CONTROLLER, at_most=0), PATIENCE))
    assert len(nodes.peers[1].asked(ApiKey.FIND_COORDINATOR)) == 2
    assert not nodes.peers[0].asked(ApiKey.FIND_COORDINATOR)
    main, other = loop.call(lambda: (network.link(2), network.link(2, "fetch")))
    assert main is not other
    assert main is loop.call(lambda: network.link(2))
    with pytest.raises(KafkaError, match="no broker with id 9"):
        loop.call(lambda: network.link(9))


def test_nobody_at_all(loop: OnALoop) -> None:
    network = loop.network(NOBODY)
    with pytest.raises(NoBrokerAnswers):
        learn(loop, network)


def test_a_halted_node_keeps_nobody_from_the_next_one(loop: OnALoop, nodes: Nodes) -> None:
    """It takes connections, as the kernel does for it, and says nothing for longer than anybody has patience."""
    with ScriptedPeer({ApiKey.API_VERSIONS: lambda _version, _request: SILENCE}) as halted:
        network = loop.network(halted.address, nodes.peers[0].address, connect_timeout=10 * PATIENCE)
        assert learn(loop, network, "rivers").topics["rivers"].error is ErrorCode.NONE
        assert halted.asked(ApiKey.API_VERSIONS)


def test_a_node_that_halts_later_is_asked_no_further_question(loop: OnALoop, nodes: Nodes) -> None:
    first, second = nodes.peers
    network = loop.network(first.address, request_timeout=10 * PATIENCE)
    learn(loop, network)
    first.handlers[ApiKey.METADATA] = lambda _version, _request: SILENCE
    loop.call(lambda: network.learn(Learn(anew=True)))
    link = loop.call(lambda: network._links[first.address, ""])
    eventually(lambda: loop.call(lambda: link.silent_for(network.clock.monotonic())) > 0.5)
    assert set(learn(loop, network, "rivers").brokers) == {1, 2}
    assert second.asked(ApiKey.METADATA)


def test_a_node_that_was_lost_is_left_alone_for_a_while(loop: OnALoop, nodes: Nodes) -> None:
    network = loop.network(nodes.peers[0].address)
    learn(loop, network)
    link = loop.call(lambda: network.link(2))
    loop.get(lambda: link.ready)
    assert loop.call(lambda: network.blocked_for(2)) == 0.0
    loop.call(lambda: link.give_up(ConnectionFailed("for the test")))
    assert loop.call(lambda: network.blocked_for(2)) > 0.0
    assert loop.call(lambda: network.link(2)) is not link
    # Once it stands again, nothing is held against it.
    again = loop.call(lambda: network.link(2))
    loop.get(lambda: again.ready)
    loop.call(lambda: again.give_up(ConnectionFailed("for the test")))
    assert loop.call(lambda: network._failures[nodes.brokers[2]][0]) == 1


def test_a_lost_link_puts_what_is_known_in_doubt(loop: OnALoop, nodes: Nodes) -> None:
    network = loop.network(nodes.peers[0].address)
    learn(loop, network, "rivers")
    assert loop.call(lambda: network.knows(["rivers"]))
    loop.call(lambda: network.link(1).give_up(ConnectionFailed("for the test")))
    assert not loop.call(lambda: network.knows(["rivers"]))
    learn(loop, network, "rivers")
    assert loop.call(lambda: network.knows(["rivers"]))


def test_refresh_goes_on_until_there_is_an_answer(loop: OnALoop, nodes: Nodes) -> None:
    network = loop.network(nodes.peers[0].address)
    seen: list[ClusterView] = []
    loop.call(lambda: network.watch(seen.append))
    answers: list[Any] = [HANG_UP, HANG_UP, MetadataResponse(error_code=int(ErrorCode.UNKNOWN_SERVER_ERROR))]
    good = nodes.view
    nodes.view = lambda: answers.pop(0) if answers else good()
    loop.call(lambda: network.topics_of_interest.add("rivers"))
    loop.call(network.refresh)
    loop.call(network.refresh)  # while it is being done: no second one
    eventually(lambda: seen)
    assert "rivers" in seen[0].topics
    assert len(nodes.peers[0].asked(ApiKey.METADATA)) == 4
    loop.call(lambda: network.unwatch(seen.append))


def test_links_nobody_uses_are_closed_and_old_knowledge_is_renewed(loop: OnALoop, nodes: Nodes) -> None:
    network = loop.network(nodes.peers[0].address, idle_limit=0.6, metadata_max_age=0.2)
    learn(loop, network)
    link = loop.call(lambda: network.link(2))
    loop.get(lambda: link.ready)
    eventually(lambda: not link.usable)
    assert str(link.failure).endswith("is closed.")
    eventually(lambda: len(nodes.peers[0].asked(ApiKey.METADATA)) >= 3)


def test_closing_fails_what_waits_and_makes_no_new_links(loop: OnALoop, nodes: Nodes) -> None:
    network = loop.network(nodes.peers[0].address)
    learn(loop, network)
    nodes.view = lambda: SILENCE
    waiting = loop.call(lambda: network.learn(Learn(anew=True)))
    loop.call(network.close)
    with pytest.raises(ConnectionFailed):
        loop.get(lambda: waiting)
    with pytest.raises(ConnectionFailed, match="client is closed"):
        loop.call(lambda: network.link(1))


def test_a_password_that_is_refused_is_told_at_once(loop: OnALoop) -> None:
    with broker_with(ScramBroker(b"secret")) as peer:
        network = loop.network(NOBODY, peer.address, NOBODY, security=secured_by("SCRAM-SHA-512", "guess"))
        with pytest.raises(KafkaError, match="wrong password"):
            learn(loop, network)


# ----------------------------------------------------------------------------------------------- beginning again


def test_nodes_that_are_gone_are_looked_for_where_the_client_began(loop: OnALoop) -> None:
    first = ScriptedPeer({ApiKey.METADATA: lambda _version, _request: metadata({1: first.address})})
    second = ScriptedPeer({ApiKey.METADATA: lambda _version, _request: metadata({1: second.address})})
    home = [first]
    with (
        ScriptedPeer({ApiKey.METADATA: lambda _version, _request: metadata({1: home[0].address})}) as bootstrap,
        second,
    ):
        networks = {
            strategy: loop.network(bootstrap.address, rebootstraps=strategy == "rebootstrap")
            for strategy in ("rebootstrap", "none")
        }
        for network in networks.values():
            know_node_alone(loop, network, bootstrap.address)
            assert network.view.brokers[1].address == first.address
        first.close()
        home[0] = second
        eventually(lambda: not any(network.connected for network in networks.values()))
        assert learn(loop, networks["rebootstrap"], anew=True).brokers[1].address == second.address
        with pytest.raises(ConnectionFailed):
            learn(loop, networks["none"], anew=True)
        assert loop.call(lambda: networks["none"].view.brokers[1].address) == first.address


def test_a_broker_can_send_its_clients_back_to_the_start(loop: OnALoop) -> None:
    """REBOOTSTRAP_REQUIRED, KIP-1102: the node is there and answers, but not for us any more."""
    second = ScriptedPeer({ApiKey.METADATA: lambda _version, _request: metadata({1: second.address})})
    required = MetadataResponse(error_code=int(ErrorCode.REBOOTSTRAP_REQUIRED))
    first = ScriptedPeer({ApiKey.METADATA: lambda _version, _request: required})
    home = [first]
    with (
        ScriptedPeer({ApiKey.METADATA: lambda _version, _request: metadata({1: home[0].address})}) as bootstrap,
        first,
        second,
    ):
        network = loop.network(bootstrap.address)
        obstinate = loop.network(bootstrap.address, rebootstraps=False)
        for each in (network, obstinate):
            know_node_alone(loop, each, bootstrap.address)
        home[0] = second
        with pytest.raises(KafkaError):
            learn(loop, network, anew=True)
        eventually(lambda: second.address in {broker.address for broker in network.view.brokers.values()})
        assert (first.address, "") not in network._links
        with pytest.raises(KafkaError) as refusal:
            learn(loop, obstinate, anew=True)
        assert refusal.value.code is ErrorCode.REBOOTSTRAP_REQUIRED


def test_nodes_that_keep_silent_too_long_are_left(loop: OnALoop) -> None:
    """KIP-1102's trigger: the connections stand and nothing comes of them."""
    second = ScriptedPeer({ApiKey.METADATA: lambda _version, _request: metadata({1: second.address})})
    first = ScriptedPeer({ApiKey.METADATA: lambda _version, _request: SILENCE})
    home = [first]
    with (
        ScriptedPeer({ApiKey.METADATA: lambda _version, _request: metadata({1: home[0].address})}) as bootstrap,
        first,
        second,
    ):
        network = loop.network(bootstrap.address, rebootstrap_trigger=0.7, request_timeout=600.0)
        know_node_alone(loop, network, bootstrap.address)
        home[0] = second
        loop.call(network.refresh)
        eventually(lambda: second.address in {broker.address for broker in network.view.brokers.values()})
        assert first.asked(ApiKey.METADATA)
