"""What the parts of a client have in common: its settings, its thread and network, one conversation at a time.

A face (`KafkaConsumer`, `KafkaAdminClient`) holds a session and parts that were given it. `delegated` makes the method
of a part one of the face, with its signature and its words.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from moldau.client.conversation import Conversation
from moldau.client.exceptions import named
from moldau.client.settings import bootstrap, open_network
from moldau.errors import MoldauError
from moldau.errors.named import IllegalStateError

T = TypeVar("T")
P = ParamSpec("P")


class Session:
    """`called` is what the client is in sentences."""

    def __init__(self, config: dict[str, Any], kind: str, called: str) -> None:
        self.config = config
        self.closed = True
        self._called = called
        self.background, self.network = open_network(config, kind)

    def open(self) -> None:
        """Waits until the cluster is found."""
        bootstrap(self.background, self.network, self.config["bootstrap_timeout_ms"] / 1000)
        self.closed = False

    @property
    def timeout(self) -> float:
        """Of a request, in seconds."""
        return float(self.config["request_timeout_ms"]) / 1000

    def check_open(self) -> None:
        self.background.check_process()
        if self.closed:
            raise IllegalStateError(f"The {self._called} is closed.")

    def ask(self, conversation: Conversation[T], timeout_ms: float | None = None) -> T:
        self.check_open()
        timeout = self.timeout if timeout_ms is None else timeout_ms / 1000
        try:
            return self.background.run(self.network, conversation, timeout)
        except MoldauError as error:
            raise named(error) from None


def delegated(part: str, method: Callable[Concatenate[Any, P], T]) -> Callable[Concatenate[Any, P], T]:
    """A method of the face that is one of its part."""

    @wraps(method)
    def call(self: Any, /, *arguments: P.args, **options: P.kwargs) -> T:
        return method(getattr(self, part), *arguments, **options)

    return call
