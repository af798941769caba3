"""Handing out what was fetched, partition after partition, so that none is left behind."""

from __future__ import annotations

from typing import Any, Final

from moldau.client.consumer.fetch_state import FetchState
from moldau.client.consumer.fetched import ConsumerRecord
from moldau.client.consumer.fetcher import Fetcher
from moldau.protocol.records import ColumnBuilder, Columns
from moldau.types import TopicPartition

# A column of bytes ends at 2 GiB; one answer more fits in any case.
_COLUMN_BYTES: Final = 1 << 29


def take_records(
    fetcher: Fetcher, order: list[TopicPartition], most: int
) -> tuple[dict[TopicPartition, list[ConsumerRecord]], bool]:
    """Up to `most` records, and whether there is room now to fetch more. `order` says whose turn it is."""
    taken: dict[TopicPartition, list[ConsumerRecord]] = {}
    drained = False
    left = most
    with fetcher.changed:
        for where in tuple(order):
            reading = fetcher.readings.get(where)
            if reading is None or reading.paused or not reading.buffered:
                continue
            records: list[ConsumerRecord] = []
            while reading.buffered and left > 0:
                fetched = reading.buffered[0]
                try:
                    more = fetched.take(left)
                except Exception:
                    if taken or records:
                        break  # first what is good; the next poll meets the bad one again
                    raise
                records = records + more if records else more
                left -= len(more)
                drained = _step(reading) or drained
            if records:
                taken[where] = records
            if left <= 0:
                _to_the_end(order, where, reading)
                break
    fetcher.counters.records += most - left
    return taken, drained


def take_columns(
    fetcher: Fetcher, order: list[TopicPartition], most: int
) -> tuple[dict[TopicPartition, Columns], bool]:
    """The same as columns; `most` rows of all partitions together."""
    taken: dict[TopicPartition, Any] = {}
    drained = False
    left = most
    with fetcher.changed:
        for where in tuple(order):
            reading = fetcher.readings.get(where)
            if reading is None or reading.paused or not reading.buffered:
                continue
            builder = ColumnBuilder(headers=True)
            while reading.buffered and builder.rows < left and builder.size < _COLUMN_BYTES:
                reading.buffered[0].columns(builder, left)
                drained = _step(reading) or drained
            columns = builder.finish()
            if columns.rows:
                taken[where] = columns
                left -= columns.rows
            if left <= 0:
                _to_the_end(order, where, reading)
                break
    fetcher.counters.records += most - left
    return taken, drained


def _step(reading: FetchState) -> bool:
    """The position follows what was taken; an answer that is used up makes room for the next, which has to be asked
    for unless it is on its way already: then its arrival is when the fetcher looks again."""
    fetched = reading.buffered[0]
    reading.position = fetched.position
    if fetched.epoch >= 0:
        reading.position_epoch = fetched.epoch
    if not fetched.done:
        return False
    reading.buffered.popleft()
    return not reading.in_flight


def _to_the_end(order: list[TopicPartition], where: TopicPartition, reading: FetchState) -> None:
    """A partition with more to give is gone on with; one that is used up lets the others go first."""
    if not reading.buffered and where in order:
        order.remove(where)
        order.append(where)
