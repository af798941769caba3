"""`AIOKafkaClient`: what the other asyncio clients stand on, for those who ask brokers themselves."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from types import TracebackType
from typing import Any

from moldau.aio.bridge import Worker, unsecured
from moldau.client.admin.face import KafkaAdminClient
from moldau.client.chance import randrange
from moldau.client.conversation import Ask, Conversation, Learn
from moldau.client.coordinators import CoordinatorType, find_coordinator
from moldau.client.metadata import ClusterView
from moldau.client.partitioner import ClusterMetadata
from moldau.errors.named import IllegalStateError
from moldau.links.versions import Request


class AIOKafkaClient:
    """Requests are those of `moldau.protocol.messages`; the version is chosen by what the broker offers."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop | None = None, **settings: Any) -> None:
        unsecured(settings)
        self._settings = {"bootstrap_timeout_ms": 5000, "request_timeout_ms": 40_000, **settings}
        self._client: KafkaAdminClient | None = None
        self._worker: Worker | None = None

    async def bootstrap(self) -> None:
        """Connects."""
        if self._client is None:
            self._worker = Worker("moldau-aio-client")
            try:
                self._client = await self._worker.open(lambda: KafkaAdminClient(**self._settings))
            except BaseException:
                self._worker.close()
                raise

    async def close(self) -> None:
        if self._client is not None and self._worker is not None:
            client, self._client = self._client, None
            if not self._worker.forked:
                await self._worker.run(client.close)
            self._worker.close()

    @property
    def cluster(self) -> ClusterMetadata:
        """What is known at this moment."""
        return ClusterMetadata(self._started()._session.network.view)

    @property
    def hosts(self) -> list[tuple[str, int]]:
        return [(address.host, address.port) for address in self._started()._session.network.bootstrap]

    def get_random_node(self) -> int | None:
        nodes = sorted(self._started()._session.network.view.brokers)
        return nodes[randrange(len(nodes))] if nodes else None

    async def fetch_all_metadata(self) -> ClusterMetadata:
        """All topics, asked anew."""
        return ClusterMetadata(await self._ask(_learn(None)))

    async def force_metadata_update(self) -> bool:
        await self._ask(_learn(()))
        return True

    async def add_topic(self, topic: str) -> bool:
        """Learns of a topic; whether it is there."""
        view: ClusterView = await self._ask(_learn((topic,)))
        found = view.topics.get(topic)
        return found is not None and bool(found.partitions)

    async def set_topics(self, topics: Iterable[str]) -> bool:
        """Learns of these topics."""
        await self._ask(_learn(tuple(topics)))
        return True

    async def ready(self, node_id: int) -> bool:
        """Whether the broker is known."""
        return node_id in self._started()._session.network.view.brokers

    async def send(self, node_id: int, request: Request) -> Any:
        """One request to one broker; its answer, as it came."""
        return await self._ask(_one(node_id, request))

    async def coordinator_lookup(self, coordinator_type: int, coordinator_key: str) -> int:
        """The node that looks after a group (0) or a transactional id (1)."""
        found: int = await self._ask(find_coordinator(coordinator_key, CoordinatorType(coordinator_type)))
        return found

    async def __aenter__(self) -> AIOKafkaClient:
        await self.bootstrap()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def _started(self) -> KafkaAdminClient:
        if self._client is None:
            raise IllegalStateError("The client is not started.")
        return self._client

    async def _ask(self, conversation: Conversation[Any]) -> Any:
        client = self._started()
        assert self._worker is not None
        return await self._worker.run(client._session.ask, conversation)


def _learn(topics: tuple[str, ...] | None) -> Conversation[ClusterView]:
    view: ClusterView = yield Learn(topics, anew=True)
    return view


def _one(node_id: int, request: Request) -> Conversation[Any]:
    return (yield Ask(request, to=node_id))
