"""Ranges of offsets in one delivery state, and how changed ones become part of those that are known.

Changes may arrive twice or late. Where two ranges overlap the later state of delivery wins: the higher count, and with
equal counts the higher state, which is the one further along (available, acquired, acknowledged, archived).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Sequence
from typing import NamedTuple


class Batch(NamedTuple):
    first: int
    last: int
    state: int
    deliveries: int


def combined(known: tuple[Batch, ...], changes: Iterable[Batch], start: int) -> tuple[Batch, ...]:
    """All of it in order, without overlaps, what is alike and adjacent in one; nothing before `start`.

    `known` is in that form already; only where the changes touch it anything is computed.
    """
    batches = _from(known, start)
    for change in changes:
        if change.last >= start and change.first <= change.last:
            batches = _with(batches, change if change.first >= start else change._replace(first=start))
    return batches


def _from(known: tuple[Batch, ...], start: int) -> tuple[Batch, ...]:
    index = bisect_left(known, start, key=_last)
    kept = known[index:]
    if kept and kept[0].first < start:
        return (kept[0]._replace(first=start), *kept[1:])
    return kept


def _with(batches: tuple[Batch, ...], change: Batch) -> tuple[Batch, ...]:
    # The neighbours as well: they may turn out to be of one kind with it.
    low = bisect_left(batches, change.first - 1, key=_last)
    high = bisect_left(batches, change.last + 2, key=_first, lo=low)
    return (*batches[:low], *_overlaid(batches[low:high], change), *batches[high:])


def _overlaid(batches: Sequence[Batch], change: Batch) -> list[Batch]:
    found: list[Batch] = []
    position = change.first
    for old in batches:
        if old.last < change.first or old.first > change.last:
            if old.first > change.last and position <= change.last:
                _add(found, change._replace(first=position))
                position = change.last + 1
            _add(found, old)
            continue
        if old.first < change.first:
            _add(found, old._replace(last=change.first - 1))
        elif old.first > position:
            _add(found, change._replace(first=position, last=old.first - 1))
        first, last = max(old.first, change.first), min(old.last, change.last)
        winner = old if (old.deliveries, old.state) > (change.deliveries, change.state) else change
        _add(found, winner._replace(first=first, last=last))
        position = last + 1
        if old.last > change.last:
            _add(found, old._replace(first=change.last + 1))
    if position <= change.last:
        _add(found, change._replace(first=position))
    return found


def _add(found: list[Batch], batch: Batch) -> None:
    if found:
        before = found[-1]
        if before.last + 1 == batch.first and before.state == batch.state and before.deliveries == batch.deliveries:
            found[-1] = before._replace(last=batch.last)
            return
    found.append(batch)


def _first(batch: Batch) -> int:
    return batch.first


def _last(batch: Batch) -> int:
    return batch.last
