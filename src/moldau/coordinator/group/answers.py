"""Small steps on Deferred values: the answer of a shard becomes the answer to a request."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar, cast

from moldau.deferred import Deferred
from moldau.errors import KafkaError

T = TypeVar("T")
U = TypeVar("U")


def ready(value: T) -> Deferred[T]:
    answer: Deferred[T] = Deferred()
    answer.resolve(value)
    return answer


def mapped(source: Deferred[T], change: Callable[[T], U]) -> Deferred[U]:
    answer: Deferred[U] = Deferred()

    def settled(value: T | None, error: BaseException | None) -> None:
        if error is None:
            answer.resolve(change(cast(T, value)))
        else:
            answer.fail(error)

    source.then(settled)
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
