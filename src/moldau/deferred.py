"""A value that comes later, on the same thread: what a handler returns when its answer has to wait."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

T = TypeVar("T")


class Deferred(Generic[T]):
    """Settled once, with a value or with an exception; callbacks run at once, in the order they were added.

    Not a future: nothing blocks on it and no thread is involved, so it costs one small object on the request path.
    """

    __slots__ = ("_callbacks", "_error", "_settled", "_value")

    def __init__(self) -> None:
        self._settled = False
        self._value: T | None = None
        self._error: BaseException | None = None
        self._callbacks: list[Callable[[T | None, BaseException | None], None]] = []

    @property
    def settled(self) -> bool:
        return self._settled

    def resolve(self, value: T) -> None:
        self._settle(value, None)

    def fail(self, error: BaseException) -> None:
        self._settle(None, error)

    def then(self, callback: Callable[[T | None, BaseException | None], None]) -> None:
        """Calls `callback(value, error)` when settled, or now if that has already happened."""
        if self._settled:
            callback(self._value, self._error)
        else:
            self._callbacks.append(callback)

    def _settle(self, value: T | None, error: BaseException | None) -> None:
        if self._settled:
            raise RuntimeError("a deferred value was settled twice")
        self._settled, self._value, self._error = True, value, error
        callbacks, self._callbacks = self._callbacks, []
        for callback in callbacks:
            callback(value, error)
