"""A coordinator that has lost its partition, or has just come to it: what it may still say, and what not yet."""

from __future__ import annotations

from typing import Any

import pytest
from coordinator_world import FakeTime, Hurry, MemoryLog, Role
from group_world import OFFSETS, GroupWorld
from test_coordinator_runtime import TOPIC, TYPES, WHERE, Counter, World, outcome

from moldau.coordinator.marker import Marker
from moldau.coordinator.runtime import CoordinatorRuntime
from moldau.coordinator.shard import Result
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.slicing import Slicer, Work


@pytest.mark.parametrize("now", [Role(False, 2), Role(True, 2), Role(False, 1)])
def test_nobody_is_answered_between_what_the_replica_hears_and_what_the_runtime_hears(now: Role) -> None:
    world = World()
    world.load()
    world.set("a", 1)
    role = world.log.roles[WHERE]
    role.is_leader, role.leader_epoch = now.is_leader, now.leader_epoch
    assert world.set("a", 2) == ErrorCode.NOT_COORDINATOR
    heartbeat = world.runtime.write("look", 0, lambda shard: Result([], shard.counts["a"]))
    assert outcome(heartbeat) == ErrorCode.NOT_COORDINATOR
    with pytest.raises(KafkaError) as refused:
        world.runtime.read("look", 0, lambda shard, _: shard.counts["a"])
    assert refused.value.code == ErrorCode.NOT_COORDINATOR
    assert list(world.runtime.shards()) == []


def test_the_short_way_of_a_commit_is_closed_with_the_others() -> None:
    world = GroupWorld()
    assert world.groups.runtime.idle_writer("g") is not None
    world.log.roles[OFFSETS].is_leader = False
    assert world.groups.runtime.idle_writer("g") is None


def test_an_append_in_another_epoch_is_refused_and_taken_back() -> None:
    """The partition came back to this broker in a later epoch while an operation was being decided."""
    world = World()
    shard = world.load()
    world.set("a", 1)

    def slow(shard: Counter) -> Result[int]:
        world.log.roles[WHERE].leader_epoch = 3
        return shard.set("a", 2)

    answer = world.runtime.write("slow", 0, slow)
    assert outcome(answer) == ErrorCode.NOT_COORDINATOR
    assert (shard.counts["a"], len(world.log.batches[WHERE])) == (1, 1)


@pytest.mark.parametrize("how", ["unloaded", "replica"])
def test_a_long_look_at_a_shard_that_was_lost_on_the_way_does_not_count(how: str) -> None:
    world = World()
    world.load()
    world.set("a", 1)

    def long(shard: Counter, committed: int) -> Work[int]:
        yield
        return shard.counts["a"]

    work = world.runtime.look("look", 0, long)
    next(work)
    if how == "unloaded":
        world.runtime.unload(0, 2)
        world.log.roles[WHERE] = Role(True, 1)
    else:
        world.log.roles[WHERE].is_leader = False
    with pytest.raises(KafkaError) as refused:
        next(work)
    assert refused.value.code == ErrorCode.NOT_COORDINATOR


def test_what_too_few_replicas_have_is_not_acknowledged() -> None:
    world = World(automatic=False)
    shard = world.load()
    answer = world.runtime.write("set", 0, lambda shard: shard.set("a", 1))
    world.log.shortage = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    world.log.commit(WHERE)
    assert outcome(answer) == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert shard.counts["a"] == 1, "it is in the log all the same"
    again = world.runtime.write("set", 0, lambda shard: shard.set("a", 2))
    world.log.shortage = ErrorCode.NONE
    world.log.commit(WHERE)
    assert outcome(again) == 1


def test_what_is_to_be_done_on_all_shards_is_done_on_those_being_loaded() -> None:
    world = World()
    world.runtime.load(0, 1)
    assert world.runtime.loading
    world.runtime.write_all("set", lambda shard: shard.set("a", 1))
    world.time.settle()
    assert next(shard for _, shard, _ in world.runtime.shards()).counts["a"] == 1
    world.runtime.load(0, 2)
    world.runtime.write_all("set", lambda shard: shard.set("a", 2))
    world.runtime.unload(0, 3)
    shard = world.load(4)
    assert shard.counts["a"] == 1, "and is not owed to who comes later"


def test_a_partition_that_cannot_be_led_yet_is_loaded_when_the_same_epoch_is_told_again() -> None:
    world = World()
    role = world.log.role

    def refuse(*_: Any) -> Role:
        raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    world.log.role = refuse  # type: ignore[method-assign]
    world.runtime.load(0, 1)
    assert not world.runtime.loading
    assert world.set("a", 1) == ErrorCode.NOT_COORDINATOR
    world.log.role = role  # type: ignore[method-assign]
    world.load(1)
    assert world.set("a", 1) == 0


def test_a_marker_that_comes_late_is_refused_when_its_turn_comes() -> None:
    world = World()
    shard = world.load()
    world.set("a", 5, producer_id=7, producer_epoch=1, transactional=True)
    world.log.refuse_marker = KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH)
    answer = world.runtime.write_marker(0, Marker(7, 1, True, 3, 2))
    assert outcome(answer) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert (dict(shard.counts.items()), len(shard.pending)) == ({}, 1)


def test_no_timer_is_left_or_begun_by_those_who_hear_of_the_end() -> None:
    world = World(automatic=False)
    shard = world.load()
    fired: list[int] = []
    timers = shard.context.timers

    def later(now: int) -> Result[None]:
        fired.append(now)
        return Result([], None)

    def done(error: KafkaError | None) -> None:
        timers.schedule("again", 10, later)

    timers.schedule("session", 10, later)
    world.runtime.write("set", 0, lambda shard: shard.set("a", 1, done=done))
    world.runtime.unload(0, 2)
    assert not timers.is_scheduled("session")
    assert not timers.is_scheduled("again")
    world.time.settle()
    assert [timer for _, _, timer in world.time._timers if timer.callback is not None] == []
    world.time.advance(60_000)
    assert fired == []


class Crowd(Counter):
    """Very many wait inside."""

    told = 0

    def on_unloaded(self) -> Work[None]:
        for _ in range(50):
            self.told += 1
            yield


def test_those_who_wait_inside_a_shard_are_told_in_slices() -> None:
    time, log = FakeTime(), MemoryLog()
    runtime = CoordinatorRuntime(TOPIC, TYPES, Crowd, log, time, time, slicer=Slicer(time, Hurry()))
    runtime.load(0, 1)
    time.settle()
    shard = next(shard for _, shard, _ in runtime.shards())
    runtime.unload(0, 2)
    assert shard.told < 10
    time.settle()
    assert shard.told == 50


def test_a_shard_that_could_not_be_read_is_let_go() -> None:
    world = World()
    world.load()
    world.log.batches[WHERE].append(b"?" * 80)
    world.log._ends[WHERE] = 1
    world.runtime.load(0, 2)
    world.time.settle()
    assert world.set("a", 1) == ErrorCode.NOT_COORDINATOR
    assert not world.runtime.loading


def joining(world: GroupWorld) -> Any:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"m")]
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=30_000,
        protocol_type="consumer",
        protocols=protocols,
    )
    seen: list[Any] = []
    world.groups.join_group(world.info(3), request).then(lambda value, _: seen.append(value))
    return seen


def test_who_waits_to_join_is_sent_on_when_the_group_moves() -> None:
    world = GroupWorld({"group.initial.rebalance.delay.ms": "3000"})
    waiting = joining(world)
    assert waiting == []
    world.groups.unload(0, world.epoch + 1)
    world.time.settle()
    assert [answer.error_code for answer in waiting] == [ErrorCode.NOT_COORDINATOR]
    world.time.advance(60_000)
    assert len(waiting) == 1


def test_members_have_their_whole_session_on_a_coordinator_that_was_just_loaded() -> None:
    world = GroupWorld()
    (joined,) = _after(world, joining(world))
    rows = [SyncGroupRequestAssignment(member_id=joined.member_id, assignment=b"x")]
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=joined.member_id, assignments=rows)
    world.groups.sync_group(world.info(3), sync)
    world.time.advance(29_000)
    world.reload()
    world.time.advance(29_000)
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=joined.member_id)
    codes: list[int] = []
    world.groups.heartbeat(world.info(3), beat).then(lambda value, _: codes.append(value.error_code))
    world.time.advance(30_001)
    world.groups.heartbeat(world.info(3), beat).then(lambda value, _: codes.append(value.error_code))
    assert codes == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID]


def _after(world: GroupWorld, seen: list[Any]) -> list[Any]:
    world.time.advance(10)
    return seen
