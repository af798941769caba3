"""Record batches: read, written, checked and taken apart, in every format Kafka ever had.

`builder` writes, `batch` reads, `control` knows the records brokers write for each other, `legacy` the formats before
batches, `compression` the codecs. Everything that is hot lies in `moldau._speed`.
"""

from __future__ import annotations

from moldau._speed import (
    BatchHeader,
    ColumnBuilder,
    Columns,
    Header,
    HeaderColumns,
    Record,
    RecordData,
    RecordsSummary,
    assign_offsets,
    check_records,
    crc32c,
    decode_records,
    read_header,
    scan_batches,
    set_max_timestamp,
)
from moldau._speed.layout import HEADER_SIZE
from moldau.protocol.records.batch import batch_body, decode_batch, to_columns, validate_batch
from moldau.protocol.records.builder import BatchBuilder, BatchFields, TimestampType, encode_batch
from moldau.protocol.records.compression import MAX_DECOMPRESSED, Compression, Oversized, compress, decompress
from moldau.protocol.records.control import (
    ControlType,
    EndTransaction,
    control_record,
    control_type,
    end_transaction_record,
    read_end_transaction,
)
from moldau.protocol.records.legacy import up_convert

__all__ = [
    "HEADER_SIZE",
    "MAX_DECOMPRESSED",
    "BatchBuilder",
    "BatchFields",
    "BatchHeader",
    "ColumnBuilder",
    "Columns",
    "Compression",
    "ControlType",
    "EndTransaction",
    "Header",
    "HeaderColumns",
    "Oversized",
    "Record",
    "RecordData",
    "RecordsSummary",
    "TimestampType",
    "assign_offsets",
    "batch_body",
    "check_records",
    "compress",
    "control_record",
    "control_type",
    "crc32c",
    "decode_batch",
    "decode_records",
    "decompress",
    "encode_batch",
    "end_transaction_record",
    "read_end_transaction",
    "read_header",
    "scan_batches",
    "set_max_timestamp",
    "to_columns",
    "up_convert",
    "validate_batch",
]
