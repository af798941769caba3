"""A fetch that found less than it asked for and waits for more."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from moldau.replica.partition import Partition
from moldau.replica.purgatory import DelayedOperation


class WaitingRead:
    """One partition of the fetch: where it stands, and under which leader epoch it was read."""

    __slots__ = ("fetch_offset", "leader_epoch", "max_bytes", "partition")

    def __init__(self, partition: Partition, fetch_offset: int, max_bytes: int) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.fetch_offset = fetch_offset
        self.max_bytes = max_bytes


class DelayedFetch(DelayedOperation):
    """Ready when `min_bytes` can be read, or when the answer would be an error: a new leader, a log cut short."""

    __slots__ = ("_committed", "_follower", "_min_bytes", "_reads", "_respond")

    def __init__(
        self,
        reads: Sequence[WaitingRead],
        min_bytes: int,
        *,
        committed: bool,
        follower: bool,
        respond: Callable[[], None],
    ) -> None:
        super().__init__()
        self._reads = reads
        self._min_bytes = min_bytes
        self._committed = committed
        self._follower = follower
        self._respond = respond

    def ready(self) -> bool:
        total = 0
        for read in self._reads:
            partition = read.partition
            if not partition.is_leader or partition.leader_epoch != read.leader_epoch:
                return True
            log = partition.log
            if self._follower:
                limit = log.log_end_offset
            elif self._committed:
                limit = log.last_stable_offset
            else:
                limit = log.high_watermark
            if limit < read.fetch_offset or read.fetch_offset < log.log_start_offset:
                return True
            if limit > read.fetch_offset:
                total += min(log.bytes_between(read.fetch_offset, limit), read.max_bytes)
                if total >= self._min_bytes:
                    return True
        return False

    def finish(self, expired: bool) -> None:
        # The answer is read again whole: it has to carry what every partition holds now.
        self._respond()
