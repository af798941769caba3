"""Where Spark looks for `format("moldau-log")`: it imports every module named `pyspark_*`.

As in `pyspark_moldau`, nothing is imported here but Spark's own interface.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """`format("moldau-log")`: the sealed segments of a data directory, read without a broker."""

    @classmethod
    def name(cls) -> str:
        return "moldau-log"

    def schema(self) -> StructType:
        from moldau.spark.schema import source_schema

        return source_schema(dict(self.options))

    def reader(self, schema: StructType) -> Any:
        from moldau.spark.segments.reader import segment_reader

        return segment_reader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> Any:
        from moldau.spark.options import OptionError

        raise OptionError('Segments are read in batches; format("moldau") reads a topic as a stream.')

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        from moldau.spark.options import OptionError

        raise OptionError('Segments are written by a node; format("moldau") writes to its topics.')
