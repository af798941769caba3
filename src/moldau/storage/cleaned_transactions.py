"""What compaction must know of transactions while it reads a log from its beginning.

Records of an aborted transaction go at once. The marker that ended a transaction must outlive them: without it a
reader would take what is left of the records for undecided or committed. So a marker may go only when a pass meets it
and has met none of its transaction's batches before.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable

from moldau._speed import BatchHeader
from moldau.storage.producer_state import EndMarker
from moldau.storage.transaction_index import AbortedTransaction


class CleanedTransactions:
    """Fed with every transactional batch in the order of the log."""

    __slots__ = ("_aborted", "_committed", "_ongoing", "_retained")

    def __init__(self, aborted: Iterable[AbortedTransaction]) -> None:
        self._aborted = deque(sorted(set(aborted), key=lambda transaction: transaction.first_offset))
        # Producer → the aborted transaction it is in, and whether one of its batches has been seen.
        self._ongoing: dict[int, tuple[AbortedTransaction, bool]] = {}
        # Producers of which committed batches have been seen since their last marker.
        self._committed: set[int] = set()
        self._retained: list[AbortedTransaction] = []

    def is_aborted(self, header: BatchHeader) -> bool:
        """Whether the records of a batch were taken back."""
        self._advance(header)
        if not header.is_transactional:
            return False
        ongoing = self._ongoing.get(header.producer_id)
        if ongoing is None:
            self._committed.add(header.producer_id)
            return False
        self._ongoing[header.producer_id] = (ongoing[0], True)
        return True

    def is_superfluous(self, header: BatchHeader, marker: EndMarker | None) -> bool:
        """Whether a control batch speaks of nothing that is still there. None stands for one without a marker."""
        self._advance(header)
        if marker is None:
            return header.count == 0
        if marker.commit:
            seen = header.producer_id in self._committed
            self._committed.discard(header.producer_id)
            return not seen
        ongoing = self._ongoing.pop(header.producer_id, None)
        if ongoing is None or not ongoing[1]:
            return True
        self._retained.append(ongoing[0])
        return False

    def take_retained(self) -> list[AbortedTransaction]:
        """The aborted transactions whose markers stay, since the last call: for the index of the new segment."""
        retained, self._retained = self._retained, []
        return retained

    def _advance(self, header: BatchHeader) -> None:
        while self._aborted and self._aborted[0].first_offset <= header.last_offset:
            transaction = self._aborted.popleft()
            self._ongoing.setdefault(transaction.producer_id, (transaction, False))
        ongoing = self._ongoing.get(header.producer_id)
        if ongoing is not None and ongoing[0].last_offset < header.base_offset:
            # Its marker is not where the index says. What comes now is not part of it.
            del self._ongoing[header.producer_id]
