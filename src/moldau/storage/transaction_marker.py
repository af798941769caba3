"""The end of a transaction in a log: a marker in the records, and for an aborted one its entry in an index."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from moldau._speed import BatchHeader
from moldau.storage.producer_state import CompletedTransaction, EndMarker, ProducerState, read_end_marker
from moldau.storage.segment import Segment
from moldau.types import NO_PRODUCER_ID


def append_marker(
    segment: Segment,
    producers: ProducerState,
    data: memoryview,
    header: BatchHeader,
    base: int,
    timestamp: int,
    marker: EndMarker,
) -> None:
    """Writes the marker, its entry in the transaction index first.

    A marker in the log without its entry would make aborted records visible; an entry whose marker could not be
    written is simply taken back.
    """
    completed = producers.completed_by(header, base, marker)
    if completed is None or not completed.aborted:
        segment.append(data, base, timestamp, base)
        return
    segment.transaction_index.append(completed.as_aborted())
    try:
        segment.append(data, base, timestamp, base)
    except OSError:
        segment.transaction_index.drop_last()
        raise


def runs_of_batches(
    data: memoryview, start: int, headers: Sequence[BatchHeader]
) -> Iterator[tuple[Sequence[BatchHeader], EndMarker | None]]:
    """Batches that are written with one call. A marker that aborts is one by itself: whether its entry can be written
    has to be known first, and the entry follows from what the batches before it mean."""
    first, at = 0, start
    for index, header in enumerate(headers):
        end = at + header.size
        if header.is_control and header.producer_id != NO_PRODUCER_ID:
            marker = read_end_marker(data, at, end)
            if marker is not None and not marker.commit:
                if index > first:
                    yield headers[first:index], None
                yield headers[index : index + 1], marker
                first = index + 1
        at = end
    if first < len(headers):
        yield headers[first:], None


def record_completed(segment: Segment, producers: ProducerState, completed: CompletedTransaction) -> None:
    """An aborted transaction is noted in the index of the segment that holds its marker, then it is no longer open."""
    if completed.aborted:
        segment.transaction_index.append(completed.as_aborted())
    producers.complete(completed)
