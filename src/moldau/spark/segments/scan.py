"""What one task does: reads its pieces of segments and gives them as Arrow batches.

Batches are checked (CRC-32C), aborted transactions and control batches are left out, and the kernel turns the rest into
columns. A chunk of the file lies in one buffer that is read over again and again: the columns are copies already.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any, Final

from pyspark.sql.types import StructType

from moldau._speed import BatchHeader, ColumnBuilder, scan_batches
from moldau._speed.layout import PREFIX_SIZE
from moldau.errors import ProtocolError
from moldau.protocol.records import batch_body
from moldau.spark.segments.data_directory import ScanError
from moldau.spark.segments.decided import Aborted, is_aborted
from moldau.spark.segments.splits import Piece, Task, segment_name
from moldau.spark.source.decoding import ArrowRows
from moldau.spark.source.ranges import OffsetRange
from moldau.types import TopicPartition

_CHUNK: Final = 4 << 20
_MAGIC: Final = 16
# An Arrow batch: large enough that Spark's cost per batch vanishes, small enough for its memory.
_ROWS: Final = 65_536
_BYTES: Final = 32 << 20


class BatchMaker:
    """Gathers record batches of one partition after the other into columns until there are enough for Arrow."""

    def __init__(self, schema: StructType) -> None:
        self._schema = schema
        self._rows: ArrowRows | None = None
        self._builder: ColumnBuilder | None = None
        self._of: tuple[TopicPartition, int] | None = None

    def add(self, header: BatchHeader, data: bytearray, at: int, piece: Piece) -> Iterator[Any]:
        """Takes a batch; yields what was gathered if there is enough of it, or if it is of another kind."""
        kind = (piece.topic_partition, header.timestamp_type)
        builder = self._builder
        if builder is None or self._of != kind or builder.rows + header.count > _ROWS or builder.size > _BYTES:
            yield from self.finish()
            builder = self._begin(kind)
        body, start, end = batch_body(header, data, at)
        builder.append(header, body, start, end, first_offset=piece.first_offset, end_offset=piece.end_offset)

    def finish(self) -> Iterator[Any]:
        if self._rows is not None and self._builder is not None and self._of is not None and self._builder.rows:
            yield self._rows.batch(self._builder.finish(), self._of[1])

    def _begin(self, kind: tuple[TopicPartition, int]) -> ColumnBuilder:
        if self._rows is None or self._of is None or self._of[0] != kind[0]:
            self._rows = ArrowRows(self._schema, OffsetRange(kind[0].topic, kind[0].partition, 0, 0))
        if self._builder is None:
            self._builder = self._rows.builder()
        self._of = kind
        return self._builder


def scan(task: Task, schema: StructType) -> Iterator[Any]:
    """The records of a task as Arrow batches with the columns of `schema`."""
    maker = BatchMaker(schema)
    buffer = bytearray(_CHUNK)
    for piece in task.pieces:
        fd = piece.file.open()
        try:
            yield from _read(fd, piece, task.aborted.get(piece.topic_partition, {}), maker, buffer)
        except ProtocolError as error:
            raise ScanError(f"{segment_name(piece)} is damaged: {error}; see `moldau log verify`.") from error
        finally:
            os.close(fd)
    yield from maker.finish()


def _read(fd: int, piece: Piece, aborted: Aborted, maker: BatchMaker, buffer: bytearray) -> Iterator[Any]:
    position, want = piece.start, len(buffer)
    while position < piece.end:
        if want > len(buffer):
            buffer.extend(bytes(want - len(buffer)))
        size = os.preadv(fd, [memoryview(buffer)[: min(want, piece.end - position)]], position)
        headers = _headers(buffer, size)
        at = 0
        for header in headers:
            if header.base_offset >= piece.end_offset:
                return
            if header.last_offset >= piece.first_offset and not header.is_control and not is_aborted(header, aborted):
                yield from maker.add(header, buffer, at, piece)
            at += header.size
        if at == 0:
            # Not even one batch: its first bytes tell how long it is.
            want = int.from_bytes(buffer[8:12], "big", signed=True) + PREFIX_SIZE
            if size < PREFIX_SIZE or position + want > piece.end or want <= size:
                raise ProtocolError(f"there is no whole batch at position {position}")
        else:
            want = _CHUNK
        position += at


def _headers(buffer: bytearray, size: int) -> list[BatchHeader]:
    if size > _MAGIC and buffer[_MAGIC] < 2:
        raise ProtocolError(
            "it holds messages of the formats before record batches, which only a broker converts; "
            'read it with format("moldau")'
        )
    return scan_batches(buffer, 0, size, allow_partial=True)
