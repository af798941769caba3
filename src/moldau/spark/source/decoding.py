"""What was fetched as Arrow batches, in the columns Spark asked for. No Python object is made per record.

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

from moldau.client.consumer.fetched import FetchedRecords
from moldau.protocol.records import ColumnBuilder, Columns, batch_body
from moldau.spark.source.ranges import OffsetRange

# An Arrow batch is closed at the end of an answer if it has this many rows: below, Spark's cost per batch shows.
_ENOUGH_ROWS: Final = 10_000
# And within an answer before it would pass these.
_MOST_ROWS: Final = 100_000
_MOST_BYTES: Final = 32 * 1024 * 1024


def arrow_batches(answers: Iterable[tuple[OffsetRange, FetchedRecords]], schema: StructType) -> Iterator[Any]:
    """The records of ranges, without control records and, if the answers say so, those of aborted transactions."""
    open_: dict[OffsetRange, _Filling] = {}
    for wanted, answer in answers:
        filling = open_.get(wanted)
        if filling is None:
            filling = open_[wanted] = _Filling(wanted, schema)
        yield from filling.add(answer)
    for filling in open_.values():
        yield from filling.rest()


class _Filling:
    """The Arrow batch that is being made of one range."""

    def __init__(self, wanted: OffsetRange, schema: StructType) -> None:
        self._wanted = wanted
        self._arrays = ArrowRows(schema, wanted)
        self._builder = self._arrays.builder()
        self._kind = 0

    def add(self, answer: FetchedRecords) -> Iterator[Any]:
        builder, position, end = self._builder, answer.position, self._wanted.end
        for header, at in answer.shown():
            if header.base_offset >= end:
                break
            full = builder.rows + header.count > _MOST_ROWS or builder.size + header.size > _MOST_BYTES
            if full or header.timestamp_type != self._kind:
                yield from self.rest()
            self._kind = header.timestamp_type
            body, first, last = batch_body(header, answer.data, at)
            builder.append(header, body, first, last, first_offset=position, end_offset=end)
        if builder.rows >= _ENOUGH_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[Any]:
        if self._builder.rows:
            yield self._arrays.batch(self._builder.finish(), self._kind)


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
