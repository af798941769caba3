"""A small HTTP server beside the listeners of Kafka's protocol: for those who look after a node, and few of them.

GET and HEAD of a handful of pages, HTTP/1.0 and 1.1, requests one after the other on a connection. It holds so many
connections and no more, and each for so long and no longer without a whole request or with an answer that is not taken.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from moldau.deferred import Deferred
from moldau.runtime.ports import Listener, Runtime, TimerHandle, Transport
from moldau.types import Buffer

logger = logging.getLogger("moldau.server")

MOST_CONNECTIONS: Final = 32
# Without a whole request, or while an answer is not taken.
IDLE_SECONDS: Final = 60.0
_SWEEP_SECONDS: Final = 5.0
_LONGEST_HEAD: Final = 8192
_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    404: "Not Found",
    405: "Method Not Allowed",
    500: "Internal Server Error",
    503: "Service Unavailable",
}
_TEXT: Final = "text/plain; charset=utf-8"


class Page(NamedTuple):
    """What is answered: a status, the type of the content, its coding if it is packed, and the content in pieces."""

    status: int
    content_type: str
    pieces: list[bytes]
    encoding: str | None = None


class Asked(NamedTuple):
    query: str
    # By their names in small letters.
    headers: Mapping[str, str]


Answer: TypeAlias = Callable[[Asked], Page | Deferred[Page]]


def text(status: int, sentence: str) -> Page:
    return Page(status, _TEXT, [f"{sentence}\n".encode()])


class HttpListener:
    def __init__(self, runtime: Runtime, pages: Mapping[str, Answer]) -> None:
        self.pages = pages
        self._runtime = runtime
        self._connections: dict[_Connection, None] = {}
        self._listener: Listener | None = None
        self._sweeping: TimerHandle | None = None

    def listen(self, host: str, port: int) -> tuple[str, int]:
        """The real address; OSError if it cannot be had."""
        network = self._runtime.network
        self._listener = network.listen(host, port, self._accept, max_frame=_LONGEST_HEAD, heads=True)
        self._sweep_later()
        return self._listener.address

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()
        if self._sweeping is not None:
            self._sweeping.cancel()
        for connection in tuple(self._connections):
            connection.transport.close()

    def now(self) -> float:
        return self._runtime.clock.monotonic()

    def forget(self, connection: _Connection) -> None:
        self._connections.pop(connection, None)

    def _accept(self, transport: Transport) -> _Connection | None:
        if len(self._connections) >= MOST_CONNECTIONS:
            return None
        connection = _Connection(transport, self)
        self._connections[connection] = None
        return connection

    def _sweep_later(self) -> None:
        self._sweeping = self._runtime.loop.call_later(_SWEEP_SECONDS, self._sweep)

    def _sweep(self) -> None:
        now = self.now()
        for connection in tuple(self._connections):
            connection.close_if_idle(now)
        self._sweep_later()


class _Connection:
    """One client's connection, as a Receiver of heads."""

    def __init__(self, transport: Transport, listener: HttpListener) -> None:
        self.transport = transport
        self._listener = listener
        self._idle_since = listener.now()
        self._activity = 0
        self._busy = False
        self._open = True

    def frame(self, data: memoryview, start: int, end: int) -> None:
        self._busy = True
        # The next request waits until this one is answered.
        self.transport.pause()
        head = _parsed(data[start:end])
        if isinstance(head, Page):
            self._send(head, keep=False, with_content=True)
            return
        method, path, asked, keep = head
        answer = self._answer(method, path, asked)
        with_content = method != "HEAD"
        if isinstance(answer, Page):
            self._send(answer, keep=keep, with_content=with_content)
            return

        def settled(page: Page | None, error: BaseException | None) -> None:
            if page is None:
                logger.error("%s could not be answered", path, exc_info=error)
                page = text(500, "The node could not put this together; its log says why.")
            self._send(page, keep=keep, with_content=with_content)

        answer.then(settled)

    def drained(self) -> None:
        """All of an answer has been taken; there is nothing to do."""

    def closed(self, _reason: str | None) -> None:
        self._open = False
        self._listener.forget(self)

    def doing(self) -> str:
        return f"a request for the node's metrics from {self.transport.peer[0]}"

    def close_if_idle(self, now: float) -> None:
        activity = self.transport.activity
        if (self._busy or self.transport.unsent) and activity != self._activity:
            self._activity, self._idle_since = activity, now
        elif now - self._idle_since >= IDLE_SECONDS:
            self.transport.close()

    def _answer(self, method: str, path: str, asked: Asked) -> Page | Deferred[Page]:
        page = self._listener.pages.get(path)
        if page is None:
            return text(404, f"There are {', '.join(sorted(self._listener.pages))}.")
        if method not in ("GET", "HEAD"):
            return text(405, "GET and HEAD are answered here.")
        return page(asked)

    def _send(self, page: Page, *, keep: bool, with_content: bool) -> None:
        self._busy = False
        if not self._open:
            return
        self._idle_since = self._listener.now()
        head = [
            f"HTTP/1.1 {page.status} {_REASONS[page.status]}",
            f"Content-Type: {page.content_type}",
            f"Content-Length: {sum(map(len, page.pieces))}",
            "Cache-Control: no-store",
            "X-Content-Type-Options: nosniff",
        ]
        if page.encoding is not None:
            head.append(f"Content-Encoding: {page.encoding}")
        if not keep:
            head.append("Connection: close")
        self.transport.send(
            [("\r\n".join(head) + "\r\n\r\n").encode("latin-1"), *(page.pieces if with_content else ())]
        )
        if keep:
            self.transport.resume()
        else:
            self.transport.close()


def _parsed(head: Buffer) -> tuple[str, str, Asked, bool] | Page:
    """Method, path, what is asked, and whether the connection stays; or why it is not answered."""
    first, *lines = bytes(head).decode("latin-1").strip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or words[2] not in ("HTTP/1.0", "HTTP/1.1"):
        return text(400, "This is not a request of HTTP 1.")
    headers: dict[str, str] = {}
    for line in lines:
        name, colon, value = line.partition(":")
        if not colon or not name or name != name.strip():
            return text(400, "A line of the head is not NAME: VALUE.")
        headers[name.lower()] = value.strip()
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        return text(400, "A request has no content here.")
    asks_to_close = headers.get("connection", "").lower() == "close"
    path, _, query = words[1].partition("?")
    return words[0], path, Asked(query, headers), words[2] == "HTTP/1.1" and not asks_to_close
