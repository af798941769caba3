"""A fetch that found less than it asked for and waits for more."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import cast

from moldau.replica.partition import Partition
from moldau.replica.purgatory import DelayedOperation
from moldau.slicing import pieces


class WaitingRead:
    """One partition of the fetch: where it stands, and under which leader epoch it was read."""

    __slots__ = ("fetch_offset", "found", "is_leader", "leader_epoch", "max_bytes", "partition")

    def __init__(self, partition: Partition, fetch_offset: int, max_bytes: int) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.is_leader = partition.is_leader
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes
        # How many bytes there were when it was looked at last.
        self.found = 0


class DelayedFetch(DelayedOperation):
    """Ready when `min_bytes` can be read, or when the answer would be an error: a new leader, a log cut short."""

    __slots__ = (
        "_by_partition",
        "_committed",
        "_follower",
        "_found",
        "_min_bytes",
        "_reads",
        "_respond",
        "_throttled",
    )

    def __init__(
        self,
        reads: Sequence[WaitingRead],
        min_bytes: int,
        *,
        committed: bool,
        follower: bool,
        respond: Callable[[], None],
        throttled: Callable[[Partition], bool] | None = None,
    ) -> None:
        super().__init__()
        self._reads = reads
        self._min_bytes = min_bytes
        self._committed = committed
        self._follower = follower
        self._respond = respond
        # What may not be sent to this follower now is nothing to wake it for.
        self._throttled = throttled
        self._found = 0
        # A fetch of very many partitions must not be gone through whole whenever one of them is written to.
        self._by_partition = {read.partition: read for read in reads}

    def ready(self) -> bool:
        return any(self._look(read) for read in self._reads)

    def looks(self) -> Iterator[bool]:
        return (any(map(self._look, some)) for some in pieces(self._reads))

    def ready_after(self, key: Hashable) -> bool:
        read = self._by_partition.get(cast(Partition, key))
        return read is not None and self._look(read)

    def _look(self, read: WaitingRead) -> bool:
        """Whether this partition makes the fetch ready, by an error or by what it adds to the others."""
        partition = read.partition
        if partition.is_leader != read.is_leader or partition.leader_epoch != read.leader_epoch:
            return True
        local = partition.log.local
        if self._follower:
            limit = local.log_end_offset
        elif self._committed:
            limit = local.last_stable_offset
        else:
            limit = local.high_watermark
        if limit < read.fetch_offset or read.fetch_offset < local.log_start_offset:
            return True
        if limit == read.fetch_offset or (self._throttled is not None and self._throttled(partition)):
            return False
        if self._min_bytes <= 1 and read.max_bytes > 0:
            return True
        found = min(partition.log.bytes_between(read.fetch_offset, limit), read.max_bytes)
        self._found += found - read.found
        read.found = found
        return self._found >= self._min_bytes

    def finish(self, expired: bool) -> None:
        # The answer is read again whole: it has to carry what every partition holds now.
        self._respond()
