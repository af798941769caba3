"""The writers of an exactly-once write, as Spark sees them."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from typing import Any, Final

from pyspark import TaskContext
from pyspark.sql.datasource import DataSourceArrowWriter, DataSourceStreamArrowWriter, WriterCommitMessage

from moldau.errors import MoldauError
from moldau.spark.sink.decision import Decider
from moldau.spark.sink.messages import Job, Nothing, Skipped, Written
from moldau.spark.sink.options import SinkOptions
from moldau.spark.sink.transaction import write_rows

logger = logging.getLogger("moldau.spark.sink")

# Spark tells tasks this way what writers are not told.
_QUERY: Final = "sql.streaming.queryId"
_BATCH: Final = "streaming.sql.batchId"
_RUN: Final = "spark.jobGroup.id"


class ExactlyOnceStreamWriter(DataSourceStreamArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        context = _context()
        query, batch = context.getLocalProperty(_QUERY), context.getLocalProperty(_BATCH)
        if not query or not batch:
            raise MoldauError("Spark did not say which query and which batch this is.")
        # Without the run's own name every task is one; then ids are not used again, and that is all.
        run = context.getLocalProperty(_RUN) or f"task-{context.taskAttemptId()}"
        return write_rows(self._options, Job(query, int(batch), run), context.partitionId(), iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        job = _job(messages)
        if job is not None:
            _commit(self._options, job, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None], batchId: int) -> None:
        job = _job(messages)
        if job is not None:
            _abort(self._options, job, messages)


class ExactlyOnceBatchWriter(DataSourceArrowWriter):
    """A batch has the name its user gave it, under which it can be repeated, or one that is never used again."""

    def __init__(self, options: SinkOptions, number: str) -> None:
        self._options = options
        if options.application is not None and options.version is not None:
            self._job = Job(options.application, options.version, number)
        else:
            self._job = Job(number, 0, number, passing=True)

    def write(self, iterator: Iterator[Any]) -> WriterCommitMessage:
        return write_rows(self._options, self._job, _context().partitionId(), iterator)

    def commit(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        _commit(self._options, self._job, messages)

    def abort(self, messages: Sequence[WriterCommitMessage | None]) -> None:
        _abort(self._options, self._job, messages)


def _commit(options: SinkOptions, job: Job, messages: Sequence[WriterCommitMessage | None]) -> None:
    try:
        with Decider(options, job) as decider:
            decider.commit(messages)
    except MoldauError as error:
        logger.error("batch %d of %s was not committed: %s", job.batch, job.key, error)
        raise


def _abort(options: SinkOptions, job: Job, messages: Sequence[WriterCommitMessage | None]) -> None:
    """Spark has a reason for it and tells that, unless this fails as well, which is of no interest to anybody: what is
    left open is ended by the next batch that is decided."""
    try:
        with Decider(options, job) as decider:
            decider.abort(messages)
    except MoldauError as error:
        logger.warning("batch %d of %s could not be aborted: %s", job.batch, job.key, error)


def _context() -> TaskContext:
    context = TaskContext.get()
    if context is None:
        raise MoldauError("Rows are written by tasks of Spark.")
    return context


def _job(messages: Sequence[WriterCommitMessage | None]) -> Job | None:
    """All tasks say the same; a batch without a single message has nothing to commit or to abort."""
    for message in messages:
        if isinstance(message, Written | Skipped | Nothing):
            return message.job
    return None
