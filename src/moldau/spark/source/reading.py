"""What a task of Spark does: the records of its ranges, from the broker to Arrow."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql.types import StructType

from moldau.client.admin.offsets import IsolationLevel
from moldau.spark.connection import forget_cluster, kept_cluster
from moldau.spark.source.decoding import arrow_batches
from moldau.spark.source.fetching import RangeFetcher
from moldau.spark.source.ranges import Task
from moldau.spark.source.settings import SourceSettings


def read_task(task: Task | None, settings: SourceSettings, schema: StructType) -> Iterator[Any]:
    """Arrow batches. None is what Spark passes when there are no partitions at all."""
    if task is None:
        return
    cluster = kept_cluster(settings.options)
    whole = False
    try:
        committed_only = settings.isolation is IsolationLevel.READ_COMMITTED
        for wanted in task:
            chunks = RangeFetcher(cluster, wanted, settings)
            yield from arrow_batches(chunks, wanted, schema, committed_only=committed_only)
        whole = True
    finally:
        if not whole:
            forget_cluster(cluster)
