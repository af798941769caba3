"""The driver's part of an exactly-once write: one durable decision for all tasks of a batch, carried out to the end.

Whoever commits first takes over the driver's transactional id, so that no other driver of the same query can decide
any more, and then reads what stands. Everything that follows is either not decided, and can be begun anew, or decided,
and is carried out by whoever comes next: the same driver, or the one that runs after it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from types import TracebackType
from typing import Any, Final

from moldau.client.admin.transactions import end_transaction
from moldau.client.cluster import Cluster
from moldau.client.exceptions import named
from moldau.client.producer.face import KafkaProducer
from moldau.client.settings import find_cluster
from moldau.errors import KafkaError, MoldauError
from moldau.spark.sink.content import Content, input_of, said_input
from moldau.spark.sink.ending import end_transactions, was_aborted
from moldau.spark.sink.faults import reached
from moldau.spark.sink.ledger import Ledger, Opened, State, ensure, read, state_records
from moldau.spark.sink.lifetime import standing
from moldau.spark.sink.messages import Job, Skipped, Written
from moldau.spark.sink.options import SinkOptions
from moldau.spark.sink.transaction import is_decided

logger = logging.getLogger("moldau.spark.sink")

# Taking over the driver's id can be undone by another driver that does the same; two that go on like this are a mistake
# of whoever started both.
_TRIES: Final = 3

# Ids that are kept for later batches although the last one did not need them.
_MOST_FREE: Final = 1000


class TransactionsLost(MoldauError):
    """The decision stands and cannot be carried out."""


class OtherBatch(MoldauError):
    """A batch has the number of one that was written, and is another one."""

    def __init__(self, job: Job, state: State, content: Content) -> None:
        assert state.content is not None
        then, where = state.content, said_input(state.input)
        at = f" {where}" if where else " where that batch ended"
        super().__init__(
            f"Batch {job.batch} of {job.key} was written before, with other rows: {then.rows} rows then, "
            f"{content.rows} rows now. It was planned anew: the checkpoint was set back, or has lost "
            f"offsets/{job.batch}, or the write was given a name that was used. What was written then stands, nothing "
            "was written now. To lose and to repeat nothing, put back the newest checkpoint, or start with a new one "
            f"and startingOffsets{at}; a named write needs another txnVersion. If the rows are the same but for what "
            f"is not repeatable in them, set acceptBatch={job.batch} once."
        )


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
        content = Content()
        for message in messages:
            if isinstance(message, Written | Skipped):
                content = content.plus(message.content)
        if not content.rows and not written and not self._is_decided():
            return
        reached("commit-began")
        failure: KafkaError | None = None
        for _ in range(_TRIES):
            try:
                ledger = self._fence_and_read()
                before = ledger.state
                if is_decided(ledger, self._job):
                    self._carry_on(ledger, written)
                    self._check_same(ledger, content)
                elif before is not None and not before.finished:
                    # Spark does not go on from a batch whose commit failed. Should it ever, no decision is lost by it.
                    self._carry_out(before, ledger)
                    continue
                else:
                    state = self._decide(ledger, written, content)
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
            self._write(State(self._job.batch, True, self._job.run), ())
            ledger = self._cluster.run(read(self._account))
        self._abort(written)
        mine = {claim.name for claim in ledger.claims if claim.run == self._job.run and claim.batch == self._job.batch}
        self._take_over(mine - {message.transaction.name for message in written})

    # -------------------------------------------------------------------------------------------------------- inside

    def _is_decided(self) -> bool:
        """Whether this batch, in which no task had rows now, was decided with some before; Overtaken as for tasks."""
        if self._job.passing:
            return False
        self._cluster.run(find_cluster())
        return is_decided(self._cluster.run(read(self._account)), self._job)

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

    def _decide(self, ledger: Ledger, written: Sequence[Written], content: Content) -> State:
        if not written or sum(message.content.rows for message in written) != content.rows:
            # Taken back meanwhile by another driver, which found its transactions gone.
            self._abort(written)
            raise TransactionsLost(
                f"Batch {self._job.batch} of {self._job.key} was found decided by its tasks, and is not any more. "
                "Nothing of it is visible; it is written again when the query is started again."
            )
        # Claims stay in view until the batch is finished: whoever does that ends what the losers left open.
        state = State(
            self._job.batch,
            False,
            self._job.run,
            tuple(message.transaction for message in written),
            since=0 if ledger.state is None else ledger.state.since,
            content=content,
            input=input_of(self._options, self._job.batch),
        )
        producer = self._send(state, ())
        reached("decision-sent")
        # As late as can be: from here to the end of the last transaction it is a matter of milliseconds.
        self._check_open(written)
        producer.commit_transaction()
        reached("decided")
        return state

    def _check_open(self, written: Sequence[Written]) -> None:
        """Nothing is decided unless all of it can be carried out: else nothing of it stays, and it may be repeated."""
        opened = self._opened(written)
        found = self._cluster.run(standing(opened, self._job.transactional_id(self._options, "driver")))
        seconds, allowed = found.oldest_ms / 1000, found.timeout_ms / 1000
        if found.lost:
            assert self._producer is not None
            self._producer.abort_transaction()
            self._abort(written)
            name, reason = next(iter(found.lost.items()))
            raise TransactionsLost(
                f"Batch {self._job.batch} of {self._job.key} was not committed: {len(found.lost)} of its "
                f"{len(opened)} transactions could not have been, such as {name} ({reason}). Nothing of it is visible, "
                "and it is written again when the query is started again. If its tasks take longer together than a "
                "transaction may be open, give them more cores, or raise kafka.transaction.timeout.ms and with it "
                "transaction.max.timeout.ms of the brokers."
            )
        if found.half_spent:
            logger.warning(
                "batch %d of %s was written in %.0f s, and its transactions may be open for %.0f s: smaller batches "
                "(maxOffsetsPerTrigger), more cores, or a longer kafka.transaction.timeout.ms keep it safe",
                self._job.batch,
                self._job.key,
                seconds,
                allowed,
            )

    def _check_same(self, ledger: Ledger, content: Content) -> None:
        """A batch with the number of a decided one is that batch, or nothing of it may be taken for written."""
        state = ledger.state
        assert state is not None
        if state.content in (None, content) or self._options.accepted == self._job.batch:
            return
        if state.input and state.input == input_of(self._options, self._job.batch):
            return  # the same input with another result: the one that was written stands
        raise OtherBatch(self._job, state, content)

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
        finished = replace(state, finished=True, transactions=(), free=(*sorted(used), *spare), since=ledger.end)
        gone = losers if not self._job.passing else losers | used
        self._write(None if self._job.passing else finished, gone)
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
            self._write(before if state.batch > 0 else None, ())
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

    def _opened(self, written: Sequence[Written]) -> dict[str, Opened]:
        return {
            self._job.transactional_id(self._options, message.transaction.name): message.transaction
            for message in written
        }

    def _abort(self, written: Sequence[Written]) -> None:
        opened = self._opened(written)
        if opened:
            # What refuses has been ended by something else, which is as good.
            self._cluster.run(end_transactions(opened, commit=False))

    def _take_over(self, names: set[str]) -> None:
        """Ends what is open under ids that nobody may use any more."""
        for name in sorted(names):
            self._cluster.run(end_transaction(self._job.transactional_id(self._options, name)))

    def _write(self, state: State | None, gone: Sequence[str] | set[str]) -> None:
        self._send(state, gone).commit_transaction()

    def _send(self, state: State | None, gone: Sequence[str] | set[str]) -> KafkaProducer:
        """Writes a state and leaves it to the caller to commit it."""
        producer = self._producer
        assert producer is not None
        where = self._account.where
        producer.begin_transaction()
        for key, value in state_records(self._account, state, gone).items():
            producer.send(where.topic, value, key, partition=where.partition)
        producer.flush()
        return producer
