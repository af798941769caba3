"""Between a client's thread and the event loop: results one way, blocking calls the other."""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

T = TypeVar("T")

logger = logging.getLogger("moldau.client")


class Worker:
    """One thread for the calls of one client that may have to wait. In order, so a client never is used by two."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=1, thread_name_prefix=name)

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Runs it to its end even if whoever awaits it is cancelled: half a commit would be worse."""
        return await asyncio.shield(self.begin(function, *arguments))

    def begin(self, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """The same, to be waited for by whom it may concern."""
        return asyncio.get_running_loop().run_in_executor(self._executor, function, *arguments)

    def submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        """For calls nobody waits for; what goes wrong is worth a line in the log."""
        work = self._executor.submit(function, *arguments)
        work.add_done_callback(_log_failure)
        return work

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


def _log_failure(work: Future[Any]) -> None:
    error = work.exception()
    if error is not None:
        logger.error("a call on the client's own thread failed", exc_info=error)


def settle(future: asyncio.Future[Any], value: Any) -> None:
    if not future.done():
        future.set_result(value)


def fail(future: asyncio.Future[Any], error: BaseException) -> None:
    if not future.done():
        future.set_exception(error)
        # A future that is looked at by nobody must not complain about it when it is collected.
        future.exception()


def unsecured(settings: dict[str, Any]) -> None:
    """aiokafka names a SASL mechanism also where none is used, and programs repeat it: without SASL it says nothing."""
    if str(settings.get("security_protocol") or "PLAINTEXT").upper() in ("PLAINTEXT", "SSL"):
        settings.pop("sasl_mechanism", None)
