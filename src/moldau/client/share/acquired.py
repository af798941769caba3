"""The records that one answer acquired in one partition.

A broker sends whole batches as they lie on disk, and says which offsets in them are ours, and how often each of them
was delivered before. The kernel that makes a consumer's records makes these; what is not ours is left out, and what is
ours without being a record (a transaction's marker) is a gap, which is acknowledged as one.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections import deque
from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, Final, NamedTuple

from moldau.client.consumer.fetched import AS_THEY_ARE, ConsumerRecord, Deserializers, FetchedRecords
from moldau.client.share.acknowledgements import offset_ranges
from moldau.types import TopicPartition, Uuid


class ShareRecord(NamedTuple):
    """A `ConsumerRecord`, and how often it has been delivered, this time included."""

    topic: str
    partition: int
    leader_epoch: int
    offset: int
    timestamp: int
    timestamp_type: int
    key: Any
    value: Any
    headers: Sequence[tuple[str, bytes | None]] = ()
    checksum: None = None
    serialized_key_size: int = -1
    serialized_value_size: int = -1
    serialized_header_size: int = -1
    delivery_count: int = 1


class AcquiredRange(NamedTuple):
    first: int
    last: int
    delivery_count: int


class Taken(NamedTuple):
    """Records for the application, the offsets between them that have none, and one that could not be made."""

    records: list[ShareRecord]
    gaps: list[tuple[int, int]]
    unreadable: int | None = None
    error: BaseException | None = None


_new: Final[Callable[..., ShareRecord]] = tuple.__new__


class AcquiredRecords:
    """`locked_until` is when the broker gives them to others, on our clock."""

    def __init__(
        self,
        where: TopicPartition,
        topic_id: Uuid,
        data: memoryview,
        ranges: Sequence[AcquiredRange],
        locked_until: float,
        deserializers: Deserializers,
        *,
        check_crc: bool = True,
    ) -> None:
        self.where = where
        self.topic_id = topic_id
        self.locked_until = locked_until
        self._fetched = FetchedRecords(where, data, ranges[0].first, check_crc=check_crc)
        self.size = self._fetched.size
        self._unsorted: list[ConsumerRecord] = []
        self._ranges = deque(ranges)
        self._next = ranges[0].first
        # Records of one delivery count that were read and not handed out.
        self._ready: tuple[list[ConsumerRecord], int] = ([], 0)
        self._deserializers = deserializers

    @property
    def done(self) -> bool:
        return not self._ready[0] and not self._ranges

    def rest(self) -> list[tuple[int, int]]:
        """The offsets nobody has been given yet."""
        ready = offset_ranges([record.offset for record in self._ready[0]])
        return ready + [(max(each.first, self._next), each.last) for each in self._ranges]

    def take(self, most: int, *, unreadable: bool = True) -> Taken:
        """Up to `most` records. One that cannot be made ends them; it is told of when it is the first, and only if that
        may be now (`unreadable`)."""
        made: list[ShareRecord] = []
        gaps: list[tuple[int, int]] = []
        plain = self._deserializers == AS_THEY_ARE
        while len(made) < most and not self.done:
            records, count = self._ready
            if not records:
                self._read(most - len(made), gaps)
                continue
            part = records[: most - len(made)]
            if plain:
                made += [_new(ShareRecord, (*record, count)) for record in part]
                self._ready = records[len(part) :], count
                continue
            for at, record in enumerate(part):
                try:
                    made.append(_new(ShareRecord, (*self._deserialized(record), count)))
                except Exception as error:
                    if made or not unreadable:
                        self._ready = records[at:], count  # it is met again when it is its turn
                        return Taken(made, gaps)
                    self._ready = records[at + 1 :], count
                    return Taken([], gaps, record.offset, error)
            self._ready = records[len(part) :], count
        return Taken(made, gaps)

    def _deserialized(self, record: ConsumerRecord) -> ConsumerRecord:
        key, value, finish = self._deserializers
        if key is not None or value is not None:
            record = record._replace(
                key=record.key if key is None else key(record.key),
                value=record.value if value is None else value(record.value),
            )
        return record if finish is None else finish(record)

    def _read(self, most: int, gaps: list[tuple[int, int]]) -> None:
        """Further records of the first range that has some; what lies between them is a gap."""
        if not self._unsorted:
            self._unsorted = self._fetched.take(most)
        records = self._unsorted
        first, last, count = self._ranges[0]
        begin = bisect_left(records, first, key=_offset)
        end = bisect_right(records, last, begin, key=_offset)
        ours, self._unsorted = records[begin:end], records[end:]
        expected = max(first, self._next)
        if ours:
            offsets = [record.offset for record in ours]
            gaps += _between(expected, offsets)
            expected = offsets[-1] + 1
        # Whether the answer goes on within this range.
        if not self._unsorted and not self._fetched.done and self._fetched.position <= last:
            self._next = expected
        else:
            if expected <= last:
                gaps.append((expected, last))
            self._ranges.popleft()
            self._next = last + 1
        self._ready = ours, count


_offset: Final = attrgetter("offset")


def _between(begin: int, offsets: Sequence[int]) -> list[tuple[int, int]]:
    """What is missing from `begin` to the last of the offsets."""
    if offsets[-1] - begin == len(offsets) - 1:
        return []
    missing = []
    for offset in offsets:
        if offset > begin:
            missing.append((begin, offset - 1))
        begin = offset + 1
    return missing
