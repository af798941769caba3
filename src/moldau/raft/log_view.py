"""All that the machine knows of the metadata log: where it begins and ends, and where its epochs ended."""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

from moldau.raft.voters import VoterChange


class EpochOffset(NamedTuple):
    """The epoch of a log's last record and the offset after it. The larger one is the newer log: epochs count first."""

    epoch: int
    offset: int

    def __str__(self) -> str:
        return f"{self.offset} of epoch {self.epoch}"


class Entries(NamedTuple):
    """Batches on their way from a leader to a follower; the machine looks at their ends only."""

    data: Any
    base_offset: int
    end: EpochOffset
    changes: tuple[VoterChange, ...] = ()


class LogView(Protocol):
    @property
    def start_offset(self) -> int: ...

    @property
    def end(self) -> EpochOffset:
        """Of an empty log: where its snapshot ends, or offset 0 of epoch 0."""
        ...

    @property
    def snapshot(self) -> EpochOffset | None:
        """The newest snapshot but for the one a directory is formatted with."""
        ...

    def epoch_before(self, offset: int) -> int:
        """The epoch of the record before an offset: that of the snapshot where the log begins, 0 before the first."""
        ...

    def end_of_epoch(self, epoch: int) -> EpochOffset:
        """The largest epoch up to the one asked for, and where it ended; the log's end for one that is newer."""
        ...
