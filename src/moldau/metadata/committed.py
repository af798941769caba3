"""What the quorum hands to those who follow the metadata log: committed records, batch by batch, and snapshots."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from moldau.metadata.records import (
    AbortTransactionRecord,
    BeginTransactionRecord,
    EndTransactionRecord,
    Message,
    MetadataError,
)

T = TypeVar("T")


class CommittedBatch(NamedTuple):
    base_offset: int
    last_offset: int
    epoch: int
    timestamp: int
    # Empty for a batch of control records, which take offsets but say nothing about the cluster.
    records: Sequence[Message]


class MetadataSnapshot(Protocol):
    """The whole state up to an offset, for one who has no use for the log before it."""

    @property
    def last_offset(self) -> int:
        """The last offset whose effect it contains."""
        ...

    @property
    def epoch(self) -> int: ...

    @property
    def timestamp(self) -> int: ...

    def __iter__(self) -> Iterator[Sequence[Message]]:
        """The records, some at a time."""
        ...


class MetadataTransaction(Generic[T]):
    """Holds back what lies between the beginning and the end of a transaction of the log: it may be aborted. Who can
    undo everything since the beginning need not hold it back."""

    __slots__ = ("_held", "holds_back")

    def __init__(self, *, held_back: bool = True) -> None:
        self.holds_back = held_back
        self._held: list[T] | None = None

    @property
    def is_open(self) -> bool:
        return self._held is not None

    def admit(self, record: Message, item: T) -> Sequence[T]:
        """What is to be applied now that this record came; `item` stands for the record."""
        if isinstance(record, BeginTransactionRecord):
            self._held = []
            return ()
        if isinstance(record, EndTransactionRecord | AbortTransactionRecord):
            if self._held is None:
                raise MetadataError("the metadata log ends a transaction that was not begun")
            held, self._held = self._held, None
            return held if isinstance(record, EndTransactionRecord) else ()
        if self._held is not None and self.holds_back:
            self._held.append(item)
            return ()
        return (item,)
