"""`/metrics`, `/live` and `/ready` over HTTP, where `metrics.listener` says.

All that is shown is put together in slices. Whoever asks while that is going on in the same form is given the same
answer: however many ask, no more than a few answers are being made.
"""

from __future__ import annotations

import logging
import zlib
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

from moldau import __version__
from moldau.deferred import Deferred
from moldau.links.addresses import Address, parse_address
from moldau.metrics.exposition import OPENMETRICS, PROMETHEUS, Family, gauge, render
from moldau.node.monitoring import (
    clients,
    cluster,
    connections,
    coordinators,
    disks,
    machine,
    partitions,
    quotas,
    share_groups,
)
from moldau.node.monitoring.elections import Elections
from moldau.node.monitoring.readiness import why_not_ready
from moldau.node.monitoring.requests import Requests
from moldau.server.http_listener import Asked, HttpListener, Page, text
from moldau.slicing import Work

if TYPE_CHECKING:
    from moldau.node.node import Node

logger = logging.getLogger("moldau.node")

# Quick, and a tenth of the size: every line begins like the one before.
_PACKING: Final = 1
_GZIP_WINDOW: Final = 31
# Kafka's numbers for what a broker is doing.
_STARTING, _RECOVERING, _RUNNING, _STOPPING = 1, 2, 3, 6


class Monitoring:
    def __init__(self, node: Node) -> None:
        self._node = node
        runtime = node.services.runtime
        self._runtime = runtime
        self._idleness = machine.LoopIdleness(runtime.loop, runtime.clock.monotonic())
        self._making: dict[tuple[bool, bool], Deferred[Page]] = {}
        self._listener: HttpListener | None = None
        self._elections = Elections()
        self._quorum_rates = cluster.QuorumRates(node.quorum, runtime.clock, self._leads)
        self._requests = Requests(node.server)

    def open(self, listener: str) -> None:
        """OSError if the address cannot be had."""
        if self._node.services.controller is not None:
            self._node.metadata.add_publisher(self._elections)
            self._node.metadata.add_publisher(self._quorum_rates)
        pages = {"/metrics": self._metrics, "/live": self._live, "/ready": self._ready}
        self._listener = HttpListener(self._runtime, pages)
        address = Address(*self._listener.listen(*parse_address(listener, lowest_port=0)))
        logger.info("metrics at http://%s/metrics", address)

    def close(self) -> None:
        if self._listener is not None:
            self._listener.close()

    def _leads(self) -> bool:
        controller = self._node.services.controller
        return controller is not None and controller.is_active

    def _live(self, _asked: Asked) -> Page:
        return text(200, "The node is alive.")

    def _ready(self, _asked: Asked) -> Page:
        reason = why_not_ready(self._node)
        return text(200, "The node is ready.") if reason is None else text(503, reason)

    def _metrics(self, asked: Asked) -> Page | Deferred[Page]:
        form = (
            OPENMETRICS.partition(";")[0] in asked.headers.get("accept", ""),
            "gzip" in asked.headers.get("accept-encoding", ""),
        )
        making = self._making.get(form)
        if making is not None:
            return making
        made = self._node.slicer.run(self._make(*form))
        if not isinstance(made, Deferred):
            return made
        self._making[form] = made
        made.then(lambda _page, _error: self._made(form))
        return made

    def _made(self, form: tuple[bool, bool]) -> None:
        del self._making[form]

    def _make(self, openmetrics: bool, packed: bool) -> Work[Page]:
        pieces = yield from render(self._families(), openmetrics=openmetrics)
        if packed:
            pieces = yield from _packed(pieces)
        return Page(200, OPENMETRICS if openmetrics else PROMETHEUS, pieces, "gzip" if packed else None)

    def _families(self) -> Iterator[Family | None]:
        node = self._node
        state = "What the broker is doing: 1 starting, 2 opening logs, 3 running, 6 stopping."
        yield gauge("kafka_server_kafkaserver_brokerstate", state, self._state())
        yield from machine.families(self._runtime, self._idleness, __version__)
        yield from connections.families(node.server)
        yield from self._requests.families(self._runtime.clock.monotonic())
        yield from cluster.of_quorum(node.quorum)
        yield from self._quorum_rates.families(node.controllers.said)
        yield from cluster.of_metadata(node.metadata.image)
        if node.services.controller is not None:
            yield from cluster.of_controller(node.services.controller, node.metadata.image)
            yield from self._elections.families()
        broker = node.broker
        if broker is not None:
            yield from connections.of_waiting(broker.replicas, node.services.fetch_sessions)
            yield from coordinators.of_groups(broker.groups)
            yield from share_groups.families(broker.share_partitions)
            yield from quotas.families(node.services.client_quotas)
            yield from coordinators.of_transactions(broker.transactions, self._runtime.clock.now_ms())
            yield from partitions.families(broker.replicas, node.logs)
            yield from clients.families(node.services.client_metrics)
            yield from disks.families(node.logs, broker.cleaner, self._runtime.clock)

    def _state(self) -> int:
        node = self._node
        if node.is_stopping:
            return _STOPPING
        if node.is_serving:
            return _RUNNING
        return _STARTING if node.is_loaded or node.broker is None else _RECOVERING


def _packed(pieces: list[bytes]) -> Work[list[bytes]]:
    packer = zlib.compressobj(_PACKING, wbits=_GZIP_WINDOW)
    packed: list[bytes] = []
    for piece in pieces:
        packed.append(packer.compress(piece))
        yield
    packed.append(packer.flush())
    return packed
