"""The end of a transaction in a log: a marker in the records, and for an aborted one its entry in an index."""

from __future__ import annotations

from moldau._speed import BatchHeader
from moldau.storage.producer_state import CompletedTransaction, EndMarker, ProducerState
from moldau.storage.segment import Segment


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


def record_completed(segment: Segment, producers: ProducerState, completed: CompletedTransaction) -> None:
    """An aborted transaction is noted in the index of the segment that holds its marker, then it is no longer open."""
    if completed.aborted:
        segment.transaction_index.append(completed.as_aborted())
    producers.complete(completed)
