"""What a request is to a page: the console behind it, who asks, what the address and the form say; and the answer.

A page is a plain function from a visit to a response, on a thread, because it may wait for the cluster. What it raises
becomes a page that says so.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final
from urllib.parse import parse_qsl, quote, unquote, urlencode

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from moldau.client.errors import NoBrokerAnswers
from moldau.console.avro import AvroSchema
from moldau.console.gate import LARGEST_BODY, Sessions
from moldau.console.links import Links
from moldau.console.rendering import Templates
from moldau.console.settings import ConsoleSettings
from moldau.console.snapshot import Snapshot
from moldau.console.views import visible
from moldau.console.watch import Watch
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.links.errors import ConnectionFailed, RequestTimedOut

logger = logging.getLogger("moldau.console")

_FIELDS: Final = 2000


class Refused(MoldauError):
    """What was asked for makes no sense, or may not be done; its text says why."""

    def __init__(self, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.status = status


@dataclass(slots=True)
class Console:
    settings: ConsoleSettings
    links: Links
    watch: Watch
    sessions: Sessions
    templates: Templates
    # Of the pages there are.
    addresses: frozenset[str] = frozenset()
    # Schemas that were given to read records by, by topic and part ("key", "value").
    schemas: dict[tuple[str, str], AvroSchema] = field(default_factory=dict)

    @property
    def cookie(self) -> str:
        # Browsers keep one jar for all ports of a host.
        return f"moldau-console-{self.settings.port}"


Handler = Callable[["Visit"], Response]


class Visit:
    def __init__(self, console: Console, request: Request, session: str, form: Mapping[str, list[str]]) -> None:
        self.console = console
        self.request = request
        self.session = session
        self._form = form

    # ------------------------------------------------------------------------------------------------- what is asked

    def query(self, name: str, default: str = "") -> str:
        return str(self.request.query_params.get(name, default))

    def number(self, name: str, default: int, least: int = 0, most: int = 1 << 62) -> int:
        text = self.query(name).strip().replace(",", "")
        return min(max(int(text), least), most) if text.isascii() and text.isdecimal() else default

    def path(self, name: str) -> str:
        return str(self.request.path_params[name])

    def form(self, name: str, default: str = "") -> str:
        return self._form.get(name, [default])[0]

    def forms(self, name: str) -> list[str]:
        return self._form.get(name, [])

    @property
    def fields(self) -> dict[str, str]:
        return {name: values[0] for name, values in self._form.items()}

    @property
    def posted(self) -> bool:
        return self.request.method == "POST"

    @property
    def client(self) -> str:
        """The address a request comes from: behind a proxy that of the proxy."""
        return "" if self.request.client is None else self.request.client.host

    def link(self, **changes: object) -> str:
        """The address of this page with some of its parameters changed; None takes one away."""
        kept = {name: value for name, value in self.request.query_params.items() if name not in changes}
        given = {name: str(value) for name, value in changes.items() if value is not None}
        together = {**kept, **given}
        return f"?{urlencode(together)}" if together else self.request.url.path

    # --------------------------------------------------------------------------------------------------- the cluster

    @property
    def links(self) -> Links:
        return self.console.links

    @property
    def snapshot(self) -> Snapshot:
        """What was last seen; Refused if nothing was seen yet, and the first look takes too long to wait for it."""
        if self.console.watch.snapshot is None:
            self.console.watch.wait_first(3.0)
        found = self.console.watch.snapshot
        if found is None:
            away = self.console.watch.away
            raise Refused(away.reason if away else "The console has just started, and looks at the cluster.", 503)
        return found

    def confirmed(self, name: str) -> None:
        """Refused unless the one who asks has typed the name of the thing, as it is or as it is shown."""
        if self.form("confirm").strip() not in (name.strip(), visible(name).strip()):
            raise Refused(f"Nothing was done: to confirm, type {name} exactly as it is written.")

    # ------------------------------------------------------------------------------------------------------- answers

    def page(self, template: str, title: str, status: int = 200, **context: Any) -> Response:
        said = unquote(self.request.cookies.get(f"{self.console.cookie}-said", ""))
        if "x-live" in self.request.headers:
            said = ""  # meant for the page that is being gone to, not for one that looks again
        watch = self.console.watch
        html = self.console.templates.render(
            template,
            {
                "visit": self,
                "title": title,
                "addresses": self.console.addresses,
                "path": self.request.url.path,
                "theme": self.request.cookies.get("moldau-theme", ""),
                "mark": self.console.sessions.mark(self.session),
                "read_only": self.console.settings.read_only,
                "login": self.console.sessions.wanted,
                "inside": self.console.sessions.is_inside(self.session),
                "cluster": watch.snapshot,
                "away": watch.away,
                "said": said[:500],
                **context,
            },
        )
        response = HTMLResponse(html, status)
        if said:
            response.delete_cookie(f"{self.console.cookie}-said")
        return response

    def go(self, address: str, said: str = "") -> Response:
        """Somewhere else, where `said` is read first."""
        response = RedirectResponse(address, 303)
        if said:
            response.set_cookie(
                f"{self.console.cookie}-said", quote(said[:500]), max_age=60, httponly=True, samesite="lax"
            )
        return response

    def done(self, address: str, said: str) -> Response:
        """The same after a change of the cluster: what was known before it is looked at again."""
        self.links.forget()
        self.console.watch.look_again()
        return self.go(address, said)


def address(path: str, **parameters: object) -> str:
    """The address of a page about something whose name may hold anything."""
    return f"{path}?{urlencode({name: str(value) for name, value in parameters.items()})}"


def endpoint(
    console: Console, handler: Handler, *, outside: bool = False, harmless: bool = False
) -> Callable[[Request], Any]:
    """`outside`: also for those who have not logged in; `harmless`: its form is taken in read-only mode as well."""

    async def answer(request: Request) -> Response:
        session = request.cookies.get(console.cookie, "")
        fresh = not 20 <= len(session) <= 64
        if fresh:
            session = console.sessions.new()
        visit = Visit(console, request, session, {})
        try:
            if request.method == "POST":
                visit = Visit(console, request, session, await _read_form(request))
                _check_form(visit, harmless=harmless)
            if not outside and not console.sessions.is_inside(session):
                response = visit.go(address("/login", next=request.url.path))
            else:
                console.watch.seen()
                response = await run_in_threadpool(_handled, handler, visit)
        except Refused as error:
            response = _failed(visit, str(error), error.status)
        if fresh:
            secure = request.url.scheme == "https"
            response.set_cookie(console.cookie, session, httponly=True, samesite="lax", secure=secure)
        return response

    return answer


def _handled(handler: Handler, visit: Visit) -> Response:
    try:
        return handler(visit)
    except Refused:
        raise
    except (NoBrokerAnswers, ConnectionFailed, RequestTimedOut) as error:
        return _failed(visit, str(error), 503)
    except KafkaError as error:
        missing = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.GROUP_ID_NOT_FOUND,
                   ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)  # fmt: skip
        return _failed(visit, str(error), 404 if error.code in missing else 409)
    except MoldauError as error:
        return _failed(visit, str(error), 503)
    except Exception:
        logger.exception("a page could not be made: %s", visit.request.url.path)
        return _failed(visit, "The console met something it did not expect; its log says what.", 500)


def _failed(visit: Visit, sentence: str, status: int) -> Response:
    title = {404: "Not there", 403: "Not allowed", 503: "No answer"}.get(status, "That did not work")
    return visit.page("error.html", title, status, sentence=sentence)


async def _read_form(request: Request) -> dict[str, list[str]]:
    if request.headers.get("content-type", "").partition(";")[0].strip() != "application/x-www-form-urlencoded":
        raise Refused("The console takes forms as a browser sends them.", 415)
    body = bytearray()
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_BODY:
            raise Refused("That is more than the console takes at once.", 413)
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=_FIELDS)
    except ValueError:
        raise Refused("The form cannot be read.") from None
    form: dict[str, list[str]] = {}
    for name, value in pairs:
        form.setdefault(name, []).append(value)
    return form


def _check_form(visit: Visit, *, harmless: bool) -> None:
    if not visit.console.sessions.is_marked(visit.session, visit.form("mark")):
        raise Refused(
            "This form is from before the console was started, or of another window; load the page again.", 403
        )
    if visit.console.settings.read_only and not harmless:
        raise Refused("This console shows, and changes nothing (--read-only).", 403)
