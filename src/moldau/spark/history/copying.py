"""`moldau history rekey` and `repartition`: a new topic made of an old one, other keys or other partitions in it.

One batch job: the source reads what is committed, the exactly-once sink writes it. So readers of committed records find
everything in the new topic, or nothing.

The order of records with the same key is kept. All records of a key are written by one task, and within it in the order
they were in; where they come from several partitions, which have no common order, they are merged by time without ever
turning round two records of the same partition.

Timestamps are kept, whatever the settings of the topic say about those of new records: while it is filled it has
settings that take any, and nothing in it is too old. Its own come into force when everything is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

from moldau.client.admin.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ConfigSource,
    ResourceType,
    alter_configs,
    describe_configs,
)
from moldau.client.admin.topics import NewTopic, TopicOutcome, create_topics, delete_topics, list_topics
from moldau.client.cluster import Cluster
from moldau.spark.history.report import JobError, Report, first_line
from moldau.spark.history.topic_access import Ranges, ThroughBrokers

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession


_CLIENT: Final = "moldau-history"

_ANY_DISTANCE: Final = str((1 << 63) - 1)

# What the new topic has until everything is in it.
_WHILE_FILLED: Final = {
    "message.timestamp.type": "CreateTime",
    "message.timestamp.before.max.ms": _ANY_DISTANCE,
    "message.timestamp.after.max.ms": _ANY_DISTANCE,
    "retention.ms": "-1",
}


@dataclass(frozen=True, slots=True)
class CopyRequest:
    job: str  # rekey or repartition
    source: str
    target: str
    key: str | None = None  # an expression for the new key; None keeps the old one
    partitions: int | None = None  # as many as the source has, if not said
    origin_headers: bool = False


def key_from_json(path: str) -> str:
    """The expression that takes a key out of a JSON value."""
    quoted = path.replace("\\", "\\\\").replace("'", "\\'")
    return f"get_json_object(CAST(value AS STRING), '{quoted}')"


def copy(spark: SparkSession, access: ThroughBrokers, request: CopyRequest, *, dry_run: bool = False) -> Report:
    ranges = access.ranges(request.source, "read_committed")
    if request.source == request.target:
        raise JobError("The new topic must have another name: a topic cannot be rewritten while it is read.")
    partitions = request.partitions or len(ranges)
    frame = access.frame(spark, request.source, "read_committed", ranges)
    rows = _rows(frame, request)
    settings = _settings(access, request)
    report = Report(request.job, dry_run=dry_run)
    if dry_run:
        counts = _counts(rows)
    else:
        counts, written = _write(spark, access, request, rows, partitions, settings)
        if written != counts["records"]:
            report.problems.append(
                f"{counts['records']} records were read and {written} are in {request.target}: delete it and try again"
            )
    report.rows = [
        {"partition": number, "from_offset": first, "to_offset": end} for number, (first, end) in sorted(ranges.items())
    ]
    report.totals = {"source": request.source, "target": request.target, "target_partitions": partitions, **counts}
    if counts["without_key"] and request.key is not None:
        report.notes.append(f"{counts['without_key']} records got no key: the expression gives none for them")
    return report


def _rows(frame: DataFrame, request: CopyRequest) -> DataFrame:
    """What is written, in the columns of the sink, and what else is needed to sort by."""
    from pyspark.errors import AnalysisException, ParseException
    from pyspark.sql import functions as F

    try:
        key = frame["key"] if request.key is None else _as_bytes(frame, request.key)
    except (AnalysisException, ParseException) as error:
        raise JobError(f"The expression {request.key!r} cannot be used as a key: {first_line(error)}") from error
    return frame.select(
        key.alias("key"),
        "value",
        _headers(request).alias("headers"),
        "timestamp",
        F.col("partition").alias("origin_partition"),
        F.col("offset").alias("origin_offset"),
    )


def _as_bytes(frame: DataFrame, expression: str) -> Column:
    from pyspark.sql import functions as F
    from pyspark.sql.types import BinaryType

    kind = frame.select(F.expr(expression).alias("key")).schema["key"].dataType
    key = F.expr(expression)
    return key if isinstance(kind, BinaryType) else key.cast("string").cast("binary")


def _headers(request: CopyRequest) -> Column:
    from pyspark.sql import functions as F

    headers = F.col("headers")
    if not request.origin_headers:
        return headers
    origin = {
        "origin.partition": F.col("partition").cast("string"),
        "origin.offset": F.col("offset").cast("string"),
        "origin.timestamp": F.unix_millis("timestamp").cast("string"),
    }
    added = [F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in origin.items()]
    empty = F.expr("CAST(array() AS array<struct<key: string, value: binary>>)")
    return F.concat(F.coalesce(headers, empty), F.array(*added))


def _in_order(rows: DataFrame, tasks: int) -> DataFrame:
    """Every key in one task, its records in order.

    Sorted by the latest time seen so far in their partition, which never goes back there: so partitions are merged by
    time, and records of one partition stay as they were.
    """
    from pyspark.sql import Window
    from pyspark.sql import functions as F

    so_far = Window.partitionBy("origin_partition").orderBy("origin_offset")
    placed = F.coalesce(F.col("key"), F.col("origin_partition").cast("string").cast("binary"))
    return (
        rows.withColumn("reached", F.max("timestamp").over(so_far))
        .repartition(tasks, placed)
        .sortWithinPartitions("reached", "origin_partition", "origin_offset")
        .drop("reached", "origin_partition", "origin_offset")
    )


def _counts(rows: DataFrame) -> dict[str, int]:
    from pyspark.sql import functions as F

    found: Any = rows.agg(F.count(F.lit(1)), F.count_if(F.col("key").isNull())).first()
    return {"records": found[0], "without_key": found[1]}


def _write(
    spark: SparkSession,
    access: ThroughBrokers,
    request: CopyRequest,
    rows: DataFrame,
    partitions: int,
    settings: dict[str, str],
) -> tuple[dict[str, int], int]:
    """What was read, counted, and how many records are in the new topic."""
    from pyspark.sql import Observation
    from pyspark.sql import functions as F

    counted = Observation("copied")
    observed = rows.observe(
        counted, F.count(F.lit(1)).alias("records"), F.count_if(F.col("key").isNull()).alias("without_key")
    )
    ordered = _in_order(observed, max(1, spark.sparkContext.defaultParallelism))
    with access.cluster(_CLIENT) as cluster:
        configs = {**settings, **_WHILE_FILLED}
        _raise_first(cluster.run(create_topics([NewTopic(request.target, partitions, configs=configs)])))
        try:
            ordered.write.format("moldau").options(
                **{
                    **access.options,
                    "topic": request.target,
                    "delivery": "exactly-once",
                    "includeHeaders": "true",
                    "keepTimestamps": "true",
                }
            ).mode("append").save()
            written = _count_written(spark, access, request.target)
            _settle(cluster, request.target, settings)
        except BaseException:
            # Nobody can have written to it but this job.
            cluster.run(delete_topics([request.target]))
            raise
    return {name: int(value) for name, value in counted.get.items()}, written


def _settle(cluster: Cluster, topic: str, settings: dict[str, str]) -> None:
    """Gives the new topic the settings it is to keep."""
    changes = [
        ConfigChange(name, ConfigOperation.SET, settings[name])
        if name in settings
        else ConfigChange(name, ConfigOperation.DELETE)
        for name in _WHILE_FILLED
    ]
    for error in cluster.run(alter_configs({ConfigResource(ResourceType.TOPIC, topic): changes})).values():
        if error is not None:
            raise error


def _settings(access: ThroughBrokers, request: CopyRequest) -> dict[str, str]:
    """The settings the old topic has of its own; JobError if the new one exists."""
    resource = ConfigResource(ResourceType.TOPIC, request.source)
    with access.cluster(_CLIENT) as cluster:
        if any(topic.name == request.target for topic in cluster.run(list_topics(internal=True))):
            raise JobError(f"The topic {request.target} exists already; name a new one.")
        found = cluster.run(describe_configs(resource))
    return {one.name: one.value for one in found if one.source is ConfigSource.TOPIC and one.value is not None}


def _raise_first(outcomes: Sequence[TopicOutcome]) -> None:
    for outcome in outcomes:
        if outcome.error is not None:
            raise outcome.error


def _count_written(spark: SparkSession, access: ThroughBrokers, topic: str) -> int:
    ranges: Ranges = access.ranges(topic, "read_committed")
    return access.frame(spark, topic, "read_committed", ranges).select("offset").count()
