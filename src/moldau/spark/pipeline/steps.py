"""Steps as DataFrames of DataFrames, one function per kind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from moldau.spark.pipeline.functions import function_of
from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.parsing import ORIGIN
from moldau.spark.pipeline.place import PipelineError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

ROCKS_DB: Final = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
PROVIDER: Final = "spark.sql.streaming.stateStore.providerClass"
_TIMEOUTS: Final = {"none": "NoTimeout", "processing-time": "ProcessingTimeTimeout", "event-time": "EventTimeTimeout"}
_TIME_MODES: Final = {"none": "None", "processing-time": "ProcessingTime", "event-time": "EventTime"}


def step_frame(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    """What a step makes of its inputs; `parse` and `expect`, which make two things, are in `parsing.py`."""
    return _STEPS[part.kind](spark, pipeline, part, inputs)


def _sql(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    for name, frame in zip(part.inputs, inputs, strict=True):
        frame.createOrReplaceTempView(name)
    try:
        return spark.sql(part["sql"])  # names are resolved here, so the views need not stay
    finally:
        for name in part.inputs:
            spark.catalog.dropTempView(name)


def _python(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    from pyspark.sql import DataFrame

    function = function_of(pipeline, part, "python")
    given = inputs if inputs else [spark]
    frame = function(*given, **(part["arguments"] or {}))
    if not isinstance(frame, DataFrame):
        raise PipelineError(
            f"{part.line('python')}: the function of {part.owner} returned {type(frame).__name__}, not a DataFrame."
        )
    return frame


def _filter(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    return inputs[0].where(part["filter"])


def _select(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    own = [ORIGIN] if ORIGIN in inputs[0].columns else []
    return inputs[0].selectExpr(*_named(part["select"]), *own)


def _add(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F

    return inputs[0].withColumns({name: F.expr(expression) for name, expression in part["add"].items()})


def _named(columns: dict[str, str]) -> list[str]:
    return [text if text == name else f"{text} AS `{name}`" for name, text in columns.items()]


def _join(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F

    left, right = (frame.alias(name) for name, frame in zip(part.inputs, inputs, strict=True))
    if part["broadcast"]:
        right = F.broadcast(right)
    condition: Any = part["using"] or F.expr(part["where"])
    return left.join(right, condition, {"semi": "left_semi", "anti": "left_anti"}.get(part["how"], part["how"]))


def _union(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    frame = inputs[0]
    for other in inputs[1:]:
        frame = frame.unionByName(other)
    return frame


def _deduplicate(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    frame = inputs[0]
    if frame.isStreaming and part["within"]:
        return _watermarked(frame, part["time"], part["within"]).dropDuplicatesWithinWatermark(part["deduplicate"])
    return frame.dropDuplicates(part["deduplicate"])


def _aggregate(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    from pyspark.sql import functions as F

    frame = inputs[0]
    if part["watermark"] and frame.isStreaming:
        frame = _watermarked(frame, part["time"], part["watermark"])
    groups = [F.expr(text).alias(name) for name, text in (part["by"] or {}).items()]
    output = [F.col(f"`{name}`") for name in part["by"] or {}]
    if part["window"] or part["session"]:
        if part["session"]:
            window = F.session_window(part["time"], part["session"].interval)
        else:
            slide = part["slide"].interval if part["slide"] else None
            window = F.window(part["time"], part["window"].interval, slide)
        groups.insert(0, window.alias("_moldau_window"))
        output = [
            F.col("_moldau_window.start").alias("window_start"),
            F.col("_moldau_window.end").alias("window_end"),
            *output,
        ]
    aggregates = [F.expr(text).alias(name) for name, text in part["aggregate"].items()]
    return frame.groupBy(*groups).agg(*aggregates).select(*output, *(F.col(f"`{name}`") for name in part["aggregate"]))


def _watermark(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    frame = inputs[0]
    return _watermarked(frame, part["time"], part["watermark"]) if frame.isStreaming else frame


def _watermarked(frame: DataFrame, time: str, delay: Any) -> DataFrame:
    """With a watermark; the one that an earlier step has set stays, since Spark takes no second one."""
    field = next((each for each in frame.schema.fields if each.name == time), None)
    if field is not None and "spark.watermarkDelayMs" in (field.metadata or {}):
        return frame
    return frame.withWatermark(time, delay.interval)


def _stateful(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    groups = inputs[0].groupBy(*part["by"])
    return groups.applyInPandasWithState(
        function_of(pipeline, part, "stateful"), part["output"], part["state"], part["mode"], _TIMEOUTS[part["timeout"]]
    )


def _processor(spark: SparkSession, pipeline: Pipeline, part: Part, inputs: Sequence[DataFrame]) -> DataFrame:
    spark.conf.set(PROVIDER, ROCKS_DB)  # the only state store that a processor works with
    groups = inputs[0].groupBy(*part["by"])
    processor = function_of(pipeline, part, "processor")()
    return groups.transformWithStateInPandas(
        processor, part["output"], part["mode"].capitalize(), _TIME_MODES[part["timeout"]]
    )


_Step = Callable[["SparkSession", Pipeline, Part, Sequence["DataFrame"]], "DataFrame"]

_STEPS: Final[dict[str, _Step]] = {
    "sql": _sql,
    "python": _python,
    "filter": _filter,
    "select": _select,
    "add": _add,
    "join": _join,
    "union": _union,
    "deduplicate": _deduplicate,
    "aggregate": _aggregate,
    "watermark": _watermark,
    "stateful": _stateful,
    "processor": _processor,
}
