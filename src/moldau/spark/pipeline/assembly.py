"""The parts of a pipeline as DataFrames on a session, and Spark's complaints as sentences with a line.

A record that a later step finds bad should be set aside as it came, so each row of a topic carries its record along, in
a column that only this file and `parsing` know, for as long as steps pass rows on one by one. Nobody else sees it: what
is handed to sinks, functions and queries is without it, and Spark leaves out of its plans what is never asked for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from moldau.spark.pipeline.failures import sentence_of
from moldau.spark.pipeline.model import Part, Pipeline
from moldau.spark.pipeline.parsing import ORIGIN, expect, parse, with_origin
from moldau.spark.pipeline.place import PipelineError
from moldau.spark.pipeline.sources import source_frame
from moldau.spark.pipeline.steps import step_frame

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

# Steps whose rows are rows of their first input.
_PASSING: Final = ("filter", "select", "add", "deduplicate", "watermark", "join")


@dataclass(slots=True)
class Frames:
    """The frame of every source and step by name, and the bad rows of all steps in one, if there can be any."""

    parts: dict[str, DataFrame] = field(default_factory=dict)
    bad: DataFrame | None = None
    traced: dict[str, DataFrame] = field(default_factory=dict)

    def __getitem__(self, name: str) -> DataFrame:
        return self.parts[name]

    def put(self, name: str, frame: DataFrame) -> None:
        if ORIGIN in frame.columns:
            self.traced[name] = frame
            frame = frame.drop(ORIGIN)
        self.parts[name] = frame


def build(
    spark: SparkSession,
    pipeline: Pipeline,
    output: Part | None = None,
    given: Mapping[str, DataFrame] | None = None,
) -> Frames:
    """The pipeline's DataFrames, all or those that a sink needs, whose name its sources then go by among lag tools.
    `given` are frames to take instead of sources: batches of them.

    Raises PipelineError with the line of the part that Spark does not understand.
    """
    frames = Frames()
    needed = None if output is None else {part.name for part in pipeline.upstream(output)}
    for part in [*pipeline.sources.values(), *pipeline.steps.values()]:
        if needed is not None and part.name not in needed:
            continue
        try:
            given_one = (given or {}).get(part.name)
            made = _frame(spark, pipeline, part, frames, output) if given_one is None else with_origin(given_one)
            frames.put(part.name, made)
        except PipelineError:
            raise
        except Exception as error:
            raise PipelineError(f"{_place(part)}: {part.owner}: {sentence_of(error)}") from error
    return frames


def _frame(spark: SparkSession, pipeline: Pipeline, part: Part, frames: Frames, output: Part | None) -> DataFrame:
    if part.section == "source":
        frame = source_frame(spark, pipeline, part, output)
        return with_origin(frame) if part.kind in ("topic", "pattern") else frame
    inputs = [frames[name] for name in part.inputs]
    if inputs and part.kind in ("parse", "expect", *_PASSING) and not _keeps_rows(pipeline, part):
        inputs[0] = frames.traced.get(part.inputs[0], inputs[0])
    if part.kind in ("parse", "expect"):
        good, bad = (parse if part.kind == "parse" else expect)(pipeline, part, inputs[0])
        if bad is not None:
            frames.bad = bad if frames.bad is None else frames.bad.unionByName(bad)
        return good
    return step_frame(spark, pipeline, part, inputs)


def _keeps_rows(pipeline: Pipeline, part: Part) -> bool:
    """Two streams that are joined wait for each other in the state, where a record would be a burden."""
    return part.kind == "join" and all(pipeline.part(name).streaming for name in part.inputs)


def _place(part: Part) -> object:
    return part.line(part.kind)
