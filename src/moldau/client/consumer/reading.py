"""One partition being read: where the application is, where fetching is, and what lies between.

Touched by the application's thread and the network's, under the fetcher's lock.
"""

from __future__ import annotations

from collections import deque
from typing import Final

from moldau.client.consumer.fetched import FetchedRecords
from moldau.types import NO_EPOCH, NO_OFFSET, TopicPartition

# Answers kept ready per partition: one that is being taken and one behind it.
AHEAD: Final = 2

LATEST: Final = -1
EARLIEST: Final = -2


class Reading:
    __slots__ = (
        *("asked", "buffered", "checked_epoch", "end", "fetch_epoch", "fetch_position", "last_stable", "log_start"),
        *("looking", "not_before", "paused", "position", "position_epoch", "preferred", "preferred_until", "reset"),
        *("sent", "taken_at", "turn", "where"),
    )

    def __init__(self, where: TopicPartition) -> None:
        self.where = where
        self.position: int | None = None
        # Nobody looks for a position before it is needed: an application may seek right after `assign`.
        self.asked = False
        self.position_epoch = NO_EPOCH
        self.fetch_position = NO_OFFSET
        self.fetch_epoch = NO_EPOCH
        self.reset: int | None = None
        self.paused = False
        self.looking = False
        # The turn for which a fetch is on its way: after a seek there is none, whatever still comes for the old place.
        self.sent = -1
        # The leader epoch the position was last found to agree with.
        self.checked_epoch = NO_EPOCH
        self.not_before = 0.0
        self.end = NO_OFFSET
        self.last_stable = NO_OFFSET
        self.log_start = NO_OFFSET
        self.preferred = -1
        self.preferred_until = 0.0
        self.turn = 0
        # When records of it were last asked for from a broker and answered, in milliseconds since the epoch.
        self.taken_at = 0
        self.buffered: deque[FetchedRecords] = deque()

    @property
    def fetchable(self) -> bool:
        return self.position is not None and not self.paused and len(self.buffered) < AHEAD

    @property
    def in_flight(self) -> bool:
        return self.sent == self.turn

    def back(self, turn: int) -> None:
        """The fetch that was sent in this turn is over."""
        if self.sent == turn:
            self.sent = -1

    def seek(self, offset: int, epoch: int = NO_EPOCH) -> None:
        """Goes on at `offset`; what was fetched for another place is dropped, and what is on its way will be."""
        self.position = self.fetch_position = offset
        self.position_epoch = self.fetch_epoch = epoch
        self.checked_epoch = NO_EPOCH
        self.reset = None
        self.buffered.clear()
        self.turn += 1

    def seek_by_time(self, timestamp: int) -> None:
        """Goes on at EARLIEST, LATEST or a time; where that is will be asked."""
        self.position = None
        self.reset = timestamp
        self.buffered.clear()
        self.turn += 1

    def arrived(self, records: FetchedRecords) -> None:
        self.buffered.append(records)
        self.fetch_position = records.next_position
        self.fetch_epoch = records.last_epoch
