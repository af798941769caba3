"""The transactional side of Produce: no batch is written before its partition is known to be in the transaction.

A log that already has the producer's transaction open needs no question. Otherwise the transaction coordinator is
asked, for all partitions of the request at once: up to version 11 whether they are in the transaction, from 12 on to
add them.

The codes. Clients up to version 10 do not know TRANSACTION_ABORTABLE and are told INVALID_TXN_STATE; a producer that
was shut out is told INVALID_PRODUCER_EPOCH, the code of the log. A coordinator that cannot answer now must not make the
client look for another leader, so it hears NOT_ENOUGH_REPLICAS and sends the batch again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from struct import Struct
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau._speed.layout import FLAGS_AT, HEADER_SIZE, PRODUCER_ID_AT, TRANSACTIONAL
from moldau.coordinator.txn.transaction import Producer
from moldau.errors import ErrorCode, KafkaError
from moldau.replica.partition import Partition
from moldau.storage.producer_state import Verification
from moldau.types import TopicPartition, Uuid

if TYPE_CHECKING:
    from moldau.server.txn_partitions import TransactionPartitions

_PRODUCER: Final = Struct(">qhi")

ADDS_PARTITIONS: Final = 12
_KNOWS_ABORTABLE: Final = 11
_COORDINATOR_AWAY: Final = (
    ErrorCode.NETWORK_EXCEPTION,
    ErrorCode.BROKER_NOT_AVAILABLE,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Write(NamedTuple):
    """The records for one partition of a request; `partition` is None if it is not held here."""

    topic: str | Uuid
    number: int
    records: memoryview
    partition: Partition | None

    @property
    def is_transactional(self) -> bool:
        return is_transactional(self.records)


def is_transactional(records: memoryview) -> bool:
    return len(records) >= HEADER_SIZE and bool(records[FLAGS_AT] & TRANSACTIONAL)


class Questions:
    """What the coordinator is asked for one request, and whether its answer still holds when it is acted on."""

    def __init__(self, writes: Sequence[Write], *, adds_partition: bool) -> None:
        # The partitions whose log does not have the producer's transaction open yet.
        self.asked: dict[TopicPartition, Producer] = {}
        self._known: dict[TopicPartition, tuple[Producer, Verification | None]] = {}
        for write in writes:
            if write.partition is None or not write.is_transactional:
                continue
            producer_id, epoch, sequence = _PRODUCER.unpack_from(write.records, PRODUCER_ID_AT)
            producer, log, place = Producer(producer_id, epoch), write.partition.log, write.partition.topic_partition
            verification = None
            if not log.producers.is_open(producer_id, epoch):
                self.asked[place] = producer
                verification = log.verify_producer(producer_id, epoch, sequence, adds_partition=adds_partition)
            self._known[place] = producer, verification

    def guard(self, partition: Partition | None) -> Callable[[], None] | None:
        """To be called right before the append: the transaction may have been ended since."""
        known = None if partition is None else self._known.get(partition.topic_partition)
        if partition is None or known is None:
            return None
        producer, verification = known
        return lambda: partition.log.producers.check_verified(producer.id, producer.epoch, verification)


def ask(
    partitions: TransactionPartitions,
    transactional_id: str,
    asked: dict[TopicPartition, Producer],
    version: int,
    then: Callable[[dict[TopicPartition, KafkaError]], None],
) -> None:
    """Calls `then` with the refusals, now or later."""
    producers = set(asked.values())
    if len(producers) > 1:
        refusal = KafkaError(ErrorCode.INVALID_RECORD, "A transactional request must come from one producer.")
        then(dict.fromkeys(asked, refusal))
        return
    answer = partitions.ask(transactional_id, producers.pop(), sorted(asked), add=version >= ADDS_PARTITIONS)

    def settled(codes: dict[TopicPartition, ErrorCode] | None, _: BaseException | None) -> None:
        refusals = {}
        for place in asked:
            code = ErrorCode.UNKNOWN_SERVER_ERROR if codes is None else codes.get(place, ErrorCode.NONE)
            if code != ErrorCode.NONE:
                refusals[place] = refused(code, version, place)
        then(refusals)

    answer.then(settled)


def refused(code: ErrorCode, version: int, place: TopicPartition) -> KafkaError:
    if code == ErrorCode.TRANSACTION_ABORTABLE and version < _KNOWS_ABORTABLE:
        code = ErrorCode.INVALID_TXN_STATE
    if code in (ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.INVALID_TXN_STATE):
        return KafkaError(code, f"{place} was not added to the transaction.")
    if code == ErrorCode.PRODUCER_FENCED:
        return KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
    concurrent = code == ErrorCode.CONCURRENT_TRANSACTIONS and version < ADDS_PARTITIONS
    if concurrent or code in _COORDINATOR_AWAY:
        return KafkaError(
            ErrorCode.NOT_ENOUGH_REPLICAS,
            f"Whether {place} is in the transaction cannot be found out at the moment: {code.name}.",
        )
    return KafkaError(code)
