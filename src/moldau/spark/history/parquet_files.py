"""What a task of an export does: its records into Parquet files, one per partition and day, complete and on disk.

The files wait under names of their own; only the driver gives them their final ones (`manifest`).
"""

from __future__ import annotations

import os
import uuid
from collections.abc import Callable, Iterator
from datetime import date
from typing import Any, Final

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

# Records out of order in time may belong to many days at once; each open file costs memory.
_OPEN_AT_ONCE: Final = 32
_EPOCH: Final = date(1970, 1, 1).toordinal()
_ROWS_PER_GROUP: Final = 131_072

FILE_SCHEMA: Final = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", tz="UTC")),
        pa.field("timestampType", pa.int32()),
        pa.field("key", pa.binary()),
        pa.field("value", pa.binary()),
        pa.field(
            "headers",
            pa.list_(pa.struct([pa.field("key", pa.string()), pa.field("value", pa.binary())])),
        ),
    ]
)

# What a task returns, one row per file.
RESULT_SCHEMA: Final = "staged string, final string, partition int, records bigint, bytes bigint"


class _File:
    """One file under way."""

    def __init__(self, staging: str, place: str) -> None:
        self._staging = staging
        self._place = place
        self.name = f"{uuid.uuid4().hex}.parquet"
        self._writer = pq.ParquetWriter(os.path.join(staging, self.name), FILE_SCHEMA, compression="zstd")
        self._waiting: list[Any] = []
        self._rows = 0
        self.records = 0
        self._first = self._last = -1

    def write(self, batch: Any) -> None:
        offsets = batch.column("offset")
        self._first = offsets[0].as_py() if self._first < 0 else self._first
        self._last = offsets[-1].as_py()
        self.records += batch.num_rows
        self._waiting.append(batch)
        self._rows += batch.num_rows
        if self._rows >= _ROWS_PER_GROUP:
            self._flush()

    def _flush(self) -> None:
        if self._waiting:
            self._writer.write_table(pa.Table.from_batches(self._waiting, FILE_SCHEMA), self._rows)
        self._waiting, self._rows = [], 0

    def close(self) -> tuple[str, str, int]:
        """(staged name, final name, bytes)"""
        self._flush()
        self._writer.close()
        path = os.path.join(self._staging, self.name)
        with open(path, "rb") as file:
            os.fsync(file.fileno())
        final = os.path.join(self._place, f"{self._first:020d}-{self._last:020d}.parquet")
        return self.name, final, os.path.getsize(path)


def write_files(staging: str, topic: str, by: str) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """For `mapInArrow`: takes the rows of the source, gives one row per file."""

    def run(batches: Iterator[Any]) -> Iterator[Any]:
        files: dict[tuple[int, str], _File] = {}
        done: list[tuple[Any, ...]] = []

        def close(place: tuple[int, str]) -> None:
            file = files.pop(place)
            staged, final, size = file.close()
            done.append((staged, final, place[0], file.records, size))

        for batch in batches:
            for place, part in _parts(batch, by):
                if place not in files:
                    if len(files) >= _OPEN_AT_ONCE:
                        close(next(iter(files)))
                    files[place] = _File(staging, _directory(topic, *place))
                files[place].write(part)
        for place in list(files):
            close(place)
        if done:
            names = ("staged", "final", "partition", "records", "bytes")
            kinds = (pa.string(), pa.string(), pa.int32(), pa.int64(), pa.int64())
            columns = [pa.array(column, kind) for column, kind in zip(zip(*done, strict=True), kinds, strict=True)]
            yield pa.RecordBatch.from_arrays(columns, names=list(names))

    return run


def _directory(topic: str, partition: int, day: str) -> str:
    place = os.path.join(f"topic={topic}", f"partition={partition}")
    return os.path.join(place, f"date={day}") if day else place


def _parts(batch: Any, by: str) -> Iterator[tuple[tuple[int, str], Any]]:
    """The rows of each partition and day, in the order they came, with the columns of a file."""
    if not batch.num_rows:
        return
    rows = pa.RecordBatch.from_arrays([batch.column(field.name) for field in FILE_SCHEMA], schema=FILE_SCHEMA)
    days = batch.column("timestamp").cast(pa.date32()).cast(pa.int32()) if by == "date" else None
    partitions = batch.column("partition")
    for partition in pc.unique(partitions).to_pylist():
        own = pc.equal(partitions, partition)
        if days is None:
            yield (partition, ""), rows.filter(own)
            continue
        for day in pc.unique(days.filter(own)).to_pylist():
            wanted = pc.and_(own, pc.equal(days, pa.scalar(day, pa.int32())))
            yield (partition, _day(day)), rows.filter(wanted)


def _day(number: int) -> str:
    """A day by its distance from 1970; what no calendar holds goes where Hive puts what it cannot place."""
    try:
        return date.fromordinal(_EPOCH + number).isoformat()
    except (ValueError, OverflowError):
        return "__HIVE_DEFAULT_PARTITION__"
