"""A durable node that loses its power again and again while clients write, and what must be true in the end.

One seed decides everything: when the power goes and in the middle of what, which sectors and names had reached the
platter, how long the network takes, who sends what. Topics are created with `flush.messages=1`: an acknowledgement
means that the record was forced to disk. So whatever was acknowledged must be there, once, in order, at its offset;
topics and settings that were acknowledged must be there too; and the node must start, each time.

Two of the durable topics lose records on purpose: one is compacted, so that the newest value of every key must be
there; one deletes its oldest segments, so that nothing may be missing from its start on. And one topic is not durable:
of it only the soundness of what is found is asked, not that all of it is found.

One durable topic is deleted and created again under its name, over and over, sometimes as a compacted one, sometimes
after records were deleted from its beginning. Each time it must begin at offset 0 and know nothing of its predecessors
(`reborn`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from moldau.client.admin.configs import (
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    ResourceType,
    alter_configs,
    describe_configs,
)
from moldau.client.admin.topics import NewTopic, create_topics, delete_topics, describe_topics, list_topics
from moldau.client.conversation import Conversation, Pause, retrying
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.simulation.client import SimulatedClient
from moldau.simulation.ledger import Ledger
from moldau.simulation.reborn import FORCED, SMALL, Reborn
from moldau.simulation.workload import Producer, read_all
from moldau.simulation.world import Machine, Violation, World
from moldau.types import TopicPartition

ADDRESS: Final = ("node-1", 9092)
SETTINGS: Final[Mapping[str, str]] = {
    "log.dirs": "/data",
    "listeners": f"PLAINTEXT://{ADDRESS[0]}:{ADDRESS[1]}",
    # Small, so that a short run sees what a long life brings: rolls, checkpoints, snapshots, removals.
    "log.index.size.max.bytes": "512",
    "log.flush.offset.checkpoint.interval.ms": "60",
    "log.flush.start.offset.checkpoint.interval.ms": "40",
    "replica.high.watermark.checkpoint.interval.ms": "100",
    "metadata.log.max.record.bytes.between.snapshots": "2000",
    "log.segment.delete.delay.ms": "200",
    "log.retention.check.interval.ms": "100",
    "log.cleaner.backoff.ms": "50",
    "log.cleaner.dedupe.buffer.size": "1100000",
}
DURABLE: Final = "durable"
COMPACTED: Final = "compacted"
RETAINED: Final = "retained"
LOOSE: Final = "loose"
TOPICS: Final[Mapping[str, tuple[int, dict[str, str]]]] = {
    DURABLE: (2, FORCED),
    COMPACTED: (1, {"cleanup.policy": "compact", "min.cleanable.dirty.ratio": "0.01", **FORCED}),
    RETAINED: (1, {"retention.bytes": "6000", **FORCED}),
    LOOSE: (1, SMALL),
}


@dataclass(slots=True)
class Report:
    """What a run came to."""

    cuts: int = 0
    lives: int = 0
    acknowledged: int = 0
    topics: int = 0
    steps: int = 0
    digest: int = 0


@dataclass(slots=True)
class Cluster:
    """What was acknowledged about topics. A change under way may have happened or not."""

    configs: dict[str, dict[str, str]] = field(default_factory=dict)
    deleted: set[str] = field(default_factory=set)
    in_doubt: set[str] = field(default_factory=set)


class DurableScenario:
    def __init__(self, world: World, *, requests: int = 30, power_cuts: int = 6) -> None:
        self._world = world
        self._chance = world.chance.fork("scenario")
        self._ledger = Ledger()
        self._cluster = Cluster()
        self._machine: Machine = world.machine(ADDRESS[0], SETTINGS)
        self._client_process = world.process("client")
        self._admin = self._client("admin")
        self._requests = requests
        self._cuts_left = power_cuts
        self._in_trouble = False
        self._reborn = Reborn(self._chance.fork("reborn"), self._creating, lambda name, _topic_id: self._deleting(name))

    def run(self) -> Report:
        world, machine = self._world, self._machine
        machine.start()
        world.run_until(lambda: machine.is_serving)
        for name, (partitions, configs) in TOPICS.items():
            self._create(name, partitions, configs)
        self._world.fabric.drop_chance = self._chance.choice((0.0, 0.0, 0.01, 0.03))
        work = [
            *(self._start_producer(f"p{number}", DURABLE) for number in range(2)),
            self._start_producer("keyed", COMPACTED, keys=5),
            self._start_producer("retained", RETAINED),
            self._start_producer("loose", LOOSE, idempotent=False),
            self._client("reborn").start(self._reborn.run(self._requests // 3), 3600.0),
            self._admin.start(self._administer(), 3600.0),
        ]
        self._next_trouble()
        world.run_until(lambda: all(outcome.settled for outcome in work), seconds=3600.0)
        for outcome in work:
            outcome.then(self._check_outcome)
        self._cuts_left = 0
        machine.disk.cut_power_after(None)
        world.run_until(lambda: not self._in_trouble)
        world.fabric.drop_chance = 0.0
        self._verify()
        machine.lose_power()
        self._verify()
        return Report(
            machine.cuts,
            machine.lives,
            self._ledger.acknowledged + self._reborn.acknowledged,
            len(self._cluster.configs),
            world.schedule.steps,
            machine.disk.digest,
        )

    # --------------------------------------------------------------------------------------------------- workload

    def _client(self, name: str) -> SimulatedClient:
        return SimulatedClient(self._client_process, [ADDRESS], name)

    def _start_producer(self, name: str, topic: str, *, idempotent: bool = True, keys: int = 0) -> Deferred[Any]:
        where = [TopicPartition(topic, index) for index in range(TOPICS[topic][0])]
        producer = Producer(
            name, where, self._ledger, self._chance.fork(name), idempotent=idempotent, keys=keys, leisure=0.3
        )
        return self._client(name).start(producer.run(self._requests), 3600.0)

    def _create(self, name: str, partitions: int, configs: dict[str, str]) -> None:
        self._admin.run(self._creating(name, partitions, configs))

    def _creating(self, name: str, partitions: int, configs: dict[str, str]) -> Conversation[None]:
        topic = NewTopic(name, partitions, 1, configs)
        self._cluster.in_doubt.add(name)
        while True:
            (outcome,) = yield from retrying(lambda: create_topics([topic]))
            if outcome.error is None or outcome.error.code is ErrorCode.TOPIC_ALREADY_EXISTS:
                break
            yield from _again(outcome.error)
        # Settings for tests only are not told to anybody.
        self._cluster.configs[name] = {key: value for key, value in configs.items() if not key.startswith("internal.")}
        self._cluster.in_doubt.discard(name)

    def _deleting(self, name: str) -> Conversation[None]:
        self._cluster.in_doubt.add(name)
        while True:
            (outcome,) = yield from retrying(lambda: delete_topics([name]))
            if outcome.error is None or outcome.error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
                break
            yield from _again(outcome.error)
        del self._cluster.configs[name]
        self._cluster.deleted.add(name)
        self._cluster.in_doubt.discard(name)

    def _altering(self, name: str, setting: str, value: str) -> Conversation[None]:
        resource = ConfigResource(ResourceType.TOPIC, name)
        change = ConfigChange(setting, ConfigOperation.SET, value)
        while True:
            error = (yield from alter_configs({resource: [change]}))[resource]
            if error is None:
                break
            yield from _again(error)
        self._cluster.configs[name] = {**self._cluster.configs[name], setting: value}

    def _administer(self) -> Conversation[None]:
        """Topics come, change and go."""
        for number in range(self._requests // 2):
            name = f"topic-{number}"
            yield from self._creating(name, 1 + number % 3, {"retention.ms": str(10_000_000 + number)})
            if number % 2:
                yield from self._altering(name, "max.message.bytes", str(500_000 + number))
            if number % 3 == 2:
                yield from self._deleting(f"topic-{number - 1}")

    def _check_outcome(self, _value: Any, error: BaseException | None) -> None:
        if error is not None:
            raise Violation(f"a client was refused: {error}") from error

    # ---------------------------------------------------------------------------------------------------- trouble

    def _next_trouble(self) -> None:
        """At some moment something happens to the machine; then it is started again, and so on."""
        # On the client's loop: that machine is never touched.
        self._client_process.loop.call_after_us(self._chance.between(200, 250_000), self._trouble)

    def _trouble(self) -> None:
        machine = self._machine
        if not self._cuts_left:
            return
        self._cuts_left -= 1
        self._in_trouble = True
        match self._chance.below(8):
            case 0 | 1 if machine.is_running:
                machine.lose_power()
            case 2 if machine.is_running:
                machine.kill()
            case 3 if machine.is_serving:
                machine.stop()
            case _:
                # In the middle of something, wherever that is: also while it starts.
                machine.disk.cut_power_after(self._chance.below(120))
        self._restart_when_down()

    def _restart_when_down(self, patience: int = 50) -> None:
        machine, loop = self._machine, self._client_process.loop
        if machine.is_running and (patience or machine.is_stopping):
            loop.call_later(0.002, lambda: self._restart_when_down(max(0, patience - 1)))
            return
        # A machine with nothing to do does not come to its end by itself.
        machine.disk.cut_power_after(None)
        loop.call_after_us(self._chance.between(100, 100_000), self._trouble_is_over)

    def _trouble_is_over(self) -> None:
        if not self._machine.is_running:
            self._machine.start()
            if self._cuts_left and self._chance.happens(0.4):
                # It dies again while it recovers.
                self._cuts_left -= 1
                self._machine.disk.cut_power_after(self._chance.below(80))
                self._restart_when_down()
                return
        self._in_trouble = False
        self._next_trouble()

    # ------------------------------------------------------------------------------------------------------ truth

    def _verify(self) -> None:
        machine = self._machine
        if not machine.is_running:
            machine.start()
        self._world.run_until(lambda: machine.is_serving)
        # What was recovered is forced to disk before readers see it again, and that takes a moment.
        self._world.run_for(1.0)
        reader = self._client("reader")
        partitions = list(self._ledger.partitions)
        for where, (start, found) in reader.run(read_all(partitions)).items():
            account = self._ledger.partition(where)
            if where.topic == DURABLE:
                account.check(found)
            elif where.topic == COMPACTED:
                account.check_compacted(found)
            elif where.topic == RETAINED:
                account.check_suffix(found, start)
            else:
                account.check_invention(found)
        reader.run(self._reborn.check())
        self._verify_topics(reader)
        self._world.check()

    def _verify_topics(self, reader: SimulatedClient) -> None:
        known = {topic.name for topic in reader.run(list_topics())}
        expected = set(self._cluster.configs)
        if missing := expected - known:
            raise Violation(f"topics that were created are gone: {sorted(missing)}")
        if invented := known - expected - self._cluster.in_doubt:
            raise Violation(f"topics are there that should not be: {sorted(invented)}")
        for name, configs in self._cluster.configs.items():
            resource = ConfigResource(ResourceType.TOPIC, name)
            values = {one.name: one.value for one in reader.run(describe_configs(resource))}
            wrong = {key: values.get(key) for key, value in configs.items() if values.get(key) != value}
            if wrong:
                raise Violation(f"settings of {name} are {wrong} instead of {configs}")
        reader.run(describe_topics(sorted(expected)))


def _again(error: KafkaError) -> Conversation[None]:
    # A node that is just leaving says that there is no broker for a new topic; Kafka does not call that retriable.
    if not error.retriable and error.code is not ErrorCode.INVALID_REPLICATION_FACTOR:
        raise error
    yield Pause(0, error)


def run_durable(seed: int | str, *, requests: int = 30, power_cuts: int = 6) -> Report:
    with World(seed) as world:
        return DurableScenario(world, requests=requests, power_cuts=power_cuts).run()
