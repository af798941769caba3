"""Sinks: the query that writes a part of a pipeline, or the one write of a pipeline without streams."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.pipeline.assembly import Frames
from moldau.spark.pipeline.checkpoints import checkpoint_of
from moldau.spark.pipeline.failures import sentence_of
from moldau.spark.pipeline.functions import function_of
from moldau.spark.pipeline.model import Part, Pipeline, is_address
from moldau.spark.pipeline.place import PipelineError
from moldau.spark.pipeline.sources import jdbc_options

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

_FILES: Final = ("parquet", "json", "csv", "orc", "delta")
_NOT_INSTALLED: Final = {
    "delta": "Delta is not installed: pip install delta-spark, and name its jar in `spark: {spark.jars.packages: ...}`",
    "iceberg": "Iceberg is not installed: name its runtime in `spark: {spark.jars.packages: ...}`",
}


def start_query(pipeline: Pipeline, part: Part, frames: Frames, *, once: bool) -> StreamingQuery:
    """The running query of one sink; its checkpoint is a directory of its own under the pipeline's."""
    try:
        frame = _prepared(pipeline, part, frames)
        writer: Any = frame.writeStream.queryName(f"{pipeline.name}.{part.name}").outputMode(part["mode"])
        if part.kind != "memory":  # what is in memory is gone with the process, so there is nothing to go on with
            writer = writer.option("checkpointLocation", checkpoint_of(pipeline, part))
        every = part["trigger"] if part["trigger"] is not None else pipeline.trigger
        writer = writer.trigger(availableNow=True) if once else writer.trigger(processingTime=every.interval)
        return _started(pipeline, part, writer)
    except PipelineError:
        raise
    except Exception as error:
        raise failure_of(part, error) from error


def write_batch(
    pipeline: Pipeline, part: Part, frames: Frames, number: int = 0, named: Mapping[str, str] | None = None
) -> None:
    """Writes a sink that reads no stream, or one batch of one; `named` is what an exactly-once topic knows that by."""
    try:
        frame = _prepared(pipeline, part, frames)
        match part.kind:
            case "console":
                frame.show(part["console"], truncate=False)
            case "memory":
                frame.createOrReplaceTempView(part["memory"])
            case "python":
                function_of(pipeline, part, "python")(frame, number)
            case "jdbc":
                frame.write.format("jdbc").options(**jdbc_options(part)).mode("append").save()
            case "iceberg":
                frame.writeTo(part["iceberg"]).append()
            case "parquet" | "json" | "csv" | "orc" if named is not None:
                _recorded(pipeline, part, frame, number)
            case _:
                options = _options(pipeline, part)
                if named and options.get("delivery") == "exactly-once":
                    options |= named
                writer: Any = frame.write.format(_format(part)).options(**options).mode("append")
                if part.fields.get("partition_by"):
                    writer = writer.partitionBy(*part["partition_by"])
                writer.save()
    except PipelineError:
        raise
    except Exception as error:
        raise failure_of(part, error) from error


def _recorded(pipeline: Pipeline, part: Part, frame: DataFrame, number: int) -> None:
    """One batch of a stream into files, as Spark's own sink of files does it: with the record of batches in the
    directory, by which one that is repeated is left out. Spark has no way to it from Python but this one."""
    session: Any = frame.sparkSession
    java = session._jvm
    spark = java.org.apache.spark
    formats = spark.sql.execution.datasources
    made = {
        "parquet": formats.parquet.ParquetFileFormat,
        "json": formats.json.JsonFileFormat,
        "csv": formats.csv.CSVFileFormat,
        "orc": formats.orc.OrcFileFormat,
    }[part.kind]()
    options = _options(pipeline, part)
    path = options.pop("path")
    convert = spark.api.python.PythonUtils
    sink = spark.sql.execution.streaming.sinks.FileStreamSink(
        session._jsparkSession,
        path,
        made,
        convert.toSeq(list(part["partition_by"] or [])),
        convert.toScalaMap(options),
    )
    sink.addBatch(number, frame._jdf)


def _started(pipeline: Pipeline, part: Part, writer: Any) -> StreamingQuery:
    match part.kind:
        case "python":
            writer = writer.foreachBatch(function_of(pipeline, part, "python"))
        case "jdbc":
            options = jdbc_options(part)

            def write(batch: DataFrame, number: int) -> None:
                batch.write.format("jdbc").options(**options).mode("append").save()

            writer = writer.foreachBatch(write)
        case "topic" if part["mode"] != "append":
            writer = writer.foreachBatch(_topic_batch(_options(pipeline, part)))
        case "memory":
            writer = writer.format("memory").queryName(part["memory"])
        case "iceberg":
            query: StreamingQuery = writer.options(**(part["options"] or {})).toTable(part["iceberg"])
            return query
        case _:
            writer = writer.format(_format(part)).options(**_options(pipeline, part))
            if part.fields.get("partition_by"):
                writer = writer.partitionBy(*part["partition_by"])
    started: StreamingQuery = writer.start()
    return started


def _topic_batch(options: dict[str, str]) -> Callable[[DataFrame, int], None]:
    """Writes batch by batch, because Spark lets a sink in Python only append.

    Query and number of the batch travel along as a name for the write: one that is repeated after a crash is
    recognised by it, so this way is exactly once as well.
    """

    def write(batch: DataFrame, number: int) -> None:
        named = {}
        if options["delivery"] == "exactly-once":
            query = batch.sparkSession.sparkContext.getLocalProperty("sql.streaming.queryId")
            named = {"txnAppId": str(query), "txnVersion": str(number)}
        batch.write.format("moldau").options(**options, **named).mode("append").save()

    return write


def _format(part: Part) -> str:
    if part.kind == "topic":
        return "moldau"
    return str(part["format"]) if part.kind == "format" else part.kind


def _options(pipeline: Pipeline, part: Part) -> dict[str, str]:
    given: dict[str, str] = part.fields.get("options") or {}
    if part.kind == "topic":
        options = {
            "kafka.bootstrap.servers": part["bootstrap"] or pipeline.bootstrap,
            "topic": part["topic"],
            "delivery": part["delivery"],
        }
        if part.fields.get("headers") or part is pipeline.dead_letters:
            options["includeHeaders"] = "true"
        return options | given
    if part.kind == "console":
        return {"numRows": str(part["console"]), "truncate": "false"}
    if part.kind in _FILES:
        return {"path": _path(pipeline.located(part[part.kind]))} | given
    return given


def _path(path: str) -> str:
    return path if is_address(path) else f"file:{path}"


# ----------------------------------------------------------------------------------------------------------- columns


def _prepared(pipeline: Pipeline, part: Part, frames: Frames) -> DataFrame:
    """The rows as the sink wants them: for a topic these are key, value, headers and partition."""
    if part is pipeline.dead_letters:
        assert frames.bad is not None  # validation saw to it that a step sends there
        return _dead_records(pipeline, frames.bad) if part.kind == "topic" else frames.bad
    frame = frames[part.inputs[0]]
    return _records(part, frame) if part.kind == "topic" else frame


def _records(part: Part, frame: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    columns: list[Column] = []
    if part["key"]:
        columns.append(_bytes(frame, part["key"]).alias("key"))
    columns.append(_bytes(frame, part["value"]).alias("value"))
    if part["headers"]:
        headers = {name: _bytes(frame, text) for name, text in part["headers"].items()}
        columns.append(_headers(headers).alias("headers"))
    if part["partition"]:
        columns.append(F.expr(part["partition"]).cast("int").alias("partition"))
    return frame.select(*columns)


def _bytes(frame: DataFrame, expression: str) -> Column:
    """Bytes as they are, everything else as its text."""
    from pyspark.sql import functions as F

    column = F.expr(expression)
    kind = frame.select(column).schema.fields[0].dataType.typeName()
    return column if kind == "binary" else column.cast("string").cast("binary")


def _headers(headers: dict[str, Column]) -> Column:
    from pyspark.sql import functions as F

    return F.array(
        *(F.struct(F.lit(name).alias("key"), value.cast("binary").alias("value")) for name, value in headers.items())
    )


def _dead_records(pipeline: Pipeline, bad: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F

    story = {
        "reason": F.col("reason"),
        "pipeline": F.lit(pipeline.name),
        "step": F.col("step"),
        "topic": F.col("topic"),
        "partition": F.col("partition").cast("string"),
        "offset": F.col("offset").cast("string"),
    }
    return bad.select(
        "key", "value", _headers({name: text.cast("string") for name, text in story.items()}).alias("headers")
    )


def failure_of(part: Part, error: Exception) -> PipelineError:
    text = sentence_of(error)
    if part.kind in _NOT_INSTALLED and "Failed to find the data source" in text:
        text = _NOT_INSTALLED[part.kind]
    return PipelineError(f"{part.line(part.kind)}: {part.owner}: {text}")
