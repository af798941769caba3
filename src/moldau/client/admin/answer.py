"""Answers of the admin client: dictionaries with the protocol's names, whose entries are attributes as well."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from uuid import UUID

from moldau.client.admin.acls import ACLOperation
from moldau.errors import KafkaError
from moldau.errors.named import BY_CODE
from moldau.types import ZERO_UUID, Uuid

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
    return [each.name for each in ACLOperation if each > ACLOperation.ALL and bits >> each & 1]


def described(error: KafkaError) -> str:
    """An error within an answer, as kafka-python writes it."""
    return f"[Error {int(error.code)}] {BY_CODE[error.code].__name__}: {error}"
