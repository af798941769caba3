"""Pipelines on Apache Spark: a source, a sink, the log's own files, declared pipelines and jobs over history.

Spark finds the source and the sink by itself (`format("moldau")`, module `pyspark_moldau`); what is named here is for
programs that want a session or a pipeline in hand. Needs the extra: `pip install "moldau[spark]"`.
"""

from __future__ import annotations

from moldau.spark.java import prepare_java as prepare_java
from moldau.spark.session import spark_session as spark_session
