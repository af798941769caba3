"""The driver's part of an exactly-once write: one durable decision for all tasks of a batch, carried out to the end.

Whoever commits first takes over the driver's transactional id, so that no other driver of the same query can decide
any more, and then reads what stands. Everything that follows is either not decided, and can be begun anew, or decided,
and is carried out by whoever comes next: the same driver, or the one that runs after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Any, Final

from moldau.client.admin.transactions import end_transaction
from moldau.client.cluster import Cluster
from moldau.client.exceptions import named
from moldau.client.producer.face import KafkaProducer
from moldau.client.settings import find_cluster
from moldau.errors import KafkaError, MoldauError
from moldau.spark.sink.ending import end_transactions, was_aborted
from moldau.spark.sink.faults import reached
from moldau.spark.sink.ledger import Ledger, Opened, State, ensure, read, state_records
from moldau.spark.sink.messages import Job, Skipped, Written
from moldau.spark.sink.options import SinkOptions
from moldau.spark.sink.transaction import is_decided

# Taking over the driver's id can be undone by another driver that does the same; two that go on like this are a mistake
# of whoever started both.
_TRIES: Final = 3

# Ids that are kept for later batches although the last one did not need them.
_MOST_FREE: Final = 1000


class TransactionsLost(MoldauError):
    """The decision stands and cannot be carried out."""


class Decider:
    """Opened for one commit or one abort."""

    def __init__(self, options: SinkOptions, job: Job) -> None:
        self._options = options
        self._job = job
        self._account = job.account(options)
        seconds = options.producer["delivery_timeout_ms"] / 1000
        self._cluster = Cluster(
            options.bootstrap,
            client_id=options.producer["client_id"],
            timeout=seconds,
            security=options.security.open(),
        )
        self._producer: KafkaProducer | None = None

    def __enter__(self) -> Decider:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._producer is not None:
            self._producer.close(timeout=0)
        self._cluster.close()

    # ------------------------------------------------------------------------------------------- what Spark asks for

    def commit(self, messages: Sequence[Any]) -> None:
        written = [message for message in messages if isinstance(message, Written)]
        if not written and not any(isinstance(message, Skipped) for message in messages) and not self._is_pending():
            return
        reached("commit-began")
        failure: KafkaError | None = None
        for _ in range(_TRIES):
            try:
                ledger = self._fence_and_read()
                before = ledger.state
                if is_decided(ledger, self._job):
                    self._carry_on(ledger, written)
                elif before is not None and not before.finished:
                    # Spark does not go on from a batch whose commit failed. Should it ever, no decision is lost by it.
                    self._carry_out(before, ledger)
                    continue
                else:
                    state = self._decide(ledger, written)
                    self._carry_out(state, ledger)
                return
            except KafkaError as error:
                # Fenced, or an answer was lost: what stands is read again, by whoever holds the id then.
                failure = error
        assert failure is not None
        raise named(failure)

    def abort(self, messages: Sequence[Any]) -> None:
        """Ends what the tasks left open; does nothing to a batch that is decided except carrying that out."""
        written = [message for message in messages if isinstance(message, Written)]
        ledger = self._fence_and_read()
        if is_decided(ledger, self._job):
            self._carry_on(ledger, written)
            return
        if self._job.passing:
            # No later batch would end what a task leaves open that Spark has not stopped yet. So nothing is decided,
            # for good: a task that claims an id from now on sees it, and what was claimed before is seen here.
            self._write(State(self._job.batch, True, self._job.run), (), "")
            ledger = self._cluster.run(read(self._account))
        self._abort(written)
        mine = {claim.name for claim in ledger.claims if claim.run == self._job.run and claim.batch == self._job.batch}
        self._take_over(mine - {message.transaction.name for message in written})

    # -------------------------------------------------------------------------------------------------------- inside

    def _is_pending(self) -> bool:
        """Whether this batch, in which no task had rows now, was decided with some before and not carried out."""
        if self._job.passing:
            return False
        self._cluster.run(find_cluster())
        state = self._cluster.run(read(self._account)).state
        return state is not None and state.batch == self._job.batch and not state.finished

    def _fence_and_read(self) -> Ledger:
        if self._producer is not None:
            self._producer.close(timeout=0)
            self._producer = None
        options = self._options
        self._cluster.run(find_cluster())
        self._producer = KafkaProducer(
            bootstrap_servers=options.bootstrap,
            client_id=f"{options.producer['client_id']}-driver",
            transactional_id=self._job.transactional_id(options, "driver"),
            max_block_ms=options.producer["delivery_timeout_ms"],
            # Short, because another try begins by finding out what stands.
            request_timeout_ms=15_000,
            delivery_timeout_ms=20_000,
            max_request_size=16 * 1024 * 1024,
            compression_type="lz4",
            **options.security.client(),
        )
        self._producer.init_transactions()
        ledger = self._cluster.run(read(self._account))
        if ledger.state is None:
            self._cluster.run(ensure(self._account))
        reached("fenced")
        return ledger

    def _decide(self, ledger: Ledger, written: Sequence[Written]) -> State:
        if not written:
            raise TransactionsLost(
                f"Batch {self._job.batch} of {self._job.key} was found decided by its tasks, and is not any more."
            )
        # Claims stay in view until the batch is finished: whoever does that ends what the losers left open.
        state = State(
            self._job.batch,
            False,
            self._job.run,
            tuple(message.transaction for message in written),
            since=0 if ledger.state is None else ledger.state.since,
        )
        self._write(state, (), "decision-sent")
        reached("decided")
        return state

    def _carry_on(self, ledger: Ledger, written: Sequence[Written]) -> None:
        """The batch was decided before: it stands as it was decided then, and what was written since goes away."""
        state = ledger.state
        assert state is not None
        decided = set(state.transactions)
        self._abort([message for message in written if message.transaction not in decided])
        if not state.finished:
            self._carry_out(state, ledger)

    def _carry_out(self, state: State, ledger: Ledger) -> None:
        opened = {self._job.transactional_id(self._options, one.name): one for one in state.transactions}
        names = sorted(opened)
        half = {name: opened[name] for name in names[: len(names) // 2]}
        refused = self._end(half)
        reached("half-ended")
        refused |= self._end({name: opened[name] for name in names[len(names) // 2 :]})
        if refused:
            self._explain(state, ledger, refused, len(opened))
        reached("ended")
        used = {one.name for one in state.transactions}
        # A claim for a batch that is decided with others can never be decided any more, whoever made it.
        losers = {claim.name for claim in ledger.claims if claim.batch <= state.batch} - used
        self._take_over(losers)
        reached("cleaned")
        before = ledger.state
        kept = before.free if before is not None and before.run == state.run and before.batch < state.batch else ()
        spare = [name for name in kept if name not in used and name not in ledger.claimed][:_MOST_FREE]
        finished = State(state.batch, True, state.run, (), (*sorted(used), *spare), ledger.end)
        gone = losers if not self._job.passing else losers | used
        self._write(None if self._job.passing else finished, gone, "")
        reached("finished")

    def _end(self, opened: dict[str, Opened]) -> dict[str, KafkaError]:
        return self._cluster.run(end_transactions(opened, commit=True)) if opened else {}

    def _explain(self, state: State, ledger: Ledger, refused: dict[str, KafkaError], total: int) -> None:
        """Some transactions of a decided batch were not committed: passing trouble, or lost for good."""
        passing = [error for error in refused.values() if error.retriable]
        if passing:
            raise MoldauError(
                f"Batch {state.batch} of {self._job.key} is decided, and {len(refused)} of its {total} transactions "
                f"could not be committed yet ({passing[0]}). They are committed when the query is started again."
            )
        aborted = [name for name in refused if self._cluster.run(was_aborted(name))]
        if len(aborted) == total:
            # None of the batch can be seen by anybody, so it may as well never have been decided.
            before = State(state.batch - 1, True, "", since=ledger.end)
            self._write(before if state.batch > 0 else None, (), "")
            raise TransactionsLost(
                f"The transactions of batch {state.batch} of {self._job.key} were aborted before they could be "
                f"committed, all {total} of them, most likely because the query was down for longer than "
                "kafka.transaction.timeout.ms. Nothing of the batch was visible; the decision is taken back, and the "
                "batch is written again when the query is started again."
            )
        raise TransactionsLost(
            f"Batch {state.batch} of {self._job.key} is committed in part only: {total - len(refused)} of its {total} "
            f"transactions are, and these are not: {', '.join(sorted(refused))}. They were aborted by something else, "
            "most likely because the query was down for longer than kafka.transaction.timeout.ms. The records of those "
            "tasks are missing, and repeating the batch would repeat the others."
        )

    def _abort(self, written: Sequence[Written]) -> None:
        opened = {
            self._job.transactional_id(self._options, message.transaction.name): message.transaction
            for message in written
        }
        if opened:
            # What refuses has been ended by something else, which is as good.
            self._cluster.run(end_transactions(opened, commit=False))

    def _take_over(self, names: set[str]) -> None:
        """Ends what is open under ids that nobody may use any more."""
        for name in sorted(names):
            self._cluster.run(end_transaction(self._job.transactional_id(self._options, name)))

    def _write(self, state: State | None, gone: Sequence[str] | set[str], point: str) -> None:
        producer = self._producer
        assert producer is not None
        where = self._account.where
        producer.begin_transaction()
        for key, value in state_records(self._account, state, gone).items():
            producer.send(where.topic, value, key, partition=where.partition)
        producer.flush()
        if point:
            reached(point)
        producer.commit_transaction()
