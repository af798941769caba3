"""The transactional ids of one partition of `__transaction_state`.

Every operation decides about one id and writes its newest record. Until that record is committed the id is *in
flight*, and everybody else who wants something of it hears CONCURRENT_TRANSACTIONS: a decision must not rest on one
that may still be lost. A record of a Prepare state also hands the transaction to `Completions`, as does loading a
partition in which one is found; so a transaction that was decided is carried out, whoever crashes in between.

Two timeouts run over all ids here: transactions open for too long are aborted, ids unused for too long are forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple, Protocol, TypeVar

from moldau.coordinator.shard import CoordinatorRecord, Result, ShardContext
from moldau.coordinator.txn import ending, initialization, membership
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.coordinator.txn.states import TransactionState
from moldau.coordinator.txn.transaction import (
    Producer,
    Transaction,
    new_transaction,
    tombstone,
    transaction_from_record,
    transaction_record,
)
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import TRANSACTION_VERSION
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.transaction_log_key import TransactionLogKey
from moldau.protocol.messages.transaction_log_value import TransactionLogValue
from moldau.timeline import TimelineMap, TimelineSet
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

T = TypeVar("T")

_ABORT_TIMER: Final = "abort transactions that timed out"
_EXPIRE_TIMER: Final = "forget transactional ids that expired"
# So many ids are ended or forgotten by one operation; the rest follows with the next.
_AT_ONCE: Final = 1000


class Outcome(NamedTuple):
    """The answer of an operation that gives a producer its id and epoch."""

    producer: Producer
    error: ErrorCode = ErrorCode.NONE
    # A new producer id is needed: the caller gets one and asks again.
    needs_id: bool = False


_NOBODY: Final = Producer(NO_PRODUCER_ID, NO_PRODUCER_EPOCH)
_NEEDS_ID: Final = Outcome(_NOBODY, needs_id=True)


class Prepared(Protocol):
    """Told of every transaction whose outcome is decided: (partition, coordinator epoch, transactional id)."""

    def __call__(self, partition: int, epoch: int, transactional_id: str) -> None: ...


class TransactionShard:
    def __init__(
        self,
        context: ShardContext,
        settings: TransactionSettings,
        prepared: Prepared,
        unloaded: Callable[[int], None],
        transaction_version: int = 0,
    ) -> None:
        self.partition = context.partition.partition
        self.epoch = context.epoch
        self.transaction_version = transaction_version
        self._settings = settings
        self._timers = context.timers
        self._prepared = prepared
        self._unloaded = unloaded
        self._transactions: TimelineMap[str, Transaction] = TimelineMap(context.registry)
        self._ongoing: TimelineSet[str] = TimelineSet(context.registry)
        # The epoch a repeated InitProducerId may name. The log has no place for it: it is lost with the shard.
        self._last_epochs: TimelineMap[str, int] = TimelineMap(context.registry)
        self._in_flight: set[str] = set()

    # ----------------------------------------------------------------------------------------------------- reading

    def get(self, transactional_id: str) -> Transaction | None:
        return self._transactions.get(transactional_id)

    def get_at(self, transactional_id: str, committed: int) -> Transaction | None:
        return self._transactions.get_at(transactional_id, committed)

    def transactions_at(self, committed: int) -> dict[str, Transaction]:
        return self._transactions.snapshot_at(committed)

    def verify(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition], committed: int
    ) -> dict[TopicPartition, ErrorCode]:
        """By what is committed: a write must not rest on a partition that may still turn out not to be added."""
        current = self.get_at(transactional_id, committed)
        if current is None:
            raise _not_known(transactional_id)
        return membership.verify_partitions(current, producer, partitions)

    # -------------------------------------------------------------------------------------------------- operations

    def initialize(
        self, transactional_id: str, timeout_ms: int, expected: Producer | None, fresh_id: int | None, now_ms: int
    ) -> Result[Outcome]:
        self._check_settled(transactional_id)
        current = self._transactions.get(transactional_id)
        if current is None:
            if fresh_id is None:
                return Result((), _NEEDS_ID)
            current = new_transaction(transactional_id, fresh_id, now_ms)
        if current.state.is_prepared:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)
        if current.state == TransactionState.ONGOING:
            initialization.check_may_abort(current, expected)
            fenced = ending.fence(current, now_ms)
            return self._prepare(fenced, Outcome(_NOBODY, ErrorCode.CONCURRENT_TRANSACTIONS))
        last_epoch = self._last_epochs.get(transactional_id, NO_PRODUCER_EPOCH)
        initialized = initialization.initialize(current, timeout_ms, expected, last_epoch, fresh_id, now_ms)
        if initialized is None:
            return Result((), _NEEDS_ID)
        self._last_epochs[transactional_id] = initialized.last_epoch
        return self._write(initialized.transaction, Outcome(initialized.transaction.producer))

    def add_partitions(
        self,
        transactional_id: str,
        producer: Producer,
        partitions: frozenset[TopicPartition],
        client_version: int,
        now_ms: int,
    ) -> Result[None]:
        self._check_settled(transactional_id)
        current = self._known(transactional_id)
        version = min(client_version, self.transaction_version)
        extended = membership.add_partitions(current, producer, partitions, version, now_ms)
        return Result((), None) if extended is None else self._write(extended, None)

    def end(
        self,
        transactional_id: str,
        producer: Producer,
        commit: bool,
        client_version: int,
        fresh_id: int | None,
        now_ms: int,
    ) -> Result[Outcome]:
        self._check_settled(transactional_id)
        current = self._known(transactional_id)
        version = min(client_version, self.transaction_version)
        decided = ending.end(current, producer, commit, version, fresh_id, now_ms)
        if decided is None:
            return Result((), _NEEDS_ID)
        if isinstance(decided, ending.Repeated):
            return Result((), Outcome(decided.producer))
        return self._prepare(decided, Outcome(ending.producer_after(decided.transaction)))

    def complete(self, transactional_id: str, producer: Producer, now_ms: int) -> Result[bool]:
        """Every marker is written. False if the transaction is no longer the one that was prepared."""
        current = self._transactions.get(transactional_id)
        if current is None or not current.state.is_prepared or current.producer != producer:
            return Result((), False)
        return self._write(ending.complete(current, now_ms), True)

    def still_prepared(self, transactional_id: str) -> Result[Transaction | None]:
        """Writes nothing: its answer comes when all that was decided before is committed."""
        current = self._transactions.get(transactional_id)
        return Result((), current if current is not None and current.state.is_prepared else None)

    # ---------------------------------------------------------------------------------------------------- timeouts

    def abort_timed_out(self, now_ms: int) -> Result[None]:
        late = [
            current
            for name in self._ongoing
            if name not in self._in_flight and (current := self._transactions[name]).timed_out(now_ms)
        ]
        self._timers.schedule(
            _ABORT_TIMER, 0 if len(late) > _AT_ONCE else self._settings.abort_interval_ms, self.abort_timed_out
        )
        results = [self._prepare(ending.fence(current, now_ms), None) for current in late[:_AT_ONCE]]
        return _together(results)

    def expire(self, now_ms: int) -> Result[None]:
        oldest = now_ms - self._settings.expiration_ms
        unused = [
            name
            for name, current in self._transactions.items()
            if current.state.may_expire and current.updated_ms <= oldest and name not in self._in_flight
        ]
        self._timers.schedule(
            _EXPIRE_TIMER, 0 if len(unused) > _AT_ONCE else self._settings.expiration_interval_ms, self.expire
        )
        return _together([self._in_flight_until_committed(name, tombstone(name), None) for name in unused[:_AT_ONCE]])

    # ------------------------------------------------------------------------------------------------------ replay

    def replay(self, record: CoordinatorRecord, offset: int, producer_id: int, producer_epoch: int) -> None:
        assert isinstance(record.key, TransactionLogKey)
        transactional_id = record.key.transactional_id
        if record.value is None:
            self._transactions.pop(transactional_id)
            self._ongoing.discard(transactional_id)
            self._last_epochs.pop(transactional_id)
            return
        assert isinstance(record.value, TransactionLogValue)
        transaction = transaction_from_record(transactional_id, record.value)
        self._transactions[transactional_id] = transaction
        if transaction.state == TransactionState.ONGOING:
            self._ongoing.add(transactional_id)
        else:
            self._ongoing.discard(transactional_id)

    def replay_marker(self, producer_id: int, producer_epoch: int, committed: bool) -> None:
        """Nobody writes to this topic in a transaction."""

    def on_loaded(self, image: MetadataImage) -> None:
        self.transaction_version = image.features.get(TRANSACTION_VERSION, 0)
        self._timers.schedule(_ABORT_TIMER, self._settings.abort_interval_ms, self.abort_timed_out)
        self._timers.schedule(_EXPIRE_TIMER, self._settings.expiration_interval_ms, self.expire)
        for transaction in list(self._transactions.values()):
            if transaction.state.is_prepared:
                self._prepared(self.partition, self.epoch, transaction.transactional_id)

    def on_unloaded(self) -> None:
        self._unloaded(self.partition)

    def on_new_image(self, image: MetadataImage, delta: MetadataDelta) -> None:
        self.transaction_version = image.features.get(TRANSACTION_VERSION, 0)

    # ----------------------------------------------------------------------------------------------------- details

    def _known(self, transactional_id: str) -> Transaction:
        current = self._transactions.get(transactional_id)
        if current is None:
            raise _not_known(transactional_id)
        return current

    def _check_settled(self, transactional_id: str) -> None:
        if transactional_id in self._in_flight:
            raise KafkaError(ErrorCode.CONCURRENT_TRANSACTIONS)

    def _write(self, transaction: Transaction, response: T) -> Result[T]:
        record = transaction_record(transaction, self.transaction_version)
        return self._in_flight_until_committed(transaction.transactional_id, record, response)

    def _prepare(self, prepared: ending.Prepared, response: T) -> Result[T]:
        transactional_id = prepared.transaction.transactional_id
        if prepared.last_epoch is not None:
            self._last_epochs[transactional_id] = prepared.last_epoch
        result = self._write(prepared.transaction, response)

        def done(error: KafkaError | None) -> None:
            if result.done is not None:
                result.done(error)
            # Also after an error: the record may be in the log though nobody could wait for its commit. Whether it is
            # is found out by whoever is told.
            self._prepared(self.partition, self.epoch, transactional_id)

        return result._replace(done=done)

    def _in_flight_until_committed(self, transactional_id: str, record: CoordinatorRecord, response: T) -> Result[T]:
        self._in_flight.add(transactional_id)
        return Result([record], response, done=lambda _: self._in_flight.discard(transactional_id))


def _not_known(transactional_id: str) -> KafkaError:
    return KafkaError(
        ErrorCode.INVALID_PRODUCER_ID_MAPPING, f"The transactional id {transactional_id} is not known here."
    )


def _together(results: list[Result[None]]) -> Result[None]:
    """Decisions about different ids, which need not stand or fall together."""

    def done(error: KafkaError | None) -> None:
        for result in results:
            if result.done is not None:
                result.done(error)

    return Result([record for result in results for record in result.records], None, atomic=False, done=done)
