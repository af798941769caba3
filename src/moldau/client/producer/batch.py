"""Records of one partition on their way: the builder they were appended to, and what became of it so far."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final, NamedTuple

from moldau._speed.layout import HEADER_SIZE
from moldau.client.producer.delivery import Delivery, Lane
from moldau.protocol.records import BatchBuilder, Compression, Record, decode_batch
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, NO_SEQUENCE

SEQUENCES: Final = 1 << 31


class Identity(NamedTuple):
    """Under which a broker recognizes a batch it has written before."""

    id: int = NO_PRODUCER_ID
    epoch: int = NO_PRODUCER_EPOCH


NOBODY: Final = Identity()


class Batch(BatchBuilder):
    """Appended to by the application's threads until the sender takes it; the sender's alone from then on."""

    __slots__ = ("attempts", "created", "delivery", "identity", "lane", "packed", "sequence")

    lane: Lane
    delivery: Delivery
    created: float
    attempts: int
    identity: Identity
    sequence: int
    packed: bytes | None

    @classmethod
    def open(cls, lane: Lane, max_size: int, now: float) -> Batch:
        batch = cls(max_size)
        batch.lane = lane
        batch.delivery = Delivery(lane.topic, lane.partition)
        batch.created = now
        batch.attempts = 0
        batch.identity = NOBODY
        batch.sequence = NO_SEQUENCE
        batch.packed = None
        return batch

    @property
    def memory(self) -> int:
        """What it holds of the accumulator's memory: its records as they were appended."""
        return self.size - HEADER_SIZE

    @property
    def next_sequence(self) -> int:
        return (self.sequence + self.count) % SEQUENCES

    def identify(self, identity: Identity, sequence: int) -> None:
        """Numbers it, or numbers it anew under another identity."""
        self.identity, self.sequence = identity, sequence
        self.packed = None

    def wire(self, compression: Compression, level: int | None, transactional: bool) -> bytes:
        """The bytes to send: the same ones at each attempt, so that a repeated batch is recognized."""
        if self.packed is None:
            self.packed = self.build(
                compression=compression,
                level=level,
                is_transactional=transactional,
                producer_id=self.identity.id,
                producer_epoch=self.identity.epoch,
                base_sequence=self.sequence,
            )
        return self.packed

    def halves(self, now: float) -> Iterator[tuple[int, Batch]]:
        """The same records in two batches, with the index each begins at."""
        records: list[Record] = decode_batch(self.build())
        middle = len(records) // 2
        for first, part in ((0, records[:middle]), (middle, records[middle:])):
            batch = Batch.open(self.lane, (1 << 31) - 1, now)
            batch.created = self.created
            batch.extend(part)
            yield first, batch
