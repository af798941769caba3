"""What was sent and what was acknowledged, and what follows from it for the log.

The invariants have names, and a violation says which one it is:

- invention: what is in the log was sent.
- repetition: nothing is in the log twice.
- loss: what was acknowledged is there, at the offset that was acknowledged.
- order: the records of one producer are in the order in which it sent them.

Values are unique, and say who sent them and in which place: `producer:number:padding`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from moldau.types import NO_OFFSET, TopicPartition


class Found(NamedTuple):
    """A record as it was read back."""

    offset: int
    value: bytes
    key: bytes | None = None


class Broken(AssertionError):
    """An invariant does not hold."""


class PartitionLedger:
    """One partition's account."""

    def __init__(self, where: TopicPartition) -> None:
        self.where = where
        self.sent: dict[bytes, tuple[str, int]] = {}
        self.keys: dict[bytes, bytes] = {}
        self.acknowledged: dict[bytes, int] = {}
        # Offsets before this one may be gone: the records were deleted.
        self.deleted_up_to = 0

    def send(self, producer: str, number: int, value: bytes, key: bytes | None = None) -> None:
        if value in self.sent:
            raise ValueError(f"{value!r} was sent before")
        self.sent[value] = (producer, number)
        if key is not None:
            self.keys[value] = key

    def acknowledge(self, values: Sequence[bytes], base_offset: int) -> None:
        for delta, value in enumerate(values):
            self.acknowledged[value] = base_offset + delta if base_offset != NO_OFFSET else NO_OFFSET

    # ------------------------------------------------------------------------------------------------- invariants

    def check(self, found: Sequence[Found]) -> None:
        """For a log that keeps everything from its start on."""
        self.check_sound(found)
        self.check_loss(found)

    def check_invention(self, found: Sequence[Found]) -> None:
        """All that holds for a producer that repeats what was not answered, without an id to be recognised by."""
        for offset, value, _ in found:
            if value not in self.sent:
                raise self._broken("invention", f"offset {offset} holds {value[:60]!r}, which nobody sent")

    def check_sound(self, found: Sequence[Found]) -> None:
        """What holds for every log of idempotent producers, whatever was lost or deleted."""
        self.check_invention(found)
        seen: dict[bytes, int] = {}
        last: dict[str, tuple[int, int]] = {}
        for offset, value, _ in found:
            if value in seen:
                raise self._broken("repetition", f"{value[:60]!r} is at the offsets {seen[value]} and {offset}")
            seen[value] = offset
            producer, number = self.sent[value]
            before = last.get(producer)
            if before is not None and number <= before[0]:
                raise self._broken(
                    "order",
                    f"number {number} of {producer} is at offset {offset}, after number {before[0]} at {before[1]}",
                )
            last[producer] = (number, offset)

    def check_loss(self, found: Iterable[Found]) -> None:
        places = {value: offset for offset, value, _ in found}
        for value, offset in self.acknowledged.items():
            if 0 <= offset < self.deleted_up_to:
                continue
            if value not in places:
                raise self._broken("loss", f"{value[:60]!r} was acknowledged at offset {offset} and is gone")
            if offset != NO_OFFSET and places[value] != offset:
                raise self._broken(
                    "loss", f"{value[:60]!r} was acknowledged at offset {offset} and is at {places[value]}"
                )

    def check_suffix(self, found: Sequence[Found], log_start_offset: int) -> None:
        """For a log whose beginning may be deleted: from its start on nothing is missing."""
        self.check_sound(found)
        self.deleted_up_to = max(self.deleted_up_to, log_start_offset)
        self.check_loss(found)
        for (before, _, _), (after, _, _) in pairwise(found):
            if after != before + 1:
                raise self._broken("loss", f"after offset {before} comes {after}")

    def check_compacted(self, found: Sequence[Found]) -> None:
        """For a compacted log: the newest acknowledged value of every key is there, or a newer one of that key."""
        self.check_sound(found)
        newest = {key: offset for offset, _, key in found if key is not None}
        for value, offset in self.acknowledged.items():
            key = self.keys.get(value)
            if key is not None and newest.get(key, -1) < offset:
                raise self._broken(
                    "loss", f"key {key!r} had a value at offset {offset}; the newest found is at {newest.get(key)}"
                )

    def _broken(self, invariant: str, sentence: str) -> Broken:
        return Broken(f"{invariant} in {self.where}: {sentence}")


class Ledger:
    def __init__(self) -> None:
        self.partitions: dict[TopicPartition, PartitionLedger] = {}

    def partition(self, where: TopicPartition) -> PartitionLedger:
        account = self.partitions.get(where)
        if account is None:
            account = self.partitions[where] = PartitionLedger(where)
        return account

    @property
    def acknowledged(self) -> int:
        return sum(len(account.acknowledged) for account in self.partitions.values())
