"""Groups over three brokers whose leaders change at random, and lose what was not committed: seeded schedules."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from coordinator_world import FakeTime, PatientWorkers, Role, SeededRandom
from replicated_log import BrokerLog, Follower, ReplicatedLog

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.group.record_types import OFFSETS_TOPIC
from moldau.errors import ErrorCode
from moldau.protocol.messages import offset_commit as oc
from moldau.protocol.messages import offset_fetch as of
from moldau.types import TopicPartition

BROKERS = (1, 2, 3)
GROUPS = ("a", "b", "c", "d")
PARTITIONS = 2


class Broker:
    def __init__(self, world: Cluster, number: int) -> None:
        self.number = number
        self.log = BrokerLog(world.log, number)
        config = BrokerConfig.parse({"log.dirs": "/unused", "offsets.commit.timeout.ms": "2000"})
        workers = PatientWorkers(world.time)
        self.groups = GroupCoordinator(config, self.log, world.time, world.time, SeededRandom(), workers)
        self.metadata = Follower(world.log, number, {OFFSETS_TOPIC: self.groups})

    def epoch(self, group: str) -> int:
        runtime = self.groups.runtime
        if OFFSETS_TOPIC not in runtime.image.topics.by_name:
            return -1
        writer = runtime._active.get(runtime.partition_of(group))
        return -1 if writer is None else writer.epoch


class Cluster:
    def __init__(self, seed: int) -> None:
        self.random = Random(seed)
        self.time = FakeTime()
        self.log = ReplicatedLog(BROKERS, {OFFSETS_TOPIC: PARTITIONS, "t": 1}, self.random)
        self.brokers = [Broker(self, number) for number in BROKERS]
        self.places = [TopicPartition(OFFSETS_TOPIC, index) for index in range(PARTITIONS)]
        # What was acknowledged: by group, the epoch of the coordinator and the offset.
        self.acknowledged: dict[str, list[tuple[int, int]]] = {group: [] for group in GROUPS}
        self.busy: set[str] = set()
        self.next_offset = 0
        self.answering: dict[tuple[str, int], set[int]] = {}
        self.open = 0
        self.successes = {"commit": 0, "fetch": 0}

    # ---------------------------------------------------------------------------------------------------- clients

    def commit(self, group: str, broker: Broker) -> None:
        """A client has one commit under way, and each names a later offset."""
        if group in self.busy:
            return
        self.busy.add(group)
        self.next_offset += 1
        offset, epoch = self.next_offset, broker.epoch(group)
        row = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
        request = oc.OffsetCommitRequest(
            group_id=group, topics=[oc.OffsetCommitRequestTopic(name="t", partitions=[row])]
        )
        self.open += 1

        def answered(response: Any, error: BaseException | None) -> None:
            assert error is None, error
            self.open -= 1
            self.busy.discard(group)
            if response.topics[0].partitions[0].error_code == ErrorCode.NONE:
                self.successes["commit"] += 1
                self.answered(group, epoch, broker)
                self.acknowledged[group].append((epoch, offset))

        broker.groups.commit_offsets(broker.groups.info("c", "/h", 8), request).then(answered)

    def fetch(self, group: str, broker: Broker, *, stable: bool) -> None:
        epoch = broker.epoch(group)
        least = max((offset for era, offset in self.acknowledged[group] if era <= epoch), default=-1)
        topics = [of.OffsetFetchRequestTopics(name="t", partition_indexes=[0])]
        request = of.OffsetFetchRequestGroup(group_id=group, topics=topics)
        self.open += 1

        def answered(response: Any, error: BaseException | None) -> None:
            assert error is None, error
            self.open -= 1
            if response.error_code == ErrorCode.NONE:
                self.successes["fetch"] += 1
                self.answered(group, epoch, broker)
                (row,) = response.topics[0].partitions
                assert row.committed_offset >= least, f"COMMITTED OFFSETS NEVER GO BACK: {row} after {least}"

        broker.groups.fetch_offsets(request, require_stable=stable).then(answered)

    def answered(self, group: str, epoch: int, broker: Broker) -> None:
        who = self.answering.setdefault((group, epoch), set())
        who.add(broker.number)
        assert len(who) == 1, f"ONE COORDINATOR ANSWERS PER GROUP AND EPOCH: {who} in {epoch}"
        place = TopicPartition(OFFSETS_TOPIC, broker.groups.runtime.partition_of(group))
        role = self.log.replicas[broker.number, place].role
        assert role == Role(True, epoch), f"NOBODY ANSWERS FOR WHAT IT KNOWS IT HAS LOST: {role} in {epoch}"

    # --------------------------------------------------------------------------------------------------- schedules

    def step(self) -> None:
        random = self.random
        broker, place, group = random.choice(self.brokers), random.choice(self.places), random.choice(GROUPS)
        what = random.choices(
            ["commit", "fetch", "replicate", "hear", "elect", "shrink", "grow", "wait"], [20, 15, 30, 15, 2, 1, 3, 14]
        )[0]
        asked = broker if random.random() < 0.3 else self.leader(group)
        if what == "commit":
            self.commit(group, asked)
        elif what == "fetch":
            self.fetch(group, asked, stable=random.random() < 0.3)
        elif what == "replicate":
            for follower in random.choices(BROKERS, k=random.randrange(1, 7)):
                self.log.fetch(follower, place, random.randrange(1, 5))
        elif what == "hear":
            for _ in range(random.randrange(1, 8)):
                broker.metadata.hear()
        elif what == "wait":
            self.time.advance(random.choice([0, 1, 10, 400, 2500]))
        else:
            getattr(self.log, what)(place)

    def heal(self) -> None:
        for _ in range(12):
            for broker in self.brokers:
                while not broker.metadata.is_level:
                    broker.metadata.hear()
                for place in self.places:
                    self.log.fetch(broker.number, place)
                    self.log.grow(place)
            self.time.advance(500)

    def leader(self, group: str) -> Broker:
        partition = self.brokers[0].groups.runtime.partition_of(group)
        number = self.log.states[TopicPartition(OFFSETS_TOPIC, partition)].leader
        return self.brokers[number - 1]


def stored(broker: Broker, partition: int) -> dict[Any, int]:
    shard = next(shard for index, shard, _ in broker.groups.runtime.shards() if index == partition)
    return {
        (group.group_id, where): committed.offset
        for group in shard.groups
        for where, committed in shard.offsets.of_group(group.group_id).items()
    }


@pytest.mark.parametrize("first", range(0, 60, 10))
def test_committed_offsets_survive_every_change_of_leader(first: int) -> None:
    successes = {"commit": 0, "fetch": 0}
    for seed in range(first, first + 10):
        cluster = Cluster(seed)
        cluster.heal()
        for _ in range(400):
            cluster.step()
        cluster.heal()
        assert cluster.open == 0, "EVERY REQUEST IS ANSWERED"
        for group in GROUPS:
            before = cluster.successes.copy()
            cluster.commit(group, cluster.leader(group))
            cluster.heal()
            cluster.fetch(group, cluster.leader(group), stable=True)
            after = {kind: count + 1 for kind, count in before.items()}
            assert cluster.successes == after, "IT GOES ON WHEN FAULTS STOP"
        for place in cluster.places:
            leader = cluster.brokers[cluster.log.states[place].leader - 1]
            live = stored(leader, place.partition)
            cluster.log.elect(place, leader.number)
            cluster.heal()
            assert stored(leader, place.partition) == live, "MEMORY IS WHAT THE LOG SAYS"
        for kind, count in cluster.successes.items():
            successes[kind] += count
    assert successes["commit"] > 150
    assert successes["fetch"] > 150, "the schedules are of no use if nothing succeeds in them"
