"""What a task of Spark does: the records of its ranges, from the broker to Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.types import StructType

from moldau.spark.connection import forget_cluster, keep_imports, kept_cluster
from moldau.spark.source.decoding import arrow_batches
from moldau.spark.source.fetching import TaskFetcher
from moldau.spark.source.ranges import Task, at_once
from moldau.spark.source.settings import SourceSettings


def read_task(task: Task | None, settings: SourceSettings, schema: StructType) -> Iterator[Any]:
    """Arrow batches. None is what Spark passes when there are no partitions at all."""
    if task is None:
        return
    cluster = kept_cluster(settings.options)
    whole = False
    try:
        for ranges in at_once(task):
            yield from arrow_batches(TaskFetcher(cluster, ranges, settings), schema)
        whole = True
        keep_imports()
    finally:
        if not whole:
            forget_cluster(cluster)
