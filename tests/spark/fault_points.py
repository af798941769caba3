"""`format("moldau-mortal")`: the sink, in processes that end where a test wants them to.

The processes of a Spark session live through many tests, so what is to happen stands in a file: one or more points. The
first process that reaches the first of them strikes it out and ends at once, as if it had been killed; then the next
one counts.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from pyspark import cloudpickle
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter

from pyspark_moldau import DefaultSource

FORMAT = "moldau-mortal"


class MortalSink(DefaultSource):
    """Takes one option more, `faults`: the file."""

    @classmethod
    def name(cls) -> str:
        return FORMAT

    def writer(self, schema: Any, overwrite: bool) -> Any:
        from moldau.spark.sink.writer import batch_writer

        return MortalBatchWriter(batch_writer(self._given(), schema, overwrite), self.options["faults"])

    def streamWriter(self, schema: Any, overwrite: bool) -> Any:
        from moldau.spark.sink.writer import stream_writer

        return MortalStreamWriter(stream_writer(self._given(), schema, overwrite), self.options["faults"])

    def _given(self) -> dict[str, str]:
        return {name: value for name, value in self.options.items() if name.lower() != "faults"}


class MortalBatchWriter(DataSourceArrowWriter):
    def __init__(self, writer: Any, faults: str) -> None:
        self._writer = writer
        self._faults = faults

    def write(self, iterator: Iterator[Any]) -> Any:
        return self._watched().write(iterator)

    def commit(self, messages: Sequence[Any]) -> None:
        self._watched().commit(messages)

    def abort(self, messages: Sequence[Any]) -> None:
        self._watched().abort(messages)

    def _watched(self) -> Any:
        from moldau.spark.sink.faults import observe

        observe(partial(end_at, self._faults))
        return self._writer


class MortalStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, writer: Any, faults: str) -> None:
        self._writer = writer
        self._faults = faults

    def write(self, iterator: Iterator[Any]) -> Any:
        return self._watched().write(iterator)

    def commit(self, messages: Sequence[Any], batchId: int) -> None:
        self._watched().commit(messages, batchId)

    def abort(self, messages: Sequence[Any], batchId: int) -> None:
        self._watched().abort(messages, batchId)

    def _watched(self) -> Any:
        from moldau.spark.sink.faults import observe

        observe(partial(end_at, self._faults))
        return self._writer


def end_at(faults: str, point: str) -> None:
    path = Path(faults)
    try:
        if path.read_text().split()[:1] != [point]:
            return
        # Whoever moves it has it: several tasks come by at the same time.
        mine = path.with_name(f"{path.name}.{os.getpid()}")
        path.rename(mine)
        rest = mine.read_text().split()[1:]
        if rest:
            mine.write_text(" ".join(rest))
            mine.rename(path)
        else:
            mine.unlink()
    except FileNotFoundError:
        return
    os._exit(70)


def register(spark: Any) -> None:
    # Spark's workers cannot import this file.
    by_value: Any = cloudpickle.register_pickle_by_value
    by_value(sys.modules[__name__])
    spark.dataSource.register(MortalSink)
