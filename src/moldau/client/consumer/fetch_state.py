"""One partition being read: where the application is, where fetching is, and what lies between.

Touched by the application's thread and the network's, under the fetcher's lock. At the end: where it begins when
nothing is committed, or when what is committed is no longer there (`ResetPolicy`).
"""

from __future__ import annotations

import re
from collections import deque
from typing import Final, NamedTuple

from moldau.client.consumer.fetched import FetchedRecords
from moldau.errors import KafkaError
from moldau.errors.named import KafkaConfigurationError
from moldau.types import NO_EPOCH, NO_OFFSET, ZERO_UUID, TopicPartition

# Answers kept ready per partition: one that is being taken and one behind it.
AHEAD: Final = 2

# What a record is taken to need before any was seen. Too much costs some bytes fetched twice, too little a round trip.
_USUAL_RECORD: Final = 512.0
_LEAST_FETCH: Final = 64 * 1024

LATEST: Final = -1
EARLIEST: Final = -2


class FetchState:
    __slots__ = (
        *("ahead", "appeared", "asked", "buffered", "checked_epoch", "end", "failing_since", "failure", "failures"),
        *("fetch_epoch", "fetch_position", "last_stable", "log_start", "looking", "not_before", "paused", "position"),
        *("position_epoch", "preferred", "preferred_until", "record_size", "reset", "sent", "taken_at", "turn"),
        *("topic_id", "until", "where"),
    )

    def __init__(
        self, where: TopicPartition, *, until: int | None = None, ahead: int = AHEAD, appeared: bool = False
    ) -> None:
        self.where = where
        # Its topic was waited for: nothing in it is older than the wait.
        self.appeared = appeared
        # The offset that is not wanted any more, and how many answers are kept ready.
        self.until = until
        self.ahead = ahead
        self.record_size = _USUAL_RECORD
        # What went wrong since an answer last was a good one, how often, and since when.
        self.failure: KafkaError | None = None
        self.failures = 0
        self.failing_since: float | None = None
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
        # The topic that the position belongs to, as far as an answer has said so: another one may get its name.
        self.topic_id = ZERO_UUID
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
        if self.position is None or self.paused or len(self.buffered) >= self.ahead:
            return False
        return self.until is None or self.fetch_position < self.until

    @property
    def takeable(self) -> bool:
        """While a new leader is asked whether what was fetched from the last one is still there, nobody gets it."""
        return bool(self.buffered) and not self.paused and not self.looking

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
        self.topic_id = ZERO_UUID
        self.reset = None
        self.buffered.clear()
        self.turn += 1

    def seek_by_time(self, timestamp: int) -> None:
        """Goes on at EARLIEST, LATEST or a time; where that is will be asked."""
        self.position = None
        self.topic_id = ZERO_UUID
        self.reset = timestamp
        self.buffered.clear()
        self.turn += 1

    def belongs_to(self, topic_id: bytes) -> bool:
        """Offsets mean nothing in another topic of the same name. The first answer says which topic it is."""
        if self.topic_id == ZERO_UUID:
            self.topic_id = topic_id
        return topic_id in (self.topic_id, ZERO_UUID)

    def fetch_bytes(self, most: int) -> int:
        """A range is known to be there, so a fetch is sized to what is left of it: a large one comes in large answers,
        and one of ten records does not bring megabytes that belong to the next."""
        if self.until is None:
            return most
        return min(int((self.until - self.fetch_position) * self.record_size * 1.1) + _LEAST_FETCH, most)

    def failed(self, error: KafkaError, now: float) -> None:
        self.failure = error
        self.failures += 1
        if self.failing_since is None:
            self.failing_since = now

    def succeeded(self) -> None:
        self.failure, self.failures, self.failing_since = None, 0, None

    def arrived(self, records: FetchedRecords) -> None:
        self.buffered.append(records)
        if self.until is not None and records.headers:
            offsets = records.next_position - records.headers[0].base_offset
            self.record_size = max(records.size / max(offsets, 1), 1.0)
        self.fetch_position = records.next_position
        self.fetch_epoch = records.last_epoch


# -------------------------------------------------------------------------------------------- `auto_offset_reset`

_BY_DURATION: Final = "by_duration:"
_DURATION: Final = re.compile(r"P(?:(\d+)D)?(?:T(?:(\d+)H)?(?:(\d+)M)?(?:(\d+(?:\.\d{1,9})?)S)?)?", re.IGNORECASE)
_MILLISECONDS: Final = (86_400_000, 3_600_000, 60_000, 1000)


class ResetPolicy(NamedTuple):
    """A stand-in for a time (EARLIEST, LATEST), or how far back from now."""

    stand_in: int = LATEST
    age_ms: int | None = None

    def time(self, now_ms: int) -> int:
        """What to ask brokers for."""
        return self.stand_in if self.age_ms is None else max(0, now_ms - self.age_ms)


_NAMED: Final[dict[str, ResetPolicy | None]] = {
    "earliest": ResetPolicy(EARLIEST),
    "smallest": ResetPolicy(EARLIEST),
    "latest": ResetPolicy(LATEST),
    "largest": ResetPolicy(LATEST),
    "none": None,
}


def reset_policy(text: str) -> ResetPolicy | None:
    """None means: the application wants to hear of it."""
    if text in _NAMED:
        return _NAMED[text]
    if isinstance(text, str) and text.startswith(_BY_DURATION):
        return ResetPolicy(age_ms=_duration(text.removeprefix(_BY_DURATION)))
    raise KafkaConfigurationError(
        f"auto_offset_reset must be 'earliest', 'latest', 'none' or 'by_duration:' and a time, not {text!r}."
    )


def _duration(text: str) -> int:
    """Milliseconds of a duration as ISO 8601 writes it: P1D, PT6H, PT1M30S."""
    found = _DURATION.fullmatch(text)
    if found is None or not any(found.groups()):
        raise KafkaConfigurationError(f"{text!r} is not a duration such as PT1H or P1DT12H (ISO 8601).")
    return int(sum(float(part) * unit for part, unit in zip(found.groups(), _MILLISECONDS, strict=True) if part))
