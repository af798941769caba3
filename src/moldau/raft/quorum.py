"""What the quorum of controllers offers, whatever stands behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from moldau.metadata.committed import CommittedBatch, MetadataSnapshot
from moldau.metadata.records import VersionedRecord
from moldau.slicing import Work


class QuorumListener(Protocol):
    """Someone who follows the metadata log. Calls come on the loop's thread, in the order of the log."""

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> Work[None] | None:
        """Forget everything: the log now begins after this snapshot. The work of that, if it takes longer; nothing else
        is told to anybody before it is done."""
        ...

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None:
        """A batch is committed. `more` says that the next call comes at once, so that work can be shared."""
        ...

    def on_leader(self, leader_id: int, epoch: int) -> None:
        """A leader was elected, or with -1 there is none. The new leader itself hears of it when it has been given
        everything that was committed before its epoch, and may append from then on."""
        ...


class MetadataQuorum(Protocol):
    @property
    def node_id(self) -> int: ...

    @property
    def leader_id(self) -> int:
        """The node that may append, as far as this one knows; -1 if it knows of none."""
        ...

    @property
    def epoch(self) -> int: ...

    @property
    def end_offset(self) -> int:
        """The offset the next record will get."""
        ...

    @property
    def high_watermark(self) -> int:
        """Everything below it is committed."""
        ...

    def register(self, listener: QuorumListener) -> None:
        """Before `start`. Listeners are called in the order they were registered."""
        ...

    def start(self) -> None: ...

    def append(self, epoch: int, records: Sequence[VersionedRecord]) -> int:
        """One batch, all or nothing; its last offset. It is committed when `on_commit` says so.

        KafkaError(NOT_CONTROLLER) if this node does not lead in `epoch`, or could not write it and leaves it to others;
        StorageError if there are no others. Then it is as if it had not been tried.
        """
        ...

    def resign(self, epoch: int) -> None:
        """Gives up the leadership of `epoch`, because this node cannot be trusted with it any more."""
        ...

    def close(self) -> None: ...
