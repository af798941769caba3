"""Those who have not logged in: what they take together is bounded, and who came first has to go."""

from __future__ import annotations

import struct

import pytest
from server_harness import Client
from test_sasl_connections import Secured, Serve, asked, authenticate, handshake, log_in

from moldau.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from moldau.server.strangers import PLAIN_BYTES, Strangers

PROMISED = 400_000


class Somebody:
    def __init__(self) -> None:
        self.gone = False

    def give_way(self) -> None:
        self.gone = True


def test_the_oldest_gives_way() -> None:
    strangers = Strangers(most=100)
    first, second, third = somebodies = [Somebody() for _ in range(3)]
    strangers.keep(first, 10)
    strangers.keep(second, 50)
    strangers.keep(first, 50)
    assert (strangers.total, len(strangers)) == (100, 2)
    strangers.keep(third, 20)
    assert [each.gone for each in somebodies] == [True, False, False], "who grew stays in his place"
    assert strangers.total == 70
    strangers.forget(second)
    strangers.forget(second)
    assert strangers.total == 20
    # One by himself may have more: he is limited otherwise.
    strangers.keep(third, 1000)
    assert not third.gone


@pytest.fixture
def secured(serve: Serve) -> Secured:
    return Secured(serve)


def promise(client: Client, sent: int) -> None:
    client.socket.sendall(struct.pack(">i", PROMISED) + bytes(sent))


def ends(client: Client) -> bool:
    """Takes what answers there are, to the end."""
    try:
        while client.socket.recv(65536):
            pass
    except ConnectionResetError:
        pass
    return True


def test_what_is_kept_is_counted_until_the_login(serve: Serve) -> None:
    # Long enough to be seen while he waits for the answer to what he should not have asked.
    secured = Secured(serve, **{"connection.failed.authentication.delay.ms": "1000"})
    strangers, until = secured.server.server.strangers, secured.server.until
    client = secured.client()
    until(lambda: strangers.total == PLAIN_BYTES)
    frame = client.frame(18, 0, ApiVersionsRequest().encode(0))
    named = PLAIN_BYTES + 2 * len(b"\0\4test")
    client.socket.sendall(frame[:10])
    until(lambda: strangers.total == PLAIN_BYTES + len(frame))
    client.socket.sendall(frame[10:])
    client.answer(ApiVersionsResponse, 0)
    until(lambda: strangers.total == named)
    kept = named
    large, waiting = secured.client(), secured.client()
    promise(large, 10)
    until(lambda: strangers.total == kept + 2 * PLAIN_BYTES + PROMISED + 4)
    large.socket.close()
    until(lambda: strangers.total == kept + PLAIN_BYTES)
    # Behind a request that is waited for nothing is delivered, and what was read is kept.
    handshake(waiting)
    before = strangers.total
    waiting.socket.sendall(waiting.frame(3, 0, b"") + bytes(50_000))
    until(lambda: strangers.total >= before + 40_000)
    assert ends(waiting)
    log_in(client)
    until(lambda: (strangers.total, len(strangers)) == (0, 0))
    assert asked(client) == "User:jan"


def test_who_promises_much_gives_way_to_others(secured: Secured) -> None:
    server = secured.server.server
    server.strangers._most = 2 * PROMISED
    friend = secured.client()
    log_in(friend)
    old, new = secured.client(), secured.client()
    promise(old, 200_000)
    secured.server.until(lambda: server.strangers.total > PROMISED)
    promise(new, 200_000)
    assert old.ended()
    honest = secured.client()
    log_in(honest)
    assert [asked(each) for each in (friend, honest)] == ["User:jan", "User:jan"]
    assert len(server.connections) == 3, "the one before him has gone, he has not"


def test_who_only_asks_what_there_is(secured: Secured) -> None:
    patient, endless, odd = (secured.client() for _ in range(3))
    for _ in range(10):
        patient.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    handshake(patient)
    assert authenticate(patient).error_code == 0
    for _ in range(20):
        patient.call(ApiVersionsRequest(), 0, ApiVersionsResponse)
    endless.socket.sendall(endless.frame(18, 0, ApiVersionsRequest().encode(0)) * 11)
    assert ends(endless)
    odd.socket.sendall(odd.frame(18, 99, b"") * 11)
    assert ends(odd)
