"""A link on a real loop, to a peer that answers, keeps silent, hangs up and talks nonsense on cue."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest
from on_a_loop import PATIENCE, OnALoop
from scram_broker import ScramBroker, broker_with, secured_by
from scripted_peer import HANG_UP, SILENCE, ScriptedPeer, api_versions, metadata

from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.links.addresses import Address
from moldau.links.errors import ConnectionFailed, RequestTimedOut, UnsupportedRequest
from moldau.links.link import Link
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.metadata import MetadataRequest
from moldau.supervision.layout import hold_ports


@pytest.fixture
def loop() -> Iterator[OnALoop]:
    with OnALoop() as loop:
        yield loop


def knows_itself(peer_of: Any) -> Any:
    return lambda _version, _request: metadata({1: peer_of().address})


@pytest.fixture
def peer() -> Iterator[ScriptedPeer]:
    with ScriptedPeer({ApiKey.METADATA: knows_itself(lambda: peer)}) as peer:
        yield peer


def test_it_is_ready_when_versions_are_agreed_on(loop: OnALoop, peer: ScriptedPeer) -> None:
    link = loop.link(peer.address)
    assert loop.get(lambda: link.ready) is link
    assert link.usable
    assert link.versions is not None
    assert link.versions.offers(ApiKey.METADATA)


def test_what_is_asked_before_it_stands_is_answered_in_order(loop: OnALoop, peer: ScriptedPeer) -> None:
    answers: list[int] = []

    def asked(link: Link, number: int) -> Any:
        call = link.ask(MetadataRequest(), PATIENCE)
        call.then(lambda _value, _error: answers.append(number))
        return call

    link = loop.link(peer.address)
    calls = loop.call(lambda: [asked(link, number) for number in range(6)])
    assert loop.outcome(calls[-1]).cluster_id == "scripted"
    assert answers == [0, 1, 2, 3, 4, 5]
    assert len(peer.asked(ApiKey.METADATA)) == 6


def test_a_request_the_peer_does_not_offer_fails_alone(loop: OnALoop, peer: ScriptedPeer) -> None:
    link = loop.link(peer.address)
    with pytest.raises(UnsupportedRequest):
        loop.get(lambda: link.ask(CreateTopicsRequest(), PATIENCE))
    assert link.usable
    assert loop.get(lambda: link.ask(MetadataRequest(), PATIENCE)).cluster_id == "scripted"


def test_nobody_listens(loop: OnALoop) -> None:
    address = Address("127.0.0.1", *hold_ports(1))
    link = loop.link(address)
    waiting = loop.call(lambda: link.ask(MetadataRequest(), PATIENCE))
    with pytest.raises(ConnectionFailed, match="does not answer"):
        loop.get(lambda: link.ready)
    with pytest.raises(ConnectionFailed):
        loop.get(lambda: waiting)
    assert not link.usable
    assert [lost for lost, _ in loop.losses] == [link]
    # And whoever comes later hears the same at once.
    with pytest.raises(ConnectionFailed):
        loop.get(lambda: link.ask(MetadataRequest(), PATIENCE))


@pytest.mark.parametrize("script", ["hangs up", "answers nonsense", "answers another request", "is no broker"])
def test_a_peer_that_misbehaves_fails_all_that_waits_once(loop: OnALoop, script: str) -> None:
    answer: Any = {
        "hangs up": HANG_UP,
        "answers nonsense": b"\0\0\0\1" + b"\xff" * 20,
        "answers another request": b"\0\0\0\x2a" + bytes(40),
        "is no broker": b"",
    }[script]
    with ScriptedPeer({ApiKey.METADATA: lambda _version, _request: answer}) as peer:
        link = loop.link(peer.address)
        calls = loop.call(lambda: [link.ask(MetadataRequest(), PATIENCE) for _ in range(3)])
        for call in calls:
            with pytest.raises((ConnectionFailed, ProtocolError)):
                loop.outcome(call)
        assert len(loop.losses) == 1
        assert loop.call(lambda: link.idle_since) is not None


def test_silence_beyond_the_time_allowed_ends_the_link(loop: OnALoop) -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda _version, _request: SILENCE}) as peer:
        link = loop.link(peer.address)
        loop.get(lambda: link.ready)
        first = loop.call(lambda: link.ask(MetadataRequest(), 5.0))
        second = loop.call(lambda: link.ask(MetadataRequest(), 1000.0))
        now = loop.background.clock.monotonic()
        loop.call(lambda: link.check_time(now + 4.0))
        assert link.usable
        assert loop.call(lambda: link.idle_since) is None
        loop.call(lambda: link.check_time(now + 6.0))
        for call in (first, second):
            with pytest.raises(RequestTimedOut, match="Metadata"):
                loop.outcome(call)
        assert not link.usable


def test_a_peer_that_accepts_and_says_nothing_is_given_up(loop: OnALoop) -> None:
    with ScriptedPeer({ApiKey.API_VERSIONS: lambda _version, _request: SILENCE}) as peer:
        link = loop.link(peer.address, connect_timeout=5.0)
        now = loop.background.clock.monotonic()
        loop.call(lambda: link.check_time(now + 4.0))
        assert link.usable
        loop.call(lambda: link.check_time(now + 6.0))
        with pytest.raises(ConnectionFailed, match="timed out"):
            loop.get(lambda: link.ready)


def test_an_answer_that_needs_none_is_settled_when_sent(loop: OnALoop, peer: ScriptedPeer) -> None:
    link = loop.link(peer.address)
    loop.get(lambda: link.ready)
    assert loop.get(lambda: link.ask(MetadataRequest(), PATIENCE, answered=False)) is None
    assert loop.call(lambda: link.idle_since) is not None


def test_closing_tells_those_who_wait(loop: OnALoop) -> None:
    with ScriptedPeer({ApiKey.METADATA: lambda _version, _request: SILENCE}) as peer:
        link = loop.link(peer.address)
        loop.get(lambda: link.ready)
        call = loop.call(lambda: link.ask(MetadataRequest(), PATIENCE))
        loop.call(link.close)
        loop.call(link.close)
        with pytest.raises(ConnectionFailed, match="is closed"):
            loop.get(lambda: call)
        assert len(loop.losses) == 1


# ------------------------------------------------------------------------------------------------------ with SASL


def test_it_is_ready_only_when_the_peer_knows_who_we_are(loop: OnALoop) -> None:
    with broker_with(ScramBroker(b"secret")) as peer:
        link = loop.link(peer.address, security=secured_by("SCRAM-SHA-512", "secret"))
        loop.get(lambda: link.ready)
        assert len(peer.asked(ApiKey.SASL_AUTHENTICATE)) == 2
        refused = loop.link(peer.address, security=secured_by("SCRAM-SHA-512", "guess"))
        with pytest.raises(KafkaError, match="wrong password"):
            loop.get(lambda: refused.ready)
        assert refused.versions is None


def test_a_session_is_renewed_while_requests_are_under_way(loop: OnALoop) -> None:
    scram = ScramBroker(b"secret", lifetime_ms=30)
    with broker_with(scram) as peer:
        link = loop.link(peer.address, security=secured_by("SCRAM-SHA-512", "secret"))
        loop.get(lambda: link.ready)
        deadline = time.monotonic() + PATIENCE
        asked = 0
        while scram.sessions < 4 and time.monotonic() < deadline:
            calls = loop.call(lambda: [link.ask(MetadataRequest(), PATIENCE) for _ in range(10)])
            asked += 10
            for call in calls:
                assert loop.outcome(call).cluster_id == "scripted"
        assert scram.sessions >= 4
        assert len(peer.asked(ApiKey.METADATA)) == asked
        assert link.usable


def test_a_session_is_renewed_without_requests_too(loop: OnALoop) -> None:
    scram = ScramBroker(b"secret", lifetime_ms=60_000)
    with broker_with(scram) as peer:
        link = loop.link(peer.address, security=secured_by("SCRAM-SHA-512", "secret"))
        loop.get(lambda: link.ready)
        now = loop.background.clock.monotonic()
        loop.call(lambda: link.check_time(now + 50.0))
        loop.get(lambda: link.ask(MetadataRequest(), PATIENCE))
        assert scram.sessions == 1
        loop.call(lambda: link.check_time(now + 57.1))
        loop.get(lambda: link.ask(MetadataRequest(), PATIENCE))
        assert scram.sessions == 2


def test_a_peer_that_knows_only_old_versions(loop: OnALoop) -> None:
    refusal = b"\0\0\0\0" + api_versions({ApiKey.API_VERSIONS: (0, 1)}, ErrorCode.UNSUPPORTED_VERSION).encode(0)
    ranges = {ApiKey.API_VERSIONS: (0, 1), ApiKey.METADATA: (0, 1)}
    handlers: dict[ApiKey, Any] = {
        ApiKey.API_VERSIONS: [lambda version, request: refusal, lambda version, request: api_versions(ranges)],
        ApiKey.METADATA: lambda version, request: metadata({}),
    }
    with ScriptedPeer(handlers) as peer:
        link = loop.link(peer.address)
        loop.get(lambda: link.ask(MetadataRequest(), PATIENCE))
        assert peer.versions_asked(ApiKey.API_VERSIONS) == [4, 1]
        assert peer.versions_asked(ApiKey.METADATA) == [1]


def test_a_refusal_to_say_versions(loop: OnALoop) -> None:
    refused = {ApiKey.API_VERSIONS: lambda version, request: api_versions({}, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)}
    with ScriptedPeer(refused) as peer:
        link = loop.link(peer.address)
        with pytest.raises(KafkaError, match="refused ApiVersions: Not authorized"):
            loop.get(lambda: link.ready)


def test_a_web_server_is_no_broker(loop: OnALoop) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def speak() -> None:
            guest, _ = server.accept()
            guest.recv(100)
            guest.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
            guest.close()

        thread = threading.Thread(target=speak)
        thread.start()
        link = loop.link(Address(*server.getsockname()))
        with pytest.raises(ConnectionFailed, match="does not answer: a frame of 1213486160 bytes"):
            loop.get(lambda: link.ready)
        thread.join()
