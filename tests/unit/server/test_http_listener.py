"""The small HTTP server, on a real runtime and real sockets."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator

import pytest

from moldau.deferred import Deferred
from moldau.runtime.real import RealRuntime
from moldau.server import http_listener
from moldau.server.http_listener import MOST_CONNECTIONS, Asked, HttpListener, Page, text


class Site:
    """A listener on a loop that a test turns, and what it answers."""

    def __init__(self) -> None:
        self.runtime = RealRuntime()
        self.asked: list[Asked] = []
        self.later: list[Deferred[Page]] = []
        self.pages = HttpListener(
            self.runtime, {"/page": self._page, "/later": self._later, "/large": lambda _asked: LARGE}
        )
        self.address = self.pages.listen("127.0.0.1", 0)
        self.clients: list[Client] = []

    def _page(self, asked: Asked) -> Page:
        self.asked.append(asked)
        return text(200, "a page")

    def _later(self, _asked: Asked) -> Deferred[Page]:
        self.later.append(Deferred())
        return self.later[-1]

    def client(self) -> Client:
        self.clients.append(Client(self))
        return self.clients[-1]

    def turn(self, times: int = 4) -> None:
        for _ in range(times):
            self.runtime.loop.call_soon(self.runtime.loop.stop)
            self.runtime.loop.run()

    def close(self) -> None:
        for client in self.clients:
            client.socket.close()
        self.pages.close()
        self.runtime.close()


LARGE = Page(200, "text/plain", [b"x" * 100_000] * 40)


class Client:
    def __init__(self, site: Site) -> None:
        self.site = site
        self.socket = socket.create_connection(site.address)
        self.socket.setblocking(False)
        self.received = b""

    def send(self, *lines: str) -> None:
        self.raw("\r\n".join([*lines, "", ""]).encode())

    def raw(self, data: bytes) -> None:
        self.socket.sendall(data)
        self.site.turn()

    def read(self) -> bytes:
        """All that has come and will come without anything else being done."""
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            self.site.turn(1)
            try:
                data = self.socket.recv(1 << 20)
            except BlockingIOError:
                if self.received:
                    break
                continue
            if not data:
                break
            self.received += data
        received, self.received = self.received, b""
        return received

    def has_ended(self) -> bool:
        deadline = time.monotonic() + 30
        while time.monotonic() < deadline:
            self.site.turn(1)
            try:
                if not self.socket.recv(1 << 20):
                    return True
            except BlockingIOError:
                continue
            except ConnectionResetError:
                return True
        return False


@pytest.fixture
def site() -> Iterator[Site]:
    site = Site()
    yield site
    site.close()


def test_a_page_is_answered_and_the_connection_stays(site: Site):
    client = site.client()
    for _ in range(2):
        client.send("GET /page?a=1 HTTP/1.1", "Host: here", "Accept: something")
        head, _, content = client.read().partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200 OK\r\n")
        assert b"Content-Length: 7" in head
        assert content == b"a page\n"
    assert site.asked[0].query == "a=1"
    assert site.asked[0].headers == {"host": "here", "accept": "something"}


def test_a_head_that_comes_in_pieces_is_one_request(site: Site):
    client = site.client()
    for piece in (b"GET /pa", b"ge HTTP/1.1\r\nHost: h", b"ere\r\n\r", b"\n"):
        assert site.asked == []
        client.raw(piece)
    assert client.read().endswith(b"a page\n")


def test_requests_sent_ahead_are_answered_one_after_the_other(site: Site):
    client = site.client()
    client.send("GET /later HTTP/1.1", "", "GET /page HTTP/1.1", "", "GET /nothing HTTP/1.1")
    assert len(site.later) == 1
    assert site.asked == []
    site.later[0].resolve(text(200, "late"))
    content = client.read()
    assert content.index(b"late\n") < content.index(b"a page\n") < content.index(b"404 Not Found")


@pytest.mark.parametrize(
    "lines", [("GET /page HTTP/1.0",), ("GET /page HTTP/1.1", "Connection: close")], ids=["HTTP/1.0", "close"]
)
def test_who_wants_no_more_is_hung_up_on(site: Site, lines: tuple[str, ...]):
    client = site.client()
    client.send(*lines)
    assert client.read().endswith(b"a page\n")
    assert client.has_ended()


def test_head_is_answered_without_the_content(site: Site):
    client = site.client()
    client.send("HEAD /page HTTP/1.1")
    answer = client.read()
    assert b"Content-Length: 7" in answer
    assert answer.endswith(b"\r\n\r\n")


@pytest.mark.parametrize(
    ("lines", "status"),
    [
        (("POST /page HTTP/1.1",), b"405"),
        (("GET /elsewhere HTTP/1.1",), b"404"),
        (("GET /page",), b"400"),
        (("GET /page HTTP/2.0",), b"400"),
        (("GET  /page HTTP/1.1",), b"400"),
        (("POST /page HTTP/1.1", "Content-Length: 5"), b"400"),
        (("POST /page HTTP/1.1", "Transfer-Encoding: chunked"), b"400"),
        (("GET /page HTTP/1.1", "no colon"), b"400"),
        (("GET /page HTTP/1.1", " folded: line"), b"400"),
    ],
)
def test_what_is_not_for_this_server_is_told_so(site: Site, lines: tuple[str, ...], status: bytes):
    client = site.client()
    client.send(*lines)
    assert client.read().startswith(b"HTTP/1.1 " + status)
    assert site.asked == []


def test_a_head_without_an_end_is_given_up(site: Site):
    client = site.client()
    client.raw(b"GET /page HTTP/1.1\r\nlong: " + b"x" * 10_000)
    assert client.has_ended()


def test_a_large_answer_arrives_whole(site: Site):
    client = site.client()
    client.send("GET /large HTTP/1.1", "Connection: close")
    received = b""
    while data := client.read():
        received += data
    assert received.endswith(b"x" * 4_000_000)


def test_a_page_that_fails_is_an_error_of_the_server(site: Site, caplog: pytest.LogCaptureFixture):
    client = site.client()
    client.send("GET /later HTTP/1.1")
    site.later[0].fail(ValueError("no"))
    assert client.read().startswith(b"HTTP/1.1 500")
    assert "/later could not be answered" in caplog.text


def test_so_many_are_let_in_and_no_more(site: Site):
    clients = [site.client() for _ in range(MOST_CONNECTIONS + 1)]
    site.turn(8)
    assert clients[-1].has_ended()
    clients[0].send("GET /page HTTP/1.1", "Connection: close")
    assert clients[0].read().endswith(b"a page\n")
    assert clients[0].has_ended()
    again = site.client()
    again.send("GET /page HTTP/1.1")
    assert again.read().endswith(b"a page\n")


def test_who_says_nothing_or_takes_nothing_is_hung_up_on(site: Site, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(http_listener, "_SWEEP_SECONDS", 0.01)
    silent, trickling, working = site.client(), site.client(), site.client()
    working.send("GET /later HTTP/1.1")
    trickling.raw(b"GET /pa")
    # The sweep that was set with the old pause is replaced by one that comes soon.
    monkeypatch.setattr(http_listener, "IDLE_SECONDS", 0.05)
    site.pages._sweep()
    assert silent.has_ended()
    assert trickling.has_ended()
