"""The console as a server: its pages on their addresses, behind the gate, in a process that Ctrl-C ends."""

from __future__ import annotations

import asyncio
import signal
import socket
from collections.abc import Callable, Generator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.routing import Mount, Route
from starlette.staticfiles import StaticFiles
from starlette.types import ASGIApp

from moldau.console.gate import Gate, Hosts, Sessions
from moldau.console.links import Links
from moldau.console.pages import PAGES
from moldau.console.pipelines import Pipelines
from moldau.console.rendering import PLACE, Templates
from moldau.console.settings import ConsoleSettings
from moldau.console.visits import Console, endpoint
from moldau.console.watch import Watch

# So many requests are under way at once; a page that waits for the cluster holds one of them.
_AT_ONCE = 200
_LAST_WORDS_SECONDS = 3


def application(console: Console) -> ASGIApp:
    routes: list[Route | Mount] = [
        Route(
            page.path,
            endpoint(console, page.handler, outside=page.outside, harmless=page.harmless),
            methods=["GET", "POST"],
        )
        for page in PAGES
    ]
    routes.append(Route("/live", _live))
    routes.append(Route("/favicon.ico", _icon))
    routes.append(Mount("/static", _Static(directory=PLACE / "static")))
    app = Starlette(routes=routes, exception_handlers={404: _missing})
    return Gate(app, Hosts(_names(console.settings)))


class _Static(StaticFiles):
    """Kept by browsers: the address changes with the content."""

    def file_response(self, *arguments: object, **options: object) -> Response:
        response = super().file_response(*arguments, **options)  # type: ignore[arg-type]
        response.headers["cache-control"] = "public, max-age=86400"
        return response


def serve(settings: ConsoleSettings, ready: Callable[[ConsoleSettings], None]) -> None:
    """Until it is told to end (SIGINT, SIGTERM); `ready` is called when it listens, with the port it has."""
    listening = _listen(settings)
    settings.port = listening.getsockname()[1]
    links = Links(settings.connect, settings.patience)
    watch = Watch(links.watching, settings.interval, Pipelines(settings.pipelines), links.slack)
    console = Console(settings, links, watch, Sessions(settings.password), Templates())
    console.addresses = frozenset(page.path for page in PAGES)
    config = uvicorn.Config(
        application(console),
        log_config=None,
        access_log=False,
        server_header=False,
        ws="none",
        http="h11",
        loop="asyncio",
        lifespan="off",
        limit_concurrency=_AT_ONCE,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_LAST_WORDS_SECONDS,
    )
    watch.start()
    try:
        asyncio.run(_run(_Server(config), listening, lambda: ready(settings)))
    finally:
        watch.close()
        links.close()
        listening.close()


class _Server(uvicorn.Server):
    """Signals are ours: uvicorn would end the process by the same signal after it has shut down."""

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        yield


async def _run(server: _Server, listening: socket.socket, ready: Callable[[], None]) -> None:
    def stop() -> None:
        server.should_exit = True

    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, stop)
    ready()
    await server.serve(sockets=[listening])


def _listen(settings: ConsoleSettings) -> socket.socket:
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    listening = socket.socket(family, socket.SOCK_STREAM)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((settings.host, settings.port))
        listening.listen(128)
    except OSError:
        listening.close()
        raise
    return listening


def _names(settings: ConsoleSettings) -> set[str]:
    own = socket.gethostname()
    return {"localhost", settings.host, own, own.partition(".")[0], *settings.allowed_hosts}


async def _live(request: Request) -> Response:
    return PlainTextResponse("the console is here\n")


async def _icon(request: Request) -> Response:
    return RedirectResponse("/static/icon.svg")


async def _missing(request: Request, error: Exception) -> Response:
    return (
        RedirectResponse("/", 303) if request.url.path == "/index.html" else PlainTextResponse("No such page.\n", 404)
    )
