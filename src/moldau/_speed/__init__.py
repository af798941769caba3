"""The kernels: checksums, batch headers, records and columns, on bytes and integers only.

Compiled where a C compiler was at hand during installation, plain Python otherwise. Both behave the same, which
property tests hold, and both have the face of `reference`. `MOLDAU_PURE=1` asks for plain Python.

One gate for all of them, here: `COMPILED` says whether they are in use, and nobody looks for one of them by himself.
The kernels share C types, so they work all together or not at all.
"""

from __future__ import annotations

import logging
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
    RecordWalk,
    RecordWriter,
    Traffic,
    assign_offsets,
    check_records,
    count_reads,
    crc32c,
    decode_records,
    entries_before,
    entries_up_to,
    keep_freed_memory,
    open_batch,
    raw_memory,
    read_header,
    scan_batches,
    set_max_timestamp,
)

KERNELS = (
    "accumulator",
    "codec",
    "columns",
    "commits",
    "compaction",
    "consumed",
    "counts",
    "delivery",
    "express",
    "followed",
    "following",
    "frames",
    "lookup",
    "packing",
    "plain_read",
    "records",
    "writer",
)


def _loadable() -> bool:
    built, missing = 0, ""
    for name in KERNELS:
        try:
            __import__(f"moldau._speed.{name}")
            built += 1
        except ImportError as error:
            # One that is there itself may want another that is not.
            built += error.name != f"moldau._speed.{name}"
            missing = missing or str(error)
    if missing and built:
        logging.getLogger("moldau").warning(
            "of %d compiled kernels %d are built and not all can be loaded (%s), so none is used: "
            "everything works, slower",
            len(KERNELS),
            built,
            missing,
        )
    return not missing


COMPILED = os.environ.get("MOLDAU_PURE") != "1" and _loadable()

if COMPILED:
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
    from moldau._speed.counts import Traffic, count_reads
    from moldau._speed.lookup import entries_before, entries_up_to
    from moldau._speed.records import Record, RecordsSummary, RecordWalk, check_records, decode_records, open_batch
    from moldau._speed.writer import RecordWriter

__all__ = [
    "COMPILED",
    "KERNELS",
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
