from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from server_harness import RunningServer

from moldau.server.dispatch import Api


@pytest.fixture
def serve() -> Iterator[Callable[..., RunningServer]]:
    """Starts servers: `serve(apis..., **{"property.name": value})`."""
    started: list[RunningServer] = []

    def start(*apis: Api, **properties: str) -> RunningServer:
        server = RunningServer(apis, {name.replace("_", "."): str(value) for name, value in properties.items()})
        started.append(server)
        return server

    yield start
    for server in started:
        server.close()
