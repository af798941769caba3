"""The kernels in plain Python: the specification of the compiled ones, and what runs where none could be built."""

from __future__ import annotations

from moldau._speed.reference.codec import (
    BatchHeader,
    assign_offsets,
    crc32c,
    keep_freed_memory,
    raw_memory,
    read_header,
    scan_batches,
    set_max_timestamp,
)
from moldau._speed.reference.columns import ColumnBuilder, Columns, HeaderColumns
from moldau._speed.reference.compaction import BatchFilter, Mark, OffsetMap
from moldau._speed.reference.counts import Traffic, count_reads
from moldau._speed.reference.lookup import entries_before, entries_up_to
from moldau._speed.reference.records import (
    Header,
    Record,
    RecordsSummary,
    RecordWalk,
    check_records,
    decode_records,
    open_batch,
)
from moldau._speed.reference.writer import RecordData, RecordWriter

__all__ = [
    "BatchFilter",
    "BatchHeader",
    "ColumnBuilder",
    "Columns",
    "Header",
    "HeaderColumns",
    "Mark",
    "OffsetMap",
    "Record",
    "RecordData",
    "RecordWalk",
    "RecordWriter",
    "RecordsSummary",
    "Traffic",
    "assign_offsets",
    "check_records",
    "count_reads",
    "crc32c",
    "decode_records",
    "entries_before",
    "entries_up_to",
    "keep_freed_memory",
    "open_batch",
    "raw_memory",
    "read_header",
    "scan_batches",
    "set_max_timestamp",
]
