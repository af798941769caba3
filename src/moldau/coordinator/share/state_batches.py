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

    `known` is in that form already, and changes mostly are: as far as they are in order, one walk takes all of them.
    """
    batches = _from(known, start)
    ordered: list[Batch] = []
    for each in changes:
        if each.last < start or each.first > each.last:
            continue
        change = each if each.first >= start else each._replace(first=start)
        if ordered and change.first <= ordered[-1].last:
            batches = _merged(batches, ordered)
            ordered = []
        ordered.append(change)
    return _merged(batches, ordered) if ordered else batches


def _from(known: tuple[Batch, ...], start: int) -> tuple[Batch, ...]:
    index = bisect_left(known, start, key=_last)
    kept = known[index:]
    if kept and kept[0].first < start:
        return (kept[0]._replace(first=start), *kept[1:])
    return kept


def _merged(known: tuple[Batch, ...], changes: Sequence[Batch]) -> tuple[Batch, ...]:
    """Only from where the changes begin to where they end, and the neighbours: they may turn out to be of one kind."""
    low = bisect_left(known, changes[0].first - 1, key=_last)
    high = bisect_left(known, changes[-1].last + 2, key=_first, lo=low)
    found: list[Batch] = []
    left = iter(known[low:high])
    old = next(left, None)
    for change in changes:
        while old is not None and old.last < change.first:
            _add(found, old)
            old = next(left, None)
        position = change.first
        while old is not None and old.first <= change.last:
            if old.first < position:
                _add(found, old._replace(last=position - 1))
            elif old.first > position:
                _add(found, change._replace(first=position, last=old.first - 1))
                position = old.first
            last = min(old.last, change.last)
            winner = old if (old.deliveries, old.state) > (change.deliveries, change.state) else change
            _add(found, winner._replace(first=position, last=last))
            position = last + 1
            old = old._replace(first=position) if old.last > last else next(left, None)
        if position <= change.last:
            _add(found, change if position == change.first else change._replace(first=position))
    if old is not None:
        _add(found, old)
    for each in left:
        _add(found, each)
    return (*known[:low], *found, *known[high:])


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
