"""Checks of share and streams groups that the transcripts pass by, one at a time."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from group_world import OFFSETS, GroupWorld

from moldau.coordinator.group.share_records import SHARE_REPLAY
from moldau.coordinator.group.share_state import StatePartitions, TopicState, without
from moldau.coordinator.group.streams_records import STREAMS_REPLAY
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.feature_level_record import FeatureLevelRecord
from moldau.protocol.messages.share_group_heartbeat import ShareGroupHeartbeatRequest
from moldau.slicing import run_whole

MEMBER = "A" * 22


def heartbeat(world: GroupWorld, epoch: int, topics: list[str] | None = None) -> Any:
    request = ShareGroupHeartbeatRequest(
        group_id="g", member_id=MEMBER, member_epoch=epoch, subscribed_topic_names=topics
    )
    seen: list[Any] = []
    answer: Deferred[Any] = world.groups.shares.heartbeat(world.info(1), request)
    answer.then(lambda value, error: seen.append(value if error is None else error))
    world.time.settle()
    return seen[0]


@pytest.fixture
def world() -> GroupWorld:
    """A share group with one member, who has all he will get."""
    world = GroupWorld()
    world.create_topic("t", 2)
    joined = heartbeat(world, 0, ["t"])
    world.time.settle()
    assert heartbeat(world, joined.member_epoch).error_code == ErrorCode.NONE
    world.time.settle()
    return world


def test_a_heartbeat_that_changes_nothing_writes_nothing(world: GroupWorld) -> None:
    group = world.shard.groups.share("g")
    assert group is not None
    epoch = group.members[MEMBER].epoch
    written = len(world.log.batches[OFFSETS])
    assert heartbeat(world, epoch).heartbeat_interval_ms == 5000
    assert len(world.log.batches[OFFSETS]) == written


def test_share_groups_that_are_switched_off(world: GroupWorld) -> None:
    world.change([FeatureLevelRecord(name="share.version", feature_level=0)])
    assert not world.groups.shares.enabled
    with pytest.raises(KafkaError) as refused:
        heartbeat(world, 1)
    assert refused.value.code is ErrorCode.UNSUPPORTED_VERSION


def test_a_share_group_without_a_name_is_not_described(world: GroupWorld) -> None:
    assert run_whole(world.groups.shares.describe("")).error_code == ErrorCode.INVALID_GROUP_ID


def test_what_is_heard_of_a_group_that_is_gone_changes_nothing(world: GroupWorld) -> None:
    states = world.shard.shares._states
    group = world.shard.groups.share("g")
    assert group is not None
    (topic_id,) = group.state_partitions.initialized
    for told in (states.initialized, states.not_initialized):
        assert not told("absent", {topic_id: frozenset({0})}).records
        assert not told("g", {}).records
    assert not states.deleted("absent", [topic_id]).records
    assert not states.deleted("g", [b"another".ljust(16)]).records
    # Nothing of it is being initialised.
    assert not states.not_initialized("g", {topic_id: frozenset({0})}).records


def test_topics_of_which_nothing_is_left_are_not_kept() -> None:
    states = {b"t" * 16: TopicState("t", frozenset({0, 1})), b"u" * 16: TopicState("u", frozenset({0}))}
    left = without(states, {b"t" * 16: frozenset({1}), b"u" * 16: frozenset({0})})
    assert left == {b"t" * 16: TopicState("t", frozenset({0}))}


REPLAYS: list[Mapping[type, Callable[[Any, Any, Any], Any]]] = [SHARE_REPLAY, STREAMS_REPLAY]


@pytest.mark.parametrize(
    ("replay", "key"),
    [(replay, key) for replay in REPLAYS for key in replay],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_a_tombstone_for_what_is_not_there_brings_nothing_into_being(
    world: GroupWorld, replay: Mapping[type, Callable[[Any, Any, Any], Any]], key: type
) -> None:
    """Compaction may have taken all that was before it; and of a member that is not there, in a group that is."""
    groups = world.shard.groups
    for group_id in ("absent", "g"):
        named: Any = key(group_id=group_id)
        if hasattr(named, "member_id"):
            named.member_id = "absent"
        elif group_id == "g":
            continue
        done = replay[key](groups, named, None)
        if done is not None:
            run_whole(done)
        assert groups.get("absent") is None
    group = groups.share("g")
    assert group is not None
    assert list(group.members) == [MEMBER]


def test_the_state_of_a_group_is_forgotten_by_a_tombstone(world: GroupWorld) -> None:
    group = world.shard.groups.share("g")
    assert group is not None
    assert group.state_partitions != StatePartitions({}, {}, {})
    (key,) = [kind for kind in SHARE_REPLAY if "StatePartition" in kind.__name__]
    SHARE_REPLAY[key](world.shard.groups, key(group_id="g"), None)
    assert group.state_partitions == StatePartitions({}, {}, {})


def test_a_member_whose_epoch_is_gone_has_left_what_it_had(world: GroupWorld) -> None:
    group = world.shard.groups.share("g")
    assert group is not None
    assert group.members[MEMBER].assigned
    (kind,) = [kind for kind in SHARE_REPLAY if "CurrentMember" in kind.__name__]
    done = SHARE_REPLAY[kind](world.shard.groups, kind(group_id="g", member_id=MEMBER), None)
    assert done is not None
    run_whole(done)
    member = group.members[MEMBER]
    assert (member.epoch, member.previous_epoch, dict(member.assigned)) == (-1, -1, {})
