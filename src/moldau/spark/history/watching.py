"""How far Spark is with a job, asked from outside while it runs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_INTERVAL: Final = 0.5


@contextmanager
def watched(spark: SparkSession, told: Callable[[int, int], None]) -> Iterator[None]:
    """Calls `told` with (tasks done, tasks in all) of the stages that run, twice a second."""
    over = threading.Event()

    def watch() -> None:
        tracker = spark.sparkContext.statusTracker()
        while not over.wait(_INTERVAL):
            stages = [tracker.getStageInfo(number) for number in tracker.getActiveStageIds()]
            running = [stage for stage in stages if stage is not None]
            if running:
                told(sum(stage.numCompletedTasks for stage in running), sum(stage.numTasks for stage in running))

    thread = threading.Thread(target=watch, name="spark-watch", daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
