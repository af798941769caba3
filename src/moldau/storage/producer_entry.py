"""What the log remembers of one producer: its epoch, its last five batches, and its open transaction.

Five, because a producer may have that many requests in flight: any of them may come again after a lost answer, and is
then answered with the offset it got the first time.
"""

from __future__ import annotations

from collections import deque
from typing import Final, NamedTuple

from moldau.types import NO_OFFSET, NO_PRODUCER_EPOCH, NO_SEQUENCE, NO_TIMESTAMP

BATCHES_REMEMBERED: Final = 5
_LAST_SEQUENCE: Final = (1 << 31) - 1


class WrittenBatch(NamedTuple):
    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def first_offset(self) -> int:
        return self.last_offset - self.offset_delta

    @property
    def first_sequence(self) -> int:
        return (self.last_sequence - self.offset_delta) & _LAST_SEQUENCE


class ProducerEntry:
    __slots__ = (
        "batches",
        "coordinator_epoch",
        "epoch",
        "last_timestamp",
        "next_sequence",
        "producer_id",
        "transaction_start",
    )

    def __init__(self, producer_id: int, epoch: int = NO_PRODUCER_EPOCH) -> None:
        self.producer_id = producer_id
        self.epoch = epoch
        self.batches: deque[WrittenBatch] = deque(maxlen=BATCHES_REMEMBERED)
        self.next_sequence = 0
        self.last_timestamp = NO_TIMESTAMP
        self.coordinator_epoch = -1
        self.transaction_start = NO_OFFSET

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    def find(self, epoch: int, first_sequence: int, last_sequence: int) -> WrittenBatch | None:
        """The remembered batch with exactly these sequence numbers."""
        if epoch == self.epoch:
            for batch in self.batches:
                if batch.last_sequence == last_sequence and batch.first_sequence == first_sequence:
                    return batch
        return None

    def add(self, batch: WrittenBatch) -> None:
        """Remembers a batch; after the largest sequence comes 0."""
        self.batches.append(batch)
        self.next_sequence = (batch[0] + 1) & _LAST_SEQUENCE

    def move_to_epoch(self, epoch: int) -> None:
        """Sequences start over with an epoch, so the batches of the one before can no longer be repeated."""
        self.batches.clear()
        self.next_sequence = 0
        self.epoch = epoch

    def expired(self, now_ms: int, expiration_ms: int) -> bool:
        return self.transaction_start == NO_OFFSET and now_ms - self.last_timestamp >= expiration_ms
