"""`moldau console`: a page in the browser that shows a cluster, and acts on it."""

from __future__ import annotations

import secrets
import sys
from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING, Any

from moldau.cli.arguments import checked
from moldau.cli.connection import add_connection, client_properties, first_line
from moldau.cli.failure import FAILED, USAGE, Failure
from moldau.quantities import parse_duration

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster
    from moldau.console.settings import ConsoleSettings

_EPILOG = """\
examples:
  moldau console                                            http://127.0.0.1:9080, for the cluster at 127.0.0.1:9092
  moldau console --bootstrap kafka-1:9092 --read-only
  moldau console --listen 0.0.0.0:9080 --login-file password --config client.properties

Where it does not listen for this machine alone it asks for the first line of --login-file, or for a token that is
printed at the start. It speaks HTTP: put a proxy with TLS in front where the network is not yours."""

_LOOPBACK = ("127.0.0.1", "::1", "localhost")


def configure(parser: ArgumentParser) -> None:
    parser.description = "Serve a page that shows a cluster, ours or Apache Kafka's, and acts on it as a client."
    parser.epilog = _EPILOG
    parser.add_argument(
        "--listen",
        metavar="HOST:PORT",
        default="127.0.0.1:9080",
        help="where (default 127.0.0.1:9080; port 0: a free one)",
    )
    parser.add_argument("--read-only", action="store_true", help="show, and change nothing")
    parser.add_argument("--login-file", metavar="FILE", help="ask for the password in its first line")
    parser.add_argument(
        "--allow-host", metavar="NAME", action="append", default=[], help="a further name of this console; repeatable"
    )
    parser.add_argument(
        "--interval",
        metavar="TIME",
        type=checked(parse_duration),
        default=3.0,
        help="how often the cluster is looked at (default 3s)",
    )
    parser.add_argument(
        "--patience",
        metavar="TIME",
        type=checked(parse_duration),
        default=4.0,
        help="how long a page may search records; waits for the cluster grow with it (default 4s)",
    )
    parser.add_argument(
        "--pipelines",
        metavar="PATH",
        action="append",
        default=[],
        help="a directory where checkpoints of pipelines lie, or a NAME.status.json of one; repeatable",
    )
    add_connection(parser)
    parser.set_defaults(run=run)


def run(options: Namespace) -> None:
    from moldau.client.cluster import Cluster
    from moldau.console.settings import ConsoleSettings

    try:
        from moldau.console.server import serve
    except ModuleNotFoundError as error:
        if error.name is None or error.name.startswith("moldau"):
            raise
        raise Failure(
            f'The console needs packages that are not here ({error.name}): pip install "moldau[console]".', FAILED
        ) from None

    properties, security = client_properties(options)
    host, port = _address(options.listen)
    password = None
    if options.login_file is not None:
        password = first_line(options.login_file)
    elif host not in _LOOPBACK:
        password = secrets.token_urlsafe(18)

    def connect(client_id: str) -> Cluster:
        return Cluster(
            properties["bootstrap.servers"],
            client_id=client_id,
            timeout=options.timeout,
            connect_timeout=min(options.timeout, 5.0),
            security=security,
        )

    serve(
        ConsoleSettings(
            host,
            port,
            properties["bootstrap.servers"],
            connect,
            options.read_only,
            password,
            tuple(options.allow_host),
            max(options.interval, 0.5),
            tuple(options.pipelines),
            min(max(options.patience, 0.5), 600.0),
        ),
        lambda settings: _say_where(settings, printed=options.login_file is None),
    )


def _address(text: str) -> tuple[str, int]:
    host, colon, port = text.rpartition(":")
    if not colon or not port.isdecimal() or int(port) > 65535 or not host:
        raise Failure(f"--listen takes HOST:PORT, not {text!r}.", USAGE)
    return host.removeprefix("[").removesuffix("]"), int(port)


def _say_where(settings: ConsoleSettings, *, printed: bool) -> None:
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    host = "127.0.0.1" if host in ("0.0.0.0", "[::]") else host
    address = f"http://{host}:{settings.port}/"
    if settings.password is not None and printed:
        address += f"login#{settings.password}"
    print(f"The console is at {address}")
    _note(settings)
    sys.stdout.flush()


def _note(settings: ConsoleSettings) -> None:
    words: list[Any] = [f"It shows the cluster at {settings.bootstrap}"]
    if settings.read_only:
        words.append("read-only")
    print(f"{', '.join(words)}; Ctrl-C ends it.")
