"""The batches of a read, as far as a share partition has to know them: which offsets, where, and what is aborted.

Only headers are looked at, some of them at a time: the records of a read may be many more than anybody acquires of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from moldau._speed.layout import (
    CONTROL,
    HEADER,
    HEADER_SIZE,
    LEGACY_HEADER,
    MAGIC,
    MAGIC_AT,
    PREFIX_SIZE,
    TRANSACTIONAL,
)
from moldau.runtime.ports import FileSlice
from moldau.server.share.acquisition import Span

# Bytes read at a time; batches larger than this are passed over, but for their headers.
_PIECE: Final = 64 << 10
_NO_PRODUCER: Final = -1


class LogBatches:
    """Whole batches of a read; `ends` are where they end in it. What was looked at last is kept in `data`, which begins
    at `data_at`."""

    __slots__ = ("aborted", "data", "data_at", "ends", "spans")

    def __init__(self) -> None:
        self.spans: list[Span] = []
        self.ends: list[int] = []
        self.aborted: list[Span] = []
        self.data = b""
        self.data_at = 0

    def bytes_of(self, first: int, last: int) -> tuple[int, int]:
        """Where the batches with these offsets begin and end."""
        begin, end = None, 0
        for place, span in enumerate(self.spans):
            if span.last >= first and begin is None:
                begin = self.ends[place - 1] if place else 0
            if span.first <= last:
                end = self.ends[place]
        return begin or 0, end

    def held(self, begin: int, end: int) -> bytes | None:
        """The bytes there, if they are among those that are kept."""
        first = begin - self.data_at
        return self.data[first : end - self.data_at] if first >= 0 and end - self.data_at <= len(self.data) else None


def batches_of(records: FileSlice, reach: int, aborted: Sequence[tuple[int, int]]) -> LogBatches:
    """As far as the offset `reach`. `aborted` are the producers of aborted transactions and where those begin."""
    found = LogBatches()
    waiting = sorted(aborted, key=lambda one: one[1])
    aborting: set[int] = set()
    position, total = 0, len(records)
    data, begin = b"", 0
    while position + HEADER_SIZE <= total:
        if position < begin or position + HEADER_SIZE > begin + len(data):
            length = min(_PIECE, total - position)
            data, begin = records.file.read(records.position + position, length), position
            if len(data) < HEADER_SIZE:
                break
        span, size, producer, attributes = _header(data, position - begin)
        if position + size > total:
            break
        while waiting and waiting[0][1] <= span.last:
            aborting.add(waiting.pop(0)[0])
        if attributes & CONTROL:
            # The first marker of a producer behind its aborted records is the one that aborts them.
            aborting.discard(producer)
        elif attributes & TRANSACTIONAL and producer in aborting:
            found.aborted.append(span)
        position += size
        found.spans.append(span)
        found.ends.append(position)
        if span.last >= reach:
            break
    found.data, found.data_at = data, begin
    return found


def _header(data: bytes, at: int) -> tuple[Span, int, int, int]:
    if data[at + MAGIC_AT] < MAGIC:
        base, length, _, _, _ = LEGACY_HEADER.unpack_from(data, at)
        return Span(base, base), PREFIX_SIZE + length, _NO_PRODUCER, 0
    base, length, _, _, _, attributes, last_delta, _, _, producer, _, _, _ = HEADER.unpack_from(data, at)
    return Span(base, base + last_delta), PREFIX_SIZE + length, producer, attributes
