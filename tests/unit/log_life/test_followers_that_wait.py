"""What `_speed/followed` answers a follower that has waited is, byte for byte, what the readable way answers."""

from __future__ import annotations

from pathlib import Path
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame
from storage_kit import batch

from moldau import _speed
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ReplicaState
from moldau.replica import reads
from moldau.replica.appends import Appends
from moldau.replica.follower import Follower
from moldau.server.apis import fetch as fetch_api
from moldau.server.fetch_sessions import FetchPartition as Remembered

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")

SHORT, READABLE = 2, 3
# Of a fetch's answer: its length, correlation id, tags, throttle and error come before.
SESSION = slice(15, 19)
TOPICS = {"one": 3, "two": 1}
SETTINGS = {"internal.segment.bytes": "40000", "index.interval.bytes": "300"}


class Asking:
    """A follower of all partitions, in a session."""

    def __init__(self, world: World, broker: int, version: int) -> None:
        self.world, self.broker, self.version = world, broker, version
        self.session = self.epoch = 0
        self.offsets = dict.fromkeys(world.partitions, 0)
        self.told: dict[tuple[str, int], tuple[int, int]] = {}

    def ask(self, most: int, *, says_leader: bool, fetched_epoch: int | None) -> Wire:
        topics = {name: FetchTopic(topic_id=id) for name, id in self.world.ids.items()}
        for place, offset in self.offsets.items():
            partition = self.world.partitions[place]
            leader_epoch = partition.leader_epoch if says_leader else -1
            asked = offset, leader_epoch
            if self.epoch == 0 or self.told.get(place) != asked:
                topics[place[0]].partitions.append(
                    FetchPartition(
                        partition=place[1],
                        fetch_offset=offset,
                        partition_max_bytes=most,
                        current_leader_epoch=leader_epoch,
                        last_fetched_epoch=partition.leader_epoch if fetched_epoch is None else fetched_epoch,
                    )
                )
                self.told[place] = asked
        request = FetchRequest(
            replica_id=self.broker if self.version < 15 else -1,
            replica_state=ReplicaState(replica_id=self.broker if self.version >= 15 else -1, replica_epoch=-1),
            max_wait_ms=2,
            min_bytes=1,
            max_bytes=1 << 20,
            session_id=self.session,
            session_epoch=self.epoch,
            topics=[topic for topic in topics.values() if topic.partitions],
        )
        wire = Wire()
        self.world.node.send(wire, request_frame(request, self.version))
        return wire

    def heard(self, answer: bytes) -> FetchResponse:
        response = FetchResponse.decode(answer[9:], self.version)
        self.epoch = 0 if response.error_code else self.epoch + 1
        self.session = response.session_id
        return response


class World:
    def __init__(self, path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.node = InProcessNode(path, compiled=True)
        self.ids = {name: self.node.create_topic(name, count, **SETTINGS) for name, count in TOPICS.items()}
        self.replicas = self.node.node.replicas
        self.partitions = {
            (name, index): self.replicas.get(name, index) for name, count in TOPICS.items() for index in range(count)
        }
        self.now_ms = 0
        rules: Any = SimpleNamespace(
            is_stale=lambda *_: False, now_ms=lambda: self.now_ms, may_join=lambda *_: False, max_lag_ms=1
        )
        for partition in self.partitions.values():
            partition.replicas = partition.isr = (1, SHORT, READABLE)
            partition.followers = {broker: Follower(broker) for broker in (SHORT, READABLE)}
            partition._rules = rules
            # The high watermark moves when the test says so: the two do not ask at the same moment.
            partition._alone, partition._min_isr = False, 9
        throttle = SimpleNamespace(holds_back=lambda *_: False, sent=lambda *_: None)
        alone = SimpleNamespace(isr=rules, leader_throttle=throttle, selector=None)
        monkeypatch.setattr(self.replicas, "replication", alone)
        self.short = self.brief = self.waited = 0
        answer_follower, read_at_end = fetch_api.answer_follower, reads.read_at_end
        follower_at_end = reads.follower_at_end

        def counted(*arguments: Any) -> Any:
            answer = answer_follower(*arguments) if arguments[4] == SHORT else None
            self.short += answer is not None
            return answer

        def brief(*arguments: Any) -> Any:
            result = read_at_end(*arguments) if arguments[2] == SHORT else None
            self.brief += result is not None
            return result

        def waits(*arguments: Any) -> Any:
            moved = follower_at_end(*arguments) if arguments[2] == SHORT else None
            self.waited += moved is not None
            return moved

        monkeypatch.setattr(reads, "follower_at_end", waits)
        monkeypatch.setattr(fetch_api, "answer_follower", counted)
        monkeypatch.setattr(reads, "read_at_end", brief)

    def append(self, chance: Random) -> None:
        (topic, index), partition = chance.choice(list(self.partitions.items()))
        values = [bytes(chance.randrange(chance.choice([10, 300, 9000]))) for _ in range(chance.choice([1, 1, 3]))]
        data = batch(*values)
        Appends(self.replicas, 1, by_id=False).append(topic, index, data, 0, len(data))
        if chance.random() < 0.5:
            local = partition.log.local
            local.advance_high_watermark(chance.randrange(local.high_watermark, local.log_end_offset + 1))
        if chance.random() < 0.1:
            partition.log.local.advance_log_start(partition.log.high_watermark)

    def begin_epoch(self, chance: Random) -> None:
        partition = chance.choice(list(self.partitions.values()))
        partition.leader_epoch += 1
        partition.log.begin_epoch(partition.leader_epoch)
        self.replicas.moved(partition)

    def as_if_read_by_classes(self, chance: Random) -> None:
        """What sessions remember may have come the other way, through the generated classes."""
        for session in self.node.node.services.fetch_sessions._sessions.values():
            remembered = chance.choice(list(session._partitions.values()))
            remembered.request = Remembered(*remembered.request)
            session._requests = None

    def known(self, asking: Asking) -> list[tuple[int, ...]]:
        """What the leader knows of a follower."""
        found = [partition.followers[asking.broker] for partition in self.partitions.values()]
        return [(each.end_offset, each.log_start_offset, each.caught_up_ms, each._last_fetch_ms) for each in found]

    def remembered(self, asking: Asking) -> list[tuple[Any, int, int]]:
        sessions = self.node.node.services.fetch_sessions._sessions
        found = sessions.get(asking.session)
        partitions = {} if found is None else found._partitions
        return [(key, known.high_watermark, known.log_start_offset) for key, known in partitions.items()]


@pytest.fixture
def world(tmp_path, monkeypatch):
    made = World(tmp_path, monkeypatch)
    yield made
    made.replicas.replication = None
    made.node.close()


@pytest.mark.parametrize("seed", range(4))
def test_who_waited_is_answered_the_same_in_both_ways(world: World, seed: int) -> None:
    chance = Random(seed)
    version = chance.randrange(13, 19)
    both = Asking(world, SHORT, version), Asking(world, READABLE, version)
    for _ in range(300):
        says_leader, fetched_epoch = chance.random() < 0.8, chance.choice([None, None, None, None, -1, 500])
        most = chance.choice([1 << 20, 1 << 20, 1 << 20, 500])
        # Some before they ask, most of it while they wait, now and then nothing.
        for _ in range(chance.choice([0, 0, 0, 1])):
            world.append(chance)
        world.now_ms += 1
        wires = [asking.ask(most, says_leader=says_leader, fetched_epoch=fetched_epoch) for asking in both]
        for _ in range(chance.choice([0, 1, 1, 1, 2, 4, 9])):
            world.append(chance)
        if chance.random() < 0.1:
            world.begin_epoch(chance)
        world.node.turn_until(lambda wires=wires: all(wire.sent or wire.closed for wire in wires))
        mine, readable = (bytearray(wire.sent[0]) for wire in wires)
        responses = [asking.heard(bytes(answer)) for asking, answer in zip(both, (mine, readable), strict=True)]
        mine[SESSION] = readable[SESSION] = bytes(4)
        assert mine == readable, responses
        assert world.remembered(both[0]) == world.remembered(both[1])
        assert world.known(both[0]) == world.known(both[1])
        follow(both, responses[1], world)
        world.as_if_read_by_classes(chance)
    assert world.short > 20
    assert world.brief > 100
    assert world.waited > 30


def follow(both: tuple[Asking, ...], response: FetchResponse, world: World) -> None:
    names = {id: name for name, id in world.ids.items()}
    for topic in response.responses:
        for data in topic.partitions:
            place = names[topic.topic_id], data.partition_index
            log = world.partitions[place].log
            ahead = log.log_end_offset if data.records else both[0].offsets[place]
            for asking in both:
                asking.offsets[place] = log.log_start_offset if data.error_code else ahead
