"""`AIOKafkaAdminClient`: the operations of `KafkaAdminClient`, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from types import TracebackType
from typing import Any

from moldau.aio.bridge import Worker
from moldau.client.admin.face import KafkaAdminClient
from moldau.client.exceptions import IllegalStateError


class AIOKafkaAdminClient:
    """Every method of `KafkaAdminClient` is here as a coroutine of the same name."""

    def __init__(self, *, loop: asyncio.AbstractEventLoop | None = None, **settings: Any) -> None:
        settings.setdefault("bootstrap_timeout_ms", 5000)
        self._settings = settings
        self._client: KafkaAdminClient | None = None
        self._worker: Worker | None = None

    async def start(self) -> None:
        if self._client is not None:
            return
        self._worker = Worker("moldau-aio-admin")
        try:
            self._client = await self._worker.run(lambda: KafkaAdminClient(**self._settings))
        except BaseException:
            self._worker.close()
            raise

    async def close(self) -> None:
        if self._client is None or self._worker is None:
            return
        client, self._client = self._client, None
        await self._worker.run(client.close)
        self._worker.close()

    def __getattr__(self, name: str) -> Callable[..., Coroutine[Any, Any, Any]]:
        if name.startswith("_") or not callable(getattr(KafkaAdminClient, name, None)):
            raise AttributeError(name)

        async def call(*arguments: Any, **options: Any) -> Any:
            if self._client is None or self._worker is None:
                raise IllegalStateError("The admin client is not started.")
            method = getattr(self._client, name)
            return await self._worker.run(lambda: method(*arguments, **options))

        return call

    async def __aenter__(self) -> AIOKafkaAdminClient:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
