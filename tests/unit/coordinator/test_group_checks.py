"""Who may do what in which state, looked at one check at a time: the transcripts pass by some of them."""

from __future__ import annotations

from typing import Any

import pytest
from group_world import GroupWorld

from moldau.coordinator.group.assignors import Problem, assign_uniform
from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.classic_member import ClassicMember, MemberProtocol
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import ClassicSide, ConsumerMember, MemberState
from moldau.coordinator.group.consumer_protocol import encode_subscription, subscribed_topics, version_of
from moldau.coordinator.group.reconciliation import reconcile
from moldau.coordinator.shard import CoordinatorRecord
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, RequestTopicPartitions
from moldau.protocol.messages.consumer_group_partition_metadata_key import ConsumerGroupPartitionMetadataKey
from moldau.protocol.messages.consumer_group_partition_metadata_value import ConsumerGroupPartitionMetadataValue
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.slicing import run_whole
from moldau.timeline import SnapshotRegistry

METADATA = encode_subscription(ConsumerProtocolSubscription(topics=["t"]), 1)
TOPIC = b"t" * 16


def settled(world: GroupWorld, deferred: Deferred[Any]) -> Any:
    seen: list[Any] = []
    deferred.then(lambda value, error: seen.append(value if error is None else error))
    world.time.settle()
    return seen[0]


# ---------------------------------------------------------------------------------- offsets of a consumer group


@pytest.mark.parametrize("stable", [True, False])
@pytest.mark.parametrize(
    ("member_id", "epoch", "expected"),
    [
        ("a", 1, ErrorCode.NONE),
        ("a", 0, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 2, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", -1, ErrorCode.STALE_MEMBER_EPOCH),
        ("b", 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("b", -1, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", 0, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, -1, ErrorCode.NONE),  # a tool
        ("", -1, ErrorCode.NONE),
    ],
)
def test_who_may_fetch_the_offsets_of_a_consumer_group(
    stable: bool, member_id: str | None, epoch: int, expected: ErrorCode
) -> None:
    world = GroupWorld()
    world.create_topic("t", 1)
    joining = ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="a",
        member_epoch=0,
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    assert settled(world, world.groups.consumer_group_heartbeat(world.info(1), joining)).member_epoch == 1
    asked = OffsetFetchRequestGroup(group_id="g", member_id=member_id, member_epoch=epoch, topics=None)
    assert settled(world, world.groups.fetch_offsets(asked, require_stable=stable)).error_code == expected


# ------------------------------------------------------------------------------------------------- a consumer group


def consumer_group(*members: ConsumerMember) -> ConsumerGroup:
    group = ConsumerGroup("g", SnapshotRegistry())
    for member in members:
        run_whole(group.put_member(member))
    return group


def classic_side(*names: str) -> ClassicSide:
    return ClassicSide(1000, tuple(MemberProtocol(name, METADATA) for name in names))


def test_which_classic_members_can_take_part() -> None:
    group = consumer_group(
        ConsumerMember("a", classic=classic_side("range", "sticky")), ConsumerMember("b", classic=classic_side("range"))
    )
    assert group.supports_classic("consumer", ["x", "range"])
    assert not group.supports_classic("consumer", ["sticky"])
    assert not group.supports_classic("connect", ["range"])
    assert not group.supports_classic("consumer", [])
    assert not consumer_group().supports_classic("connect", ["range"])


def test_who_waits_for_others() -> None:
    held = {TOPIC: frozenset({1})}
    other = ConsumerMember("b", assigned=held)
    for state, waits in ((MemberState.UNRELEASED_PARTITIONS, True), (MemberState.STABLE, False)):
        member = ConsumerMember("a", state=state, assigned={TOPIC: frozenset({0})})
        group = consumer_group(member, other)
        group.targets["a"] = {TOPIC: frozenset({0, 1})}
        assert group.waits_for_others(member) is waits
        run_whole(group.remove_member("b"))
        assert not group.waits_for_others(member)


def test_an_instance_belongs_to_who_came_last() -> None:
    group = consumer_group(ConsumerMember("a", instance_id="i"), ConsumerMember("b", instance_id="i"))
    run_whole(group.remove_member("a"))
    assert group.static_member("i") is not None
    run_whole(group.put_member(ConsumerMember("b", instance_id="j")))
    assert group.static_member("i") is None
    run_whole(group.remove_member("b"))
    assert dict(group.static_members.items()) == {}
    run_whole(group.remove_member("nobody"))
    run_whole(group.put_member(ConsumerMember("c")))
    assert dict(group.static_members.items()) == {}


def test_partitions_are_free_when_their_member_is_gone() -> None:
    group = consumer_group(ConsumerMember("a", assigned={TOPIC: frozenset({0})}))
    run_whole(group.put_member(ConsumerMember("b", assigned={TOPIC: frozenset({0})})))
    run_whole(group.remove_member("a"))
    assert group.owners.get((TOPIC, 0)) == "b"
    run_whole(group.remove_member("b"))
    assert group.owners.get((TOPIC, 0)) is None


# -------------------------------------------------------------------------------------------------- a classic group


def classic_member(member_id: str, instance_id: str | None = None, kind: str = "consumer") -> ClassicMember:
    return ClassicMember(member_id, instance_id, "c", "/h", 1000, 1000, kind, [MemberProtocol("range", METADATA)])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (ClassicState.STABLE, ClassicState.EMPTY),
        (ClassicState.EMPTY, ClassicState.STABLE),
        (ClassicState.DEAD, ClassicState.PREPARING_REBALANCE),
        (ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE),
    ],
)
def test_ways_a_classic_group_cannot_go(before: ClassicState, after: ClassicState) -> None:
    group = ClassicGroup("g", before)
    with pytest.raises(RuntimeError, match="cannot go from"):
        group.transition_to(after, 0)
    assert group.state == before


def test_members_come_and_go() -> None:
    group = ClassicGroup("g")
    group.add(classic_member("a", "i"))
    group.add(classic_member("b", kind="other"))
    assert group.protocol_type == "consumer", "the first one says what the group is"
    assert (group.leader, group.static_members) == ("a", {"i": "a"})
    group.remove("b")
    assert group.leader == "a"
    group.static_members["i"] = "z"
    group.remove("a")
    assert group.static_members == {"i": "z"}, "it is another member's by now"
    assert group.leader is None
    group.remove("nobody")
    group.add(classic_member("z", "i"))
    group.remove("z")
    assert group.static_members == {}


def test_an_instance_that_comes_back_owes_what_it_owed() -> None:
    group = ClassicGroup("g")
    group.add(classic_member("a", "i"))
    group.add(classic_member("b", "j"))
    group.pending_sync = {"a"}
    group.replace_static("i", "a", "a2")
    assert group.pending_sync == {"a2"}
    group.replace_static("j", "b", "b2")
    assert group.pending_sync == {"a2"}
    assert group.static_members == {"i": "a2", "j": "b2"}


def test_who_was_told_an_id_is_waited_for() -> None:
    group = ClassicGroup("g")
    group.add(classic_member("a"), Deferred())
    assert group.all_joined
    group.pending_join.add("b")
    assert not group.all_joined


def test_the_leader_of_a_generation_has_joined() -> None:
    group = ClassicGroup("g")
    assert not group.elect_joined_leader()
    group.add(classic_member("a"))
    assert not group.elect_joined_leader()
    group.add(classic_member("b"), Deferred())
    assert group.elect_joined_leader()
    assert group.leader == "b"
    group.await_join(group.members["a"], Deferred())
    assert group.elect_joined_leader()
    assert group.leader == "b", "who leads and has joined goes on"


def test_what_a_group_subscribes_to_is_known_of_consumers_with_a_protocol() -> None:
    group = ClassicGroup("g")
    group.add(classic_member("a"))
    run_whole(group.note_subscriptions(group.protocol_name))
    assert group.subscribed_topics is None
    group.protocol_name = "range"
    run_whole(group.note_subscriptions(group.protocol_name))
    assert group.subscribed_topics == {"t"}
    group.protocol_type = "connect"
    run_whole(group.note_subscriptions(group.protocol_name))
    assert group.subscribed_topics is None


# ------------------------------------------------------------------------------------- heartbeats of a consumer group


def beat(world: GroupWorld, version: int = 1, **fields: Any) -> Any:
    given: dict[str, Any] = {
        "group_id": "g",
        "member_id": "a",
        "member_epoch": 0,
        "rebalance_timeout_ms": 1000,
        "subscribed_topic_names": ["t"],
        "topic_partitions": [],
        **fields,
    }
    return settled(
        world, world.groups.consumer_group_heartbeat(world.info(version), ConsumerGroupHeartbeatRequest(**given))
    )


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"group_id": " "}, "group id is empty"),
        ({"instance_id": ""}, "instance id is empty"),
        ({"rack_id": " "}, "rack id is empty"),
        ({"member_epoch": -3}, "-3 is not a member epoch"),
        ({"member_id": " "}, "member id is empty"),
        ({"member_id": "", "version": 0, "member_epoch": 1}, "member id is empty"),
        ({"member_epoch": -2}, "Only a static member"),
        ({"rebalance_timeout_ms": -1}, "rebalance timeout"),
        ({"topic_partitions": None}, "cannot own partitions"),
        ({"topic_partitions": [RequestTopicPartitions(topic_id=TOPIC, partitions=[0])]}, "cannot own partitions"),
        ({"subscribed_topic_names": None}, "what it subscribes to"),
    ],
)
def test_heartbeats_that_make_no_sense(fields: dict[str, Any], why: str) -> None:
    world = GroupWorld()
    answer = beat(world, fields.pop("version", 1), **fields)
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    assert why in answer.error_message
    assert len(world.shard.groups) == 0


def test_the_first_version_gives_a_member_its_id() -> None:
    answer = beat(GroupWorld(), 0, member_id="")
    assert answer.error_code == ErrorCode.NONE
    assert answer.member_id


@pytest.mark.parametrize("epoch", [1, -1, -2])
def test_a_group_comes_into_being_by_joining_only(epoch: int) -> None:
    world = GroupWorld()
    answer = beat(world, member_epoch=epoch, instance_id="i")
    assert answer.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "There is no consumer group g" in answer.error_message
    assert len(world.shard.groups) == 0


def test_a_full_group_takes_nobody_new_and_keeps_who_is_there() -> None:
    world = GroupWorld({"group.consumer.max.size": "1"})
    assert beat(world).error_code == ErrorCode.NONE
    assert beat(world, member_id="b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert beat(world).error_code == ErrorCode.NONE, "it joins again"
    assert beat(world, member_epoch=1).error_code == ErrorCode.NONE
    assert beat(world, member_id="b", member_epoch=1).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_heartbeat_without_news_writes_nothing() -> None:
    world = GroupWorld()
    world.create_topic("t", 1)
    assert beat(world).member_epoch == 1

    def written() -> int:
        return sum(map(len, world.log.batches.values()))

    before = written()
    for again in ({}, {"topic_partitions": None}, {"subscribed_topic_names": None}):
        assert beat(world, member_epoch=1, **again).error_code == ErrorCode.NONE
        assert written() == before
    assert beat(world, member_epoch=1, subscribed_topic_names=["t", "u"]).error_code == ErrorCode.NONE
    assert written() > before


def test_an_epoch_that_was_never_given_is_fenced() -> None:
    world = GroupWorld()
    world.create_topic("t", 1)
    assert beat(world).member_epoch == 1
    for epoch in (2, 7):
        assert beat(world, member_epoch=epoch).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert beat(world, member_epoch=1).error_code == ErrorCode.NONE


def test_an_instance_is_held_until_it_is_given_back() -> None:
    world = GroupWorld()
    world.create_topic("t", 1)
    assert beat(world, instance_id="i").error_code == ErrorCode.NONE
    assert beat(world, instance_id="i").error_code == ErrorCode.NONE, "the same member may join again"
    assert beat(world, member_id="b", instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert beat(world, member_id="b", instance_id="i", member_epoch=-2).error_code == ErrorCode.FENCED_INSTANCE_ID
    assert beat(world, instance_id="j", member_epoch=-2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert beat(world, instance_id="i", member_epoch=-2).error_code == ErrorCode.NONE
    answer = beat(world, member_id="b", instance_id="i")
    assert answer.error_code == ErrorCode.NONE
    assert [row.partitions for row in answer.assignment.topic_partitions] == [[0]]
    assert beat(world, instance_id="i", member_epoch=1).error_code == ErrorCode.FENCED_INSTANCE_ID


# ------------------------------------------------------------------------------------- classic members, either group


def join(world: GroupWorld, member_id: str = "", instance_id: str | None = None, version: int = 9) -> Any:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=METADATA)],
    )
    return settled(world, world.groups.join_group(world.info(version), request))


def test_an_id_that_was_handed_out_is_not_that_of_an_instance() -> None:
    world = GroupWorld()
    told = join(world)
    assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert join(world, told.member_id, "one").error_code == ErrorCode.UNKNOWN_MEMBER_ID
    group = world.shard.groups.classic("g")
    assert group is not None
    assert not group.members
    assert join(world, told.member_id).error_code == ErrorCode.NONE


def test_a_consumer_group_that_is_full_takes_no_classic_member() -> None:
    world = GroupWorld({"group.consumer.max.size": "2", "group.consumer.migration.policy": "bidirectional"})
    world.create_topic("t", 2)
    assert beat(world).error_code == ErrorCode.NONE
    told = join(world)
    assert told.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert join(world, told.member_id).error_code == ErrorCode.NONE
    assert join(world, told.member_id).error_code == ErrorCode.NONE, "who is in may come again"
    assert join(world).error_code == ErrorCode.GROUP_MAX_SIZE_REACHED


@pytest.mark.parametrize(
    ("protocol_type", "protocol_name", "refused"),
    [
        (None, None, False),
        ("consumer", "range", False),
        ("connect", "range", True),
        ("consumer", "roundrobin", True),
        (None, "roundrobin", True),
    ],
)
def test_a_classic_member_of_a_consumer_group_names_what_it_joined_with(
    protocol_type: str | None, protocol_name: str | None, refused: bool
) -> None:
    world = GroupWorld({"group.consumer.migration.policy": "bidirectional"})
    world.create_topic("t", 2)
    assert beat(world).error_code == ErrorCode.NONE
    joined = join(world, join(world).member_id)
    asked = SyncGroupRequest(
        group_id="g",
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
    )
    answer = settled(world, world.groups.sync_group(world.info(5), asked))
    assert (answer.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL) is refused


# ------------------------------------------------------------------------------------------------- smaller things


def test_bytes_that_are_no_subscription() -> None:
    for data in (b"", b"\0", b"\xff\xff\0\0\0\0\0\0\0\0", b"\0\0\xff\xff\xff\xff\0\0\0\0", b"\0\0\0\0\0\1\0\1"):
        with pytest.raises(ProtocolError):
            run_whole(subscribed_topics(data))
    with pytest.raises(ProtocolError, match="impossible version -1"):
        version_of(b"\xff\xff")


@pytest.mark.parametrize("owned", [None, {TOPIC: frozenset({0})}])
def test_a_member_in_a_state_of_the_future_must_give_everything_up(owned: dict[bytes, frozenset[int]] | None) -> None:
    member = ConsumerMember("a", 1, 1, MemberState.UNKNOWN)
    with pytest.raises(KafkaError) as raised:
        run_whole(reconcile(member, 2, {TOPIC: frozenset({0})}, lambda _: None, owned))
    assert raised.value.code == ErrorCode.FENCED_MEMBER_EPOCH
    assert run_whole(reconcile(member, 2, {TOPIC: frozenset({0})}, lambda _: None, {})).epoch == 2


def test_nobody_is_assigned_nothing() -> None:
    assert run_whole(assign_uniform(Problem([], {TOPIC: 3}))) == {}


def test_a_record_that_is_written_no_more_is_passed_over() -> None:
    world = GroupWorld()
    key = ConsumerGroupPartitionMetadataKey(group_id="g")
    value = ConsumerGroupPartitionMetadataValue()
    assert world.shard.replay(CoordinatorRecord(key, value), 0, -1, -1) is None
    assert len(world.shard.groups) == 0
