"""Columns as a pyarrow.RecordBatch: the buffers are handed over as they are, nothing is copied or made per record."""

from __future__ import annotations

from typing import Any

from moldau.client.exceptions import KafkaConfigurationError
from moldau.protocol.records import Columns
from moldau.types import TopicPartition


def record_batch(where: TopicPartition, columns: Columns) -> Any:
    """Columns `partition`, `offset`, `timestamp`, `key`, `value` and `headers`; the topic stands in the metadata."""
    try:
        import pyarrow as pa  # type: ignore[import-not-found, unused-ignore]
    except ImportError:
        raise KafkaConfigurationError("Arrow needs pyarrow, which is not installed.") from None
    rows = columns.rows

    def binary(validity: Any, offsets: Any, data: Any, count: int) -> Any:
        buffers = [None if each is None else pa.py_buffer(each) for each in (validity, offsets, data)]
        return pa.Array.from_buffers(pa.binary(), count, buffers)

    def numbers(kind: Any, data: Any) -> Any:
        return pa.Array.from_buffers(kind, rows, [None, pa.py_buffer(data)])

    def headers() -> Any:
        """A list of (key, value) per record."""
        parts = columns.headers
        assert parts is not None
        count = len(parts.key_offsets) // 4 - 1
        kind = pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])
        keys = pa.Array.from_buffers(
            pa.string(), count, [None, pa.py_buffer(parts.key_offsets), pa.py_buffer(parts.key_data)]
        )
        values = binary(parts.value_validity, parts.value_offsets, parts.value_data, count)
        pairs = pa.StructArray.from_arrays([keys, values], fields=list(kind))
        return pa.Array.from_buffers(pa.list_(kind), rows, [None, pa.py_buffer(parts.offsets)], children=[pairs])

    arrays = {
        "partition": pa.repeat(pa.scalar(where.partition, pa.int32()), rows),
        "offset": numbers(pa.int64(), columns.offset),
        "timestamp": numbers(pa.timestamp("ms", tz="UTC"), columns.timestamp),
        "key": binary(columns.key_validity, columns.key_offsets, columns.key_data, rows),
        "value": binary(columns.value_validity, columns.value_offsets, columns.value_data, rows),
        "headers": headers(),
    }
    batch = pa.RecordBatch.from_arrays(list(arrays.values()), names=list(arrays))
    return batch.replace_schema_metadata({"topic": where.topic})
