"""Between a client's threads and the event loop: results one way, blocking calls the other."""

from __future__ import annotations

import asyncio
import logging
import os
from collections import deque
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, Protocol, TypeVar

from moldau.errors.named import IllegalStateError

T = TypeVar("T")

logger = logging.getLogger("moldau.client")

# Calls of one client that may wait side by side: one that takes long (a flush) must not hold up all others, and a
# listener that awaits something while the client is being closed must find somebody to do it.
_THREADS: Final = 8


class Closable(Protocol):
    def close(self) -> None: ...


C = TypeVar("C", bound=Closable)


class Worker:
    """Threads for the calls of one client that may have to wait; each starts when it is needed."""

    def __init__(self, name: str) -> None:
        self._executor = ThreadPoolExecutor(max_workers=_THREADS, thread_name_prefix=name)
        self._under_way: set[Future[Any]] = set()
        self._process = os.getpid()

    @property
    def forked(self) -> bool:
        """Whether this is the child of a fork, where there are no such threads."""
        return os.getpid() != self._process

    async def run(self, function: Callable[..., T], *arguments: Any) -> T:
        """Runs it to its end even if whoever awaits it is cancelled: half a commit would be worse."""
        return await asyncio.shield(asyncio.wrap_future(self._submit(function, *arguments)))

    async def open(self, make: Callable[[], C]) -> C:
        """Makes a client. If whoever awaits that is cancelled it is closed as soon as it stands, and nobody waits."""
        making = self._submit(make)
        try:
            return await asyncio.shield(asyncio.wrap_future(making))
        except asyncio.CancelledError:
            making.add_done_callback(_close_again)
            raise

    def begin(self, function: Callable[..., Any], *arguments: Any) -> None:
        """For calls nobody waits for."""
        self._submit(function, *arguments).add_done_callback(log_failure)

    def close(self) -> None:
        """At once: what is still under way ends by itself, and its thread with it."""
        if not self.forked:
            self._executor.shutdown(wait=not self._under_way)

    def _submit(self, function: Callable[..., Any], *arguments: Any) -> Future[Any]:
        if self.forked:
            raise IllegalStateError("The client was made before a fork, by the parent process; make one here.")
        work = self._executor.submit(function, *arguments)
        self._under_way.add(work)
        work.add_done_callback(self._under_way.discard)
        return work


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


def _close_again(making: Future[Any]) -> None:
    if not making.cancelled() and making.exception() is None:
        making.result().close()


def log_failure(work: Future[Any]) -> None:
    """For calls nobody waits for; what goes wrong is worth a line in the log."""
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
