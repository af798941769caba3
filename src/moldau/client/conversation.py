"""Operations that say what they need instead of doing it: generators of steps.

    def partition_count(name: str) -> Conversation[int]:
        view = yield Learn([name])
        return len(view.topic(name).partitions)

A face (the blocking `Cluster`, later an asyncio one) performs each step and sends the result back in, or throws the
exception it ended with. So an operation reads from top to bottom, contains its own rules about which errors are worth
another try, and exists once for every kind of IO.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Generator, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, TypeVar

from moldau.errors import ErrorCode, KafkaError
from moldau.links.versions import Request

T = TypeVar("T")

# Where to send a request: a node id, or one of these.
ANY_NODE = -1
CONTROLLER = -2

# Kafka marks these as worth another try, because a broker may not have heard of a new topic yet. For an operator who
# mistyped a name, half a minute of silence is the worse answer.
NOT_THERE: Final = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID})


@dataclass(slots=True, frozen=True)
class Ask:
    """One request to one node; the step's result is the response object.

    `timeout` is for requests that a broker may keep for longer than usual before it answers, and `channel` names
    another connection to the same node for them, so that they hold up nobody else.
    """

    request: Request
    to: int = ANY_NODE
    at_most: int | None = None
    answered: bool = True
    timeout: float | None = None
    channel: str = ""


@dataclass(slots=True, frozen=True)
class AskAll:
    """Requests sent side by side; the result is a list, in order, of responses or of the KafkaErrors they ended in.

    A list with errors in it, because one node that is away must not take the answers of the others with it.
    """

    asks: Sequence[Ask]


@dataclass(slots=True, frozen=True)
class Learn:
    """The view of the cluster, with these topics in it (None: all topics). From memory unless `anew` or unknown."""

    topics: Sequence[str] | None = ()
    anew: bool = False
    create: bool = False


@dataclass(slots=True, frozen=True)
class Pause:
    """Waits as long as the back-off says after this many failures; raises `because` when the time allowed is over."""

    attempt: int
    because: KafkaError


Step: TypeAlias = Ask | AskAll | Learn | Pause
Conversation: TypeAlias = Generator[Step, Any, T]


def retrying(attempt: Callable[[], Conversation[T]], *, final: Container[ErrorCode] = NOT_THERE) -> Conversation[T]:
    """Has the conversation again, from its start, as long as it ends in errors that may pass and time remains.

    `final` names codes that are taken as the last word although Kafka calls them retriable.
    """
    failures = 0
    while True:
        try:
            return (yield from attempt())
        except KafkaError as error:
            if not error.retriable or error.code in final:
                raise
            yield Pause(failures, error)
            failures += 1


def first_error(results: Sequence[Any]) -> KafkaError | None:
    """The first failure among the results of an `AskAll`."""
    return next((result for result in results if isinstance(result, KafkaError)), None)
