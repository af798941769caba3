"""What a console was started with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from moldau.client.cluster import Cluster

DEFAULT_LISTEN: Final = "127.0.0.1:9080"
PATIENCE: Final = 4.0


@dataclass(slots=True)
class ConsoleSettings:
    """`port` 0 becomes the one that was found; `connect` gives a new line to the cluster, under a client id."""

    host: str
    port: int
    bootstrap: str
    connect: Callable[[str], Cluster]
    read_only: bool = False
    # Asked for before anything is shown; None where nobody but this machine can come in.
    password: str | None = None
    # Names of this console beside those of this machine.
    allowed_hosts: tuple[str, ...] = ()
    # How often the cluster is looked at, in seconds.
    interval: float = 3.0
    # Files and directories in which runs of pipelines are looked for.
    pipelines: tuple[str, ...] = ()
    # How long a page may search records, in seconds; waits for an answer of the cluster grow with it.
    patience: float = PATIENCE
