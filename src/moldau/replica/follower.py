"""What a leader knows of one follower: how far it has fetched, and when it was last level with the leader."""

from __future__ import annotations

from moldau.types import NO_OFFSET


class Follower:
    """The state behind the two questions a leader asks: may the high watermark move, and is this replica in sync?"""

    __slots__ = (
        "_last_fetch_end",
        "_last_fetch_ms",
        "broker_epoch",
        "broker_id",
        "caught_up_ms",
        "end_offset",
        "log_start_offset",
    )

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.reset(0)

    def reset(self, now_ms: int) -> None:
        """A new leader knows nothing until the follower fetches; it gets the full lag time to do so."""
        self.end_offset = NO_OFFSET
        self.log_start_offset = NO_OFFSET
        self.broker_epoch = -1
        self.caught_up_ms = now_ms
        self._last_fetch_end = NO_OFFSET
        self._last_fetch_ms = 0

    def fetched(self, offset: int, log_start_offset: int, leader_end: int, broker_epoch: int, now_ms: int) -> None:
        """A fetch at `offset` acknowledges all before it.

        Under constant load a follower is never level with the leader's end at the moment it fetches. Reaching the end
        the leader had at the previous fetch counts as having been level then.
        """
        if offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self._last_fetch_end:
            self.caught_up_ms = max(self.caught_up_ms, self._last_fetch_ms)
        self.end_offset = offset
        self.log_start_offset = log_start_offset
        self.broker_epoch = broker_epoch
        self._last_fetch_end = leader_end
        self._last_fetch_ms = now_ms

    def is_caught_up(self, leader_end: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.end_offset == leader_end or now_ms - self.caught_up_ms <= max_lag_ms
