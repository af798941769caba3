"""All parts of a pipeline as DataFrames on a session, and Spark's complaints as sentences with a line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from moldau.spark.pipeline.failures import sentence_of
from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.parsing import expect, parse
from moldau.spark.pipeline.place import PipelineError
from moldau.spark.pipeline.sources import source_frame
from moldau.spark.pipeline.steps import step_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession


@dataclass(slots=True)
class Frames:
    """The frame of every source and step by name, and the bad rows of all steps in one, if there can be any."""

    parts: dict[str, DataFrame] = field(default_factory=dict)
    bad: DataFrame | None = None

    def __getitem__(self, name: str) -> DataFrame:
        return self.parts[name]


def build(spark: SparkSession, pipeline: Pipeline) -> Frames:
    """The pipeline's DataFrames. Raises PipelineError with the line of the part that Spark does not understand."""
    frames = Frames()
    for part in [*pipeline.sources.values(), *pipeline.steps.values()]:
        try:
            frames.parts[part.name] = _frame(spark, pipeline, part, frames)
        except PipelineError:
            raise
        except Exception as error:
            raise PipelineError(f"{_place(part)}: {part.owner}: {sentence_of(error)}") from error
    return frames


def _frame(spark: SparkSession, pipeline: Pipeline, part: Part, frames: Frames) -> DataFrame:
    if part.section == "source":
        return source_frame(spark, pipeline, part)
    inputs = [frames[name] for name in part.inputs]
    if part.kind in ("parse", "expect"):
        good, bad = (parse if part.kind == "parse" else expect)(pipeline, part, inputs[0])
        if bad is not None:
            frames.bad = bad if frames.bad is None else frames.bad.unionByName(bad)
        return good
    return step_frame(spark, pipeline, part, inputs)


def _place(part: Part) -> object:
    return part.line(part.kind)
