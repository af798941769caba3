"""Operations that belong to a coordinator: find it, ask it, and find it again when it has moved."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import IntEnum
from typing import Any, Final

from moldau.client.conversation import Ask, Conversation, Learn, Pause
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.links.errors import ConnectionFailed, RequestTimedOut
from moldau.links.versions import ByVersion
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

# From here on FindCoordinator takes several keys at once.
_SEVERAL_KEYS: Final = 4

# A coordinator keeps a join until the whole group is there, so it is asked over a connection of its own.
CHANNEL: Final = "coordinator"

# Codes that say: somebody else, or not yet.
MOVED: Final = frozenset(
    {
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.BROKER_NOT_AVAILABLE,
    }
)


class CoordinatorType(IntEnum):
    GROUP = 0
    TRANSACTION = 1


def find_coordinator(key: str, kind: CoordinatorType) -> Conversation[int]:
    """The node; KafkaError when nobody coordinates the key at the moment."""

    def build(version: int) -> FindCoordinatorRequest:
        if version >= _SEVERAL_KEYS:
            return FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
        if version == 0:
            return FindCoordinatorRequest(key=key)
        return FindCoordinatorRequest(key=key, key_type=kind)

    response: FindCoordinatorResponse = yield Ask(ByVersion(FindCoordinatorRequest, build))
    found = response.coordinators[0] if response.coordinators else response
    code = error_code(found.error_code)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, found.error_message or None)
    view: ClusterView = yield Learn()
    if found.node_id not in view.brokers:
        view = yield Learn((), anew=True)
    if found.node_id not in view.brokers:
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
    return found.node_id


class CoordinatorOf:
    """Remembers who coordinates a key, until it turns out to be wrong."""

    def __init__(self, key: str, kind: CoordinatorType) -> None:
        self.key = key
        self.kind = kind
        self.node: int | None = None

    def find(self) -> Conversation[int]:
        if self.node is None:
            self.node = yield from find_coordinator(self.key, self.kind)
        return self.node

    def ask(self, ask: Ask, channel: str = CHANNEL) -> Conversation[Any]:
        """Asks the coordinator once; a failure of the connection makes it unknown."""
        node = yield from self.find()
        try:
            return (yield replace(ask, to=node, channel=channel))
        except KafkaError as error:
            self.doubt(error)
            raise

    def doubt(self, error: KafkaError) -> None:
        if error.code in MOVED or isinstance(error, ConnectionFailed | RequestTimedOut):
            self.node = None

    def retrying(self, ask: Callable[[], Ask], check: Callable[[Any], None]) -> Conversation[Any]:
        """Asks until `check`, which raises what the answer says went wrong, is content, or the error will not pass."""
        failures = 0
        while True:
            try:
                response = yield from self.ask(ask())
                check(response)
                return response
            except KafkaError as error:
                self.doubt(error)
                if not error.retriable and error.code not in MOVED:
                    raise
                yield Pause(failures, error)
                failures += 1


def check_code(number: int, message: str | None = None) -> None:
    code = error_code(number)
    if code is not ErrorCode.NONE:
        raise KafkaError(code, message)
