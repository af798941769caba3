"""Record codec: ours beside kafka-python's and aiokafka's, in one run.

    python bench/records.py

One batch of about 1 MiB of 100-byte records without keys, as in docs/ARCHITECTURE.md; millions of records per second,
best of several rounds. Single calls on a batch of one record are given in nanoseconds.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

from aiokafka.record._crecords.default_records import DefaultRecordBatch as AiokafkaBatch
from aiokafka.record._crecords.default_records import DefaultRecordBatchBuilder as AiokafkaBuilder
from crc32c import crc32c as crc32c_package
from kafka.record.default_records import DefaultRecordBatch as KafkaPythonBatch
from kafka.record.default_records import DefaultRecordBatchBuilder as KafkaPythonBuilder

from moldau._speed import COMPILED, ColumnBuilder, check_records
from moldau.protocol.records import (
    BatchBuilder,
    Compression,
    assign_offsets,
    compress,
    crc32c,
    decode_batch,
    decompress,
    encode_batch,
    read_header,
    scan_batches,
    to_columns,
    validate_batch,
)

VALUE = bytes(range(100))
COUNT = (1 << 20) // 108
RECORDS = [(1_700_000_000_000 + n // 10, None, VALUE, []) for n in range(COUNT)]
BATCH = encode_batch(RECORDS)
SMALL = encode_batch(RECORDS[:1])


def best(job: Callable[[], object], rounds: int = 30, calls: int = 1) -> float:
    """Seconds per call in the fastest round."""
    fastest = float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(calls):
            job()
        fastest = min(fastest, time.perf_counter() - start)
    return fastest / calls


def encode_by_append() -> bytes:
    builder = BatchBuilder()
    append = builder.append
    for timestamp, key, value, _ in RECORDS:
        append(timestamp, key, value)
    return builder.build()


def encode_with(builder: AiokafkaBuilder | KafkaPythonBuilder) -> object:
    for number, (timestamp, key, value, headers) in enumerate(RECORDS):
        builder.append(number, timestamp, key, value, headers)
    return builder.build()


def decode_with(batch: AiokafkaBatch | KafkaPythonBatch) -> object:
    batch.validate_crc()
    return list(batch)


def columns_only() -> object:
    builder = ColumnBuilder()
    builder.append(HEADER, BATCH, 61)
    return builder.finish()


HEADER = read_header(BATCH)


def row(name: str, ours: float, *others: tuple[str, float]) -> None:
    text = f"{name:34}{COUNT / ours / 1e6:8.2f} M/s"
    for other, seconds in others:
        text += f"   {other} {COUNT / seconds / 1e6:6.2f} (x{seconds / ours:.1f})"
    print(text)


def records() -> None:
    slow = 3
    row(
        "decode to Record objects, with CRC",
        best(lambda: decode_batch(BATCH)),
        ("aiokafka", best(lambda: decode_with(AiokafkaBatch(BATCH)))),
        ("kafka-python", best(lambda: decode_with(KafkaPythonBatch(BATCH)), slow)),
    )
    row("decode to columns, with CRC", best(lambda: to_columns(BATCH)))
    row("decode to columns, kernel only", best(columns_only))
    row("validate (walk, no objects)", best(lambda: check_records(HEADER, BATCH, 61)))
    row(
        "encode a list at once",
        best(lambda: encode_batch(RECORDS)),
        ("aiokafka", best(lambda: encode_with(AiokafkaBuilder(2, 0, 0, -1, -1, -1, 1 << 21)))),
        ("kafka-python", best(lambda: encode_with(KafkaPythonBuilder(2, 0, False, -1, -1, -1, 1 << 21)), slow)),
    )
    row("encode, one append per record", best(encode_by_append))


def single_calls() -> None:
    size = len(SMALL)
    view = memoryview(bytearray(SMALL))
    header = read_header(SMALL)
    nothing = best(lambda: None, 5, 20000)
    print(f"\nbatch of one record ({size} bytes), nanoseconds per call")
    for name, job in (
        ("scan_batches with CRC", lambda: scan_batches(view, 0, size)),
        ("read_header", lambda: read_header(view, 0)),
        ("assign_offsets", lambda: assign_offsets(view, 0, size, 7, 3)),
        ("assign_offsets, LogAppendTime", lambda: assign_offsets(view, 0, size, 7, 3, append_time=9)),
        ("validate_batch", lambda: validate_batch(header, view, 0)),
        ("encode_batch", lambda: encode_batch(RECORDS[:1])),
        ("decode_batch", lambda: decode_batch(SMALL)),
    ):
        print(f"{name:34}{(best(job, 5, 20000) - nothing) * 1e9:8.0f} ns")


def bytes_per_second() -> None:
    print("\nbytes, GB/s")
    theirs = best(lambda: crc32c_package(BATCH))
    for name, seconds in (
        ("crc32c", best(lambda: crc32c(BATCH))),
        ("crc32c, package of that name", theirs),
        ("scan_batches with CRC", best(lambda: scan_batches(BATCH))),
    ):
        print(f"{name:34}{len(BATCH) / seconds / 1e9:8.2f}")
    for codec in list(Compression)[1:]:
        packed = compress(codec, BATCH)
        writing = best(partial(compress, codec, BATCH), 3)
        reading = best(partial(decompress, codec, packed), 5)
        print(f"{codec.name.lower():34}{len(BATCH) / writing / 1e9:8.2f} write {len(BATCH) / reading / 1e9:8.2f} read")


if __name__ == "__main__":
    print(f"{COUNT} records of {len(VALUE)} bytes, batch of {len(BATCH)} bytes, compiled kernels: {COMPILED}\n")
    records()
    single_calls()
    bytes_per_second()
