"""One random schedule of a group's life, and what must hold after every step of it.

Invariants, by name:

    one owner         no partition is owned by two members of the group at once; in a classic group: of one generation
    never back        an acknowledged offset is never followed by an older one
    reload is live    what is replayed from the log is what was in memory
"""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

from group_clients import TOPIC, ClassicClient, Client, ConsumerClient, Offsets
from group_world import OFFSETS, GroupWorld

from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.group.shard import GroupShard
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.offset_fetch import OffsetFetchRequestGroup, OffsetFetchRequestTopics

GROUP = "g"
PARTITIONS = 6


class Schedule:
    def __init__(self, seed: int, kind: str) -> None:
        self.seed, self.kind = seed, kind
        self.chance = random.Random(f"{kind} {seed}")
        self.world = GroupWorld(seed=seed)
        self.world.create_topic(TOPIC, self.chance.randint(1, PARTITIONS))
        self.offsets = Offsets()
        self.clients: list[Client] = []
        # Whether an append was refused since the last start: then memory may know what the log does not.
        self.refused = False
        self.history: list[str] = []
        self._names = iter(range(10_000))

    def run(self, steps: int) -> None:
        try:
            for _ in range(steps):
                self.step()
                self.check()
            self.settle()
        except BaseException as error:
            error.add_note(f"seed {self.seed} ({self.kind}): {' | '.join(self.history)}")
            raise

    def step(self) -> None:
        choices: list[tuple[int, Callable[[], None]]] = [
            (60, self._act),
            (6, self._arrive),
            (2, self._leave),
            (2, self._fall_silent),
            (12, self._wait),
            (3, self._reload),
            (2, self._refuse),
            (4, self._accept),
            (3, self._lag),
            (6, self._catch_up),
            (1, self._fail_over),
            (1, self._grow),
        ]
        weights = [weight for weight, _ in choices]
        (chosen,) = self.chance.choices([action for _, action in choices], weights)
        self.history.append(chosen.__name__)
        chosen()
        self.world.time.settle()

    # ----------------------------------------------------------------------------------------------------- actions

    def _act(self) -> None:
        awake = [client for client in self.clients if not client.silent]
        if awake:
            self.chance.choice(awake).act()

    def _arrive(self) -> None:
        if len(self.clients) < 6:
            use_classic = self.kind == "classic" or (self.kind == "mixed" and self.chance.random() < 0.5)
            make = ClassicClient if use_classic else ConsumerClient
            name = f"c{next(self._names)}"
            self.clients.append(make(name, GROUP, self.world, self.chance, self.offsets))

    def _leave(self) -> None:
        if self.clients:
            client = self.clients.pop(self.chance.randrange(len(self.clients)))
            if not client.silent:
                client.leave()

    def _fall_silent(self) -> None:
        if self.clients:
            self.chance.choice(self.clients).silent = True

    def _wait(self) -> None:
        self.world.time.advance(self.chance.choice((1, 100, 3000, 9000, 30_000)))

    def _reload(self) -> None:
        self.world.reload()
        self.refused = self.world.log.refuse is not None

    def _fail_over(self) -> None:
        """Another broker takes over that has only what was committed."""
        self.world.log.truncate_to_high_watermark(OFFSETS)
        self._reload()

    def _refuse(self) -> None:
        self.refused = True
        code = self.chance.choice((ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.NOT_LEADER_OR_FOLLOWER))
        self.world.log.refuse = KafkaError(code)

    def _accept(self) -> None:
        self.world.log.refuse = None

    def _lag(self) -> None:
        self.world.log.automatic = False

    def _catch_up(self) -> None:
        self.world.log.automatic = True
        self.world.log.commit(OFFSETS)

    def _grow(self) -> None:
        count = len(self.world.image.topics.by_name[TOPIC].partitions)
        if count < PARTITIONS:
            self.world.add_partitions(TOPIC, count + 1)

    # -------------------------------------------------------------------------------------------------- invariants

    def check(self) -> None:
        self.check_one_owner()
        self.check_never_back()
        if not self.refused:
            self.check_reload_is_live()

    def check_one_owner(self) -> None:
        group = self.world.shard.groups.get(GROUP)
        if group is None:
            return
        owners: dict[Any, str] = {}
        for client in self.clients:
            member = group.members.get(client.member_id)
            if client.silent or member is None:
                continue
            for partition in client.owned:
                # Classic members of an older generation find out with their next heartbeat.
                key = (client.epoch if isinstance(client, ClassicClient) else None, partition)
                assert owners.setdefault(key, client.name) == client.name, (
                    f"{owners[key]} and {client.name} both own partition {partition}"
                )

    def check_never_back(self) -> None:
        found = fetch(self.world.groups)
        if found is None:
            return
        for partition, offset in self.offsets.acknowledged.items():
            assert found.get(partition, -1) >= offset, f"partition {partition} went back from {offset} to {found}"
        for partition, offset in found.items():
            assert offset <= self.offsets.tried.get(partition, -1)

    def check_reload_is_live(self) -> None:
        world = self.world
        again = GroupCoordinator(world.config, world.log, world.time, world.time, world.random, world.workers)
        again.runtime.image = self.world.image
        again.load(0, world.epoch)
        while not again.runtime.is_loaded(0):
            self.world.time.settle()
        ((_, replayed, _),) = again.runtime.shards()
        assert stored(replayed) == stored(self.world.shard, like=stored(replayed))
        again.close()

    # --------------------------------------------------------------------------------------------------- the end

    def settle(self) -> None:
        """Once fortune is kind, the group comes to rest and every partition has its owner."""
        self._accept()
        self._catch_up()
        self.clients = [client for client in self.clients if not client.silent]
        self.world.time.advance(120_000)
        for _ in range(60):
            for client in self.clients:
                client.act()
                self.world.time.settle()
                self.check_one_owner()
            self.world.time.advance(1500)
        if self.clients and self.kind in ("classic", "consumer"):
            owned = sorted(partition for client in self.clients for partition in client.owned)
            assert owned == sorted(self.world.image.topics.by_name[TOPIC].partitions), "the rebalance did not settle"


def fetch(groups: GroupCoordinator) -> dict[int, int] | None:
    """None while it has not been told what is committed of what it found in the log."""
    topic = OffsetFetchRequestTopics(name=TOPIC, partition_indexes=list(range(PARTITIONS)))
    answer: Deferred[Any] = groups.fetch_offsets(
        OffsetFetchRequestGroup(group_id=GROUP, topics=[topic]), require_stable=False
    )
    seen: list[Any] = []
    answer.then(lambda value, error: seen.append(value))
    if seen[0].error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
        return None
    rows = seen[0].topics[0].partitions
    return {row.partition_index: row.committed_offset for row in rows if row.committed_offset >= 0}


def stored(shard: GroupShard, like: dict[str, Any] | None = None) -> dict[str, Any]:
    """What the log says of a shard. A classic group between two generations is only in memory, so of the live one
    nothing is compared but that it is there."""
    groups: dict[str, Any] = {}
    for group in shard.groups:
        if isinstance(group, ClassicGroup):
            settled = group.is_in(ClassicState.STABLE, ClassicState.EMPTY)
            if like is not None and not settled:
                groups[group.group_id] = like["groups"].get(group.group_id)
                continue
            groups[group.group_id] = (
                group.state,
                group.generation,
                group.leader,
                sorted((each.member_id, each.assignment) for each in group.members.values()),
            )
        elif isinstance(group, StreamsGroup):
            groups[group.group_id] = (
                (group.epoch, group.assignment_epoch, group.metadata_hash, group.validated_epoch.value),
                (group.topology, group.assignment_configs.value, group.assignment_timestamp.value),
                sorted((each.member_id, repr(each)) for each in group.members.values()),
                sorted((member_id, repr(tasks)) for member_id, tasks in group.targets.items()),
                sorted(group.owners.items()),
                sorted(group.keepers.items()),
            )
        else:
            groups[group.group_id] = (
                group.epoch,
                group.assignment_epoch,
                sorted((each.member_id, repr(each)) for each in group.members.values()),
                sorted(group.targets.items()),
                sorted(group.owners.items()),
                dict(group.static_members.items()),
            )
    offsets = {group: dict(shard.offsets.of_group(group)) for group in sorted(groups)}
    return {"groups": groups, "offsets": offsets}
