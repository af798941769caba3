"""What becomes of records that were acquired: accepted, released, rejected, renewed. And how a request says so."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from enum import IntEnum
from typing import NamedTuple


class AcknowledgeType(IntEnum):
    """ACCEPT: done with. RELEASE: somebody may try again. REJECT: nobody shall. RENEW: it takes longer; the lock begins
    anew, and the next poll hands the record out again."""

    ACCEPT = 1
    RELEASE = 2
    REJECT = 3
    RENEW = 4


# Offsets that were acquired and at which there is no record: markers of transactions, and what compaction took.
GAP = 0


class AcknowledgedRun(NamedTuple):
    """Offsets without a hole: one type for all of them, or one for each."""

    first: int
    last: int
    types: Sequence[int]


def runs_of(types: Mapping[int, int], ranges: Iterable[tuple[int, int, int]] = ()) -> list[AcknowledgedRun]:
    """Acknowledgements in the order of offsets: `types` by offset, and whole ranges as (first, last, type)."""
    pieces = sorted([(offset, offset, int(kind)) for offset, kind in types.items()] + [*ranges])
    runs: list[AcknowledgedRun] = []
    begin = 0
    for at in range(1, len(pieces) + 1):
        if at == len(pieces) or pieces[at][0] != pieces[at - 1][1] + 1:
            runs.append(_run(pieces[begin:at]))
            begin = at
    return runs if pieces else []


def _run(pieces: Sequence[tuple[int, int, int]]) -> AcknowledgedRun:
    kinds = {kind for _, _, kind in pieces}
    first, last = pieces[0][0], pieces[-1][1]
    if len(kinds) == 1:
        return AcknowledgedRun(first, last, [pieces[0][2]])
    each = [kind for begin, end, kind in pieces for _ in range(begin, end + 1)]
    return AcknowledgedRun(first, last, each)


def offset_ranges(offsets: Sequence[int]) -> list[tuple[int, int]]:
    """Ascending offsets as ranges without holes."""
    if not offsets:
        return []
    if offsets[-1] - offsets[0] == len(offsets) - 1:
        return [(offsets[0], offsets[-1])]
    found: list[tuple[int, int]] = []
    first = last = offsets[0]
    for offset in offsets[1:]:
        if offset != last + 1:
            found.append((first, last))
            first = offset
        last = offset
    return [*found, (first, last)]
