"""What an operation of the controller returns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, Generic, NamedTuple, TypeVar

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.records import Message

R = TypeVar("R")

# One operation is one batch in the log, all or nothing, so its size is bounded.
MAX_RECORDS: Final = 10_000


class Decision(NamedTuple, Generic[R]):
    """The records that make it so, and the answer for when they are committed."""

    records: Sequence[Message]
    response: R
    # False where any prefix of the records is a state the cluster may be in: then many records are written in
    # several batches. What a broker's coming or going does to its partitions is like that, and has no bound.
    atomic: bool = True


def check_size(count: int, what: str) -> None:
    """Refuses an operation before it builds more records than one batch may have."""
    if count > MAX_RECORDS:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION,
            f"The request asks for {count} {what}; at most {MAX_RECORDS} fit into one request.",
        )
