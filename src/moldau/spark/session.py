"""A Spark session that suits topics: quiet, on loopback, in UTC, with Arrow set for large batches.

Only defaults are chosen here. What the caller passes wins over them, and a session that exists already is returned as
it is, because Spark has one per process and settings of its JVM cannot change any more.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from moldau.errors import MoldauError
from moldau.spark.interpreter import start_quickly
from moldau.spark.java import prepare_java

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# Arrow checks every access to its memory unless told not to; worth a tenth of a scan.
_UNCHECKED_ARROW = "-Darrow.enable_unsafe_memory_access=true -Darrow.enable_null_check_for_get=false"

_EVERYWHERE: dict[str, str] = {
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.showConsoleProgress": "false",
    # Rows on their way to a Python sink leave in Arrow batches of ten thousand, which for records of a megabyte is more
    # than the JVM can hold. To look at the size costs a fifth of the CPU for a wide frame, and little for a narrow one.
    "spark.sql.execution.arrow.maxBytesPerBatch": str(64 * 1024 * 1024),
    "spark.driver.extraJavaOptions": _UNCHECKED_ARROW,
    "spark.executor.extraJavaOptions": _UNCHECKED_ARROW,
}

_LOCALLY: dict[str, str] = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.log.level": "ERROR",
    # Two hundred shuffle partitions are for clusters; here each costs a task and a state store.
    "spark.sql.shuffle.partitions": str(min(os.cpu_count() or 1, 8)),
}


class SparkMissing(MoldauError):
    """The extra that brings Spark is not installed."""

    def __init__(self) -> None:
        super().__init__('This needs Spark, which is not installed: pip install "moldau[spark]".')


def require_spark() -> None:
    """Refuses with one sentence where the extra is missing."""
    try:
        import pyarrow  # noqa: F401
        import pyspark  # noqa: F401
    except ImportError:
        raise SparkMissing() from None


def spark_session(name: str, *, master: str | None = None, settings: Mapping[str, Any] | None = None) -> SparkSession:
    """The session of this process, created if there is none: on all cores of this machine, or on `master`."""
    require_spark()
    from pyspark.sql import SparkSession

    prepare_java()
    master = master or "local[*]"
    chosen = dict(_EVERYWHERE)
    if master.startswith("local"):
        start_quickly()
        chosen |= _LOCALLY
    # Workers must run the interpreter that has this package, not the first python3 on the PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    chosen |= {key: _text(value) for key, value in (settings or {}).items()}
    builder = SparkSession.builder.appName(name).master(master)
    for key, value in chosen.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
