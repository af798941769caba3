"""A task's part of an exactly-once write: its rows in a transaction of its own, which is left open.

A transactional id may be taken over by whoever asks for it, and taking it over aborts what is open under it, even if
the driver has decided to commit that. So no two processes may ever hold the same id unless the first is done with it:
a task takes an id that no other has claimed, or invents one; and where an answer to InitProducerId is lost it takes
another, because the lost request may still be on its way.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from time import sleep
from typing import Any, Final
from uuid import uuid4

from moldau.client.conversation import Ask, Conversation, Pause
from moldau.client.coordinators import CHANNEL, MOVED, CoordinatorOf, CoordinatorType, check_code
from moldau.client.exceptions import named
from moldau.client.network import ClientNetwork
from moldau.client.producer.batch import Identity
from moldau.client.producer.transactions import TransactionManager
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.links.errors import ConnectionFailed, RequestTimedOut
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.spark.connection import keep_imports
from moldau.spark.options import OptionError
from moldau.spark.sink.content import Content, content_of
from moldau.spark.sink.delivery import RowDelivery
from moldau.spark.sink.faults import reached
from moldau.spark.sink.ledger import Claim, Ledger, Opened, ensure, read, write_claim
from moldau.spark.sink.lifetime import USUAL_MS, timeout_to_use
from moldau.spark.sink.messages import Job, Nothing, Skipped, Written
from moldau.spark.sink.options import SinkOptions

# So often an id is tried for that others want as well, before one is invented that nobody can want.
_TRIES: Final = 3
_NAMES: Final = 5
_ABORT_SECONDS: Final = 10.0
_PATIENCE: Final = (0.005, 0.02, 0.05, 0.1, 0.2)


class Overtaken(MoldauError):
    """A later batch of the query is decided: this one belongs to a driver that was replaced."""

    def __init__(self, job: Job, decided: int) -> None:
        super().__init__(
            f"Batch {job.batch} of {job.key} cannot be written: batch {decided} has been committed already. Another "
            "driver has gone on with the query, or its checkpoint was set back; in that case put back the newest one, "
            "or start with a new one, at the startingOffsets where the query is to go on."
        )


class AnswerLost(KafkaError):
    """Nobody knows whether the id was taken over."""


class TaskTransactionManager(TransactionManager):
    """Takes a transactional id when told which one, and asks for it once."""

    def __init__(self, network: ClientNetwork) -> None:
        super().__init__(network, "", USUAL_MS)

    def take(self, transactional_id: str, timeout_ms: int) -> Conversation[None]:
        self.transactional_id = transactional_id
        self._timeout_ms = timeout_ms
        self._coordinator = CoordinatorOf(transactional_id, CoordinatorType.TRANSACTION)
        return self.init()

    def _take_identity(self, before: Identity) -> Conversation[None]:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=self._timeout_ms,
            producer_id=before.id,
            producer_epoch=before.epoch,
        )
        failures = 0
        while True:
            try:
                node = yield from self._coordinator.find()
            except KafkaError as error:
                if not error.retriable:
                    raise
                yield Pause(failures, error)
                failures += 1
                continue
            try:
                response: InitProducerIdResponse = yield Ask(request, to=node, channel=CHANNEL)
                check_code(response.error_code)
                break
            except (ConnectionFailed, RequestTimedOut) as error:
                raise AnswerLost(error.code, str(error)) from error
            except KafkaError as error:
                self._coordinator.doubt(error)
                if not error.retriable and error.code not in MOVED:
                    raise
                yield Pause(failures, error)
                failures += 1
        self.current = Identity(response.producer_id, response.producer_epoch)
        versions = self._network.link(node, CHANNEL).versions
        self.implicit_partitions = versions is not None and versions.features.get("transaction.version", 0) >= 2


def write_rows(options: SinkOptions, job: Job, partition: int, batches: Iterator[Any]) -> Written | Skipped | Nothing:
    """All rows of a task. With the first one it asks the broker whether they are still wanted."""
    transaction: TaskTransaction | None = None
    whole = False
    try:
        for batch in batches:
            if not batch.num_rows:
                continue
            if transaction is None:
                transaction = TaskTransaction(options, job)
                if not transaction.begin(partition):
                    whole = True
                    return Skipped(job, _content([batch], batches, options))
            transaction.write(batch)
        if transaction is None:
            keep_imports()
            return Nothing(job)
        left = transaction.leave_open()
        whole = True
        return left
    except BaseException:
        if transaction is not None:
            transaction.abort()
        raise
    finally:
        if transaction is not None:
            transaction.close(keep=whole)


def _content(first: Iterable[Any], rest: Iterable[Any], options: SinkOptions) -> Content:
    """What all rows of a task are, read to their end and written nowhere."""
    content = Content()
    for batch in chain(first, rest):
        if batch.num_rows:
            content = content.plus(content_of(batch, options))
    return content


class TaskTransaction:
    def __init__(self, options: SinkOptions, job: Job) -> None:
        self._options = options
        self._job = job
        self._account = job.account(options)
        self._name = ""
        self._batches = 0
        self._delivery = RowDelivery(options, TaskTransactionManager)
        assert isinstance(self._delivery.identity, TaskTransactionManager)
        self._transactions = self._delivery.identity

    def begin(self, partition: int) -> bool:
        """False if the batch is decided already."""
        ledger = self._read()
        if is_decided(ledger, self._job):
            return False
        if ledger.state is None:
            # A topic that cannot hold decisions is better found out before rows are written than when they are decided.
            self._delivery.run(ensure(self._account))
        for _ in range(_NAMES):
            ledger, name = self._claim(ledger, partition)
            if is_decided(ledger, self._job):
                return False
            reached("task-claimed")
            try:
                identity = self._job.transactional_id(self._options, name)
                self._delivery.run(self._transactions.take(identity, self._timeout()))
            except AnswerLost:
                continue
            except KafkaError as error:
                raise _explained(error, self._options) from error
            # The driver may have given the job up since the claim, and taken the id back before it was taken here.
            if self._job.passing and is_decided(self._read(), self._job):
                return False
            self._name = name
            self._transactions.begin()
            reached("task-initialized")
            return True
        raise OptionError("The coordinator of the transaction could not be reached.")

    def write(self, batch: Any) -> None:
        self._delivery.write(batch)
        self._batches += 1
        if self._batches == 1:
            reached("task-half-written")

    def leave_open(self) -> Written:
        self._delivery.flush()
        reached("task-written")
        identity = self._transactions.current
        opened = Opened(self._name, identity.id, identity.epoch, self._transactions.implicit_partitions)
        return Written(self._job, opened, self._delivery.content)

    def abort(self) -> None:
        """As well as it goes; what is left open is aborted with the next batch that is decided, or when time is up."""
        transactions = self._transactions
        try:
            if self._name:
                transactions.begin_abort()
                self._delivery.settle(transactions.settle_all)
                self._delivery.run(transactions.end(commit=False), _ABORT_SECONDS)
        except Exception:
            pass

    def close(self, *, keep: bool = False) -> None:
        self._delivery.close(keep=keep)

    def _timeout(self) -> int:
        given = self._options.transaction_timeout_ms
        allowed: int = given or self._delivery.run(timeout_to_use(self._options.bootstrap))
        return allowed

    def _read(self) -> Ledger:
        """Waits a little for a state that is just being written: the ids it sets free are worth it, no more."""
        for pause in (*_PATIENCE, 0.0):
            ledger: Ledger = self._delivery.run(read(self._account))
            if not ledger.pending or not pause:
                break
            sleep(pause)
        return ledger

    def _claim(self, ledger: Ledger, partition: int) -> tuple[Ledger, str]:
        """An id that is this task's alone, and the ledger as it was when that was certain."""
        token = uuid4().hex
        for attempt in range(_TRIES + 1):
            free = self._free(ledger) if attempt < _TRIES else []
            name = free[partition % len(free)] if free else uuid4().hex[:16]
            claim = Claim(name, self._job.run, self._job.batch, token)
            try:
                self._delivery.run(write_claim(self._account, claim))
            except KafkaError as error:
                raise named(error) from error
            ledger = self._read()
            if ledger.owner(name) == token or is_decided(ledger, self._job):
                return ledger, name
        raise OptionError("No transactional id could be claimed, although nobody else can have wanted it.")

    def _free(self, ledger: Ledger) -> list[str]:
        """What former tasks of this run are done with, as far as no task of this batch has claimed it."""
        state = ledger.state
        if state is None or state.run != self._job.run or not state.finished:
            return []
        claimed = ledger.claimed
        return [name for name in state.free if name not in claimed]


def is_decided(ledger: Ledger, job: Job) -> bool:
    """Whether this batch is; Overtaken if a later one is."""
    if ledger.state is None:
        return False
    if ledger.state.batch > job.batch:
        raise Overtaken(job, ledger.state.batch)
    return ledger.state.batch == job.batch


def _explained(error: KafkaError, options: SinkOptions) -> BaseException:
    if error.code is ErrorCode.INVALID_TRANSACTION_TIMEOUT:
        return OptionError(
            f"The brokers do not allow transactions of {options.transaction_timeout_ms} ms (their "
            "transaction.max.timeout.ms): set kafka.transaction.timeout.ms to what they allow."
        )
    return named(error)
