"""Transactions over three brokers: coordinators that move and lose what was not committed, a network that loses,
delays and repeats requests, leaders of the partitions that move. Seeded schedules, and what holds in all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from coordinator_world import FakeTime, PatientWorkers
from replicated_log import BrokerLog, Follower, ReplicatedLog
from txn_world import Partition

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.topic_pattern import PatternResolver
from moldau.coordinator.marker import Marker
from moldau.coordinator.txn.coordinator import TransactionCoordinator
from moldau.coordinator.txn.settings import TransactionSettings
from moldau.coordinator.txn.states import TransactionState
from moldau.coordinator.txn.transaction import TRANSACTIONS_TOPIC, Producer
from moldau.deferred import Deferred, ready
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.message import Message
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.feature_level_record import FeatureLevelRecord
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.write_txn_markers import WriteTxnMarkersRequest, WriteTxnMarkersResponse
from moldau.server.apis.add_partitions_to_txn import add_partitions_to_txn
from moldau.server.apis.write_txn_markers import write_txn_markers
from moldau.server.coordinator_log import check_marker
from moldau.server.marker_requests import Results
from moldau.server.other_brokers import Address, OtherBrokers
from moldau.server.txn_markers import TransactionMarkers
from moldau.server.txn_partitions import TransactionPartitions
from moldau.slicing import Slicer
from moldau.types import TopicPartition

BROKERS = (1, 2, 3)
IDS = ("x", "y", "z")
STATES = 2
DATA = [TopicPartition("t", index) for index in range(4)]
# A producer tries again after all but these; then it begins anew and does not know what became of its transaction.
FATAL = (
    ErrorCode.PRODUCER_FENCED,
    ErrorCode.INVALID_PRODUCER_EPOCH,
    ErrorCode.INVALID_PRODUCER_ID_MAPPING,
    ErrorCode.INVALID_TXN_STATE,
    ErrorCode.TRANSACTION_ABORTABLE,
)


class LocalMarkers(TransactionMarkers):
    """Writes into partitions in memory, which the leader of the moment alone can write to."""

    def __init__(self, world: Cluster, number: int, brokers: OtherBrokers, image: Callable[[], Any]) -> None:
        replicas: Any = _Images(image, Slicer(world.time, world.time))
        super().__init__(number, replicas, None, world.time, brokers)  # type: ignore[arg-type]
        self._world, self._number = world, number

    def write(self, marker: Marker, partitions: Sequence[TopicPartition], done: Callable[[Results], None]) -> None:
        results = {}
        for place in partitions:
            try:
                self._world.end(self._number, place, marker)
                results[place] = ErrorCode.NONE
            except KafkaError as error:
                results[place] = error.code
        done(results)


class _Images:
    def __init__(self, image: Callable[[], Any], slicer: Slicer) -> None:
        self._image = image
        self.slicer = slicer

    @property
    def image(self) -> Any:
        return self._image()


class Broker:
    def __init__(self, world: Cluster, number: int) -> None:
        self.number = number
        time = world.time
        self.slicer = Slicer(time, time)
        brokers = OtherBrokers(world, "PLAINTEXT", lambda: self.metadata.image)
        self.markers = LocalMarkers(world, number, brokers, lambda: self.metadata.image)
        self.transactions = TransactionCoordinator(
            TransactionSettings(abort_interval_ms=2000),
            BrokerLog(world.log, number),
            time,
            time,
            world.producer_id,
            self.markers,
            PatternResolver(PatientWorkers(time), time).select,
        )
        config = BrokerConfig.parse({"log.dirs": "/unused", "node.id": str(number)})
        self.partitions = TransactionPartitions(self.transactions, config, time, brokers)
        self.metadata = Follower(world.log, number, {TRANSACTIONS_TOPIC: self.transactions})

    def serve(self, request: Message) -> Deferred[Message]:
        services = SimpleNamespace(
            authorization=None,
            transactions=self.transactions,
            transaction_markers=self.markers,
            metadata=self.metadata,
            slicer=self.slicer,
        )
        handler: Any
        if isinstance(request, WriteTxnMarkersRequest):
            handler, response, version = write_txn_markers, WriteTxnMarkersResponse, 2
        else:
            handler, response, version = add_partitions_to_txn, AddPartitionsToTxnResponse, 5
            assert isinstance(request, AddPartitionsToTxnRequest)
        received = type(request).decode(request.encode(version), version)
        answer: Deferred[Message] = Deferred()
        context = SimpleNamespace(services=services, version=version)
        handled: Any = self.slicer.value_of(handler(context, received))
        handled.then(lambda value, error: answer.resolve(response.decode(value.encode(version), version)))
        return answer


class Cluster:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.time = FakeTime()
        self.log = ReplicatedLog(BROKERS, {TRANSACTIONS_TOPIC: STATES, "t": len(DATA)}, self.random)
        self.log.records.insert(0, [FeatureLevelRecord(name="transaction.version", feature_level=2)])
        self.places = [TopicPartition(TRANSACTIONS_TOPIC, index) for index in range(STATES)]
        self.data = {place: Partition(place) for place in DATA}
        self.healed = False
        self._next_id = 1000
        self.brokers = [Broker(self, number) for number in BROKERS]
        self.clients = [Client(self, name) for name in IDS]
        # By partition and producer, the newest coordinator that has ended a transaction there.
        self.enders: dict[tuple[TopicPartition, int], int] = {}

    def producer_id(self) -> Deferred[int]:
        self._next_id += 1
        return ready(self._next_id)

    # ---------------------------------------------------------------------------------------------------- the network

    def ask(
        self, address: Address, request: Message, *, timeout: float | None = None, line: str = ""
    ) -> Deferred[Message]:
        """Lost, late, twice; and the answer may be lost as well. Who waits hears of nothing in time."""
        assert timeout is not None
        answer: Deferred[Message] = Deferred()
        broker = self.brokers[address.port - 1]

        def fail() -> None:
            if not answer.settled:
                answer.fail(KafkaError(ErrorCode.NETWORK_EXCEPTION))

        def answered(response: Any, error: BaseException | None) -> None:
            if (self.healed or self.random.random() < 0.8) and not answer.settled:
                answer.resolve(response)

        def deliver() -> None:
            broker.serve(request).then(answered)

        self.time.call_later(timeout, fail)
        faults = 0 if self.healed else self.random.random()
        if faults < 0.75:
            self.time.call_later(self.random.choice([0, 0.001, 0.02]), deliver)
        if 0.6 < faults < 0.9:
            self.time.call_later(self.random.choice([0.5, 6, 15]), deliver)
        return answer

    # ------------------------------------------------------------------------------------------------- the partitions

    def end(self, broker: int, place: TopicPartition, marker: Marker) -> None:
        if self.log.states[place].leader != broker:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        partition: Any = self.data[place]
        check_marker(partition, marker.producer_id, marker.producer_epoch, marker.transaction_version)
        partition.end(Producer(marker.producer_id, marker.producer_epoch), marker.committed, marker.coordinator_epoch)
        newest = self.enders.get((place, marker.producer_id), -1)
        assert marker.coordinator_epoch >= newest, "NO MARKER OF AN OLDER COORDINATOR AFTER A NEWER ONE"
        self.enders[place, marker.producer_id] = marker.coordinator_epoch

    # ------------------------------------------------------------------------------------------------------ schedules

    def coordinator(self, name: str) -> Broker:
        if self.random.random() < 0.15 and not self.healed:
            return self.random.choice(self.brokers)
        partition = self.brokers[0].transactions.runtime.partition_of(name)
        return self.brokers[self.log.states[TopicPartition(TRANSACTIONS_TOPIC, partition)].leader - 1]

    def step(self) -> None:
        random = self.random
        broker, place = random.choice(self.brokers), random.choice(self.places)
        what = random.choices(
            ["client", "replicate", "hear", "elect", "move", "shrink", "grow", "wait"], [35, 30, 15, 2, 1, 1, 2, 14]
        )[0]
        if what == "client":
            random.choice(self.clients).step()
        elif what == "replicate":
            for follower in random.choices(BROKERS, k=random.randrange(1, 7)):
                self.log.fetch(follower, place, random.randrange(1, 5))
        elif what == "hear":
            for _ in range(random.randrange(1, 8)):
                broker.metadata.hear()
        elif what == "wait":
            self.time.advance(random.choice([0, 1, 10, 100, 400, 2500]))
        elif what == "move":
            self.log.elect(random.choice(DATA))
        else:
            getattr(self.log, what)(place)

    def heal(self, rounds: int = 12) -> None:
        for _ in range(rounds):
            for broker in self.brokers:
                while not broker.metadata.is_level:
                    broker.metadata.hear()
                for place in self.places:
                    self.log.fetch(broker.number, place)
                    self.log.grow(place)
            self.time.advance(500)


class Client:
    """A producer of transactions version 2. It does one thing at a time and knows only what it was told."""

    def __init__(self, world: Cluster, name: str) -> None:
        self._world = world
        self._name = name
        self._producer: Producer | None = None
        self._busy = False
        self._number = 0
        self._sequences: dict[TopicPartition, int] = {}
        self._written: list[tuple[TopicPartition, Any]] = []
        self._ending: bool | None = None
        # Every transaction: what it wrote and where, and whether it was told to be committed; None if nobody knows.
        self.transactions: list[tuple[list[tuple[TopicPartition, Any]], bool | None]] = []

    def step(self) -> None:
        if self._busy:
            return
        if self._producer is None:
            self._initialize()
        elif self._ending is not None:
            self._end(self._ending)
        elif self._written and self._world.random.random() < 0.4:
            self._end(self._world.random.random() < 0.6)
        else:
            self._write(self._world.random.choice(DATA))

    def _initialize(self) -> None:
        self._busy = True
        request = InitProducerIdRequest(transactional_id=self._name, transaction_timeout_ms=20_000)
        broker = self._world.coordinator(self._name)
        broker.transactions.init_producer_id(request, 5).then(self._initialized)

    def _initialized(self, response: Any, error: BaseException | None) -> None:
        assert error is None, error
        self._busy = False
        if response.error_code == ErrorCode.NONE:
            self._begin(Producer(response.producer_id, response.producer_epoch))

    def _begin(self, producer: Producer) -> None:
        self._producer, self._ending, self._written, self._sequences = producer, None, [], {}
        self._number += 1

    def _give_up(self) -> None:
        self.transactions.append((self._written, None))
        self._producer = None

    def _write(self, place: TopicPartition) -> None:
        assert self._producer is not None
        self._busy = True
        producer, world = self._producer, self._world
        leader = world.brokers[world.log.states[place].leader - 1]

        def added(results: Any, error: BaseException | None) -> None:
            assert error is None, error
            self._busy = False
            code = results[place]
            if code == ErrorCode.NONE and world.log.states[place].leader == leader.number:
                sequence = self._sequences.get(place, 0)
                value = (self._name, self._number, sequence)
                try:
                    world.data[place].write(producer, sequence, value)
                except KafkaError as refused:
                    code = refused.code
                else:
                    self._sequences[place] = sequence + 1
                    self._written.append((place, value))
            if code in FATAL:
                self._give_up()

        leader.partitions.ask(self._name, producer, [place], add=True).then(added)

    def _end(self, commit: bool) -> None:
        assert self._producer is not None
        self._busy, self._ending = True, commit
        request = EndTxnRequest(
            transactional_id=self._name,
            producer_id=self._producer.id,
            producer_epoch=self._producer.epoch,
            committed=commit,
        )

        def ended(response: Any, error: BaseException | None) -> None:
            assert error is None, error
            self._busy = False
            if response.error_code == ErrorCode.NONE:
                self.transactions.append((self._written, commit))
                self._begin(Producer(response.producer_id, response.producer_epoch))
            elif response.error_code in FATAL:
                self._give_up()

        self._world.coordinator(self._name).transactions.end(request, 5).then(ended)

    def finish(self) -> bool:
        """When nothing fails any more: ends what is open; True when that is done."""
        if self._busy:
            return False
        if self._producer is None:
            self._initialize()
            return False
        if self._written or self._ending is not None:
            self._end(self._ending if self._ending is not None else True)
            return False
        return True


def check(cluster: Cluster) -> tuple[int, int]:
    visible = {place: set(partition.committed_values()) for place, partition in cluster.data.items()}
    commits = unknown = 0
    for client in cluster.clients:
        for written, told in client.transactions:
            seen = {value in visible[place] for place, value in written}
            assert len(seen) <= 1, f"A TRANSACTION IS WHOLLY COMMITTED OR WHOLLY ABORTED: {written}"
            if told is not None and written:
                assert seen == {told}, f"WHAT A PRODUCER WAS TOLD HOLDS: {written} {told}"
                commits += told
            unknown += told is None
    for place, partition in cluster.data.items():
        values = partition.committed_values()
        assert len(values) == len(set(values)), "NOTHING IS SEEN TWICE"
        assert partition.last_stable_offset == len(partition.items), f"EVERY TRANSACTION ENDS: {place}"
    for broker in cluster.brokers:
        for _, shard, _ in broker.transactions.runtime.shards():
            states = {transaction.state for transaction in shard.transactions_at(1 << 60).values()}
            assert not states & {TransactionState.PREPARE_COMMIT, TransactionState.PREPARE_ABORT}
        assert len(broker.transactions.completions) == 0
    return commits, unknown


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_transactions_survive_every_change_of_leader(first: int) -> None:
    commits = unknown = 0
    for seed in range(first, first + 10):
        cluster = Cluster(seed)
        cluster.heal(3)
        for _ in range(900):
            cluster.step()
        cluster.healed = True
        cluster.heal()
        for _ in range(60):
            finished = [client.finish() for client in cluster.clients]
            if all(finished):
                break
            cluster.heal(1)
        else:
            raise AssertionError("EVERY TRANSACTION ENDS ONCE FAULTS STOP")
        # Until what the network still held has arrived, and a transaction it began has timed out.
        cluster.heal(100)
        some, others = check(cluster)
        commits += some
        unknown += others
    assert commits > 20, "the schedules are of no use if nothing succeeds in them"
    assert unknown, "nor if nothing goes wrong"
