"""`AIOKafkaAdminClient`: the operations of `KafkaAdminClient`, awaited."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Coroutine, Iterable
from functools import wraps
from types import TracebackType
from typing import TYPE_CHECKING, Any

from moldau.aio.bridge import Worker, unsecured
from moldau.client.admin.face import KafkaAdminClient
from moldau.client.admin.objects import ConfigResource
from moldau.errors.named import IllegalStateError


class AIOKafkaAdminClient:
    """Every method of `KafkaAdminClient` is here as a coroutine of the same name."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop | None = None, **settings: Any) -> None:
        unsecured(settings)
        settings.setdefault("bootstrap_timeout_ms", 5000)
        settings.setdefault("request_timeout_ms", 40_000)
        self._settings = settings
        self._client: KafkaAdminClient | None = None
        self._worker: Worker | None = None

    async def start(self) -> None:
        if self._client is not None:
            return
        self._worker = Worker("moldau-aio-admin")
        try:
            self._client = await self._worker.open(lambda: KafkaAdminClient(**self._settings))
        except BaseException:
            self._worker.close()
            raise

    async def close(self) -> None:
        if self._client is None or self._worker is None:
            return
        client, self._client = self._client, None
        if not self._worker.forked:
            await self._worker.run(client.close)
        self._worker.close()

    async def describe_configs(
        self, config_resources: Iterable[ConfigResource], include_synonyms: bool = False, config_filter: Any = "all"
    ) -> dict[str, dict[str, dict[str, Any]]]:
        """All settings, as aiokafka describes them, not only those that were changed."""
        client, worker = self._started()
        described: dict[str, dict[str, dict[str, Any]]] = await worker.run(
            client.describe_configs, list(config_resources), include_synonyms, config_filter
        )
        return described

    def _started(self) -> tuple[KafkaAdminClient, Worker]:
        if self._client is None or self._worker is None:
            raise IllegalStateError("The admin client is not started.")
        return self._client, self._worker

    if TYPE_CHECKING:

        def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]: ...

    async def __aenter__(self) -> AIOKafkaAdminClient:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _awaited(name: str, method: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(method)
    async def call(self: AIOKafkaAdminClient, *arguments: Any, **options: Any) -> Any:
        client, worker = self._started()
        return await worker.run(lambda: getattr(client, name)(*arguments, **options))

    return call


for _name, _method in inspect.getmembers(KafkaAdminClient, inspect.isfunction):
    if not _name.startswith("_") and not hasattr(AIOKafkaAdminClient, _name):
        setattr(AIOKafkaAdminClient, _name, _awaited(_name, _method))
