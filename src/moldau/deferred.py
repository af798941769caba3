"""A value that comes later, on the same thread: what a handler returns when its answer has to wait.

Below the class stand the small steps by which one such value becomes another.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Generic, TypeVar, cast

from moldau.errors import KafkaError

T = TypeVar("T")
U = TypeVar("U")


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


def ready(value: T) -> Deferred[T]:
    answer: Deferred[T] = Deferred()
    answer.resolve(value)
    return answer


def failed(error: BaseException) -> Deferred[T]:
    answer: Deferred[T] = Deferred()
    answer.fail(error)
    return answer


def pass_on(result: T | Deferred[T], answer: Deferred[T]) -> None:
    """Settles `answer` as `result` is settled, or at once if it is no later value."""
    if isinstance(result, Deferred):
        result.then(lambda value, error: answer.resolve(cast(T, value)) if error is None else answer.fail(error))
    else:
        answer.resolve(result)


def settle(answer: Deferred[T], build: Callable[[], T | Deferred[T]]) -> None:
    """Settles `answer` with what is built, or with the failure to do so: whoever asked is told, and nobody else."""
    try:
        result = build()
    except Exception as error:
        answer.fail(error)
        return
    pass_on(result, answer)


def mapped(source: Deferred[T], change: Callable[[T], U]) -> Deferred[U]:
    answer: Deferred[U] = Deferred()

    def settled(value: T | None, error: BaseException | None) -> None:
        if error is None:
            answer.resolve(change(cast(T, value)))
        else:
            answer.fail(error)

    source.then(settled)
    return answer


def chained(first: Deferred[U], then: Callable[[], Deferred[T]]) -> Deferred[T]:
    """What `then` answers, once the first is there; if that fails, `then` is never asked."""
    answer: Deferred[T] = Deferred()

    def settled(_: U | None, error: BaseException | None) -> None:
        if error is None:
            pass_on(then(), answer)
        else:
            answer.fail(error)

    first.then(settled)
    return answer


def recovered(source: Deferred[T], build: Callable[[KafkaError], T]) -> Deferred[T]:
    """A refusal becomes a response that says so; anything else is a fault and stays one."""
    answer: Deferred[T] = Deferred()

    def settled(value: T | None, error: BaseException | None) -> None:
        if error is None:
            answer.resolve(cast(T, value))
        elif isinstance(error, KafkaError):
            answer.resolve(build(error))
        else:
            answer.fail(error)

    source.then(settled)
    return answer


def gather(sources: Sequence[Deferred[T]]) -> Deferred[list[T]]:
    """All values in their order, when the last one is there; the first failure fails it."""
    answer: Deferred[list[T]] = Deferred()
    values: list[T | None] = [None] * len(sources)
    missing = len(sources)
    if not sources:
        answer.resolve([])

    def collect(index: int) -> Callable[[T | None, BaseException | None], None]:
        def settled(value: T | None, error: BaseException | None) -> None:
            nonlocal missing
            missing -= 1
            values[index] = value
            if answer.settled:
                return
            if error is not None:
                answer.fail(error)
            elif not missing:
                answer.resolve(cast("list[T]", values))

        return settled

    for index, source in enumerate(sources):
        source.then(collect(index))
    return answer
