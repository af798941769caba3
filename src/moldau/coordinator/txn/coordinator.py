"""The transaction coordinator: requests in, Deferred responses out.

Wiring, for the node:

    settings = TransactionSettings.of(config)
    markers = TransactionMarkers(node_id, replicas, groups, clock)                            server/txn_markers.py
    transactions = TransactionCoordinator(settings, log, loop, clock, producer_ids.next_id, markers, select, slicer)
    services.transactions, services.transaction_markers = transactions, markers
    services.transaction_partitions = TransactionPartitions(transactions, config, loop)       server/txn_partitions.py

    transactions.on_image(delta, image)        a Publisher of the metadata, after the replica manager
    transactions.load(partition, epoch)        this broker leads the partition of `__transaction_state` in that epoch
    transactions.unload(partition, epoch)      it no longer does; epoch None if the partition is gone
    transactions.close()                       before the group coordinator is closed

`log` is the `PartitionLog` over the replica manager. FindCoordinator creates the topic when it is first asked for;
`partition_for(transactional_id, partitions)` says which broker is the coordinator.

Versions of the answers: PRODUCER_FENCED is INVALID_PRODUCER_EPOCH to clients that do not know it yet.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Final, TypeAlias, TypeVar

from moldau.coordinator.partition_hash import partition_for
from moldau.coordinator.partition_log import PartitionLog
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.shard import Result, ShardContext
from moldau.coordinator.txn import listing
from moldau.coordinator.txn.completion import Completions, MarkerSender
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.coordinator.txn.shard import Outcome, TransactionShard
from moldau.coordinator.txn.transaction import EPOCH_PER_TRANSACTION, RECORD_TYPES, TRANSACTIONS_TOPIC, Producer
from moldau.deferred import Deferred, failed, mapped, ready, recovered
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.features import TRANSACTION_VERSION
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from moldau.runtime.ports import Clock, Loop
from moldau.slicing import Slicer, Work
from moldau.types import NO_PRODUCER_EPOCH, NO_PRODUCER_ID, TopicPartition

T = TypeVar("T")

# Which of these names a regular expression stands for; it takes its time elsewhere.
Select: TypeAlias = Callable[[str, Sequence[str]], Deferred[frozenset[str]]]

OFFSETS_TOPIC: Final = "__consumer_offsets"


class TransactionCoordinator:
    def __init__(
        self,
        settings: TransactionSettings,
        log: PartitionLog,
        loop: Loop,
        clock: Clock,
        next_producer_id: Callable[[], Deferred[int]],
        markers: MarkerSender,
        select: Select,
        slicer: Slicer | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock
        self._next_producer_id = next_producer_id
        self._select = select
        self._slicer = Slicer(loop, clock) if slicer is None else slicer
        self.completions = Completions(markers, loop, clock)
        self.runtime: CoordinatorRuntime[TransactionShard] = CoordinatorRuntime(
            TRANSACTIONS_TOPIC,
            RECORD_TYPES,
            self._shard,
            log,
            loop,
            clock,
            load_slice=settings.load_buffer,
            slicer=self._slicer,
        )
        self.completions.runtime = self.runtime

    def _shard(self, context: ShardContext) -> TransactionShard:
        return TransactionShard(context, self._settings, self.completions.begin, self.completions.unloaded)

    @property
    def transaction_version(self) -> int:
        """The level of the feature the cluster has agreed on."""
        return self.runtime.image.features.get(TRANSACTION_VERSION, 0)

    # ----------------------------------------------------------------------------------------------- from the node

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self.runtime.on_image(delta, image)

    def load(self, partition: int, leader_epoch: int) -> None:
        self.runtime.load(partition, leader_epoch)

    def unload(self, partition: int, leader_epoch: int | None) -> None:
        self.runtime.unload(partition, leader_epoch)

    def close(self) -> None:
        self.runtime.close()

    # ------------------------------------------------------------------------------------- a producer and its epoch

    def init_producer_id(self, request: InitProducerIdRequest, version: int) -> Deferred[InitProducerIdResponse]:
        """For a request with a transactional id."""
        transactional_id, refusal = request.transactional_id, self._why_refused(request)
        if refusal is not None or not transactional_id:
            return ready(_init_response(refusal or ErrorCode.INVALID_REQUEST, version))
        name = transactional_id
        expected = None
        if request.producer_id != NO_PRODUCER_ID:
            expected = Producer(request.producer_id, request.producer_epoch)

        def initialize(shard: TransactionShard, fresh_id: int | None) -> Result[Outcome]:
            return shard.initialize(name, request.transaction_timeout_ms, expected, fresh_id, self._clock.now_ms())

        outcome = self._with_producer_id("initialize a producer", name, initialize)
        return _mapped(
            outcome,
            lambda given: _init_response(given.error, version, given.producer),
            lambda error: _init_response(error.code, version),
        )

    def _why_refused(self, request: InitProducerIdRequest) -> ErrorCode | None:
        if not request.transactional_id:
            return ErrorCode.INVALID_REQUEST
        if request.enable_2pc and not self._settings.two_phase_commit:
            return ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED
        if request.enable_2pc or request.keep_prepared_txn:
            return ErrorCode.UNSUPPORTED_VERSION
        if not 0 < request.transaction_timeout_ms <= self._settings.max_timeout_ms:
            return ErrorCode.INVALID_TRANSACTION_TIMEOUT
        return None

    # ------------------------------------------------------------------------------------- what belongs to it

    def add_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition], client_version: int
    ) -> Deferred[ErrorCode]:
        """Makes the partitions part of the producer's transaction, which begins with the first of them."""
        if not transactional_id:
            return ready(ErrorCode.INVALID_REQUEST)
        places = frozenset(partitions)
        added = self._write(
            "add partitions to a transaction",
            transactional_id,
            lambda shard: shard.add_partitions(
                transactional_id, producer, places, client_version, self._clock.now_ms()
            ),
        )
        return _mapped(added, lambda _: ErrorCode.NONE, lambda error: error.code)

    def verify_partitions(
        self, transactional_id: str, producer: Producer, partitions: Iterable[TopicPartition]
    ) -> dict[TopicPartition, ErrorCode]:
        """Whether the partitions are part of the producer's transaction: TRANSACTION_ABORTABLE for one that is not."""
        places = list(partitions)
        if not transactional_id:
            return dict.fromkeys(places, ErrorCode.INVALID_REQUEST)
        try:
            return self.runtime.read(
                "verify partitions of a transaction",
                self.runtime.partition_of(transactional_id),
                lambda shard, committed: shard.verify(transactional_id, producer, places, committed),
            )
        except KafkaError as error:
            return dict.fromkeys(places, error.code)

    def add_offsets(self, request: AddOffsetsToTxnRequest, version: int) -> Deferred[AddOffsetsToTxnResponse]:
        """Makes the partition that holds the group's offsets part of the transaction."""
        place = self.offsets_partition(request.group_id)
        if place is None:
            return ready(AddOffsetsToTxnResponse(error_code=ErrorCode.COORDINATOR_NOT_AVAILABLE))
        producer = Producer(request.producer_id, request.producer_epoch)
        added = self.add_partitions(request.transactional_id, producer, [place], client_version=0)
        return _mapped(
            added,
            lambda code: AddOffsetsToTxnResponse(error_code=for_client(code, version >= 2)),
            lambda error: AddOffsetsToTxnResponse(error_code=error.code),
        )

    def offsets_partition(self, group_id: str) -> TopicPartition | None:
        topic = self.runtime.image.topics.get(OFFSETS_TOPIC)
        return None if topic is None else TopicPartition(OFFSETS_TOPIC, partition_for(group_id, len(topic.partitions)))

    # ------------------------------------------------------------------------------------------------- how it ends

    def end(self, request: EndTxnRequest, version: int) -> Deferred[EndTxnResponse]:
        name, client_version = request.transactional_id, EPOCH_PER_TRANSACTION if version >= 5 else 0
        if not name:
            return ready(_end_response(ErrorCode.INVALID_REQUEST, version))
        producer = Producer(request.producer_id, request.producer_epoch)

        def end(shard: TransactionShard, fresh_id: int | None) -> Result[Outcome]:
            return shard.end(name, producer, request.committed, client_version, fresh_id, self._clock.now_ms())

        outcome = self._with_producer_id("end a transaction", name, end)
        return _mapped(
            outcome,
            lambda given: _end_response(given.error, version, given.producer),
            lambda error: _end_response(error.code, version),
        )

    # ------------------------------------------------------------------------------------------------------- tools

    def describe_transactions(self, request: DescribeTransactionsRequest) -> DescribeTransactionsResponse:
        names = dict.fromkeys(request.transactional_ids)
        return DescribeTransactionsResponse(transaction_states=[listing.describe(self.runtime, name) for name in names])

    def list_transactions(
        self, request: ListTransactionsRequest
    ) -> Work[ListTransactionsResponse | Deferred[ListTransactionsResponse]]:
        response = yield from listing.list_all(self.runtime, request, self._clock.now_ms())
        pattern = request.transactional_id_pattern
        if not pattern:
            return response
        names = [row.transactional_id for row in response.transaction_states]
        selected = self._slicer.then(self._select(pattern, names), partial(listing.only, response))
        return recovered(selected, lambda error: listing.refused(response, error))

    # ----------------------------------------------------------------------------------------------------- details

    def _write(
        self, what: str, transactional_id: str, operation: Callable[[TransactionShard], Result[T]]
    ) -> Deferred[T]:
        try:
            partition = self.runtime.partition_of(transactional_id)
        except KafkaError as error:
            return failed(error)
        return self.runtime.write(what, partition, operation)

    def _with_producer_id(
        self, what: str, transactional_id: str, operation: Callable[[TransactionShard, int | None], Result[Outcome]]
    ) -> Deferred[Outcome]:
        """Runs the operation; if it needs a new producer id, gets one and runs it again with that."""
        answer: Deferred[Outcome] = Deferred()

        def attempt(fresh_id: int | None) -> None:
            def decided(outcome: Outcome | None, error: BaseException | None) -> None:
                if outcome is None:
                    assert error is not None
                    answer.fail(error)
                elif outcome.needs_id:
                    self._next_producer_id().then(given)
                else:
                    answer.resolve(outcome)

            self._write(what, transactional_id, lambda shard: operation(shard, fresh_id)).then(decided)

        def given(producer_id: int | None, error: BaseException | None) -> None:
            if producer_id is None:
                # No block of ids could be had just now. Producers repeat their request after this code.
                answer.fail(KafkaError(ErrorCode.COORDINATOR_LOAD_IN_PROGRESS))
            else:
                attempt(producer_id)

        attempt(None)
        return answer


def for_client(code: ErrorCode, knows_fencing: bool) -> ErrorCode:
    if code == ErrorCode.PRODUCER_FENCED and not knows_fencing:
        return ErrorCode.INVALID_PRODUCER_EPOCH
    return code


def _init_response(code: ErrorCode, version: int, given: Producer | None = None) -> InitProducerIdResponse:
    if code != ErrorCode.NONE or given is None:
        return InitProducerIdResponse(
            error_code=for_client(code, version >= 4), producer_id=NO_PRODUCER_ID, producer_epoch=NO_PRODUCER_EPOCH
        )
    return InitProducerIdResponse(producer_id=given.id, producer_epoch=given.epoch)


def _end_response(code: ErrorCode, version: int, given: Producer | None = None) -> EndTxnResponse:
    response = EndTxnResponse(error_code=for_client(code, version >= 2))
    if code == ErrorCode.NONE and given is not None and version >= 5:
        response.producer_id, response.producer_epoch = given.id, given.epoch
    return response


U = TypeVar("U")


def _mapped(source: Deferred[U], value: Callable[[U], T], refused: Callable[[KafkaError], T]) -> Deferred[T]:
    """The same later value in other words; a refusal becomes an answer, anything else stays an error."""
    return recovered(mapped(source, value), refused)
