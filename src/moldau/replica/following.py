"""One partition as its follower: where it stands, and what it does with what the leader says.

Records are appended as they came, some at a time. Where the two logs part is found out by epochs alone: the leader
answers with the end of the largest epoch it shares with us or knows of, we cut our log there and ask again, until it
has nothing to say against it. The high watermark decides nothing: it is only taken over, and may be far behind what was
acknowledged.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from struct import Struct
from typing import Final

from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.fetch import PartitionData
from moldau.replica.partition import Partition
from moldau.replica.source_session import Asked
from moldau.runtime.ports import FileSlice
from moldau.slicing import Work
from moldau.storage.batch_order import UnexpectedOffset
from moldau.types import NO_EPOCH, Buffer

logger = logging.getLogger("moldau.replica")

# Appended in one go: less than a millisecond of work, and one entry in the index at most.
_PORTION: Final = 32 << 10
_PREFIX: Final = Struct(">qi")


class Following:
    __slots__ = (
        "_asked",
        "_max_bytes",
        "behind_metadata",
        "changed",
        "in_sync",
        "leader_epoch",
        "partition",
        "resume_at",
        "sought",
    )

    def __init__(self, partition: Partition, max_bytes: int) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self._max_bytes = max_bytes
        self._asked: Asked | None = None
        # Whether what is to be asked for may be something else than before.
        self.changed = True
        # When it is asked for again, after a failure; by the monotonic clock.
        self.resume_at = 0.0
        # How often in a row the leader was not one yet, or no longer, or did not know the topic.
        self.behind_metadata = 0
        # Whether it has all that is committed, as far as it was told: then no throttle holds it back.
        self.in_sync = False
        # Whether the leader is being asked where its log begins and ends.
        self.sought = False

    def ask(self) -> Asked:
        if self._asked is None or self.changed:
            log = self.partition.log
            self._asked = Asked(
                log.log_end_offset,
                log.log_start_offset,
                self.leader_epoch,
                log.epochs.latest_epoch,
                self._max_bytes,
            )
            self.changed = False
        return self._asked

    @property
    def is_forced(self) -> bool:
        """Whether all of it is on disk, where that is promised: a fetch at its end says that it has the records."""
        partition = self.partition
        return not partition.durable or partition.log.durability.durable_offset >= partition.log.log_end_offset

    def is_current(self) -> bool:
        """Whether the partition is still held here, and follows as it did when it was asked for."""
        partition = self.partition
        return not partition.is_leader and not partition.is_released and partition.leader_epoch == self.leader_epoch

    # -------------------------------------------------------------------------------------------------- appending

    def take(self, data: PartitionData) -> Work[int]:
        """Does what an answer without an error asks for; how many bytes were appended. KafkaError, StorageError or
        UnexpectedOffset if that is not possible."""
        asked, log = self._asked, self.partition.log
        self.changed = True
        if asked is None or not self.is_current():
            return 0
        if log.log_end_offset != asked.offset or log.epochs.latest_epoch != asked.fetched_epoch:
            return 0  # an answer to what was asked for before
        diverging = data.diverging_epoch
        if diverging.epoch != NO_EPOCH or diverging.end_offset >= 0:
            # Nothing else in the answer counts until both logs agree.
            yield from self.truncate_for(diverging.epoch, diverging.end_offset)
            return 0
        appended = 0
        records = data.records
        if records and not isinstance(records, FileSlice):
            appended = yield from self._append(records)
        if self.is_current():
            self._take_over(data.high_watermark, data.log_start_offset)
        self.in_sync = self.partition.log.log_end_offset >= data.high_watermark
        return appended

    def take_short(self, data: memoryview, first: int, end: int, high_watermark: int, log_start: int) -> int:
        """The same as `take` for an answer in which nothing is wrong, with no more records than are appended in one go:
        those in `data[first:end]`."""
        asked, log = self._asked, self.partition.log
        local = log.local
        self.changed = True
        if asked is None or not self.is_current():
            return 0
        if local.log_end_offset != asked.offset or log.epochs.latest_epoch != asked.fetched_epoch:
            return 0
        appended = 0
        if end - first > local.config.segment_bytes:
            for start, stop in portions(data[first:end], local.config.segment_bytes):
                appended += self._append_portion(data, first + start, first + stop)
        elif end > first:
            appended = self._append_portion(data, first, end)
        self._take_over(high_watermark, log_start)
        self.in_sync = local.log_end_offset >= high_watermark
        return appended

    def _append(self, records: Buffer) -> Work[int]:
        appended = 0
        view = memoryview(records)
        limit = min(_PORTION, self.partition.log.config.segment_bytes)
        for start, end in portions(view, limit):
            if not self.is_current():
                break
            # The log may have been moved to another directory since the last portion.
            appended += self._append_portion(view, start, end)
            yield
        return appended

    def _append_portion(self, view: memoryview, start: int, end: int) -> int:
        log = self.partition.log
        try:
            return log.append_as_follower(view, start, end, self.leader_epoch).bytes
        except UnexpectedOffset as unexpected:
            begins = log.log_end_offset
            if log.log_start_offset != begins or not unexpected.first_offset < begins <= unexpected.last_offset:
                raise
            # An empty log whose first offset lies within a batch, because the leader's start does.
            log.local.truncate_fully_and_start_at(unexpected.first_offset)
            return log.append_as_follower(view, start, end, self.leader_epoch).bytes

    def _take_over(self, high_watermark: int, log_start_offset: int) -> None:
        local = self.partition.log.local
        local.leaders_high_watermark = high_watermark
        local.advance_high_watermark(high_watermark)
        if local.log_start_offset < log_start_offset <= local.high_watermark:
            local.advance_log_start(log_start_offset)

    # ------------------------------------------------------------------------------------------------- truncating

    def truncate_for(self, epoch: int, end_offset: int) -> Work[None]:
        """The leader knows nothing of our last epoch, or less than we have: its own, up to ours, ends at `end_offset`.

        Do we know that epoch, then both have its records up to where it ended for the first of us. Else all that is
        newer goes, and the leader is asked about what is left.
        """
        log = self.partition.log
        before = log.log_end_offset, log.epochs.latest_epoch
        own_epoch, own_end = log.end_offset_for_epoch(epoch)
        if own_epoch == NO_EPOCH:
            target = end_offset
        elif own_epoch != epoch:
            target = own_end
        else:
            target = min(own_end, end_offset)
        target = min(target, log.log_end_offset)
        is_cut = yield from self._cut(target)
        if is_cut and (log.log_end_offset, log.epochs.latest_epoch) == before:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.partition.topic_partition} has nothing to cut off at offset {target}, epoch {epoch}.",
            )

    def _cut(self, offset: int) -> Work[bool]:
        """Whether it was cut: nothing is if the partition or its log has changed before it could be."""
        log, place = self.partition.log, self.partition.topic_partition
        before = log.log_end_offset, log.epochs.latest_epoch
        # Whoever writes here from the next turn on must find the producers as the log has them: they are looked for
        # before the cut, and everything is cut at once.
        producers = yield from log.local.producers_after_cut(offset)
        if not self.is_current() or self.partition.log is not log:
            return False
        if (log.log_end_offset, log.epochs.latest_epoch) != before:
            return False
        if offset < log.high_watermark:
            logger.warning("%s is cut to offset %d, before its high watermark %d", place, offset, log.high_watermark)
        elif offset < log.log_end_offset:
            logger.info("%s is cut from offset %d to %d", place, log.log_end_offset, offset)
        log.local.truncate_to(offset, producers)
        self.changed = True
        return True

    @property
    def lacks_beginning(self) -> bool:
        """Whether files at the beginning of our log may be gone. A fetch at its end would say that it has the records,
        so the leader is first asked where its own log begins."""
        return self.partition.log.recovered.lost_beginning

    def begin_with(self, leader_start: int) -> None:
        """The leader's log begins there. Where ours begins later the leader has records that we lost: as leader we
        would lose them for good."""
        log, place = self.partition.log, self.partition.topic_partition
        log.recovered.lost_beginning = False
        self.changed = True
        if leader_start < log.log_start_offset:
            logger.warning(
                "%s begins at offset %d after a crash, its leader at %d: all of it is fetched again",
                place,
                log.log_start_offset,
                leader_start,
            )
            log.local.truncate_fully_and_start_at(leader_start)

    def out_of_range(self, leader_start: int, leader_end: int) -> Work[bool]:
        """The leader has no record where we wanted to go on, and has told where its log begins and ends.

        It may end before ours, after an election that lost records; or it begins behind our end, because we were away
        for long or have lost our disk. False if it is neither, and nothing has changed.
        """
        log, place = self.partition.log, self.partition.topic_partition
        self.changed = True
        if leader_end < log.log_end_offset:
            logger.warning("the leader of %s ends at offset %d, before our %d", place, leader_end, log.log_end_offset)
            yield from self._cut(leader_end)
        elif leader_start > log.log_end_offset:
            logger.info("%s goes on at offset %d, where its leader begins", place, leader_start)
            log.local.truncate_fully_and_start_at(leader_start)
        else:
            return False
        return True


def portions(records: memoryview, limit: int) -> Iterator[tuple[int, int]]:
    """Where whole batches begin and end, as many as `limit` bytes hold, or one that is larger. A batch that is cut off
    ends them; one whose length cannot be is left to whoever judges it."""
    start = at = 0
    size = len(records)
    while at + _PREFIX.size <= size:
        length: int = _PREFIX.unpack_from(records, at)[1] + _PREFIX.size
        if length <= _PREFIX.size:
            break
        if at + length > size:
            size = at
            break
        if at + length - start > limit and at > start:
            yield start, at
            start = at
        at += length
    else:
        size = at
    if size > start:
        yield start, size
