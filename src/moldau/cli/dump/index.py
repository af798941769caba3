"""The three indexes of a segment: their entries, and whether they fit each other and the log they point into."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from struct import Struct
from typing import NamedTuple

from moldau.cli.dump.segment import Batch, Damage, walk
from moldau.errors import ProtocolError
from moldau.protocol.records import ControlType, control_type, decode_batch

_OFFSET_ENTRY = Struct(">ii")
_TIME_ENTRY = Struct(">qi")
_TRANSACTION_ENTRY = Struct(">hqqqq")


class OffsetEntry(NamedTuple):
    offset: int
    position: int


class TimeEntry(NamedTuple):
    timestamp: int
    offset: int


class TransactionEntry(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    last_stable_offset: int


class Entries(NamedTuple):
    """What an index holds. Bytes that are no entry are a problem; zeros at the end are room for more."""

    rows: list[tuple[int, ...]]
    problems: list[str]


def offset_entries(data: memoryview, base_offset: int) -> Entries:
    used, problems = _used(data, _OFFSET_ENTRY)
    rows = [OffsetEntry(base_offset + relative, position) for relative, position in _OFFSET_ENTRY.iter_unpack(used)]
    return Entries(list(rows), problems)


def time_entries(data: memoryview, base_offset: int) -> Entries:
    used, problems = _used(data, _TIME_ENTRY)
    rows = [TimeEntry(timestamp, base_offset + relative) for timestamp, relative in _TIME_ENTRY.iter_unpack(used)]
    return Entries(list(rows), problems)


def transaction_entries(data: memoryview) -> Entries:
    whole = len(data) - len(data) % _TRANSACTION_ENTRY.size
    problems = [] if whole == len(data) else [f"ends with {len(data) - whole} bytes that are no whole entry"]
    rows: list[tuple[int, ...]] = []
    for version, *fields in _TRANSACTION_ENTRY.iter_unpack(data[:whole]):
        if version != 0:
            problems.append(f"has an entry of version {version}, which is not known")
        rows.append(TransactionEntry(*fields))
    return Entries(rows, problems)


def _used(data: memoryview, entry: Struct) -> tuple[memoryview, list[str]]:
    """The entries before the reserved room. An entry of nothing but zeros is never written."""
    whole = len(data) - len(data) % entry.size
    problems = [] if whole == len(data) else [f"ends with {len(data) - whole} bytes that are no whole entry"]
    written = len(bytes(data[:whole]).rstrip(b"\0"))
    return data[: -(-written // entry.size) * entry.size], problems


# ---------------------------------------------------------------------------------------------------- checks


def batches_of(log: memoryview) -> list[Batch]:
    """The batches an index can point to; what follows damage is not reachable anyway."""
    batches: list[Batch] = []
    try:
        for batch in walk(log):
            batches.append(batch)  # noqa: PERF402 - the generator may stop half-way
    except Damage:
        pass
    return batches


def check_offset_index(rows: Sequence[tuple[int, ...]], batches: Sequence[Batch]) -> list[str]:
    """A search takes the last entry up to an offset and reads on from its position: so a batch must begin there, and
    not behind that offset."""
    problems: list[str] = []
    by_position = {batch.position: batch for batch in batches}
    end_offset = batches[-1].header.last_offset if batches else -1
    before = OffsetEntry(-1, -1)
    for entry in rows:
        offset, position = entry
        if offset <= before.offset or position <= before.position:
            problems.append(
                f"is out of order: offset {offset} at {position} follows {before.offset} at {before.position}"
            )
        batch = by_position.get(position)
        if batch is None:
            problems.append(f"says offset {offset} is at position {position}, but no batch begins there")
        elif batch.header.base_offset > offset:
            problems.append(
                f"says offset {offset} is at position {position}, but the batch there begins with "
                f"{batch.header.base_offset}"
            )
        elif offset > end_offset:
            problems.append(f"knows offset {offset}, but the log ends with {end_offset}")
        before = OffsetEntry(offset, position)
    return problems


def check_time_index(rows: Sequence[tuple[int, ...]], batches: Sequence[Batch]) -> list[str]:
    """An entry promises that no record up to its offset is younger than its timestamp."""
    problems: list[str] = []
    last_offsets = [batch.header.last_offset for batch in batches]
    youngest: list[int] = []
    for batch in batches:
        youngest.append(max(batch.header.max_timestamp, youngest[-1] if youngest else -1))
    before = TimeEntry(-1, -1)
    for entry in rows:
        timestamp, offset = entry
        if timestamp < before.timestamp or offset < before.offset:
            problems.append(
                f"is out of order: time {timestamp} for offset {offset} follows {before.timestamp} for {before.offset}"
            )
        if batches and offset > last_offsets[-1]:
            problems.append(f"knows offset {offset}, but the log ends with {last_offsets[-1]}")
        complete = bisect_right(last_offsets, offset)
        if complete and youngest[complete - 1] > timestamp:
            problems.append(
                f"says nothing up to offset {offset} is younger than {timestamp}, but a batch there has "
                f"{youngest[complete - 1]}"
            )
        before = TimeEntry(timestamp, offset)
    return problems


def check_transaction_index(rows: Sequence[tuple[int, ...]], batches: Sequence[Batch]) -> list[str]:
    """Each entry ends with the abort marker of its producer."""
    problems: list[str] = []
    markers = {batch.header.base_offset: batch for batch in batches if batch.header.is_control}
    last = -1
    for producer_id, first_offset, last_offset, _ in rows:
        if first_offset > last_offset or last_offset <= last:
            problems.append(f"is out of order at the transaction of producer {producer_id} that ends at {last_offset}")
        last = last_offset
        marker = markers.get(last_offset)
        if marker is None or marker.header.producer_id != producer_id or not _aborts(marker):
            problems.append(f"says producer {producer_id} aborted at offset {last_offset}, but there is no such marker")
    return problems


def _aborts(batch: Batch) -> bool:
    try:
        records = decode_batch(batch.data)
        return bool(records) and control_type(records[0]) == ControlType.ABORT
    except ProtocolError:
        return False
