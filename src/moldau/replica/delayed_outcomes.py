"""Requests that wait until the followers have done their part in every partition they name.

A produce with acks=all waits for the high watermark, one with acks=1 in durable mode for the leader's disk, and a
DeleteRecords for the followers' log starts. All are answered when the outcome is known everywhere, or at their deadline
with what is known by then.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moldau.errors import ErrorCode
from moldau.replica.partition import Partition
from moldau.replica.purgatory import DelayedOperation
from moldau.types import NO_OFFSET


class PendingPartition:
    """One partition of such a request; until its outcome is known, `error` is what the deadline would answer."""

    __slots__ = ("error", "partition", "pending", "required_offset")

    def __init__(self, partition: Partition, required_offset: int) -> None:
        self.partition = partition
        self.required_offset = required_offset
        self.pending = True
        self.error = ErrorCode.REQUEST_TIMED_OUT

    def look(self) -> bool:
        """True once the outcome is known."""
        raise NotImplementedError

    def settle(self, error: ErrorCode) -> None:
        self.pending = False
        self.error = error


class PendingAppend(PendingPartition):
    """Known when the high watermark reaches `required_offset`."""

    __slots__ = ()

    def look(self) -> bool:
        if self.pending:
            done, error = self.partition.replicated(self.required_offset)
            if done:
                self.settle(error)
        return not self.pending


class PendingForce(PendingPartition):
    """Known when the leader's disk has all records before `required_offset`."""

    __slots__ = ()

    def look(self) -> bool:
        if self.pending:
            done, error = self.partition.forced(self.required_offset)
            if done:
                self.settle(error)
        return not self.pending


class PendingDelete(PendingPartition):
    """Known when every live replica has moved its log start to `required_offset`."""

    __slots__ = ("low_watermark",)

    def __init__(self, partition: Partition, required_offset: int) -> None:
        super().__init__(partition, required_offset)
        self.low_watermark = NO_OFFSET

    def look(self) -> bool:
        if self.pending:
            if not self.partition.is_leader:
                self.settle(ErrorCode.NOT_LEADER_OR_FOLLOWER)
            elif (low := self.partition.low_watermark()) >= self.required_offset:
                self.low_watermark = low
                self.settle(ErrorCode.NONE)
        return not self.pending


class DelayedOutcomes(DelayedOperation):
    __slots__ = ("_partitions", "_respond")

    def __init__(self, partitions: Sequence[PendingPartition], respond: Callable[[], None]) -> None:
        super().__init__()
        self._partitions = partitions
        self._respond = respond

    def ready(self) -> bool:
        # Every partition is looked at each time, so that one that lost its leader is settled with that error.
        known = [partition.look() for partition in self._partitions]
        return all(known)

    def finish(self, expired: bool) -> None:
        # A last look: whoever is answered because a partition went away should hear that, and not of a timeout.
        self.ready()
        self._respond()
