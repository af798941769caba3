"""Records as columns, for those who work on many at once: as they are in memory, or as pyarrow's record batches.

The buffers are handed over to Arrow as they are, nothing is copied or made per record:

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

from collections.abc import Callable, Sequence
from time import monotonic
from typing import Any, Final

from moldau.client.consumer.fetch_buffer import FetchBuffer
from moldau.client.consumer.positions import Positions
from moldau.client.session import Session
from moldau.errors.named import IllegalArgumentError, KafkaConfigurationError
from moldau.protocol.records import Columns
from moldau.types import TopicPartition

# Waits up to so many milliseconds for what the function takes.
Poll = Callable[[float, Callable[[], dict[TopicPartition, Any]]], dict[TopicPartition, Any]]

_EVERYTHING: Final = 1 << 30
_SLICE_MS: Final = 100


class ColumnReader:
    """`poll` for columns. `max_poll_records` is not for these: it bounds objects, and here there are none."""

    def __init__(self, session: Session, buffer: FetchBuffer, positions: Positions, poll: Poll) -> None:
        self._session = session
        self._buffer = buffer
        self._positions = positions
        self._poll = poll

    def poll_columns(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, Columns]:
        """Like `poll`, with the records of each partition as columns in Arrow's memory layout, not as objects.

        All that was fetched so far, or `max_records` of it. Deserializers and interceptors see records, so they see
        none of these.
        """
        most = _most(max_records)
        return self._poll(timeout_ms, lambda: self._buffer.columns(most))

    def poll_arrow(self, timeout_ms: float = 0, max_records: int | None = None) -> dict[TopicPartition, Any]:
        """Like `poll_columns`, with one pyarrow.RecordBatch per partition. See above for its columns."""
        schema()  # if Arrow is not there, that is said before anything is taken
        found = self.poll_columns(timeout_ms, max_records)
        return {where: record_batch(where, columns) for where, columns in found.items()}

    def to_arrow(self, timeout_ms: float | None = None, max_records: int | None = None) -> Any:
        """From the positions to where the partitions end now, as one pyarrow.Table; what arrives meanwhile may be in
        it too. After `timeout_ms` (request_timeout_ms, if not given) it holds what came by then."""
        schema()
        deadline = monotonic() + (self._session.timeout if timeout_ms is None else timeout_ms / 1000)
        left = _most(max_records)
        ends: dict[TopicPartition, int] = {}
        batches: list[Any] = []
        while left > 0 and (remaining := (deadline - monotonic()) * 1000) > 0:
            ours = self._buffer.assignment() - self._buffer.paused()
            new = [where for where in ours if where not in ends]
            if new:
                ends.update(self._positions.end_offsets(new, remaining))
            if ours and all(self._positions.position(where, remaining) >= ends[where] for where in ours):
                break
            # In slices: a partition may end in records that are not to be seen, and then nothing more comes.
            found = self.poll_columns(min(remaining, _SLICE_MS), left)
            for where, columns in found.items():
                batches.append(record_batch(where, columns))
                left -= columns.rows
        return table(batches)


def _most(max_records: int | None) -> int:
    if max_records is not None and max_records < 1:
        raise IllegalArgumentError("max_records must be at least 1.")
    return _EVERYTHING if max_records is None else max_records


# ------------------------------------------------------------------------------------------------------- Arrow


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
