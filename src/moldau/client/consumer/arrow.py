"""Columns as a pyarrow.RecordBatch: the buffers are handed over as they are, nothing is copied or made per record.

    topic      dictionary<int32, string>     one entry, however many rows
    partition  int32
    offset     int64
    timestamp  timestamp[ms, UTC]
    key        binary, may be null
    value      binary, may be null
    headers    list<struct<key: string, value: binary>>     empty lists, never null

The same in every batch, so batches of several partitions and topics go into one table as they are.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from moldau.errors.named import KafkaConfigurationError
from moldau.protocol.records import Columns
from moldau.types import TopicPartition


def schema() -> Any:
    pa = _pyarrow()
    return pa.schema(
        [
            pa.field("topic", pa.dictionary(pa.int32(), pa.string()), nullable=False),
            pa.field("partition", pa.int32(), nullable=False),
            pa.field("offset", pa.int64(), nullable=False),
            pa.field("timestamp", pa.timestamp("ms", tz="UTC"), nullable=False),
            pa.field("key", pa.binary()),
            pa.field("value", pa.binary()),
            pa.field("headers", pa.list_(_header_type(pa)), nullable=False),
        ]
    )


def record_batch(where: TopicPartition, columns: Columns) -> Any:
    pa = _pyarrow()
    rows = columns.rows
    topic = pa.DictionaryArray.from_arrays(pa.repeat(pa.scalar(0, pa.int32()), rows), pa.array([where.topic]))
    arrays = [
        topic,
        pa.repeat(pa.scalar(where.partition, pa.int32()), rows),
        pa.Array.from_buffers(pa.int64(), rows, [None, pa.py_buffer(columns.offset)]),
        pa.Array.from_buffers(pa.timestamp("ms", tz="UTC"), rows, [None, pa.py_buffer(columns.timestamp)]),
        _binary(pa, columns.key_validity, columns.key_offsets, columns.key_data, rows),
        _binary(pa, columns.value_validity, columns.value_offsets, columns.value_data, rows),
        _headers(pa, columns),
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=schema())


def table(batches: Sequence[Any]) -> Any:
    """One table, with the columns above also when there are no batches."""
    return _pyarrow().Table.from_batches(batches, schema())


def _pyarrow() -> Any:
    try:
        import pyarrow  # type: ignore[import-not-found, import-untyped, unused-ignore]
    except ImportError:
        raise KafkaConfigurationError("Arrow needs pyarrow, which is not installed.") from None
    return pyarrow


def _header_type(pa: Any) -> Any:
    return pa.struct([pa.field("key", pa.string(), nullable=False), pa.field("value", pa.binary())])


def _binary(pa: Any, validity: Any, offsets: Any, data: Any, count: int) -> Any:
    buffers = [None if each is None else pa.py_buffer(each) for each in (validity, offsets, data)]
    return pa.Array.from_buffers(pa.binary(), count, buffers)


def _headers(pa: Any, columns: Columns) -> Any:
    parts = columns.headers
    assert parts is not None
    count = len(parts.key_offsets) // 4 - 1
    keys = _text(pa, _binary(pa, None, parts.key_offsets, parts.key_data, count))
    values = _binary(pa, parts.value_validity, parts.value_offsets, parts.value_data, count)
    kind = _header_type(pa)
    pairs = pa.StructArray.from_arrays([keys, values], fields=list(kind))
    buffers = [None, pa.py_buffer(parts.offsets)]
    return pa.Array.from_buffers(pa.list_(kind), columns.rows, buffers, children=[pairs])


def _text(pa: Any, keys: Any) -> Any:
    """Header keys are UTF-8 by Kafka's rules, but no broker looks at them: one that is not must not spoil the batch."""
    try:
        return keys.cast(pa.string())
    except pa.ArrowInvalid:
        return pa.array([each.decode(errors="replace") for each in keys.to_pylist()], pa.string())
