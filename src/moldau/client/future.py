"""Futures as kafka-python has them: callbacks, errbacks, and values that may be looked at from any thread."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Generator
from functools import partial
from typing import Any

from moldau.client.waiting import Latch
from moldau.errors import KafkaError
from moldau.errors.named import KafkaTimeoutError

logger = logging.getLogger("moldau.client")


class Future:
    """Settled once. Callbacks run on the thread that settles it, or at once if that has happened."""

    def __init__(self) -> None:
        self.is_done = False
        self.value: Any = None
        self.exception: BaseException | None = None
        self._callbacks: list[tuple[Callable[[Any], Any], bool]] = []
        self._event = Latch()
        self._lock = threading.Lock()

    def succeeded(self) -> bool:
        return self.is_done and self.exception is None

    def failed(self) -> bool:
        return self.is_done and self.exception is not None

    def retriable(self) -> bool:
        return isinstance(self.exception, KafkaError) and self.exception.retriable

    def success(self, value: Any) -> Future:
        return self._settle(value, None)

    def failure(self, error: BaseException | type[BaseException]) -> Future:
        return self._settle(None, error() if isinstance(error, type) else error)

    def get(self, timeout: float | None = None) -> Any:
        """Waits for the value; KafkaTimeoutError after `timeout` seconds."""
        if not self._event.wait(timeout):
            raise KafkaTimeoutError(f"There was no answer in {timeout} seconds.")
        if self.exception is not None:
            raise self.exception
        return self.value

    def settles(self, timeout: float) -> bool:
        """Whether it is settled within this time, one way or the other."""
        return self._event.wait(timeout)

    def add_callback(self, callback: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """`callback(value)` on success; further arguments are put in front."""
        return self._add(bound(callback, arguments, options), False)

    def add_errback(self, errback: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        """`errback(exception)` on failure."""
        return self._add(bound(errback, arguments, options), True)

    def add_both(self, callback: Callable[..., Any], *arguments: Any, **options: Any) -> Future:
        return self.add_callback(callback, *arguments, **options).add_errback(callback, *arguments, **options)

    def chain(self, future: Future) -> Future:
        return self.add_callback(future.success).add_errback(future.failure)

    def __await__(self) -> Generator[Any, None, Any]:
        if not self.is_done:
            yield self
        if self.exception is not None:
            raise self.exception
        return self.value

    def _add(self, callback: Callable[[Any], Any], on_error: bool) -> Future:
        with self._lock:
            if not self.is_done:
                self._callbacks.append((callback, on_error))
                return self
        if (self.exception is not None) is on_error:
            run(callback, self.exception if on_error else self.value)
        return self

    def _settle(self, value: Any, error: BaseException | None) -> Future:
        with self._lock:
            if self.is_done:
                return self
            self.value, self.exception, self.is_done = value, error, True
            callbacks, self._callbacks = self._callbacks, []
        self._event.set()
        for callback, on_error in callbacks:
            if (error is not None) is on_error:
                run(callback, error if on_error else value)
        return self


def bound(callback: Callable[..., Any], arguments: tuple[Any, ...], options: dict[str, Any]) -> Callable[[Any], Any]:
    return partial(callback, *arguments, **options) if arguments or options else callback


def run(callback: Callable[[Any], Any], value: Any) -> None:
    """A callback that fails must not take the network's thread with it."""
    try:
        callback(value)
    except Exception:
        logger.exception("a callback of a future failed")
