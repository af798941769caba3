"""Batches that come with their offsets and epochs: whether they continue a log."""

from __future__ import annotations

from collections.abc import Sequence

from moldau._speed import BatchHeader
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.types import NO_TIMESTAMP, TopicPartition


class UnexpectedOffset(MoldauError):
    """Batches from the leader that do not continue this log: the follower must find out where the two part."""

    def __init__(self, message: str, first_offset: int, last_offset: int) -> None:
        super().__init__(message)
        self.first_offset = first_offset
        self.last_offset = last_offset


def check_order(place: TopicPartition, headers: Sequence[BatchHeader], expected: int) -> None:
    """`expected` is the next offset of the log. Where a leader has compacted, offsets are missing; none comes twice."""
    for header in headers:
        if header.base_offset < expected:
            raise UnexpectedOffset(
                f"A batch for {place} begins at offset {header.base_offset}, but offset {expected} is the next.",
                headers[0].base_offset,
                headers[-1].last_offset,
            )
        expected = header.next_offset


def check_epochs(headers: Sequence[BatchHeader], leader_epoch: int) -> None:
    """A leader cannot have written in an epoch after its own. What a deposed one sends late may be: its file was cut,
    and written anew, between the moment when it looked up the records and the moment when they left."""
    for header in headers:
        if header.partition_leader_epoch > leader_epoch:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"The leader of epoch {leader_epoch} sent a batch of a later epoch."
            )


def size_of(headers: Sequence[BatchHeader]) -> int:
    """Bytes of all of them."""
    size = 0
    for header in headers:
        size += header.size
    return size


def newest(headers: Sequence[BatchHeader]) -> tuple[int, int]:
    """The latest timestamp of these batches, and the last offset of the first that has it."""
    latest, offset = NO_TIMESTAMP, headers[-1].last_offset
    for header in headers:
        if header.max_timestamp > latest:
            latest, offset = header.max_timestamp, header.last_offset
    return latest, offset
