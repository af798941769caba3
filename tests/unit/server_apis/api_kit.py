"""Requests through the handlers, with everything that happens to them on the wire.

A request is encoded at its version and decoded again, handled, and the answer encoded and decoded: so a handler that
sets a field its version does not have, or forgets one that may not be null, is caught.
"""

from __future__ import annotations

from collections.abc import Callable
from types import GeneratorType
from typing import Any, TypeVar

from controller_kit import CLUSTER, SeededRandom, World

from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.links.addresses import Address
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.metadata.producer_id_pool import ProducerIdPool
from moldau.protocol.api import RESPONSES
from moldau.protocol.message import Message
from moldau.security.principal import ANONYMOUS, Principal
from moldau.server.apis.table import CONTROLLER_APIS
from moldau.server.context import RequestContext, Services
from moldau.server.controller_channel import ControllerChannel
from moldau.server.dispatch import Api, DispatchTable
from moldau.slicing import Slicer, run_whole

R = TypeVar("R", bound=Message)


class OneListener:
    """As much of a connection as a handler looks at."""

    def __init__(self, listener_name: str, table: DispatchTable | None = None) -> None:
        self.table = table
        self.listener_name = listener_name
        self.peer = ("127.0.0.1", 50000)
        self.principal: Principal = ANONYMOUS


class OnlyRandom:
    random = SeededRandom()


class NoLogs:
    """Every partition is as open as it will ever be."""

    def get(self, topic: str, index: int) -> None: ...


class OtherNodes:
    """The peers of the node: `asked` holds what was sent to whom, with the answer that the test settles."""

    def __init__(self) -> None:
        self.addresses: dict[int, Address] = {}
        self.asked: list[tuple[Address, Any, Deferred[Any]]] = []
        self.forgotten: list[tuple[Address, str]] = []
        self.watched: dict[str, Callable[[], None]] = {}

    def ask(self, address: Address, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        self.asked.append((address, request, answer))
        return answer

    def forget(self, address: Address, line: str) -> None:
        self.forgotten.append((address, line))

    def watch(self, line: str, lost: Callable[[], None]) -> None:
        self.watched[line] = lost


class ApiWorld(World):
    def __init__(self, properties: dict[str, str] | None = None, **fields: Any) -> None:
        super().__init__(properties, **fields)
        services = self.services = Services()
        services.config = self.config
        services.runtime = OnlyRandom()  # type: ignore[assignment]
        services.slicer = Slicer(self.loop, self.clock)
        services.cluster_id = CLUSTER
        services.node_id = 1
        services.metadata = self.loader
        services.controller = self.controller
        services.quorum = self.quorum
        self.others = OtherNodes()
        services.controller_channel = ControllerChannel(
            services,
            DispatchTable(CONTROLLER_APIS, services),
            self.quorum,
            lambda node_id: self.others.addresses.get(node_id),
            self.others,  # type: ignore[arg-type]
            self.clock,
            self.loop,
            SeededRandom(),
        )
        services.replicas = NoLogs()  # type: ignore[assignment]
        services.producer_ids = ProducerIdPool(
            lambda: self.controller.allocate_producer_ids(1, self.image.cluster.brokers[1].epoch)
        )
        self.loader.add_publisher(self)
        # Who asks, unless somebody says otherwise.
        self.principal: Principal = ANONYMOUS
        # Seconds that pass before an answer is looked at, where nobody is there to give it.
        self.patience = 0.0

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """As the node does it: handlers see the settings that hold now."""
        self.services.config = self.config.with_dynamic(image.configs.broker(None), image.configs.broker(1))

    def call(
        self,
        api: Api,
        request: Message,
        version: int,
        *,
        listener: str = "PLAINTEXT",
        table: DispatchTable | None = None,
    ) -> Any:
        """The response as a client decodes it."""
        decoded = api.request.decode(request.encode(version), version)
        try:
            answer: Any = self.begin(api, decoded, version, listener=listener, table=table)
            if isinstance(answer, Deferred):
                self.loop.advance(self.patience)
                answer = self.settle(answer)
        except KafkaError as error:
            assert api.error_response is not None
            answer = api.error_response(decoded, version, error)
        assert answer is not None
        return RESPONSES[api.key].decode(answer.encode(version), version)

    def begin(
        self,
        api: Api,
        request: Message,
        version: int,
        *,
        listener: str = "PLAINTEXT",
        table: DispatchTable | None = None,
    ) -> Any:
        """What the handler returns; raises what it raises."""
        connection: Any = OneListener(listener, table)
        connection.principal = self.principal
        answer = api.handler(RequestContext(connection, self.services, api.key, version, 7, "client"), request)
        return run_whole(answer) if isinstance(answer, GeneratorType) else answer


def versions(api: Api) -> range:
    return range(api.request.MIN_VERSION, api.request.MAX_VERSION + 1)
