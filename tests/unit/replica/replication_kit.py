"""Brokers that replicate, in one process: real replica managers over real logs, on the simulator's clock and disks.

Between them lies a channel that encodes and decodes every message, delays it, and loses it where a test has cut it. A
small controller decides over AlterPartition as Kafka's does; each broker hears of its decisions when the test lets it.
"""

from __future__ import annotations

from typing import Any

from moldau.config.broker import BrokerConfig
from moldau.deferred import Deferred, pass_on
from moldau.errors import ErrorCode, KafkaError, MoldauError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, UNASSIGNED_DIRECTORY, ResourceType
from moldau.metadata.records import (
    BrokerRegistrationChangeRecord,
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RegisterBrokerRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from moldau.protocol.messages.fetch import FetchRequest, FetchResponse
from moldau.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from moldau.protocol.records import Record, encode_batch
from moldau.replica.appends import Appends
from moldau.replica.manager import ReplicaManager
from moldau.replica.replication import Replication
from moldau.replica.source_fetch import SourceFetch
from moldau.runtime.ports import FileSlice
from moldau.security.principal import ANONYMOUS
from moldau.server.apis.fetch import fetch, raw_fetch
from moldau.server.apis.list_offsets import list_offsets
from moldau.server.context import RequestContext, Services
from moldau.server.fetch_sessions import FetchSessions
from moldau.server.request_channel import encode_in_slices
from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import VirtualClock
from moldau.simulation.disk import SimulatedDisk
from moldau.simulation.loop import Schedule
from moldau.simulation.runtime import SimulatedRuntime
from moldau.slicing import Slicer, run_whole
from moldau.storage.log_manager import LogManager
from moldau.types import TopicPartition

TOPIC = "orders"
PLACE = TopicPartition(TOPIC, 0)
VERSIONS = {1: 17, 2: 10, 56: 3}
HANDLERS: dict[type, Any] = {FetchRequest: fetch, ListOffsetsRequest: list_offsets}
RESPONSES: dict[type, Any] = {
    FetchRequest: FetchResponse,
    ListOffsetsRequest: ListOffsetsResponse,
    AlterPartitionRequest: AlterPartitionResponse,
}
UNCHANGED_LEADER = -2


class Lost(MoldauError):
    pass


class Parked:
    """The connection a request came on, as far as a handler sees it."""

    listener_name = "PLAINTEXT"
    principal = ANONYMOUS
    client_id = "test"
    is_follower = False

    def gives_way(self, answer_early: Any) -> None:
        """Nothing comes behind it here."""


class Broker:
    """One life of a broker; its disk outlives it."""

    def __init__(self, cluster: Cluster, broker_id: int, disk: SimulatedDisk, life: int) -> None:
        self.cluster = cluster
        self.id = broker_id
        self.life = life
        self.alive = True
        self.epoch = -1
        self.runtime = SimulatedRuntime(
            f"{cluster.seed}/{broker_id}/{life}", host=f"b{broker_id}", schedule=cluster.schedule, disk=disk
        )
        self.disk = disk
        clock, loop = self.runtime.clock, self.runtime.loop
        self.config = BrokerConfig.parse(
            {"node.id": str(broker_id), "log.dirs": "/a,/b", "listeners": "PLAINTEXT://h:1", **cluster.settings}
        )
        self.logs = LogManager(
            self.config, disk, clock, self.runtime.random, cluster_id="c", loop=loop, workers=self.runtime.workers
        )
        self.slicer = Slicer(loop, clock)
        self.failures: list[BaseException] = []
        self.replicas = ReplicaManager(
            broker_id,
            self.logs,
            self.config.log_defaults(),
            clock,
            loop,
            self.failures.append,
            self.runtime.workers,
            None,
            self.slicer,
        )
        self.replication = self.replicas.replication = Replication(
            self.replicas,
            lambda: self.config,
            clock,
            loop,
            self.slicer,
            cluster_id="c",
            broker_epoch=lambda: self.epoch,
            peers=self,
            address=lambda other: other,
            controller=Controller(self),
            directory_id=self.logs.directory_id,
        )
        self.services = Services()
        self.services.config = self.config
        self.services.runtime = self.runtime  # type: ignore[assignment]
        self.services.slicer = self.slicer
        self.services.replicas = self.replicas
        self.services.metadata = self
        self.services.fetch_sessions = FetchSessions(1000, self.runtime.random)
        self.image = EMPTY_IMAGE
        # What it has been told so far of the controller's images; None while it is told everything at once.
        self.held: list[MetadataDelta] | None = None

    def start(self) -> None:
        self.logs.open()
        self.logs.load(lambda topic: self.replicas.config_in(self.cluster.image, topic))
        self.learn(self.cluster.image)
        run_whole(self.replicas.settle())
        self.replication.start()

    def learn(self, image: Any, delta: MetadataDelta | None = None) -> None:
        """Takes over an image; without the delta that leads there, from nothing."""
        if delta is None or delta.base is not self.image:
            delta = MetadataDelta.whole(image) if self.image is EMPTY_IMAGE else self.cluster.between(self.image, image)
        self.image = image
        self.replicas.on_image(delta, image)
        self.cluster.schedule_soon(self)

    def die(self) -> None:
        self.alive = False
        self.runtime.die()

    # ------------------------------------------------------------------------------------------------- the channel

    def ask(self, address: int, request: Any, *, timeout: float | None = None, line: str = "") -> Deferred[Any]:
        return self.cluster.send(self, address, request)

    def serve_compiled(self, data: bytes, version: int) -> Deferred[Any]:
        """A fetch by the compiled way, from its bytes to the chunks of its answer."""
        received = memoryview(bytearray(data))
        answer: Deferred[Any] = Deferred()
        pass_on(raw_fetch(self.services)(Parked(), received, 0, len(data), version, 1), answer)  # type: ignore[arg-type]
        return answer

    def serve(self, request: Any, version: int) -> Deferred[Any]:
        context = RequestContext(Parked(), self.services, request.API_KEY, version, 1, "test")  # type: ignore[arg-type]
        answer: Deferred[Any] = Deferred()
        self.slicer.run_into(HANDLERS[type(request)](context, request), answer)
        return answer

    # --------------------------------------------------------------------------------------------------- partitions

    @property
    def partition(self) -> Any:
        return self.replicas.find(TOPIC, 0)

    @property
    def log(self) -> Any:
        return self.partition.log

    def produce(self, *values: bytes, acks: int = -1, timeout_ms: int = 5000, **producer: int) -> Outcome:
        records = [Record(index, 1_750_000_000_000 + index, None, value, []) for index, value in enumerate(values)]
        data = memoryview(bytearray(encode_batch(records, **producer)))  # type: ignore[arg-type]
        appends = Appends(self.replicas, acks, by_id=False)
        appends.append(TOPIC, 0, data, 0, len(data))
        outcome = Outcome()
        done: Deferred[Any] = Deferred()
        pass_on(appends.finish(timeout_ms, lambda: list(appends.results)), done)
        done.then(outcome.known)
        return outcome

    def contents(self) -> bytes:
        """All bytes of the log, one segment after the other."""
        return b"".join(segment.open_file().read(0, segment.size) for segment in self.log.segments)


class Outcome:
    """What a producer was told."""

    error: int | None = None
    offset = -1

    def known(self, results: Any, error: BaseException | None) -> None:
        assert error is None, error
        [(_, _, self.error, self.offset, _, _)] = results

    @property
    def acknowledged(self) -> bool:
        return self.error == 0


class Controller:
    """The door of one broker to the controller."""

    def __init__(self, broker: Broker) -> None:
        self._broker = broker

    def ask(self, request: Any) -> Deferred[Any]:
        return self._broker.cluster.send(self._broker, 0, request)


class Cluster:
    """Broker 0 is the controller: it is cut off like any other."""

    def __init__(self, brokers: int = 3, seed: object = 1, *, compiled: bool = False, **settings: str) -> None:
        """`compiled`: fetches are served by the compiled way, and not through the generated classes."""
        self.seed = seed
        self.compiled = compiled
        self.settings = {
            "replica.fetch.backoff.ms": "100",
            "replica.fetch.wait.max.ms": "200",
            "replica.lag.time.max.ms": "2000",
            **{name.replace("_", "."): value for name, value in settings.items()},
        }
        self.schedule = Schedule(VirtualClock())
        self.chance = SeededRandom(f"{seed}/channel")
        self.image = EMPTY_IMAGE
        self.images = [EMPTY_IMAGE]
        self.cuts: set[tuple[int, int]] = set()
        self.alterations: list[AlterPartitionRequest] = []
        self.fetches = self.went_on = 0
        # What was answered to them, in order.
        self.answers: list[bytes] = []
        self.brokers: dict[int, Broker] = {}
        for broker_id in range(1, brokers + 1):
            self.start(broker_id)

    # ------------------------------------------------------------------------------------------------------ brokers

    def start(self, broker_id: int, *, emptied: bool = False) -> Broker:
        before = self.brokers.get(broker_id)
        if before is not None and before.alive:
            before.die()
        disk = before.disk if before is not None and not emptied else None
        disk = disk or SimulatedDisk(self.schedule.clock, SeededRandom(f"{self.seed}/disk/{broker_id}/{emptied}"))
        broker = Broker(self, broker_id, disk, 1 if before is None else before.life + 1)
        self.brokers[broker_id] = broker
        broker.epoch = self.image.offset + 1
        self.publish(
            RegisterBrokerRecord(
                broker_id=broker_id,
                broker_epoch=broker.epoch,
                incarnation_id=self.chance.bytes(16),
                rack=f"r{broker_id}",
                fenced=False,
            ),
            apart_from=broker_id,
        )
        broker.start()
        return broker

    def crash(self, broker_id: int) -> None:
        """kill -9, and the controller notices: it leaves the in-sync set, and leads nothing any more."""
        self.brokers[broker_id].die()
        self.fence(broker_id)

    def fence(self, broker_id: int) -> None:
        self.publish(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=self.epoch(broker_id), fenced=1))
        for topic in self.image.topics.by_name.values():
            for index, state in topic.partitions.items():
                left = tuple(member for member in state.isr if member != broker_id) or state.isr
                leader = UNCHANGED_LEADER
                if state.leader == broker_id:
                    leader = left[0] if left[0] != broker_id else -1
                if left != state.isr or leader != UNCHANGED_LEADER:
                    self.change(topic.id, index, isr=left, leader=leader)

    def unfence(self, broker_id: int) -> None:
        self.publish(BrokerRegistrationChangeRecord(broker_id=broker_id, broker_epoch=self.epoch(broker_id), fenced=-1))
        for topic in self.image.topics.by_name.values():
            for index, state in topic.partitions.items():
                if state.leader == -1 and state.isr == (broker_id,):
                    self.change(topic.id, index, leader=broker_id)

    def epoch(self, broker_id: int) -> int:
        return self.image.cluster.brokers[broker_id].epoch

    # ------------------------------------------------------------------------------------------------------- topics

    def create(
        self, replicas: tuple[int, ...], isr: tuple[int, ...] | None = None, partitions: int = 1, **configs: str
    ) -> bytes:
        topic_id = self.chance.bytes(16)
        isr = replicas if isr is None else isr
        records: list[Any] = [TopicRecord(name=TOPIC, topic_id=topic_id)]
        records += [
            PartitionRecord(
                partition_id=index,
                topic_id=topic_id,
                replicas=list(replicas),
                isr=list(isr),
                leader=isr[0],
                leader_epoch=0,
                partition_epoch=0,
                directories=[UNASSIGNED_DIRECTORY] * len(replicas),
            )
            for index in range(partitions)
        ]
        for name, value in configs.items():
            records.append(self.setting(name, value))
        self.publish(*records)
        return topic_id

    def setting(self, name: str, value: str) -> ConfigRecord:
        return ConfigRecord(
            resource_type=ResourceType.TOPIC, resource_name=TOPIC, name=name.replace("_", "."), value=value
        )

    def delete(self) -> None:
        self.publish(RemoveTopicRecord(topic_id=self.topic.id))

    @property
    def topic(self) -> Any:
        return self.image.topics.get(TOPIC)

    @property
    def state(self) -> Any:
        return self.topic.partitions[0]

    @property
    def leader(self) -> Broker:
        return self.brokers[self.state.leader]

    def change(self, topic_id: bytes, index: int, *, leader: int = UNCHANGED_LEADER, **fields: Any) -> None:
        for name in ("isr", "replicas"):
            if name in fields:
                fields[name] = list(fields[name])
        self.publish(PartitionChangeRecord(topic_id=topic_id, partition_id=index, leader=leader, **fields))

    def elect(self, leader: int, isr: tuple[int, ...] | None = None) -> None:
        self.change(self.topic.id, 0, leader=leader, **({} if isr is None else {"isr": isr}))

    def publish(self, *records: Any, apart_from: int = 0) -> None:
        delta = MetadataDelta(self.image)
        for record in records:
            delta.replay(record)
        self.image = delta.apply(self.image.offset + len(records), 1)
        self.images.append(self.image)
        for broker in self.brokers.values():
            if broker.alive and broker.id != apart_from and broker.held is None:
                broker.learn(self.image, delta)

    def hold(self, broker_id: int) -> None:
        """The broker hears nothing of what is decided, until `release`."""
        self.brokers[broker_id].held = []

    def release(self, broker_id: int) -> None:
        broker = self.brokers[broker_id]
        broker.held = None
        if broker.alive and broker.image is not self.image:
            broker.learn(self.image)

    def between(self, base: Any, image: Any) -> MetadataDelta:
        """The delta from an earlier image to a later one."""
        delta = MetadataDelta(base, is_snapshot=True)
        whole = MetadataDelta.whole(image)
        for topic_id, topic in whole.topics.changed.items():
            delta.topics.create(topic.name, topic_id)
            for index, state in topic.partitions.items():
                delta.topics.set_partition(state.to_record(topic_id, index))
        delta.brokers.update(whole.brokers)
        delta._configs.update(whole._configs)
        run_whole(delta.finish_snapshot())
        return delta

    def schedule_soon(self, broker: Broker) -> None:
        """Partitions are opened later in the turn."""
        broker.replicas.arrivals.open_more()

    # -------------------------------------------------------------------------------------------------- the channel

    def cut(self, *ids: int) -> None:
        """These hear nobody, and nobody hears them."""
        for one in ids:
            for other in (0, *self.brokers):
                self.cuts |= {(one, other), (other, one)}

    def heal(self) -> None:
        self.cuts.clear()

    def send(self, source: Broker, target: int, request: Any, call: Deferred[Any] | None = None) -> Deferred[Any]:
        """`call` is what was asked on the same connection before, and has gone on to this."""
        version = VERSIONS[request.API_KEY]
        data = request.encode(version)
        read_short, go_on = getattr(request, "read_answer", None), getattr(request, "go_on", None)
        if isinstance(request, SourceFetch):
            request = request.message()
        later: Deferred[Any] = Deferred() if call is None else call
        loop = source.runtime.loop
        heard = False

        def lost() -> None:
            if not later.settled and not heard:
                later.fail(Lost("no answer came"))

        loop.call_later(1.0, lost)

        def arrive() -> None:
            if (source.id, target) in self.cuts:
                return
            decoded = type(request).decode(data, version)
            if target == 0:
                self.alterations.append(decoded)
                answered(self.alter(decoded), None)
                return
            broker = self.brokers[target]
            if broker.alive:
                is_fetch = isinstance(request, FetchRequest)
                self.fetches += is_fetch
                if is_fetch and self.compiled:
                    broker.serve_compiled(data, version).then(written)
                else:
                    broker.serve(decoded, version).then(answered)

        def answered(response: Any, error: BaseException | None) -> None:
            assert error is None, error
            written(run_whole(encode_in_slices(response, version, 1, b"\0")), None)

        def written(chunks: Any, error: BaseException | None) -> None:
            assert error is None, error
            frame = b"".join(chunk.read() if isinstance(chunk, FileSlice) else bytes(chunk) for chunk in chunks)
            if isinstance(request, FetchRequest):
                self.answers.append(frame)
            loop.call_later(self.delay(), lambda: deliver(frame))

        def deliver(frame: bytes) -> None:
            """As links do: in short words, if there are any for it, and without a word where it goes on."""
            nonlocal heard
            if (target, source.id) in self.cuts or later.settled:
                return
            heard = True
            following = go_on(memoryview(frame)[4:], version) if go_on is not None and self.compiled else None
            if following is not None:
                self.went_on += 1
                self.send(source, target, following, later)
                return
            short = read_short(memoryview(frame)[4:], version) if read_short is not None and self.compiled else None
            later.resolve(RESPONSES[type(request)].decode(frame[9:], version) if short is None else short)

        if target == 0 or self.brokers[target].alive:
            receiver = loop if target == 0 else self.brokers[target].runtime.loop
            receiver.call_later(self.delay(), arrive)
        return later

    def delay(self) -> float:
        return self.chance.between(50, 3000) / 1_000_000

    def alter(self, request: AlterPartitionRequest) -> AlterPartitionResponse:
        response = AlterPartitionResponse()
        if self.epoch(request.broker_id) != request.broker_epoch:
            response.error_code = ErrorCode.STALE_BROKER_EPOCH
            return response
        for topic in request.topics:
            answered = ResponseTopicData(topic_id=topic.topic_id)
            response.topics.append(answered)
            for asked in topic.partitions:
                result = ResponsePartitionData(partition_index=asked.partition_index)
                answered.partitions.append(result)
                try:
                    self._alter(request.broker_id, topic.topic_id, asked)
                except KafkaError as error:
                    result.error_code = error.code
                    continue
                state = self.image.topics.by_id(topic.topic_id).partitions[asked.partition_index]  # type: ignore[union-attr]
                result.leader_id, result.leader_epoch = state.leader, state.leader_epoch
                result.isr, result.partition_epoch = list(state.isr), state.partition_epoch
        return response

    def _alter(self, broker_id: int, topic_id: bytes, asked: Any) -> None:
        topic = self.image.topics.by_id(topic_id)
        if topic is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        state = topic.partitions[asked.partition_index]
        if asked.leader_epoch != state.leader_epoch or state.leader != broker_id:
            raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
        if asked.partition_epoch != state.partition_epoch:
            raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)
        for member in asked.new_isr_with_epochs:
            broker = self.image.cluster.brokers[member.broker_id]
            if broker.fenced or member.broker_epoch not in (-1, broker.epoch):
                raise KafkaError(ErrorCode.INELIGIBLE_REPLICA)
        isr = tuple(member.broker_id for member in asked.new_isr_with_epochs)
        if isr != state.isr:
            self.change(topic_id, asked.partition_index, isr=isr)

    # -------------------------------------------------------------------------------------------------------- time

    def run(self, seconds: float) -> None:
        self.schedule.run_for(seconds)
        self.check()

    def run_until(self, done: Any, seconds: float = 30.0) -> None:
        self.schedule.run_until(done, seconds)
        self.check()

    def check(self) -> None:
        assert not self.schedule.failures, self.schedule.failures
        for broker in self.brokers.values():
            assert not broker.failures, broker.failures

    def converge(self, seconds: float = 60.0) -> None:
        """Until all replicas are in sync and have the same bytes."""
        self.run_until(lambda: self.is_level, seconds)
        contents = {broker_id: self.brokers[broker_id].contents() for broker_id in self.state.replicas}
        assert len(set(contents.values())) == 1, {key: len(value) for key, value in contents.items()}
        for broker_id in self.state.replicas:
            log, leader = self.brokers[broker_id].log, self.leader.log
            assert written_epochs(log) == written_epochs(leader)
            assert log.producers.end_offset == log.log_end_offset
            assert known(log) == known(leader)

    @property
    def is_level(self) -> bool:
        state = self.state
        if state.leader < 0 or set(state.isr) != set(state.replicas):
            return False
        brokers = [self.brokers[broker_id] for broker_id in state.replicas]
        if any(not broker.alive or broker.partition is None for broker in brokers):
            return False
        leader = self.leader
        return leader.partition.is_leader and all(
            broker.log.log_end_offset == broker.log.high_watermark == leader.log.log_end_offset for broker in brokers
        )

    def close(self) -> None:
        for broker in self.brokers.values():
            if broker.alive:
                broker.replication.close()
                broker.logs.abandon()


def known(log: Any) -> dict[int, tuple[int, int]]:
    """The producers a log knows, each with its epoch and its last sequence number."""
    return {producer_id: (entry.epoch, entry.last_sequence) for producer_id, entry in log.producers.entries.items()}


def written_epochs(log: Any) -> list[Any]:
    """A leader knows its own epoch before it has written anything in it."""
    return [entry for entry in log.epochs.entries if entry.start_offset < log.log_end_offset]
