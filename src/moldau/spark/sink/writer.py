"""What Spark sees of the sink: writers for batches and for streams, and the messages that tasks send to the driver.

A writer is made on the driver, pickled, and sent to the tasks. For a batch the same one commits; for a stream Spark
makes another, in another process, and asks that one to commit.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage
from pyspark.sql.types import StructType

from moldau.spark.connection import keep_imports
from moldau.spark.options import OptionError, Use
from moldau.spark.sink.columns import check_columns
from moldau.spark.sink.delivery import RowDelivery
from moldau.spark.sink.options import SinkOptions, sink_options


@dataclass
class Delivered(WriterCommitMessage):
    """A task of an at-least-once write: everything is in the log."""

    rows: int


def batch_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceArrowWriter:
    if overwrite:
        raise OptionError("A topic cannot be overwritten; write with mode('append').")
    chosen = sink_options(options, Use.BATCH_WRITE)
    check_columns(schema, chosen.topic, chosen.include_headers, chosen.keep_timestamps)
    if chosen.exactly_once:
        from moldau.spark.sink.exactly_once import ExactlyOnceBatchWriter

        return ExactlyOnceBatchWriter(chosen, uuid4().hex)
    return BatchWriter(chosen)


def stream_writer(options: Mapping[str, str], schema: StructType, overwrite: bool) -> DataSourceStreamArrowWriter:
    if overwrite:
        raise OptionError(
            "A topic takes what is new and forgets nothing: outputMode('complete') cannot be written; "
            "use update, or append."
        )
    chosen = sink_options(options, Use.STREAM_WRITE)
    check_columns(schema, chosen.topic, chosen.include_headers, chosen.keep_timestamps)
    if chosen.exactly_once:
        from moldau.spark.sink.exactly_once import ExactlyOnceStreamWriter

        return ExactlyOnceStreamWriter(chosen)
    return StreamWriter(chosen)


class BatchWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return deliver(self._options, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing is left to do: what a task wrote is in the log when the task ends."""

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        """Nothing can be taken back: at least once means that a repeated batch is there twice."""


class StreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return deliver(self._options, iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """As in batches."""

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        """As in batches."""


def deliver(options: SinkOptions, batches: Iterator[Any]) -> Delivered:
    """A task's part: connects with the first row, because most tasks of a wide shuffle have none."""
    delivery: RowDelivery | None = None
    whole = False
    try:
        for batch in batches:
            if batch.num_rows:
                delivery = delivery or RowDelivery(options)
                delivery.write(batch)
        if delivery is None:
            keep_imports()
            return Delivered(0)
        delivery.flush()
        whole = True
        return Delivered(delivery.rows)
    finally:
        if delivery is not None:
            delivery.close(keep=whole)
