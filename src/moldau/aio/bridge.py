"""Between a client's thread and the event loop: results one way, blocking calls the other."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")


class Worker:
    """One thread for the calls of one client that may have to wait. In order, so a client never is used by two."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Runs it to its end even if whoever awaits it is cancelled: half a commit would be worse."""
        work = asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)
        return await asyncio.shield(work)

    def close(self) -> None:
        self._executor.shutdown(wait=True)


class Mailbox:
    """Calls for the event loop from another thread. Many of them wake it once: a batch of ten thousand records is
    acknowledged in one go, and its futures are settled in one turn of the loop."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._calls: deque[tuple[Callable[..., Any], tuple[Any, ...]]] = deque()
        self._woken = False

    def put(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._calls.append((function, arguments))
        # Set after the append and cleared before the drain: a call is never left without a wake-up.
        if not self._woken:
            self._woken = True
            try:
                self._loop.call_soon_threadsafe(self._drain)
            except RuntimeError:
                pass  # the loop is closed, and nobody waits there any more

    def _drain(self) -> None:
        self._woken = False
        for _ in range(len(self._calls)):
            function, arguments = self._calls.popleft()
            function(*arguments)


def settle(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
        # A future that is looked at by nobody must not complain about it when it is collected.
        future.exception()
