"""What the quorum hands to those who follow the metadata log: committed records, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Protocol

from moldau.metadata.records import Message


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
