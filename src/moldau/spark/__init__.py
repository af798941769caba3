"""Pipelines on Apache Spark: a source, a sink, the log's own files, declared pipelines and jobs over history.

Spark finds the source and the sink by itself (`format("moldau")`, module `pyspark_moldau`); what is named here is for
programs that want a session or a pipeline in hand. Needs the extra: `pip install "moldau[spark]"`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from moldau.spark.interpreter import use_this_python
from moldau.spark.java import prepare_java as prepare_java
from moldau.spark.progress import offsets_behind as offsets_behind
from moldau.spark.progress import readable_progress as readable_progress
from moldau.spark.session import spark_session as spark_session

if TYPE_CHECKING:
    from moldau.spark.pipeline import Pipeline

use_this_python()


def load_pipeline(path: str, variables: Mapping[str, str] | None = None) -> Pipeline:
    """A declared pipeline from its file, checked; `moldau.spark.pipeline.build` and `start` put it on a session."""
    # Workers of Spark import this package for the source and the sink; they have no use for pipelines.
    from moldau.spark.pipeline import load

    return load(path, variables)
