"""`spark.read.format("moldau")`: what lies between two bounds, fixed when Spark plans the query."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from pyspark.sql.datasource import DataSourceReader, InputPartition
from pyspark.sql.types import StructType

from moldau.client.cluster import Cluster
from moldau.spark.connection import open_cluster
from moldau.spark.schema import check_schema
from moldau.spark.source.bounds import AtOffsets
from moldau.spark.source.loss import report_loss
from moldau.spark.source.offsets import OffsetReader
from moldau.spark.source.ranges import OffsetRange, Offsets, offset_ranges, shared_tasks, split_ranges
from moldau.spark.source.reading import read_task
from moldau.spark.source.settings import SourceSettings, batch_settings


def batch_reader(options: Mapping[str, str], schema: StructType) -> DataSourceReader:
    return BatchReader(batch_settings(options), schema)


class BatchReader(DataSourceReader):
    def __init__(self, settings: SourceSettings, schema: StructType) -> None:
        check_schema(schema)
        self._settings = settings
        self._schema = schema

    def partitions(self) -> list[InputPartition]:
        settings = self._settings
        with open_cluster(settings.options) as cluster:
            ranges = planned_ranges(cluster, settings)
        ranges = split_ranges(ranges, min_partitions=settings.min_partitions, max_records=settings.max_records)
        tasks = shared_tasks(ranges, least=settings.min_partitions, most=settings.max_records)
        return [InputPartition(each) for each in tasks]

    def read(self, partition: InputPartition) -> Iterator[Any]:
        return read_task(partition.value, self._settings, self._schema)


def planned_ranges(cluster: Cluster, settings: SourceSettings) -> list[OffsetRange]:
    reader = OffsetReader(cluster, settings)
    partitions = reader.partitions()
    start = reader.resolve(settings.start, partitions, unmatched=settings.unmatched)
    end = reader.resolve(settings.end, partitions)
    if isinstance(settings.start, AtOffsets) or isinstance(settings.end, AtOffsets):
        end = _within(reader.latest(partitions, {}), start, end, settings)
    return offset_ranges(start, end, reader.ids)


def _within(latest: Offsets, start: Offsets, end: Offsets, settings: SourceSettings) -> Offsets:
    """Offsets that a user wrote down may never have existed; better to hear it now than after a long wait."""
    bounded = dict(end)
    for where, last in latest.items():
        wanted = max(start.get(where, 0), end.get(where, 0))
        if wanted > last:
            what = f"Partition {where} ends at {last}, and was to be read up to {wanted}"
            report_loss(what, fail=settings.fail_on_data_loss)
            bounded[where] = min(last, bounded.get(where, last))
    return bounded
