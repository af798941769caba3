"""What tasks of an exactly-once write tell the driver, and how the work they belong to is named."""

from __future__ import annotations

from dataclasses import dataclass

from pyspark.sql.datasource import WriterCommitMessage

from moldau.spark.sink.content import Content
from moldau.spark.sink.ledger import Account, Opened
from moldau.spark.sink.options import SinkOptions


@dataclass(frozen=True)
class Job:
    """`key` names what is written to over and over (a query, an application), `batch` the one write that is decided as
    a whole, `run` the life of the driver that does it. A `passing` one is never heard of again."""

    key: str
    batch: int
    run: str
    passing: bool = False

    def account(self, options: SinkOptions) -> Account:
        return Account(options.decisions_topic, self.key)

    def transactional_id(self, options: SinkOptions, name: str) -> str:
        return f"{options.id_prefix}-{self.key}-{name}"


@dataclass
class Written(WriterCommitMessage):
    """Rows lie in the log, in a transaction that is open."""

    job: Job
    transaction: Opened
    content: Content


@dataclass
class Skipped(WriterCommitMessage):
    """The batch had been decided before; nothing was written. The rows would have been these."""

    job: Job
    content: Content


@dataclass
class Nothing(WriterCommitMessage):
    """There were no rows."""

    job: Job
