"""Chunks of a log as Arrow batches, in the columns Spark asked for. No Python object is made per record.

The kernel writes Arrow's buffers directly, and they are handed over as they are. What is the same in every row (topic,
partition, kind of timestamp) is made once and lent to each batch. Columns nobody asked for are walked over.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, Final

import numpy as np
import pyarrow as pa
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import StructType

from moldau.client.fetching import AbortedFilter
from moldau.protocol.records import BatchHeader, ColumnBuilder, Columns, batch_body, decode_batch
from moldau.spark.source.fetching import Chunk
from moldau.spark.source.ranges import OffsetRange

# An Arrow batch is closed at the end of an answer if it has this many rows: below, Spark's cost per batch shows.
_ENOUGH_ROWS: Final = 10_000
# And within an answer before it would pass these.
_MOST_ROWS: Final = 100_000
_MOST_BYTES: Final = 32 * 1024 * 1024


def arrow_batches(
    chunks: Iterable[Chunk], wanted: OffsetRange, schema: StructType, *, committed_only: bool
) -> Iterator[Any]:
    """The records of the range, without control records and, if so asked, without those of aborted transactions."""
    arrays = ArrowRows(schema, wanted)
    builder = arrays.builder()
    kind = 0
    for chunk in chunks:
        hidden = AbortedFilter(chunk.aborted) if committed_only else None
        after = 0
        for header in chunk.batches:
            at, after = after, after + header.size
            if hidden is not None and not hidden.shows(header, _marker(header, chunk, at)):
                continue
            if header.is_control or header.base_offset >= wanted.end or header.last_offset < chunk.position:
                continue
            full = builder.rows + header.count > _MOST_ROWS or builder.size + header.size > _MOST_BYTES
            if builder.rows and (full or header.timestamp_type != kind):
                yield arrays.batch(builder.finish(), kind)
            kind = header.timestamp_type
            body, start, end = batch_body(header, chunk.data, at)
            builder.append(header, body, start, end, first_offset=chunk.position, end_offset=wanted.end)
        if builder.rows >= _ENOUGH_ROWS:
            yield arrays.batch(builder.finish(), kind)
    if builder.rows:
        yield arrays.batch(builder.finish(), kind)


def _marker(header: BatchHeader, chunk: Chunk, at: int) -> Any:
    return decode_batch(chunk.data, at, at + header.size, check_crc=False) if header.is_control else []


class ArrowRows:
    """Makes record batches of one schema for one partition."""

    def __init__(self, schema: StructType, wanted: OffsetRange) -> None:
        self._schema = to_arrow_schema(schema, timezone="UTC")
        self._names = schema.fieldNames()
        self._same = {"topic": wanted.topic, "partition": wanted.partition}
        self._lent: dict[str, Any] = {}

    def builder(self) -> ColumnBuilder:
        return ColumnBuilder(
            keys="key" in self._names,
            values="value" in self._names,
            headers="headers" in self._names,
            microseconds=True,
        )

    def batch(self, columns: Columns, timestamp_type: int) -> Any:
        if self._same.get("timestampType") != timestamp_type:
            self._same["timestampType"] = timestamp_type
            self._lent.pop("timestampType", None)
        arrays = [self._column(field, columns) for field in self._schema]
        return pa.RecordBatch.from_arrays(arrays, schema=self._schema)

    def _column(self, field: Any, columns: Columns) -> Any:
        rows = columns.rows
        match field.name:
            case "key":
                buffers = [columns.key_validity, columns.key_offsets, columns.key_data]
            case "value":
                buffers = [columns.value_validity, columns.value_offsets, columns.value_data]
            case "offset":
                return pa.Array.from_buffers(field.type, rows, [None, pa.py_buffer(columns.offset)], 0)
            case "timestamp":
                return pa.Array.from_buffers(field.type, rows, [None, pa.py_buffer(columns.timestamp)], 0)
            case "headers":
                return _headers(field.type, columns)
            case name:
                return self._lend(name, field.type, rows)
        return pa.Array.from_buffers(field.type, rows, [pa.py_buffer(each) for each in buffers])

    def _lend(self, name: str, kind: Any, rows: int) -> Any:
        lent = self._lent.get(name)
        if lent is None or len(lent) < rows:
            lent = self._lent[name] = pa.repeat(pa.scalar(self._same[name], kind), max(rows, _ENOUGH_ROWS))
        return lent.slice(0, rows)


def _headers(kind: Any, columns: Columns) -> Any:
    """Null where a record has none, as in Spark's connector, and otherwise a list of (key, value)."""
    parts = columns.headers
    assert parts is not None
    pair = kind.value_type
    count = len(parts.key_offsets) // 4 - 1
    keys = pa.Array.from_buffers(
        pair.field(0).type, count, [None, pa.py_buffer(parts.key_offsets), pa.py_buffer(parts.key_data)], 0
    )
    buffers = [pa.py_buffer(each) for each in (parts.value_validity, parts.value_offsets, parts.value_data)]
    values = pa.Array.from_buffers(pair.field(1).type, count, buffers)
    pairs = pa.StructArray.from_arrays([keys, values], fields=[pair.field(0), pair.field(1)])
    some = np.packbits(np.diff(np.frombuffer(parts.offsets, np.int32)) != 0, bitorder="little")
    return pa.Array.from_buffers(
        kind, columns.rows, [pa.py_buffer(some), pa.py_buffer(parts.offsets)], children=[pairs]
    )
