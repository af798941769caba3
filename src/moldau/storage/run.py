"""Batches of several producers that are written to the end of a log with one call.

The express way (`_speed/express`) asks where they go and up to where nothing has to be thought about (`open_run`),
judges, numbers and writes them, and tells what it wrote (`close_run`). What is to be noted about it is noted here, as
`Log.append_as_leader` does it for a single batch. Whatever needs more than that has no run and goes that way.
"""

from __future__ import annotations

from typing import Final, TypeAlias

from moldau._speed import BatchHeader, Traffic, assign_offsets
from moldau.config.definition import LONG_MAX
from moldau.errors import KafkaError
from moldau.storage.local_log import RECENT_BATCHES, LocalLog
from moldau.storage.origin import Origin

_CLIENT: Final = Origin.CLIENT
_MIN_INT64: Final = -(1 << 63)

# Descriptor, position and offset for the next batch, leader epoch, log start. Limits: end of the segment, latest
# timestamp, last offset, bytes of a batch. Whether records need keys, their earliest and latest time. Bytes behind
# which a batch gets an entry in the index. Where it is counted. A plain tuple: one is made for every run.
Run: TypeAlias = tuple[int, int, int, int, int, int, int, int, int, bool, int, int, int, Traffic]
# A producer's batch, its offset and its timestamp.
Written: TypeAlias = tuple[BatchHeader, int, int]


def open_run(log: LocalLog, leader_epoch: int, now_ms: int, traffic: Traffic) -> Run | None:
    """Where batches may be written, each as it is; None if each has to be looked at. `traffic` is that of the topic."""
    if not _takes_all(log, leader_epoch):
        return None
    segment, config = log.segments.active, log.config
    unindexed = segment.begin_run(now_ms)
    if unindexed is None:
        return None
    return (
        segment.descriptor,
        segment.size,
        log.log_end_offset,
        leader_epoch,
        log.log_start_offset,
        config.segment_bytes,
        segment.last_timestamp_allowed,
        segment.last_offset_allowed,
        config.max_message_bytes,
        config.compact,
        max(now_ms - config.message_timestamp_before_max_ms, _MIN_INT64),
        min(now_ms + config.message_timestamp_after_max_ms, LONG_MAX),
        unindexed,
        traffic,
    )


def admits(log: LocalLog, header: BatchHeader) -> bool:
    """Whether the batch is what its producer was expected to send next; anything else is answered by the log itself."""
    try:
        return log.producers.check(header, _CLIENT) is None
    except KafkaError:
        return False


def append_run(log: LocalLog, batch: bytearray, records: int, leader_epoch: int, now_ms: int) -> int | None:
    """Appends a batch of so many records that this broker made itself, just now; the offset after it. None if it has to
    be looked at, or could not be written: `Log.append_as_leader` does it, or says what is wrong."""
    segment, config = log.segments.active, log.config
    if not _takes_all(log, leader_epoch) or segment.begin_run(now_ms) is None:
        return None
    position, offset, size = segment.size, log.log_end_offset, len(batch)
    last = offset + records - 1
    if (
        size > config.max_message_bytes
        or position + size > config.segment_bytes
        or now_ms > segment.last_timestamp_allowed
        or last > segment.last_offset_allowed
    ):
        return None
    assign_offsets(batch, 0, size, offset, leader_epoch)
    try:
        segment.open_file().write(batch, position)
    except OSError:
        segment.tear()
        return None
    newest = (now_ms, last)
    segment.end_run(position + size, newest, newest)
    log.recent[offset] = position
    _ends_at(log, last + 1)
    return last + 1


def close_run(
    log: LocalLog,
    position: int,
    end_offset: int,
    first: tuple[int, int],
    newest: tuple[int, int],
    places: dict[int, int],
    written: list[Written],
) -> None:
    """The file reaches to `position` now and the log to `end_offset`. `first` and `newest`: timestamp and last offset
    of the first batch, and of the first one that has the latest timestamp; `places` has the position of each batch."""
    log.segments.active.end_run(position, first, newest)
    log.recent.update(places)
    for header, offset, timestamp in written:
        log.producers.update(header, offset, timestamp)
    _ends_at(log, end_offset)


def _takes_all(log: LocalLog, leader_epoch: int) -> bool:
    """Whether batches are stored as they are, and counted later on."""
    config = log.config
    return (
        config.flush_messages == LONG_MAX
        and config.compression_type == "producer"
        and config.message_timestamp_type == "CreateTime"
        and leader_epoch == log.epochs.latest_epoch
    )


def _ends_at(log: LocalLog, end_offset: int) -> None:
    log.log_end_offset = end_offset
    if len(log.recent) > RECENT_BATCHES:
        log.older, log.recent = log.recent, {}
    log.producers.end_offset = end_offset
    log.advance_high_watermark(end_offset)
