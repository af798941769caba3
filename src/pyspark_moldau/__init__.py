"""Where Spark looks: it imports every module named `pyspark_*` and registers the `DefaultSource` it finds there.

A module that fails at import breaks the look-up of all Python sources, and each is imported by processes that may never
use it. So nothing is imported here but Spark's own interface; what does the work is fetched when it is asked for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql.datasource import DataSource

if TYPE_CHECKING:
    from pyspark.sql.types import StructType


class DefaultSource(DataSource):
    """`format("moldau")`: topics to read and to write, in batches and as streams."""

    @classmethod
    def name(cls) -> str:
        return "moldau"

    def schema(self) -> StructType:
        # Asked for by load(), which is the first moment at which an option can be refused.
        from moldau.spark.source.settings import check_options

        return check_options(dict(self.options))

    def reader(self, schema: StructType) -> Any:
        from moldau.spark.source.batch import batch_reader

        return batch_reader(dict(self.options), schema)

    def streamReader(self, schema: StructType) -> Any:
        from moldau.spark.source.stream import stream_reader

        return stream_reader(dict(self.options), schema)

    def writer(self, schema: StructType, overwrite: bool) -> Any:
        from moldau.spark.sink.writer import batch_writer

        return batch_writer(dict(self.options), schema, overwrite)

    def streamWriter(self, schema: StructType, overwrite: bool) -> Any:
        from moldau.spark.sink.writer import stream_writer

        return stream_writer(dict(self.options), schema, overwrite)
