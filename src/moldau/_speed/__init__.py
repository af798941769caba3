"""The kernels: checksums, batch headers, records and columns, on bytes and integers only.

Compiled where a C compiler was at hand during installation, plain Python otherwise. Both behave the same, which one
property test holds, and both have the face of `reference`. `MOLDAU_PURE=1` asks for plain Python.
"""

from __future__ import annotations

import os

from moldau._speed.reference import (
    BatchFilter,
    BatchHeader,
    ColumnBuilder,
    Columns,
    Header,
    HeaderColumns,
    Mark,
    OffsetMap,
    Record,
    RecordData,
    RecordsSummary,
    RecordWriter,
    assign_offsets,
    check_records,
    crc32c,
    decode_records,
    keep_freed_memory,
    raw_memory,
    read_header,
    scan_batches,
    set_max_timestamp,
)

COMPILED = False

if os.environ.get("MOLDAU_PURE") != "1":
    try:
        # All or none: the kernels share C types, which the plain ones do not have.
        from moldau._speed import codec, columns, compaction, records, writer  # noqa: F401
    except ImportError:
        pass
    else:
        from moldau._speed.codec import (
            BatchHeader,
            assign_offsets,
            crc32c,
            keep_freed_memory,
            raw_memory,
            read_header,
            scan_batches,
            set_max_timestamp,
        )
        from moldau._speed.columns import ColumnBuilder
        from moldau._speed.compaction import BatchFilter, OffsetMap
        from moldau._speed.records import Record, RecordsSummary, check_records, decode_records
        from moldau._speed.writer import RecordWriter

        COMPILED = True

__all__ = [
    "COMPILED",
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
    "RecordWriter",
    "RecordsSummary",
    "assign_offsets",
    "check_records",
    "crc32c",
    "decode_records",
    "keep_freed_memory",
    "raw_memory",
    "read_header",
    "scan_batches",
    "set_max_timestamp",
]
