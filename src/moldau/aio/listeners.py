"""What an application hangs into a consumer, called on its event loop while the thread that calls waits."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterable
from contextvars import ContextVar
from typing import Any, Final

# How long is waited for a listener that does not return; or max_poll_interval_ms, if that is longer.
LISTENER_LIMIT: Final = 30.0

# The call of a listener that a task belongs to: its own, or that of the task which began it, as `wait_for` does.
_call: ContextVar[object] = ContextVar("moldau-listener", default=None)


class Listeners:
    """`loop` is set when the consumer starts. Knows who is within a listener: these must not wait for what waits for
    them."""

    def __init__(self, limit: float) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self._limit = max(LISTENER_LIMIT, limit)
        self._calls: set[object] = set()

    @property
    def under_way(self) -> bool:
        return bool(self._calls)

    @property
    def in_one(self) -> bool:
        """Whether whoever asks is within a listener."""
        return _call.get() in self._calls

    def call(self, function: Callable[..., Any], *arguments: Any) -> Any:
        """From another thread: the outcome, of a coroutine after its end."""
        assert self.loop is not None
        return asyncio.run_coroutine_threadsafe(self._listen(function, arguments), self.loop).result(self._limit)

    async def _listen(self, function: Callable[..., Any], arguments: tuple[Any, ...]) -> Any:
        call = object()
        self._calls.add(call)
        _call.set(call)
        try:
            said = function(*arguments)
            return await said if inspect.isawaitable(said) else said
        finally:
            self._calls.discard(call)


class OnLoop:
    """Somebody whose methods are called that way; only those named, and of these only those it has."""

    def __init__(self, listeners: Listeners, listener: Any, methods: Iterable[str]) -> None:
        for name in methods:
            method = getattr(listener, name, None)
            if method is not None:
                setattr(self, name, _hook(listeners, method))


def _hook(listeners: Listeners, method: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *arguments: listeners.call(method, *arguments)
