"""The log under a coordinator: a partition of an internal topic, as far as a coordinator needs it.

The server implements it over the replica manager. Everything is called on the loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from moldau.errors import ErrorCode
from moldau.types import TopicPartition


class Role(Protocol):
    """What this broker is to a partition at the moment; kept by whoever holds the partition, looked at by others."""

    is_leader: bool
    leader_epoch: int

    @property
    def has_runs(self) -> bool:
        """Whether what is appended counts at once."""
        ...


class PartitionLog(Protocol):
    def role(self, partition: TopicPartition, leader_epoch: int) -> Role:
        """KafkaError if this broker does not lead the partition in that epoch."""
        ...

    def append(self, partition: TopicPartition, batch: bytearray, leader_epoch: int) -> int:
        """Appends one batch as the leader in `leader_epoch`, and in no other; the offset after it. The batch is given
        away and may be changed in place.

        KafkaError if it is refused; then nothing was written. The high watermark may move before this returns.
        """
        ...

    def append_run(
        self, partition: TopicPartition, batch: bytearray, records: int, now_ms: int, leader_epoch: int
    ) -> int | None:
        """The same for a batch of so many records of this moment, where the partition has runs: it counts when this
        returns. None if it has to be appended the other way; then nothing was written."""
        ...

    def check_marker(
        self, partition: TopicPartition, producer_id: int, producer_epoch: int, transaction_version: int
    ) -> None:
        """KafkaError if the marker belongs to a transaction that has ended here, and its producer is in the next."""
        ...

    def replicated(self, partition: TopicPartition, offset: int) -> ErrorCode:
        """Of an offset the high watermark has reached: whether enough replicas were in sync for it to count."""
        ...

    def read(self, partition: TopicPartition, offset: int, max_bytes: int) -> tuple[bytes, int]:
        """Whole batches from the one that contains `offset` on, at least one if there is any, and the log end offset.

        Committed or not: a new leader takes over everything in its log.
        """
        ...

    def log_start_offset(self, partition: TopicPartition) -> int: ...

    def log_end_offset(self, partition: TopicPartition) -> int: ...

    def high_watermark(self, partition: TopicPartition) -> int: ...

    def max_batch_size(self, partition: TopicPartition) -> int: ...

    def watch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        """Calls the listener with the high watermark each time it moves."""
        ...

    def unwatch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None: ...
