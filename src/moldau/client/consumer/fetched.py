"""The records of one partition from one answer, handed out as they are asked for.

A broker sends whole batches as they lie on disk. So the first may begin before the position, the last may be cut off,
control batches lie in between, and with read_committed the records of aborted transactions are there to be left out.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from struct import Struct
from typing import Any, Final, NamedTuple

from moldau import _speed
from moldau.client.fetching import AbortedFilter
from moldau.errors import ProtocolError
from moldau.protocol.records import (
    BatchHeader,
    ColumnBuilder,
    batch_body,
    decode_batch,
    scan_batches,
    up_convert,
)
from moldau.types import NO_EPOCH, TopicPartition

if _speed.COMPILED:
    from moldau._speed.consumed import BatchCursor, ConsumerRecord
else:
    from moldau._speed.reference.consumed import BatchCursor, ConsumerRecord

__all__ = ["ConsumerRecord", "Deserialize", "Deserializers", "FetchedRecords", "ReturnedRecords", "whole_batches"]

Deserialize = Callable[[Any], Any] | None

_PREFIX: Final = Struct(">qi")
_MAGIC_AT: Final = 16


class Deserializers(NamedTuple):
    """Functions see the bytes alone and are called while a record is made; `finish` is for those who look at the whole
    record (its topic, its headers), and comes after."""

    key: Deserialize = None
    value: Deserialize = None
    finish: Callable[[ConsumerRecord], ConsumerRecord] | None = None


AS_THEY_ARE: Final = Deserializers()


class FetchedRecords:
    """`position` moves as records are taken; `next_position` is where the next fetch goes on."""

    def __init__(
        self,
        where: TopicPartition,
        data: memoryview,
        position: int,
        *,
        aborted: Sequence[tuple[int, int]] = (),
        committed_only: bool = False,
        check_crc: bool = True,
        deserializers: Deserializers = AS_THEY_ARE,
    ) -> None:
        self.where = where
        self.position = position
        self._deserializers = deserializers
        self._hidden = AbortedFilter(aborted) if committed_only else None
        end = whole_batches(data)
        if end > _MAGIC_AT and data[_MAGIC_AT] < 2:
            data = memoryview(up_convert(data, 0, end, check_crc=check_crc))
            end = len(data)
        self.data = data
        self.headers: Sequence[BatchHeader] = scan_batches(data, 0, end, check_crc=check_crc)
        headers = self.headers
        self._batches: deque[BatchHeader] = deque(headers)
        self._at = 0
        self._cursor: BatchCursor | None = None
        self._reading: BatchHeader | None = None
        self._body: tuple[BatchHeader, tuple[Any, int, int]] | None = None
        # Of the batch the last record taken came from.
        self.epoch = NO_EPOCH
        self.size = end
        self.next_position = max(position, headers[-1].next_offset) if headers else position
        self.last_epoch = headers[-1].partition_leader_epoch if headers else NO_EPOCH

    @property
    def done(self) -> bool:
        return self._cursor is None and not self._batches

    def take(self, most: int) -> list[ConsumerRecord]:
        """Up to `most` records; an empty list when none are left (or all that were left were not to be seen)."""
        records: list[ConsumerRecord] = []
        while len(records) < most:
            cursor = self._cursor or self._open()
            if cursor is None:
                break
            assert self._reading is not None
            try:
                records += self._finished(cursor.take(most - len(records)))
            except Exception:
                self._back_to(self._reading)
                if most == 1 or records:
                    if records:
                        break
                    raise
                # A deserializer failed on one of them: those before it are good, and are found one by one.
                return self._one_by_one(most)
            self._cursor = cursor
            self.epoch = self._reading.partition_leader_epoch
            if cursor.done:
                self.position = max(self.position, self._reading.next_offset)
                self._cursor = None
            elif records:
                self.position = records[-1].offset + 1
        if self.done:
            self.position = max(self.position, self.next_position)
        return records

    def _finished(self, records: list[ConsumerRecord]) -> list[ConsumerRecord]:
        finish = self._deserializers.finish
        return records if finish is None else [finish(record) for record in records]

    def _one_by_one(self, most: int) -> list[ConsumerRecord]:
        records = self.take(1)
        while len(records) < most:
            try:
                more = self.take(1)
            except Exception:
                break  # it is met again when it is its turn
            if not more:
                break
            records += more
        return records

    def _back_to(self, header: BatchHeader) -> None:
        self._batches.appendleft(header)
        self._at -= header.size
        self._cursor = None

    def columns(self, builder: ColumnBuilder, most: int) -> None:
        """Puts what is left into columns, without an object per record, until the builder has `most` rows."""
        if self._cursor is not None and self._reading is not None:
            self._back_to(self._reading)
        while self._batches and builder.rows < most:
            header, at = self._next()
            if self._shows(header, at):
                body, start, end = self._uncompressed(header, at)
                # Offsets count up, so a window of so many offsets never holds more records; it may hold fewer.
                until = min(header.next_offset, max(self.position, header.base_offset) + most - builder.rows)
                builder.append(header, body, start, end, first_offset=self.position, end_offset=until)
                self.epoch = header.partition_leader_epoch
                if until < header.next_offset:
                    self.position = until
                    self._back_to(header)
                    continue
            self.position = max(self.position, header.next_offset)
        if self.done:
            self.position = max(self.position, self.next_position)

    def shown(self) -> Iterator[tuple[BatchHeader, int]]:
        """Takes the batches that are to be seen, each with its place in `data`, for those who decode by themselves."""
        while self._batches:
            header, at = self._next()
            if self._shows(header, at):
                yield header, at

    def _uncompressed(self, header: BatchHeader, at: int) -> tuple[Any, int, int]:
        """Kept for the batch that is being taken in parts."""
        if self._body is None or self._body[0] is not header:
            self._body = header, batch_body(header, self.data, at)
        return self._body[1]

    def _open(self) -> BatchCursor | None:
        while self._batches:
            header, at = self._next()
            if not self._shows(header, at):
                continue
            body, start, end = batch_body(header, self.data, at)
            self._reading = header
            topic, partition = self.where
            return BatchCursor(header, body, start, end, topic, partition, self.position, *self._deserializers[:2])
        return None

    def _next(self) -> tuple[BatchHeader, int]:
        header, at = self._batches.popleft(), self._at
        self._at += header.size
        return header, at

    def _shows(self, header: BatchHeader, at: int) -> bool:
        if self._hidden is not None:
            marker = decode_batch(self.data, at, at + header.size, check_crc=False) if header.is_control else []
            if not self._hidden.shows(header, marker):
                return False
        return not header.is_control and header.last_offset >= self.position


class ReturnedRecords(FetchedRecords):
    """Records that were taken, and given back before the application had them. Behind them is `next_position`."""

    def __init__(self, where: TopicPartition, records: deque[ConsumerRecord], next_position: int) -> None:
        super().__init__(where, memoryview(b""), next_position)
        self._records = records
        self.position = records[0].offset

    @property
    def done(self) -> bool:
        return not self._records

    def take(self, most: int) -> list[ConsumerRecord]:
        taken = [self._records.popleft() for _ in range(min(most, len(self._records)))]
        self.position = self._records[0].offset if self._records else self.next_position
        return taken


def whole_batches(data: memoryview) -> int:
    """Where the last batch that is there to its end ends; ProtocolError if not even one is."""
    position, size = 0, len(data)
    while size - position > _MAGIC_AT:
        _, length = _PREFIX.unpack_from(data, position)
        if length <= 0:
            raise ProtocolError(f"a batch of {length} bytes was sent")
        end = position + _PREFIX.size + length
        if end > size:
            break
        position = end
    if size and not position:
        raise ProtocolError("a fetch brought less than one batch")
    return position
