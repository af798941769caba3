"""What an operation of the controller returns, and how much one may decide at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Final, TypeAlias, TypeVar

from moldau import timeline
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.metadata.records import Message

R = TypeVar("R")
T = TypeVar("T")

# One operation is one batch in the log, all or nothing, so its size is bounded.
MAX_RECORDS: Final = 10_000
# What is written some at a time, as a transaction: beside those of its partitions a topic has records of its own.
MAX_TRANSACTION: Final = 2 * MAX_RECORDS


# How much is decided in one turn of the loop, in records; one or two milliseconds.
TURN_RECORDS: Final = 100
# A topic of its own costs as much as this many of its partitions: settings, placement, an answer.
TOPIC_COST: Final = 6


# Hears how many partitions are about to be created or deleted; KafkaError if that is more than whoever asks may now.
Charge: TypeAlias = Callable[[int], None]


def free(_partitions: int) -> None:
    """For whom no quota holds."""


class Decision(timeline.Decision[Message, R]):
    """Of records for the metadata log. Not atomic is what a broker's coming or going does to its partitions: it has no
    bound, and any part of it is a state the cluster may be in."""

    __slots__ = ()


def turns(items: Iterable[T], name: Callable[[T], Hashable], cost: Callable[[T], int]) -> list[list[T]]:
    """The items of a request in portions for one turn each; what has the same name stays together."""
    by_name: dict[Hashable, list[T]] = {}
    for item in items:
        by_name.setdefault(name(item), []).append(item)
    portions: list[list[T]] = [[]]
    spent = 0
    for same in by_name.values():
        spent += sum(cost(item) for item in same)
        if spent > TURN_RECORDS and portions[-1]:
            portions.append([])
            spent = sum(cost(item) for item in same)
        portions[-1] += same
    return portions


def check_size(count: int, what: str) -> None:
    """Refuses an operation before it builds more records than one batch may have."""
    if count > MAX_RECORDS:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"The request asks for {count} {what}; at most {MAX_RECORDS} fit into one request.",
        )


def refusal(error: Exception) -> Exception:
    """What whoever asked is told of a decision that could not be made or written."""
    if isinstance(error, ProtocolError):
        # Something in it has no place in a record, such as a list that grew too long by what was appended to it.
        return KafkaError(ErrorCode.INVALID_REQUEST, f"The change cannot be written: {error}.")
    return error
