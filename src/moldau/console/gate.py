"""Who may come in, and with what: hosts, sessions, the login, forged requests, sizes, and the headers of answers."""

from __future__ import annotations

import hmac
import ipaddress
import secrets
import threading
from collections import OrderedDict, deque
from collections.abc import Iterable
from hashlib import sha256
from time import monotonic
from typing import Final
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

LARGEST_BODY: Final = 2 * 1024 * 1024

_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "camera=(), geolocation=(), microphone=()",
}


class Gate:
    """ASGI middleware: refuses what was not meant for this console, and puts its headers on every answer."""

    def __init__(self, app: ASGIApp, hosts: Hosts) -> None:
        self._app = app
        self._hosts = hosts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers.setdefault("cache-control", "no-store")
            await send(message)

        refusal = self._refusal(Headers(scope=scope), scope["method"], scope["scheme"])
        await (self._app if refusal is None else refusal)(scope, receive, send_with_headers)

    def _refusal(self, headers: Headers, method: str, scheme: str) -> PlainTextResponse | None:
        host = headers.get("host", "")
        if not self._hosts.allows(host):
            # A page of somebody else's whose name now leads here (DNS rebinding) would otherwise read along.
            return PlainTextResponse(f"This console is not known as {host!r}; --allow-host would add the name.\n", 421)
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > LARGEST_BODY:
            return PlainTextResponse("That is more than the console takes at once.\n", 413)
        if method not in ("GET", "HEAD", "POST"):
            return PlainTextResponse("The console answers GET and POST.\n", 405)
        if method == "POST" and not _same_origin(headers, host, scheme):
            return PlainTextResponse("This request was sent by a page of somebody else's.\n", 403)
        return None


def _same_origin(headers: Headers, host: str, scheme: str) -> bool:
    if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
        return False
    origin = headers.get("origin")
    # A proxy in front may have taken TLS away, so the scheme is not compared.
    return origin is None or urlsplit(origin).netloc == host


class Hosts:
    """Names this console goes by. An address is no name, and cannot be made to lead somewhere else."""

    def __init__(self, names: Iterable[str]) -> None:
        self._names = {name.lower().rstrip(".") for name in names}

    def allows(self, host: str) -> bool:
        try:
            name = urlsplit(f"//{host}").hostname
        except ValueError:
            return False
        if not name:
            return False
        if name.rstrip(".") in self._names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


class Sessions:
    """Who has logged in; and the mark of a session that forms carry, which another site's page cannot know.

    A session is a random name in a cookie. Nothing is kept of one that has not logged in.
    """

    _LASTS: Final = 12 * 3600.0
    _MOST: Final = 1000
    # So many wrong passwords within this time from one address, and nobody may try from there for the rest of it; so
    # many from all of them, and nobody at all. So whoever guesses does not keep out those who know.
    _TRIES: Final = 8
    _TRIES_OF_ALL: Final = 200
    _TRIES_WITHIN: Final = 60.0

    def __init__(self, password: str | None) -> None:
        self._password = password
        self._key = secrets.token_bytes(32)
        self._inside: OrderedDict[str, float] = OrderedDict()
        # When and from where, the oldest first.
        self._failures: deque[tuple[float, str]] = deque(maxlen=self._TRIES_OF_ALL)
        self._lock = threading.Lock()

    @property
    def wanted(self) -> bool:
        return self._password is not None

    def new(self) -> str:
        return secrets.token_urlsafe(24)

    def mark(self, session: str) -> str:
        return hmac.new(self._key, session.encode(), sha256).hexdigest()

    def is_marked(self, session: str, mark: str) -> bool:
        return hmac.compare_digest(self.mark(session).encode(), mark.encode())

    def is_inside(self, session: str) -> bool:
        if self._password is None:
            return True
        with self._lock:
            return self._inside.get(session, 0.0) > monotonic()

    def enter(self, password: str, address: str) -> str | None:
        """A new session for the right password; None for a wrong one. TooManyTries after too many of those."""
        with self._lock:
            now = monotonic()
            while self._failures and now - self._failures[0][0] >= self._TRIES_WITHIN:
                self._failures.popleft()
            failed_here = sum(whence == address for _, whence in self._failures)
            if failed_here >= self._TRIES or len(self._failures) == self._TRIES_OF_ALL:
                raise TooManyTries
            if not hmac.compare_digest((self._password or "").encode(), password.encode()):
                self._failures.append((now, address))
                return None
            session = self.new()
            self._inside[session] = now + self._LASTS
            while len(self._inside) > self._MOST:
                self._inside.popitem(last=False)
            return session

    def leave(self, session: str) -> None:
        with self._lock:
            self._inside.pop(session, None)


class TooManyTries(Exception):
    """Wrong passwords came faster than a person types them."""
