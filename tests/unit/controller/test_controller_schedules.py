"""Random schedules of a cluster, from a seed: brokers come, die in good order or not, in-sync sets arrive late,
partitions move, leaders are elected, disks fail, controllers change. What the log says afterwards is read record by
record, beside a model of the data: which replica has how much, and how much is committed.

    leadership     a leader is in sync, registered and not fenced
    membership     in-sync and eligible replicas are replicas, and nobody is both; somebody is one of them or led last,
                   so it is known whom a partition without a leader waits for
    epochs         every change raises the partition's epoch by one; a leader has its epoch for itself
    nothing lost   whoever begins to lead has all that is committed, unless an unclean election was allowed
    replay         a fresh controller makes the same state of the log, and its index is what the partitions say

They hold after every single record, so after every prefix of the log.
"""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from dataclasses import dataclass, field

import pytest
from controller_kit import World, directory_of
from transcript_kit import Story

from moldau.controller.configs import UNCLEAN_ELECTION
from moldau.controller.partition_index import PartitionIndex, PartitionKey, PartitionSet
from moldau.controller.state import ControllerState
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.partition_registration import PartitionRegistration
from moldau.metadata.records import Message
from moldau.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    BrokerState,
    RequestPartitionData,
    RequestTopicData,
)
from moldau.raft.batches import decode_batches

SEEDS = [int(os.environ["MOLDAU_SEED"])] if "MOLDAU_SEED" in os.environ else range(24)
STEPS = 70
BROKERS = (1, 2, 3, 4, 5)


@dataclass
class Data:
    """How many records each replica has, and how many are committed."""

    has: dict[tuple[PartitionKey, int], int] = field(default_factory=dict)
    committed: dict[PartitionKey, int] = field(default_factory=dict)

    def of(self, key: PartitionKey, broker: int) -> int:
        return self.has.get((key, broker), 0)

    def commit(self, state: ControllerState, alive: frozenset[int], eligible: bool) -> None:
        """Every leader that can commits a record: all that are in sync have it."""
        for topic in state.topics:
            for index, partition in topic.partitions.items():
                minimum = min(state.configs.min_insync_replicas(topic.name), len(partition.replicas))
                enough = len(partition.isr) >= (minimum if eligible else 1)
                if partition.has_leader and enough and set(partition.isr) <= alive:
                    key = PartitionKey(topic.id, index)
                    self.committed[key] = self.of(key, partition.leader) + 1
                    for broker in partition.isr:
                        self.has[key, broker] = self.committed[key]

    def lose(self, broker: int) -> None:
        """What was not written to disk when the process died."""
        for key, who in self.has:
            if who == broker:
                self.has[key, who] = max(0, self.has[key, who] - 2)

    def joined(self, key: PartitionKey, before: PartitionRegistration, after: PartitionRegistration) -> None:
        """Whoever came into the in-sync set because a leader said so has fetched what that leader has. It may lead with
        the same record, when that ends a reassignment."""
        moved = before.is_reassigning and not after.is_reassigning and set(before.adding_replicas) <= set(after.isr)
        if before.has_leader and (before.leader == after.leader or moved):
            for broker in set(after.isr).difference(before.isr):
                self.has[key, broker] = self.of(key, before.leader)


class Schedule(Story):
    """The story of a seed; `events` are what happened to the data, each with the offset it happened behind."""

    def __init__(self, seed: int) -> None:
        # A quarter of the clusters are new ones; another had eligible leaders switched on later.
        super().__init__(eligible_leaders=seed % 4 == 1)
        self.random = random.Random(seed)
        self.eligible = bool(seed % 2)
        self.events: list[tuple[int, Callable[[Data, ControllerState], None]]] = []
        # From which offset to which somebody asked for an election at any price.
        self.unclean: list[range] = []
        self.late: list[AlterPartitionRequest] = []
        self.refusals: set[ErrorCode] = set()
        # Those who died without writing everything down, and those nobody knows any more.
        self.forgetful: set[int] = set()
        for number in BROKERS:
            self.broker(str(number), "disks=3")
        if seed % 4 == 3:
            self.feature("eligible.leader.replicas.version", "1")
        for name in ("a", "b"):
            self.create_somewhere(name)

    # ------------------------------------------------------------------------------------------------------- steps

    def run(self) -> None:
        steps: list[tuple[int, Callable[[], object]]] = [
            (8, self.commit_data),
            (4, self.shrink_or_grow),
            (3, self.deliver_late),
            (3, self.somebody_dies),
            (4, self.somebody_starts),
            (1, self.somebody_leaves),
            (2, self.somebody_is_fenced),
            (3, self.somebody_is_unfenced),
            (2, self.move),
            (1, lambda: self.cancel(self.partition())),
            (1, lambda: self.elect("preferred", self.partition())),
            (1, self.elect_at_any_price),
            (1, self.settings),
            (1, self.disk_fails),
            (2, self.replica_is_placed),
            (1, lambda: self.wait("10")),
            (1, self.another_leadership),
            (1, self.recreate),
        ]
        weights = [weight for weight, _ in steps]
        for _ in range(STEPS):
            try:
                self.random.choices(steps, weights)[0][1]()
            except KafkaError as error:
                # A refusal is an answer like any other.
                self.refusals.add(error.code)

    def happened(self, event: Callable[[Data, ControllerState], None]) -> None:
        self.events.append((self.world.quorum.high_watermark, event))

    def commit_data(self) -> None:
        alive = frozenset(
            broker.id for broker in self.world.image.cluster.brokers.values() if broker.id not in self.silent
        )
        self.happened(lambda data, state: data.commit(state, alive, self.eligible))

    def shrink_or_grow(self) -> None:
        """A leader wants another in-sync set; the request is on its way for a while."""
        topic, index = self._parse(self.partition())
        state = topic.partitions[index]
        epochs = {number: broker.epoch for number, broker in self.world.image.cluster.brokers.items()}
        if state.leader not in epochs or state.leader in self.silent:
            return
        followers = [replica for replica in state.replicas if replica != state.leader and replica not in self.silent]
        wanted = [state.leader, *self.random.sample(followers, self.random.randint(0, len(followers)))]
        partition = RequestPartitionData(
            partition_index=index,
            leader_epoch=state.leader_epoch,
            partition_epoch=state.partition_epoch,
            leader_recovery_state=0,
            new_isr_with_epochs=[
                BrokerState(broker_id=member, broker_epoch=epochs.get(member, -1)) for member in wanted
            ],
        )
        self.late.append(
            AlterPartitionRequest(
                broker_id=state.leader,
                broker_epoch=epochs[state.leader],
                topics=[RequestTopicData(topic_id=topic.id, partitions=[partition])],
            )
        )

    def deliver_late(self) -> None:
        self.random.shuffle(self.late)
        while self.late:
            self.world.controller.alter_partition(self.late.pop(), 3)
            if self.random.random() < 0.5:
                break
        self.world.loop.run()
        if self.random.random() < 0.7:
            self.world.quorum.commit()

    def somebody_dies(self) -> None:
        self.silent.add(self.anybody())
        if self.random.random() < 0.6:
            self.wait("10")

    def somebody_starts(self) -> None:
        """Refused while its old session lasts. A process that is not let in has no data to lose."""
        self.world.quorum.commit()
        for number in sorted(self.silent):
            if self.random.random() < 0.5:
                continue
            if self.random.random() < 0.5 or number not in self.world.image.cluster.brokers:
                self.forgetful.add(number)
            before = len(self.events)
            if number in self.forgetful and self.eligible:
                self.happened(lambda data, _, number=number: data.lose(number))  # type: ignore[misc]
            try:
                self.start(str(number), "unclean" if number in self.forgetful else "clean")
            except KafkaError:
                del self.events[before:]
                raise
            self.forgetful.discard(number)

    def somebody_leaves(self) -> None:
        if self.random.random() < 0.7:
            self.shutdown(str(self.anybody()))
        else:
            number = self.anybody()
            self.unregister(str(number))
            self.forgetful.add(number)

    def somebody_is_fenced(self) -> None:
        self.fence(str(self.anybody()))

    def somebody_is_unfenced(self) -> None:
        self.unfence(str(self.anybody()))

    def move(self) -> None:
        replicas = self.random.sample(BROKERS, self.random.randint(1, 4))
        self.reassign(self.partition(), ",".join(map(str, replicas)))

    def elect_at_any_price(self) -> None:
        self.world.quorum.commit()
        start = self.world.quorum.end_offset
        self.elect("unclean", self.partition())
        self.unclean.append(range(start, self.world.quorum.end_offset))

    def settings(self) -> None:
        if self.random.random() < 0.5:
            self.configure(self.random.choice("ab"), f"{UNCLEAN_ELECTION}={self.random.choice(['true', 'false'])}")
        else:
            what = self.random.choice(["a", "b", "cluster"])
            self.configure(what, f"min.insync.replicas={self.random.randint(1, 3)}")

    def disk_fails(self) -> None:
        number = self.anybody()
        online = self.world.image.cluster.brokers[number].directories
        # Without eligible leaders the last in-sync replica is believed whatever happened to its disk.
        if self.eligible and len(online) > 1:
            lost = self.random.choice(online)
            self.disks[number] = [directory for directory in self.disks[number] if directory != lost]
            self.world.heartbeat(number, offline_log_dirs=[lost])

    def replica_is_placed(self) -> None:
        partition = self.partition()
        topic, index = self._parse(partition)
        state = topic.partitions[index]
        number = self.random.choice(state.replicas)
        broker = self.world.image.cluster.brokers.get(number)
        if broker is None or number in self.silent:
            return
        before = state.directory(number)
        disk = self.random.choice(broker.directories)
        if not broker.has_online_directory(before):
            key = PartitionKey(topic.id, index)
            self.happened(lambda data, _: data.has.update({(key, number): 0}))
        which = next(disk_number for disk_number in range(3) if directory_of(number, disk_number) == disk)
        self.place(str(number), partition, str(which))

    def another_leadership(self) -> None:
        """What is not committed is gone, and another controller goes on with what is."""
        quorum = self.world.quorum
        quorum.lose_leadership()
        quorum.leader_id = quorum.node_id
        quorum.epoch += 1
        for listener in quorum._listeners:
            listener.on_leader(quorum.node_id, quorum.epoch)

    def recreate(self) -> None:
        name = self.random.choice("ab")
        self.delete(name)
        self.create_somewhere(name)

    def create_somewhere(self, name: str) -> None:
        alive = [broker.id for broker in self.world.image.cluster.brokers.values() if broker.is_active]
        if not alive:
            return
        rows = []
        for _ in range(3):
            first = self.random.choice(alive)
            others = self.random.sample([number for number in alive if number != first], min(2, len(alive) - 1))
            rows.append(",".join(map(str, [first, *others])))
        factor = min(len(row) for row in rows)
        self.create(name, *(row for row in rows if len(row) == factor), "min.insync.replicas=2")

    def anybody(self) -> int:
        known = sorted(set(self.world.image.cluster.brokers) - self.silent)
        if not known:
            raise KafkaError(ErrorCode.BROKER_NOT_AVAILABLE)
        return self.random.choice(known)

    def partition(self) -> str:
        topics = self.world.image.topics.by_name
        if not topics:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        topic = topics[self.random.choice(sorted(topics))]
        return f"{topic.name}-{self.random.choice(sorted(topic.partitions))}"


class Reader:
    """The log, record by record, with what happened to the data between them."""

    def __init__(self, schedule: Schedule) -> None:
        self.schedule = schedule
        self.state = World(brokers=()).controller._new_state()
        self.data = Data()
        self.leaders: dict[tuple[PartitionKey, int], int] = {}

    def read(self) -> None:
        events = iter(self.schedule.events)
        due = next(events, None)
        for batch in decode_batches(self.schedule.world.quorum.log):
            for offset, record in enumerate(batch.records, batch.base_offset):
                while due is not None and due[0] <= offset:
                    due[1](self.data, self.state)
                    due = next(events, None)
                before = self.partitions()
                self.state.replay(record, offset)
                self.check(before, offset, record)

    def partitions(self) -> dict[PartitionKey, PartitionRegistration]:
        return {
            PartitionKey(topic.id, index): state
            for topic in self.state.topics
            for index, state in topic.partitions.items()
        }

    def check(self, before: dict[PartitionKey, PartitionRegistration], offset: int, record: Message) -> None:
        for key, after in self.partitions().items():
            assert set(after.isr) <= set(after.replicas), ("membership", offset, after)
            assert set(after.elr) <= set(after.replicas) - set(after.isr), ("membership", offset, after)
            assert set(after.last_known_elr) <= set(after.replicas), ("membership", offset, after)
            assert after.isr or after.elr or after.last_known_elr, ("membership", offset, after)
            assert {*after.adding_replicas, *after.removing_replicas} <= set(after.replicas), ("membership", offset)
            assert len(after.replicas) == len(set(after.replicas)) == len(after.directories)
            if not self.schedule.eligible:
                assert after.isr
            if after.has_leader:
                assert after.leader in after.isr, ("leadership", offset, after)
                registered = self.state.brokers.registrations.get(after.leader)
                assert registered is not None, ("leadership", offset, after)
                assert not registered.fenced, ("leadership", offset, after, record)
            was = before.get(key)
            if was is None or was == after:
                continue
            assert after.partition_epoch == was.partition_epoch + 1, ("epochs", offset)
            assert after.leader_epoch - was.leader_epoch in (0, 1), ("epochs", offset)
            if after.leader != was.leader:
                assert after.leader_epoch > was.leader_epoch, ("epochs", offset)
            self.data.joined(key, was, after)
            if after.has_leader:
                assert self.leaders.setdefault((key, after.leader_epoch), after.leader) == after.leader, "epochs"
                if after.leader != was.leader:
                    self.begins_to_lead(key, was, after, offset)

    def begins_to_lead(
        self, key: PartitionKey, was: PartitionRegistration, after: PartitionRegistration, offset: int
    ) -> None:
        has, committed = self.data.of(key, after.leader), self.data.committed.get(key, 0)
        if has < committed:
            topic = self.state.topics.by_id(key.topic_id)
            assert topic is not None
            allowed = (
                self.state.configs.unclean_election_enabled(topic.name)
                or any(offset in asked for asked in self.schedule.unclean)
                or (was.last_known_elr == (after.leader,) and not was.isr and after.leader_recovery_state)
            )
            assert allowed, ("nothing lost", offset, has, committed, was, after)
            self.data.committed[key] = has


def index_of(state: ControllerState) -> PartitionIndex:
    fresh = PartitionIndex(state.registry)
    for topic in state.topics:
        for index, partition in topic.partitions.items():
            fresh.update(PartitionKey(topic.id, index), None, partition)
    return fresh


def shown(index: PartitionIndex) -> dict[str, set[PartitionKey]]:
    sets: dict[str, PartitionSet] = {
        name: getattr(index, name) for name in ("leaderless", "imbalanced", "reassigning", "recoverable")
    }
    for broker in BROKERS:
        sets[f"in sync {broker}"] = index.in_sync(broker)
        sets[f"eligible {broker}"] = index.eligible(broker)
    return {name: set(members) for name, members in sets.items()}


@pytest.mark.parametrize("seed", SEEDS)
def test_a_schedule_keeps_the_invariants(seed: int) -> None:
    schedule = Schedule(seed)
    schedule.run()
    assert ErrorCode.UNKNOWN_SERVER_ERROR not in schedule.refusals
    schedule.world.quorum.commit()
    state = schedule.world.controller.state
    assert shown(state.topics.index) == shown(index_of(state)), "replay"
    again = World(log=schedule.world.quorum.log, brokers=())
    assert again.image.same_content(schedule.world.image), "replay"
    assert shown(again.controller.state.topics.index) == shown(state.topics.index), "replay"
    Reader(schedule).read()
