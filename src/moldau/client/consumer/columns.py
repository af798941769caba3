"""Records as columns, for those who work on many at once."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic
from typing import Any, Final

from moldau.client.consumer.fetch_buffer import FetchBuffer
from moldau.client.consumer.positions import Positions
from moldau.client.session import Session
from moldau.errors.named import IllegalArgumentError
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
        """Like `poll_columns`, with one pyarrow.RecordBatch per partition. See `arrow` for its columns."""
        from moldau.client.consumer.arrow import record_batch, schema

        schema()  # if Arrow is not there, that is said before anything is taken
        found = self.poll_columns(timeout_ms, max_records)
        return {where: record_batch(where, columns) for where, columns in found.items()}

    def to_arrow(self, timeout_ms: float | None = None, max_records: int | None = None) -> Any:
        """From the positions to where the partitions end now, as one pyarrow.Table; what arrives meanwhile may be in
        it too. After `timeout_ms` (request_timeout_ms, if not given) it holds what came by then."""
        from moldau.client.consumer.arrow import record_batch, schema, table

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
