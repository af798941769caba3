"""The log under a coordinator: a partition of an internal topic, as far as a coordinator needs it.

The server implements it over the replica manager. Everything is called on the loop's thread.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from moldau.types import TopicPartition


class PartitionLog(Protocol):
    def append(self, partition: TopicPartition, batch: bytearray) -> int:
        """Appends one batch as the leader; the offset after it. The batch is given away and may be changed in place.

        KafkaError if it is refused; then nothing was written. The high watermark may move before this returns.
        """
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
