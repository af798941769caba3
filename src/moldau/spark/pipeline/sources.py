"""Sources as DataFrames: streams where the pipeline says so, tables read once otherwise."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from moldau.spark.pipeline.functions import function_of
from moldau.spark.pipeline.model import Part, Pipeline, is_address
from moldau.spark.pipeline.place import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


def source_frame(spark: SparkSession, pipeline: Pipeline, part: Part, output: Part | None = None) -> DataFrame:
    reader: Any = spark.readStream if part.streaming else spark.read
    match part.kind:
        case "topic" | "pattern":
            return _topic(reader, pipeline, part, output)
        case "file":
            return _file(reader, pipeline, part)
        case "table":
            return _table(reader, part)
        case "jdbc":
            return _jdbc(spark, part)
        case "rate":
            return _loaded(reader.format("rate").option("rowsPerSecond", part["rate"]))
        case "rows":
            return _rows(spark, part)
        case "python":
            return _from_function(spark, pipeline, part)
        case _:
            reader = reader.format(part["format"]).options(**(part["options"] or {}))
            return _loaded(reader.schema(part["schema"]) if part["schema"] else reader)


def topic_options(pipeline: Pipeline, part: Part) -> dict[str, str]:
    """The options of `format("moldau")` for a source; what the file gives under `options` has the last word."""
    options = {"kafka.bootstrap.servers": part["bootstrap"] or pipeline.bootstrap}
    if part.kind == "pattern":
        options["subscribePattern"] = part["pattern"]
    else:
        options["subscribe"] = ",".join(part["topic"])
    options["startingOffsets"] = part["starting"]
    options["kafka.isolation.level"] = part["isolation"]
    options["failOnDataLoss"] = str(part["on_data_loss"] == "fail").lower()
    for field, option in (
        ("ending", "endingOffsets"),
        ("max_per_batch", "maxOffsetsPerTrigger"),
        ("min_partitions", "minPartitions"),
    ):
        if part[field] is not None:
            options[option] = str(part[field])
    if part["headers"]:
        options["includeHeaders"] = "true"
    return options | (part["options"] or {})


def _topic(reader: Any, pipeline: Pipeline, part: Part, output: Part | None) -> DataFrame:
    options = topic_options(pipeline, part)
    given = {name.lower() for name in options}
    if part.streaming and output is not None and not given & {"kafka.group.id", "groupidprefix"}:
        # Each query is at another place, so each has a name of its own among lag tools.
        options["kafka.group.id"] = group_of(pipeline, output)
    if part.streaming and "failonoldcheckpoint" not in given:
        # Nobody reads the log of a pipeline that runs by itself, and `--fresh` is there for those who begin anew.
        options["failOnOldCheckpoint"] = "true"
    return _loaded(reader.format("moldau").options(**options))


def group_of(pipeline: Pipeline, output: Part) -> str:
    return f"{pipeline.name}.{output.name}"


def _loaded(reader: Any) -> DataFrame:
    frame: DataFrame = reader.load()
    return frame


def _file(reader: Any, pipeline: Pipeline, part: Part) -> DataFrame:
    reader = reader.format(part["format"]).options(**(part["options"] or {}))
    if part["schema"]:
        reader = reader.schema(part["schema"])
    if part["max_per_batch"]:
        reader = reader.option("maxFilesPerTrigger", part["max_per_batch"])
    path = pipeline.located(part["file"])
    # With a cluster's file system as the default one, a bare path would be looked for there.
    frame: DataFrame = reader.load(path if is_address(path) else f"file:{path}")
    return frame


def _table(reader: Any, part: Part) -> DataFrame:
    frame: DataFrame = reader.options(**(part["options"] or {})).table(part["table"])
    return frame


def _jdbc(spark: SparkSession, part: Part) -> DataFrame:
    options = jdbc_options(part)
    if part["query"]:
        options["query"] = part["query"]
    return spark.read.format("jdbc").options(**options).load()


def jdbc_options(part: Part) -> dict[str, str]:
    options = {"url": part["jdbc"]}
    for field, option in (("table", "dbtable"), ("user", "user"), ("password", "password"), ("driver", "driver")):
        if part[field] is not None:
            options[option] = part[field]
    return options | (part["options"] or {})


def _rows(spark: SparkSession, part: Part) -> DataFrame:
    from pyspark.sql import functions as F

    # Built as texts and cast: YAML's idea of a number or a date need not be the column's.
    texts = [[None if cell is None else str(cell) for cell in row] for row in part["rows"]]
    names = [f"_{index}" for index in range(len(texts[0]))]
    frame = spark.createDataFrame(texts, ", ".join(f"{name} STRING" for name in names))
    schema = spark.createDataFrame([], part["schema"]).schema
    if len(schema.fields) != len(names):
        raise PipelineError(
            f"{part.line('rows')}: the rows of {part.owner} have {len(names)} values, its schema {len(schema.fields)}."
        )
    return frame.select(
        *(F.col(name).cast(field.dataType).alias(field.name) for name, field in zip(names, schema.fields, strict=True))
    )


def _from_function(spark: SparkSession, pipeline: Pipeline, part: Part) -> DataFrame:
    frame: DataFrame = function_of(pipeline, part, "python")(spark, **(part["options"] or {}))
    if getattr(frame, "isStreaming", None) is not part.streaming:
        wanted = "a stream" if part.streaming else "a table; add `stream: true` if it is a stream"
        raise PipelineError(f"{part.line('python')}: the function of {part.owner} should return {wanted}.")
    return frame
