"""Answers of the admin client: dictionaries with the protocol's names, whose entries are attributes as well.

And what else they hold: outcomes, raised or described.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar
from uuid import UUID

from moldau.client.exceptions import named
from moldau.errors import ErrorCode, KafkaError
from moldau.errors.named import BY_CODE, NamedError
from moldau.security.acl import Operation
from moldau.types import ZERO_UUID, Uuid

T = TypeVar("T")

# The answer of a broker that was not asked.
_NOT_ASKED = -(1 << 31)


class Answer(dict[str, Any]):
    """`answer["results"]` and `answer.results`: kafka-python gives dictionaries here and objects of the protocol there,
    aiokafka objects everywhere."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None


def answer(content: Mapping[str, Any]) -> Answer:
    """The same with attributes, down to the last entry."""
    return Answer({name: _inside(each) for name, each in content.items()})


def _inside(content: Any) -> Any:
    if isinstance(content, Mapping):
        return answer(content)
    return [_inside(each) for each in content] if isinstance(content, list) else content


def topic_id(raw: Uuid) -> str | None:
    return None if raw == ZERO_UUID else str(UUID(bytes=raw))


def operations(bits: int) -> list[str] | None:
    """What we may do, by name; None if the broker does not tell."""
    if bits == _NOT_ASKED:
        return None
    return [each.name for each in Operation if each > Operation.ALL and bits >> each & 1]


def described(error: KafkaError) -> str:
    """An error within an answer, as kafka-python writes it."""
    return f"[Error {int(error.code)}] {BY_CODE[error.code].__name__}: {error}"


def or_raise(outcome: T | KafkaError) -> T:
    if isinstance(outcome, KafkaError):
        raise named(outcome)
    return outcome


def kind_of(error: KafkaError | None) -> type[NamedError]:
    """The class of an outcome, as kafka-python gives it; `NoError` where all is well."""
    return BY_CODE[ErrorCode.NONE if error is None else error.code]
