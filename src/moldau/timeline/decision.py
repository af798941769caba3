"""What an operation of a state machine over a log returns: the controller's and the coordinators' alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Generic, NamedTuple, TypeVar

from moldau.errors import KafkaError
from moldau.slicing import Work

Record = TypeVar("Record")
Response = TypeVar("Response")


class Decision(NamedTuple, Generic[Record, Response]):
    """The records that make it so, and the answer for when they are committed."""

    records: Sequence[Record]
    response: Response
    # False where any prefix of the records is a proper state: then many records may be written in several batches.
    atomic: bool = True
    # False where the operation has changed the state itself: what a classic group does between two generations is
    # never stored, so its state is not replayed while it is live.
    replay: bool = True
    # Called once, with None when the records are committed, else with the reason why they may not be. If very many are
    # to be told, the work of it is returned, and is done before any further operation.
    done: Callable[[KafkaError | None], Work[None] | None] | None = None
    # In place of the records where they are very many and not atomic: each is looked for when the one before it has
    # been taken, and None says that there was none for a while.
    stream: Iterator[Record | None] | None = None
    # Where they are not atomic: so many of the first ones must stand in one batch all the same.
    together: int = 0
