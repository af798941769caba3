"""A pipeline at work: its queries started, watched, begun again after a failure, and stopped.

A sink is one query of Spark with a checkpoint of its own, or one of several that share one (`sharing`). If one query
fails, all are stopped and begin again together: a pipeline is up or it is not.
"""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final

from moldau.spark.pipeline.assembly import build
from moldau.spark.pipeline.checkpoints import check_record, checkpoint_of
from moldau.spark.pipeline.failures import sentence_of
from moldau.spark.pipeline.measures import Measure, add_progress
from moldau.spark.pipeline.model import Pipeline
from moldau.spark.pipeline.place import PipelineError
from moldau.spark.pipeline.sharing import groups, start_shared
from moldau.spark.pipeline.sinks import start_query, write_batch
from moldau.spark.pipeline.status import StatusFile
from moldau.spark.progress import as_plain

if TYPE_CHECKING:
    from pyspark.sql import SparkSession
    from pyspark.sql.streaming.query import StreamingQuery

_LOOK: Final = 0.25
_WRITE: Final = 1.0
_SETTLED: Final = 120.0
_BEGIN: Final = 15.0
_PATIENCE: Final = 5.0


class Run:
    """The queries of one start of a pipeline."""

    def __init__(self, pipeline: Pipeline, measures: dict[str, Measure] | None = None) -> None:
        self.pipeline = pipeline
        self.queries: dict[str, StreamingQuery] = {}
        self.measures = measures if measures is not None else {}
        for part in pipeline.outputs:
            self.measures.setdefault(part.name, Measure(part.name))
        self._seen: dict[str, tuple[int, str]] = {}

    def look(self) -> bool:
        """Reads the progress of every query; whether one still runs. Raises PipelineError if one failed."""
        running = False
        for name, query in self.queries.items():
            self._take_in(name, query)
            failure = query.exception()
            if failure is not None:
                self.measures[name].state = "failed"
                part = next(each for each in self.pipeline.outputs if each.name == name)
                raise PipelineError(f"{part.place}: {part.owner} failed: {sentence_of(failure)}")
            if query.isActive:
                running = True
            else:
                self.measures[name].state = "finished"
        return running

    def _take_in(self, name: str, query: StreamingQuery) -> None:
        for progress in query.recentProgress:
            mark = (progress["batchId"], progress["timestamp"])
            if mark > self._seen.get(name, (-1, "")):
                self._seen[name] = mark
                add_progress(self.measures[name], as_plain(progress))

    def await_end(self) -> None:
        """Until every query has ended by itself, as they do with `once`, or one failed."""
        while self.look():
            time.sleep(_LOOK)

    def stop(self, patience: float = 0.0) -> None:
        """Ends all queries. Batches under way get `patience` seconds; what is cut off is repeated by the next start."""
        deadline = time.monotonic() + patience
        for name, query in self.queries.items():
            failed = self.measures[name].state == "failed"
            # One after the other, each between two batches: a query that waits for the others begins another batch.
            _let_finish(query, deadline)
            with contextlib.suppress(Exception):  # the one that failed may complain once more
                query.stop()
            with contextlib.suppress(Exception):
                self._take_in(name, query)  # what ended since the last look counts, too
            self.measures[name].state = "failed" if failed else "stopped"


def start(
    spark: SparkSession, pipeline: Pipeline, *, once: bool = False, measures: dict[str, Measure] | None = None
) -> Run:
    """Starts every sink of the pipeline on a session. With `once` each query ends when it has read what is there now.

    Sinks that read no stream are written before this returns.
    """
    run = Run(pipeline, measures)
    try:
        for source, members in groups(spark, pipeline).items():
            query = start_shared(spark, pipeline, pipeline.sources[source], members, once=once)
            run.queries |= dict.fromkeys((part.name for part in members), query)
            _let_begin(query)
        for part in pipeline.outputs:
            if part.name in run.queries:
                continue
            frames = build(spark, pipeline, part)
            if part.streaming:
                check_record(spark, pipeline, part, checkpoint_of(pipeline, part))
                run.queries[part.name] = start_query(pipeline, part, frames, once=once)
                _let_begin(run.queries[part.name])
            else:
                write_batch(pipeline, part, frames)
                run.measures[part.name].state = "finished"
    except BaseException:
        run.stop()
        raise
    return run


def _let_begin(query: StreamingQuery) -> None:
    """Waits until a query has its sources open, before the next one starts.

    Each starts Python processes that have to report to the JVM within ten seconds; all at once on few cores, some would
    come too late.
    """
    deadline = time.monotonic() + _BEGIN
    while time.monotonic() < deadline and query.isActive and query.status["message"] == "Initializing sources":
        time.sleep(_LOOK / 5)


def _let_finish(query: StreamingQuery, deadline: float) -> None:
    """Until the batch under way is done, or has been followed by the next."""
    with contextlib.suppress(Exception):  # a query that failed has nothing to wait for
        before = query.lastProgress
        while time.monotonic() < deadline and query.isActive and query.status["isTriggerActive"]:
            if query.lastProgress != before:
                return
            time.sleep(_LOOK / 5)


class Supervisor:
    """Runs a pipeline until it ends, is told to stop, or has failed too often.

    `show(measures, state, error)` is called a few times a second, `stop` may be called from a signal handler.
    """

    def __init__(
        self,
        spark: SparkSession,
        pipeline: Pipeline,
        *,
        once: bool = False,
        show: Callable[[Mapping[str, Measure], str, str | None], None] | None = None,
    ) -> None:
        self._spark = spark
        self._pipeline = pipeline
        self._once = once
        self._show = show or (lambda measures, state, error: None)
        self._stopping = threading.Event()
        self._file = StatusFile(pipeline, spark.sparkContext.master or "")
        self._measures: dict[str, Measure] = {}
        self._written = 0.0
        self.restarts = 0

    @property
    def measures(self) -> Mapping[str, Measure]:
        return self._measures

    def stop(self) -> None:
        self._stopping.set()

    def run(self) -> str:
        """`finished` or `stopped`; raises the last PipelineError when the policy allows no further start."""
        failures = 0
        while True:
            began = time.monotonic()
            try:
                state = self._run_once()
            except PipelineError as error:
                if time.monotonic() - began > _SETTLED:
                    failures = 0
                failures += 1
                wait = None if self._stopping.is_set() else self._pipeline.restart.wait(failures)
                if wait is None:
                    self._tell("failed", str(error), force=True)
                    raise
                self._tell("waiting", str(error), force=True)
                self._stopping.wait(wait)
                self.restarts += 1
            else:
                self._tell(state, force=True)
                return state
            if self._stopping.is_set():
                self._tell("stopped", force=True)
                return "stopped"

    def _run_once(self) -> str:
        self._tell("starting", force=True)
        run = start(self._spark, self._pipeline, once=self._once, measures=self._measures)
        try:
            while run.look():
                self._tell("running")
                if self._stopping.wait(_LOOK):
                    return "stopped"
            return "finished"
        finally:
            finished = all(measure.state == "finished" for measure in self._measures.values())
            if not finished:
                run.stop(_PATIENCE if self._stopping.is_set() else 0.0)

    def _tell(self, state: str, error: str | None = None, *, force: bool = False) -> None:
        self._show(self._measures, state, error)
        now = time.monotonic()
        if force or now - self._written >= _WRITE:
            self._written = now
            self._file.write(state, list(self._measures.values()), error=error, restarts=self.restarts)
