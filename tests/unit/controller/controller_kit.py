"""A controller without sockets, files or a real clock.

`MemoryQuorum` keeps the metadata log in memory as the bytes it would have on disk and commits when the test says so;
`World` puts quorum, loader and controller together and speaks in short words, so that a test reads like a story.
"""

from __future__ import annotations

import heapq
import random
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from moldau.config.broker import BrokerConfig
from moldau.controller.controller import Controller
from moldau.controller.sessions import Way
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.features import ELIGIBLE_LEADER_REPLICAS_VERSION, bootstrap_records, supported_features
from moldau.metadata.image import MetadataImage
from moldau.metadata.loader import MetadataLoader
from moldau.metadata.partition_registration import PartitionRegistration
from moldau.metadata.records import FeatureLevelRecord, VersionedRecord
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    Feature,
    Listener,
)
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from moldau.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicState
from moldau.raft.batches import decode_batches, leader_change_batch, metadata_batch
from moldau.raft.quorum import QuorumListener
from moldau.slicing import SLICE_SECONDS, Slicer
from moldau.types import Uuid

T = TypeVar("T")
CLUSTER = "test-cluster"
# What `show` shows last of a new cluster: with eligible leaders all agree on how many have to be in sync.
MINIMUM = "\nbrokers: min.insync.replicas=1"


class ManualClock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def now_ms(self) -> int:
        return int(self.now * 1000)

    def monotonic(self) -> float:
        return self.now


class Timer:
    def __init__(self, callback: Callable[[], None]) -> None:
        self.callback: Callable[[], None] | None = callback

    def cancel(self) -> None:
        self.callback = None


class ManualLoop:
    """Time passes only in `advance`."""

    def __init__(self, clock: ManualClock) -> None:
        self._clock = clock
        self._soon: list[Callable[[], None]] = []
        self._later: list[tuple[float, int, Timer]] = []
        self._count = 0

    def call_soon(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def call_later(self, delay_seconds: float, callback: Callable[[], None]) -> Timer:
        timer = Timer(callback)
        self._count += 1
        heapq.heappush(self._later, (self._clock.now + delay_seconds, self._count, timer))
        return timer

    def call_from_thread(self, callback: Callable[[], None]) -> None:
        self._soon.append(callback)

    def flush(self) -> None:
        """Nothing is sent here."""

    def run(self) -> None:
        """One turn after another until nothing is left to do at this moment."""
        while self._soon or (self._later and self._later[0][0] <= self._clock.now):
            self.turn()
            while self._later and self._later[0][0] <= self._clock.now:
                timer = heapq.heappop(self._later)[2]
                if timer.callback is not None:
                    timer.callback()

    def turn(self) -> bool:
        """What was asked for before now, and nothing that follows from it; whether there was anything."""
        soon, self._soon = self._soon, []
        for callback in soon:
            callback()
        return bool(soon)

    def stop(self) -> None: ...

    def advance(self, seconds: float) -> None:
        end = self._clock.now + seconds
        self.run()
        while self._later and self._later[0][0] <= end:
            self._clock.now = max(self._clock.now, self._later[0][0])
            self.run()
        self._clock.now = end
        self.run()

    @property
    def timers(self) -> int:
        return sum(timer.callback is not None for _, _, timer in self._later)


class SeededRandom:
    def __init__(self, seed: int = 0) -> None:
        self._random = random.Random(seed)

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)

    def below(self, limit: int) -> int:
        return self._random.randrange(limit)


class MemoryQuorum:
    """A leader whose followers answer when the test lets them."""

    def __init__(self, node_id: int = 1, log: bytes = b"") -> None:
        self.node_id = node_id
        self.leader_id = -1
        self.epoch = 0
        self.log = log
        self.end_offset = 0
        self.high_watermark = 0
        self.failures: list[Exception] = []
        self._listeners: list[QuorumListener] = []
        # The end offset and the length of the log after each batch.
        self._ends: list[tuple[int, int]] = [(0, 0)]

    def register(self, listener: QuorumListener) -> None:
        self._listeners.append(listener)

    def start(self) -> None:
        """Everything that is in the log counts as committed: somebody elected this node."""
        batches = list(decode_batches(self.log))
        self.epoch = max((batch.epoch for batch in batches), default=0) + 1
        self.end_offset = batches[-1].last_offset + 1 if batches else 0
        self._ends.append((self.end_offset, len(self.log)))
        self._add(leader_change_batch(self.node_id, (1, 2, 3), (1, 2), self.end_offset, self.epoch, 0))
        self.commit()
        self.leader_id = self.node_id
        for listener in self._listeners:
            listener.on_leader(self.node_id, self.epoch)

    def append(self, epoch: int, records: Sequence[VersionedRecord]) -> int:
        if epoch != self.epoch or self.leader_id != self.node_id:
            raise KafkaError(ErrorCode.NOT_CONTROLLER)
        if self.failures:
            raise self.failures.pop(0)
        self._add(metadata_batch(records, self.end_offset, epoch, 0))
        return self.end_offset - 1

    def commit(self, up_to: int | None = None) -> None:
        target = self.end_offset if up_to is None else up_to
        batches = [b for b in decode_batches(self.log) if self.high_watermark <= b.last_offset < target]
        for index, batch in enumerate(batches):
            self.high_watermark = batch.last_offset + 1
            for listener in self._listeners:
                listener.on_commit(batch, more=index + 1 < len(batches))

    def lose_leadership(self) -> None:
        """Another node leads; what was not committed is gone from the log."""
        self.leader_id = 2
        self.epoch += 1
        self.log = self.log[: dict(self._ends)[self.high_watermark]]
        self.end_offset = self.high_watermark
        for listener in self._listeners:
            listener.on_leader(2, self.epoch)

    def resign(self, epoch: int) -> None:
        self.lose_leadership()

    def close(self) -> None: ...

    def _add(self, batch: bytes) -> None:
        self.log += batch
        self.end_offset = list(decode_batches(batch))[-1].last_offset + 1
        self._ends.append((self.end_offset, len(self.log)))


def without_eligible_leaders() -> list[FeatureLevelRecord]:
    """The first records of a cluster that was made before new ones had the feature."""
    return [record for record in bootstrap_records() if record.name != ELIGIBLE_LEADER_REPLICAS_VERSION]


def directory_of(broker_id: int, number: int = 0) -> Uuid:
    return bytes([200, number]) + broker_id.to_bytes(14, "big")


class World:
    """One controller, node 1. Brokers are registered and unfenced with `brokers`; 1 is not special. A new log has the
    levels of a new cluster, but for `eligible_leaders`, which a test may leave switched off."""

    def __init__(
        self,
        properties: dict[str, str] | None = None,
        *,
        brokers: Sequence[int] = (1,),
        log: bytes = b"",
        seed: int = 0,
        has_local_broker: bool = False,
        former_leader: int = -1,
        eligible_leaders: bool = True,
    ) -> None:
        self.config = BrokerConfig.parse({"log.dirs": "/unused", **(properties or {})})
        self.clock = ManualClock()
        self.loop = ManualLoop(self.clock)
        self.quorum = MemoryQuorum(log=log)
        self.loader = MetadataLoader(self._raise)
        self.controller = Controller(
            CLUSTER,
            self.config,
            self.quorum,
            self.clock,
            self.loop,
            SeededRandom(seed),
            has_local_broker=has_local_broker,
            bootstrap=() if eligible_leaders else without_eligible_leaders(),
        )
        self.quorum.register(self.loader)
        self.quorum.register(self.controller)
        if former_leader >= 0:
            self.controller.on_leader(former_leader, 0)
            self.controller.on_leader(-1, 0)
        self.quorum.start()
        self.quorum.commit()
        for broker_id in brokers:
            self.join(broker_id)

    @staticmethod
    def _raise(error: BaseException) -> None:
        raise error

    @property
    def image(self) -> MetadataImage:
        return self.loader.image

    def settle(self, answer: Deferred[T], *, commit: bool = True) -> T:
        """The value of an answer once it is committed; raises what it failed with."""
        # What is decided in several turns of the loop needs them.
        self.loop.advance(0)
        if commit:
            self.quorum.commit()
        outcome: list[tuple[Any, BaseException | None]] = []
        answer.then(lambda value, error: outcome.append((value, error)))
        assert outcome, "the answer is still waiting"
        value, error = outcome[0]
        if error is not None:
            raise error
        return value  # type: ignore[no-any-return]

    # ---------------------------------------------------------------------------------------------------- brokers

    def register(self, broker_id: int, *, incarnation: int = 1, rack: str | None = None, **fields: Any) -> int:
        """Registers and returns the broker's epoch."""
        answer = self.controller.register_broker(self.registration(broker_id, incarnation, rack, **fields))
        return self.settle(answer).broker_epoch

    def registration(
        self, broker_id: int, incarnation: int = 1, rack: str | None = None, **fields: Any
    ) -> BrokerRegistrationRequest:
        return BrokerRegistrationRequest(
            **{
                "broker_id": broker_id,
                "cluster_id": CLUSTER,
                "incarnation_id": bytes([broker_id, incarnation]) + bytes(14),
                "listeners": [Listener(name="PLAINTEXT", host=f"host{broker_id}", port=9092)],
                "features": [
                    Feature(name=name, min_supported_version=span.minimum, max_supported_version=span.maximum)
                    for name, span in supported_features().items()
                ],
                "rack": rack,
                "log_dirs": [directory_of(broker_id)],
                **fields,
            }
        )

    def heartbeat(
        self, broker_id: int, epoch: int | None = None, way: Way | None = None, **fields: Any
    ) -> BrokerHeartbeatResponse:
        registered = self.controller.state.brokers.registrations.get(broker_id)
        request = BrokerHeartbeatRequest(
            **{
                "broker_id": broker_id,
                "broker_epoch": epoch if epoch is not None else registered.epoch if registered else -1,
                "current_metadata_offset": self.image.offset,
                **fields,
            }
        )
        return self.settle(self.controller.broker_heartbeat(request, way))

    def join(self, broker_id: int, **fields: Any) -> int:
        """Registers and unfences."""
        epoch = self.register(broker_id, **fields)
        assert not self.heartbeat(broker_id).is_fenced
        return epoch

    # ----------------------------------------------------------------------------------------------------- topics

    def creation(
        self,
        name: str,
        partitions: int = -1,
        replicas: int = -1,
        *,
        assignment: dict[int, list[int]] | None = None,
        configs: dict[str, str | None] | None = None,
    ) -> CreatableTopic:
        return CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=replicas,
            assignments=[
                CreatableReplicaAssignment(partition_index=index, broker_ids=brokers)
                for index, brokers in (assignment or {}).items()
            ],
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in (configs or {}).items()],
        )

    def create(self, name: str, partitions: int = -1, replicas: int = -1, **fields: Any) -> CreatableTopicResult:
        return self.create_all(self.creation(name, partitions, replicas, **fields))[0]

    def create_all(self, *topics: CreatableTopic, validate_only: bool = False) -> list[CreatableTopicResult]:
        request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
        return self.settle(self.controller.create_topics(request)).topics

    def delete(self, *names: str, ids: Sequence[Uuid] = ()) -> list[DeletableTopicResult]:
        request = DeleteTopicsRequest(
            topics=[
                *(DeleteTopicState(name=name) for name in names),
                *(DeleteTopicState(name=None, topic_id=topic_id) for topic_id in ids),
            ],
            timeout_ms=10_000,
        )
        return self.settle(self.controller.delete_topics(request, 6)).responses


def show(image: MetadataImage) -> str:
    """The image as lines a person can compare: brokers, then partitions, then settings."""
    lines = []
    for broker in sorted(image.cluster.brokers.values(), key=lambda broker: broker.id):
        state = "fenced" if broker.fenced else "leaving" if broker.in_controlled_shutdown else "active"
        lines.append(f"broker {broker.id} {state}" + (f" in {broker.rack}" if broker.rack else ""))
    for name in sorted(image.topics.by_name):
        for index, state in sorted(image.topics.by_name[name].partitions.items()):
            lines.append(
                f"{name}-{index} leader {state.leader} epoch {state.leader_epoch}"
                f" isr {_numbers(state.isr)} of {_numbers(state.replicas)}" + _peculiar(state)
            )
    for resource, settings in sorted(image.configs.resources.items()):
        lines += [f"{resource.name or 'brokers'}: {key}={value}" for key, value in sorted(settings.items())]
    return "\n".join(lines)


def show_partitions(image: MetadataImage) -> str:
    """The lines about partitions only."""
    return "\n".join(line for line in show(image).splitlines() if " epoch " in line)


def _peculiar(state: PartitionRegistration) -> str:
    """What most partitions do not have."""
    lists = {
        "adding": state.adding_replicas,
        "removing": state.removing_replicas,
        "eligible": state.elr,
        "last led by": state.last_known_elr,
    }
    words = [f" {word} {_numbers(brokers)}" for word, brokers in lists.items() if brokers]
    return "".join(words) + (" recovering" if state.leader_recovery_state else "")


def _numbers(brokers: Sequence[int]) -> str:
    return ",".join(map(str, brokers)) or "-"


def code(result: Any) -> ErrorCode:
    return ErrorCode(result.error_code)


def refused(answer: Deferred[Any]) -> KafkaError:
    """The error an answer failed with, at once."""
    outcome: list[BaseException | None] = []
    answer.then(lambda value, error: outcome.append(error))
    assert outcome
    assert isinstance(outcome[0], KafkaError)
    return outcome[0]


class Hurry:
    """A clock on which every slice of work is over after one step."""

    def __init__(self) -> None:
        self._now = 0.0

    def monotonic(self) -> float:
        self._now += SLICE_SECONDS * 1.25
        return self._now


class SlowWorld(World):
    """Decisions that can pause do, and so does writing them; the test says when it goes on."""

    def __init__(self, log: bytes = b"", brokers: Sequence[int] = (1,)) -> None:
        super().__init__(log=log, brokers=())
        self.slicer = self.controller._slicer = Slicer(self.loop, Hurry())
        for broker_id in brokers:
            self.join(broker_id)

    def begin(self, partitions: int, name: str = "large") -> list[CreateTopicsResponse | BaseException | None]:
        seen: list[CreateTopicsResponse | BaseException | None] = []
        request = CreateTopicsRequest(topics=[self.creation(name, partitions, 1)], timeout_ms=60_000)
        self.controller.create_topics(request).then(lambda value, error: seen.append(value if error is None else error))
        return seen

    def turn_until_written(self, records: int) -> None:
        start = self.quorum.end_offset
        while self.quorum.end_offset < start + records:
            self.loop.turn()
