"""Internal topics replicated over several brokers, in memory, as far as coordinators can tell.

Each broker has a log of its own and hears of leaders when the test lets it: until then an old leader appends, and
nobody fetches from it. Followers cut off what the leader of their epoch does not have, tell it by a fetch how far they
are, and learn the high watermark with the answer. An election may take away whatever is above the high watermark, and
nothing below it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, NamedTuple

from coordinator_world import Role

from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.partition_change_record import PartitionChangeRecord
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.protocol.messages.register_broker_record import BrokerEndpoint, RegisterBrokerRecord
from moldau.protocol.messages.topic_record import TopicRecord
from moldau.protocol.records import assign_offsets, read_header
from moldau.types import TopicPartition

MIN_ISR = 2


class State(NamedTuple):
    leader: int
    epoch: int
    isr: tuple[int, ...]


class Replica:
    def __init__(self) -> None:
        # Nothing counts here before the others have it.
        self.role = Role(False, -1, has_runs=False)
        self.batches: list[bytes] = []
        self.end = self.high_watermark = 0
        self.isr: tuple[int, ...] = ()
        self.leader = -1
        # As the leader: how far each follower was when it last fetched in this epoch.
        self.follower_ends: dict[int, int] = {}
        self.listeners: list[Callable[[int], None]] = []

    def take(self, broker: int, state: State) -> None:
        if state.epoch != self.role.leader_epoch:
            self.follower_ends = {}
        # A follower that was let in counts from the moment it was asked for; one that was not heard of yet, too.
        self.isr, self.leader = state.isr, state.leader
        self.role.is_leader, self.role.leader_epoch = state.leader == broker, state.epoch

    def advance(self, broker: int) -> None:
        reached = min([self.end, *(self.follower_ends.get(other, 0) for other in self.isr if other != broker)])
        if self.role.is_leader and reached > self.high_watermark:
            self.high_watermark = reached
            for listener in list(self.listeners):
                listener(reached)

    def cut(self, batches: int) -> None:
        del self.batches[batches:]
        self.end = read_header(self.batches[-1], 0).next_offset if self.batches else 0
        self.high_watermark = min(self.high_watermark, self.end)


class ReplicatedLog:
    """`records` is the metadata log; what a broker has heard of it is for the test to say."""

    def __init__(self, brokers: Sequence[int], topics: dict[str, int], random: Random) -> None:
        self.brokers = tuple(brokers)
        self.random = random
        self.states: dict[TopicPartition, State] = {}
        self.ids: dict[str, bytes] = {}
        self.replicas: dict[tuple[int, TopicPartition], Replica] = defaultdict(Replica)
        self.records: list[list[Any]] = [
            [
                RegisterBrokerRecord(
                    broker_id=broker,
                    fenced=False,
                    end_points=[BrokerEndpoint(name="PLAINTEXT", host="h", port=broker)],
                )
                for broker in brokers
            ]
        ]
        for number, (name, count) in enumerate(topics.items(), 1):
            topic_id = self.ids[name] = number.to_bytes(16, "big")
            rows: list[Any] = [TopicRecord(name=name, topic_id=topic_id)]
            for index in range(count):
                leader = random.choice(self.brokers)
                self.states[TopicPartition(name, index)] = State(leader, 0, self.brokers)
                replicas = list(brokers)
                rows.append(
                    PartitionRecord(
                        partition_id=index,
                        topic_id=topic_id,
                        replicas=replicas,
                        isr=replicas,
                        leader=leader,
                        leader_epoch=0,
                        partition_epoch=0,
                    )
                )
            self.records.append(rows)

    # ------------------------------------------------------------------------------------------------- the controller

    def elect(self, place: TopicPartition, leader: int | None = None) -> None:
        state = self.states[place]
        chosen = self.random.choice(state.isr) if leader is None else leader
        self._change(place, State(chosen, state.epoch + 1, state.isr), elected=True)

    def shrink(self, place: TopicPartition) -> None:
        """The leader asks for it, and counts the replica until it has heard that it need not."""
        state = self.states[place]
        others = [broker for broker in state.isr if broker != state.leader]
        if len(state.isr) > MIN_ISR and self.replicas[state.leader, place].role == Role(True, state.epoch):
            gone = self.random.choice(others)
            self._change(place, state._replace(isr=tuple(b for b in state.isr if b != gone)))

    def grow(self, place: TopicPartition) -> None:
        state = self.states[place]
        leader = self.replicas[state.leader, place]
        if leader.role != Role(True, state.epoch) or leader.isr != state.isr:
            return
        for broker in self.brokers:
            if broker not in state.isr and leader.follower_ends.get(broker, -1) >= leader.high_watermark:
                leader.isr = (*leader.isr, broker)
                self._change(place, state._replace(isr=(*state.isr, broker)))
                return

    def _change(self, place: TopicPartition, state: State, *, elected: bool = False) -> None:
        self.states[place] = state
        record = PartitionChangeRecord(
            partition_id=place.partition, topic_id=self.ids[place.topic], isr=list(state.isr)
        )
        if elected:
            record.leader = state.leader
        self.records.append([record])

    # ---------------------------------------------------------------------------------------------------- replication

    def fetch(self, broker: int, place: TopicPartition, batches: int = 1000) -> None:
        follower = self.replicas[broker, place]
        leader = self.replicas[follower.leader, place]
        if leader is follower or leader.role != Role(True, follower.role.leader_epoch):
            return
        common = 0
        for mine, theirs in zip(follower.batches, leader.batches, strict=False):
            if mine != theirs:
                break
            common += 1
        follower.cut(common)
        leader.follower_ends[broker] = follower.end
        leader.advance(follower.leader)
        follower.batches += leader.batches[common : common + batches]
        follower.cut(len(follower.batches))
        follower.high_watermark = max(follower.high_watermark, min(leader.high_watermark, follower.end))


class BrokerLog:
    """The PartitionLog of one broker."""

    def __init__(self, cluster: ReplicatedLog, broker: int) -> None:
        self._cluster = cluster
        self._broker = broker
        self.shortage = ErrorCode.NONE

    def _replica(self, partition: TopicPartition) -> Replica:
        return self._cluster.replicas[self._broker, partition]

    def role(self, partition: TopicPartition, leader_epoch: int) -> Role:
        role = self._replica(partition).role
        if role != Role(True, leader_epoch):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        return role

    def append(self, partition: TopicPartition, batch: bytearray, leader_epoch: int) -> int:
        replica = self._replica(partition)
        if replica.role != Role(True, leader_epoch):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        if len(replica.isr) < MIN_ISR:
            raise KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
        assign_offsets(batch, 0, len(batch), replica.end, leader_epoch)
        replica.batches.append(bytes(batch))
        replica.end = read_header(batch, 0).next_offset
        replica.advance(self._broker)
        return replica.end

    def append_run(self, *_: Any) -> None: ...

    def check_marker(self, *_: Any) -> None: ...

    def replicated(self, partition: TopicPartition, offset: int) -> ErrorCode:
        return self.shortage

    def read(self, partition: TopicPartition, offset: int, max_bytes: int) -> tuple[bytes, int]:
        replica = self._replica(partition)
        data = bytearray()
        for batch in replica.batches:
            if read_header(batch, 0).last_offset >= offset:
                if data and len(data) + len(batch) > max_bytes:
                    break
                data += batch
        return bytes(data), replica.end

    def log_start_offset(self, partition: TopicPartition) -> int:
        return 0

    def log_end_offset(self, partition: TopicPartition) -> int:
        return self._replica(partition).end

    def high_watermark(self, partition: TopicPartition) -> int:
        return self._replica(partition).high_watermark

    def max_batch_size(self, partition: TopicPartition) -> int:
        return 1 << 20

    def watch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._replica(partition).listeners.append(listener)

    def unwatch(self, partition: TopicPartition, listener: Callable[[int], None]) -> None:
        self._replica(partition).listeners.remove(listener)


class Follower:
    """The metadata as one broker has heard it, and what it tells the coordinators there.

    In two steps, as in a node: first the replica knows, then its coordinators.
    """

    def __init__(self, cluster: ReplicatedLog, broker: int, coordinators: dict[str, Any]) -> None:
        self._cluster = cluster
        self._broker = broker
        self._coordinators = coordinators
        self._heard = 0
        self._tell: list[Callable[[], None]] = []
        self.image = MetadataImage()

    @property
    def is_level(self) -> bool:
        return self._heard == len(self._cluster.records) and not self._tell

    def hear(self) -> None:
        """One half of the next change."""
        if self._tell:
            self._tell.pop(0)()
            return
        if self._heard == len(self._cluster.records):
            return
        delta = MetadataDelta(self.image)
        for record in self._cluster.records[self._heard]:
            delta.replay(record)
        self._heard += 1
        self.image = image = delta.apply(self.image.offset + 1, 1)
        for topic in delta.topics.changed.values():
            for index, state in topic.partitions.items():
                place = TopicPartition(topic.name, index)
                known = State(state.leader, state.leader_epoch, tuple(state.isr))
                self._cluster.replicas[self._broker, place].take(self._broker, known)
        self._tell.append(lambda: self._publish(delta, image))

    def _publish(self, delta: MetadataDelta, image: MetadataImage) -> None:
        for coordinator in self._coordinators.values():
            coordinator.on_image(delta, image)
        for topic in delta.topics.changed.values():
            coordinator = self._coordinators.get(topic.name)
            for index, state in topic.partitions.items() if coordinator is not None else ():
                if state.leader == self._broker:
                    coordinator.load(index, state.leader_epoch)
                else:
                    coordinator.unload(index, state.leader_epoch)
