"""What a leader knows of one follower: how far it has fetched, and when it was last level with the leader."""

from __future__ import annotations

from typing import Final

from moldau.types import NO_OFFSET

# Before any moment there is: a follower that is not in sync was never level with this leader.
NEVER_MS: Final = -(1 << 62)
NO_BROKER_EPOCH: Final = -1


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
        self.begin(NEVER_MS, in_sync=False)

    def begin(self, now_ms: int, *, in_sync: bool) -> None:
        """A new leader knows nothing until the follower fetches. One that is in sync gets the full lag time to do so;
        another must not hold back the high watermark."""
        self.end_offset = NO_OFFSET
        self.log_start_offset = NO_OFFSET
        # None until it fetches: then it is known which life of the broker did.
        self.broker_epoch: int | None = None
        self.caught_up_ms = now_ms if in_sync else NEVER_MS
        self._last_fetch_end = NO_OFFSET
        self._last_fetch_ms = NEVER_MS

    def begin_again(self, now_ms: int, leader_end: int, *, in_sync: bool) -> None:
        """The same leader in a new epoch: what was fetched counts, when it was level before does not."""
        self.caught_up_ms = self._last_fetch_ms = now_ms if in_sync else NEVER_MS
        self._last_fetch_end = leader_end

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
        self._last_fetch_end = max(leader_end, self._last_fetch_end)
        self._last_fetch_ms = now_ms

    def is_caught_up(self, leader_end: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.end_offset == leader_end or now_ms - self.caught_up_ms <= max_lag_ms
