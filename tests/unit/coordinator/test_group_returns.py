"""Members that come back, fall silent or come in between while something about them is being decided or stored."""

from __future__ import annotations

from typing import Any

import pytest
from group_world import OFFSETS, GroupWorld

from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_protocol import encode_subscription
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment

METADATA = encode_subscription(ConsumerProtocolSubscription(topics=["t"]), 1)
MINUTE = 60_000


class Answer:
    """What a member was told, once it was."""

    def __init__(self, world: GroupWorld, deferred: Any) -> None:
        self.told: list[Any] = []
        deferred.then(lambda value, error: self.told.append(value if error is None else error))
        world.time.settle()

    def __getattr__(self, name: str) -> Any:
        (told,) = self.told
        return getattr(told, name)


def join(
    world: GroupWorld, member_id: str = "", instance: str | None = None, version: int = 9, **fields: Any
) -> Answer:
    given = {"session_timeout_ms": 10_000, "rebalance_timeout_ms": MINUTE, **fields}
    request = JoinGroupRequest(
        group_id="g",
        member_id=member_id,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=METADATA)],
        **given,
    )
    return Answer(world, world.groups.join_group(world.info(version), request))


def sync(world: GroupWorld, joined: Any, instance: str | None = None, **assigned: bytes) -> Answer:
    rows = [SyncGroupRequestAssignment(member_id=key, assignment=value) for key, value in assigned.items()]
    request = SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        group_instance_id=instance,
        protocol_type="consumer",
        protocol_name="range",
        assignments=rows,
    )
    return Answer(world, world.groups.sync_group(world.info(5), request))


def leave(world: GroupWorld, instance: str) -> Answer:
    request = LeaveGroupRequest(group_id="g", members=[MemberIdentity(member_id="", group_instance_id=instance)])
    return Answer(world, world.groups.leave_group(world.info(5), request))


def hello(world: GroupWorld, member_id: str, instance: str | None = None) -> Answer:
    request = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id=member_id,
        member_epoch=0,
        instance_id=instance,
        rebalance_timeout_ms=MINUTE,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    return Answer(world, world.groups.consumer_group_heartbeat(world.info(1), request))


def classic(world: GroupWorld) -> ClassicGroup:
    group = world.shard.groups.classic("g")
    assert group is not None
    return group


def stable_instance(world: GroupWorld) -> Answer:
    """The static member `one`, which has its assignment."""
    joined = join(world, instance="one", version=3)
    assert sync(world, joined, "one", **{joined.member_id: b"all"}).assignment == b"all"
    assert classic(world).state == ClassicState.STABLE
    return joined


# ------------------------------------------------------------------------------------ an instance that comes back


def test_a_leader_that_comes_back_is_told_the_old_leader_where_it_cannot_be_told_to_skip() -> None:
    world = GroupWorld()
    before = stable_instance(world)
    after = join(world, instance="one", version=8)
    assert (after.error_code, after.generation_id, after.leader) == (0, 1, before.member_id)
    assert after.member_id not in ("", before.member_id)
    assert after.members == []
    assert sync(world, after, "one").assignment == b"all"


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize("version", [8, 9])
def test_an_instance_that_comes_back_twice_before_the_first_is_stored(version: int, stored: bool) -> None:
    world = GroupWorld()
    before = stable_instance(world)
    world.log.automatic = False
    first = join(world, instance="one", version=version)
    assert first.told == []
    second = join(world, instance="one", version=version)
    assert first.error_code == ErrorCode.FENCED_INSTANCE_ID
    assert second.told == []
    if stored:
        world.log.commit(OFFSETS)
        world.time.settle()
        assert (second.error_code, second.generation_id) == (0, 1)
        assert second.member_id not in ("", first.member_id, before.member_id)
        assert classic(world).static_members == {"one": second.member_id}
        assert sync(world, second, "one").assignment == b"all"
    else:
        world.time.advance(6000)
        assert second.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        world.log.automatic = True
        again = join(world, instance="one", version=version)
        assert (again.error_code, again.generation_id) == (0, 1)
        assert list(classic(world).members) == [again.member_id]
        assert classic(world).static_members == {"one": again.member_id}
        assert sync(world, again, "one").assignment == b"all"


def test_an_instance_whose_return_cannot_be_stored_is_who_it_was() -> None:
    world = GroupWorld()
    before = stable_instance(world)
    world.log.automatic = False
    refused = join(world, instance="one", rebalance_timeout_ms=2 * MINUTE)
    world.time.advance(6000)
    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.automatic = True
    assert sync(world, before, "one").assignment == b"all"
    assert classic(world).members[before.member_id].rebalance_timeout_ms == MINUTE
    # Silent from now on, it is removed in its time.
    world.time.advance(11_000)
    assert classic(world).members == {}


def test_an_instance_whose_return_could_not_be_stored_is_not_forgotten() -> None:
    """Its session ran out while it had another id; under the old one it has its whole time again."""
    world = GroupWorld()
    joined = join(world, instance="one", version=3, session_timeout_ms=6000)
    sync(world, joined, "one", **{joined.member_id: b"all"})
    world.time.advance(4000)
    world.log.automatic = False
    refused = join(world, instance="one", session_timeout_ms=6000)
    world.time.advance(5000)
    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.automatic = True
    world.time.advance(5000)
    assert list(classic(world).members) == [joined.member_id]
    world.time.advance(1000)
    assert classic(world).members == {}


@pytest.mark.parametrize("stored", [True, False])
def test_an_instance_that_is_removed_before_its_return_is_stored(stored: bool) -> None:
    world = GroupWorld()
    stable_instance(world)
    world.log.automatic = False
    back = join(world, instance="one")
    left = leave(world, "one")
    assert back.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    world.log.automatic = True
    if stored:
        world.log.commit(OFFSETS)
    world.time.advance(6000)
    assert left.told
    group = classic(world)
    assert (group.members, group.static_members, dict(group._support)) == ({}, {}, {})
    assert join(world, instance="one", version=3).error_code == ErrorCode.NONE


def test_an_instance_that_joined_with_the_others_before_its_return_was_refused_stays_who_it_is() -> None:
    world = GroupWorld()
    stable_instance(world)
    world.log.automatic = False
    back = join(world, instance="one")
    other = join(world, version=3)
    assert (back.error_code, other.error_code) == (0, 0), "both have joined: a generation begins"
    world.time.advance(6000)
    assert classic(world).static_members == {"one": back.member_id}
    world.log.automatic = True
    shares = {back.member_id: b"one", other.member_id: b"two"}
    leader, follower = (back, other) if back.leader == back.member_id else (other, back)
    waiting = sync(world, follower, "one" if follower is back else None)
    assert sync(world, leader, "one" if leader is back else None, **shares).assignment == shares[leader.member_id]
    assert waiting.assignment == shares[follower.member_id]


# ------------------------------------------------------------------------------------------- the first generation


def test_who_came_later_to_an_earlier_generation_does_not_delay_a_new_first_one() -> None:
    world = GroupWorld({"group.initial.rebalance.delay.ms": "3000"})
    first = join(world, version=3)
    world.time.advance(3000)
    assert first.error_code == 0
    second = join(world, version=3)
    # The first one does not come back: the second is alone, and gives up, too.
    world.time.advance(MINUTE)
    assert second.error_code == 0
    world.time.advance(MINUTE)
    assert classic(world).is_empty
    alone = join(world, version=3)
    world.time.advance(2900)
    assert alone.told == []
    world.time.advance(100)
    assert alone.error_code == 0


def test_who_gave_up_during_the_first_delay_is_not_waited_for() -> None:
    """The session of a new member runs out while it waits, for it may be nobody's any more."""
    world = GroupWorld({"group.initial.rebalance.delay.ms": str(10 * MINUTE)})
    gone = join(world, version=3, rebalance_timeout_ms=30 * MINUTE)
    world.time.advance(4 * MINUTE)
    here = join(world, version=3, rebalance_timeout_ms=30 * MINUTE)
    world.time.advance(MINUTE - 100)
    assert (gone.told, here.told) == ([], [])
    world.time.advance(100)
    assert gone.error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert (here.error_code, here.leader) == (0, here.member_id)


# ------------------------------------------------------------------------------- classic members of consumer groups


def test_a_classic_member_that_joins_a_consumer_group_and_falls_silent_goes_with_its_session() -> None:
    world = GroupWorld({"group.consumer.migration.policy": "bidirectional"})
    world.create_topic("t", 2)
    assert hello(world, "a").error_code == 0
    told = join(world)
    joined = join(world, told.member_id)
    assert joined.error_code == 0
    group = world.shard.groups.consumer("g")
    assert isinstance(group, ConsumerGroup)
    world.time.advance(9000)
    assert joined.member_id in group.members
    world.time.advance(1000)
    assert joined.member_id not in group.members
    assert "a" in group.members


def test_a_classic_member_that_joins_a_consumer_group_and_never_asks_what_it_is_assigned_is_removed() -> None:
    sessions = {"group.consumer.session.timeout.ms": "100000", "group.consumer.max.session.timeout.ms": "100000"}
    world = GroupWorld({"group.consumer.migration.policy": "bidirectional", **sessions})
    world.create_topic("t", 2)
    assert hello(world, "a").error_code == 0
    joined = join(world, join(world).member_id)
    group = world.shard.groups.consumer("g")
    assert group is not None
    for _ in range(14):
        world.time.advance(4000)
        assert joined.member_id in group.members
        beat = HeartbeatRequest(group_id="g", generation_id=joined.generation_id, member_id=joined.member_id)
        world.groups.heartbeat(world.info(4), beat)
    world.time.advance(4000)
    assert joined.member_id not in group.members


def test_a_classic_member_whose_joining_a_consumer_group_cannot_be_stored_is_told_so() -> None:
    world = GroupWorld({"group.consumer.migration.policy": "bidirectional"})
    world.create_topic("t", 2)
    assert hello(world, "a").error_code == 0
    told = join(world)
    world.log.refuse = KafkaError(ErrorCode.NOT_ENOUGH_REPLICAS)
    assert join(world, told.member_id).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.refuse = None
    group = world.shard.groups.consumer("g")
    assert group is not None
    assert list(group.members) == ["a"]


def test_the_last_member_of_the_consumer_protocol_that_comes_back_as_a_classic_one_and_falls_silent() -> None:
    world = GroupWorld({"group.consumer.migration.policy": "bidirectional"})
    world.create_topic("t", 2)
    assert hello(world, "a", "one").error_code == 0
    back = join(world, instance="one", version=5)
    assert back.error_code == 0
    group = classic(world)
    assert list(group.members) == [back.member_id]
    assert sync(world, back, "one").error_code == 0
    world.time.advance(11_000)
    assert group.members == {}


def hello_share(world: GroupWorld, member_id: str) -> Answer:
    request = ShareGroupHeartbeatRequest(group_id="g", member_id=member_id, subscribed_topic_names=["t"])
    return Answer(world, world.groups.shares.heartbeat(world.info(1), request))


@pytest.mark.parametrize("join_anew", [hello, hello_share])
def test_who_comes_back_before_his_end_is_written_down_and_falls_silent_is_removed(join_anew: Any) -> None:
    world = GroupWorld()
    world.create_topic("t", 2)
    join_anew(world, "m")
    world.log.automatic = False
    world.time.advance(46_000)  # longer than a session, less than a write may take after it
    group = world.shard.groups.get("g")
    assert group is not None
    assert not group.members, "silent, though nobody else knows it yet"
    join_anew(world, "m")
    assert set(group.members) == {"m"}
    world.log.automatic = True
    world.log.commit(OFFSETS)
    world.time.settle()
    assert set(group.members) == {"m"}
    world.time.advance(MINUTE)
    assert not group.members
