"""What all parts of `KafkaAdminClient` stand on: one conversation at a time, errors by their names."""

from __future__ import annotations

from typing import Any, TypeVar

from moldau.client.background import Background
from moldau.client.conversation import Conversation
from moldau.client.exceptions import named
from moldau.client.network import ClientNetwork
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.errors.named import BY_CODE, IllegalStateError, NamedError

T = TypeVar("T")


class Asking:
    config: dict[str, Any]
    _background: Background
    _network: ClientNetwork
    _closed: bool

    def _ask(self, conversation: Conversation[T], timeout_ms: float | None = None) -> T:
        if self._closed:
            raise IllegalStateError("The admin client is closed.")
        timeout = (self.config["request_timeout_ms"] if timeout_ms is None else timeout_ms) / 1000
        try:
            return self._background.run(self._network, conversation, timeout)
        except MoldauError as error:
            raise named(error) from None


def or_raise(outcome: T | KafkaError) -> T:
    if isinstance(outcome, KafkaError):
        raise named(outcome)
    return outcome


def kind_of(error: KafkaError | None) -> type[NamedError]:
    """The class of an outcome, as kafka-python gives it; `NoError` where all is well."""
    return BY_CODE[ErrorCode.NONE if error is None else error.code]
