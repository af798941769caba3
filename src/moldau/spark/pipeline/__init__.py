"""Declared pipelines: one file names sources, steps and sinks; Spark runs it.

`load(path)` reads and checks a file and needs no Spark; `build` and `start` turn the result into DataFrames and queries
on a session, which is also how a notebook uses it:

    pipeline = load("orders.yaml")
    build(spark, pipeline)["parsed"].printSchema()
    run = start(spark, pipeline)
"""

from __future__ import annotations

from moldau.spark.pipeline.assembly import Frames as Frames
from moldau.spark.pipeline.assembly import build as build
from moldau.spark.pipeline.code import Declaration as Declaration
from moldau.spark.pipeline.code import variable as variable
from moldau.spark.pipeline.model import Part as Part
from moldau.spark.pipeline.model import Pipeline as Pipeline
from moldau.spark.pipeline.place import InvalidPipeline as InvalidPipeline
from moldau.spark.pipeline.place import PipelineError as PipelineError
from moldau.spark.pipeline.reading import load as load
from moldau.spark.pipeline.running import Run as Run
from moldau.spark.pipeline.running import start as start
