"""What a group asks may take long; it is done in slices, and the loop serves everybody else in between.

On the clock of these tests a slice is over after one step, so what is counted is how often others had their turn.
"""

from __future__ import annotations

from typing import Any, cast

import pytest
from coordinator_world import NO_REPLICAS
from group_world import OFFSETS, GroupWorld

from moldau.coordinator.group.assignors import Problem, Subscriber, assign_range, assign_uniform
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import ConsumerMember, all_at_epoch
from moldau.coordinator.group.consumer_records import apply_current, current_record, target_record
from moldau.coordinator.group.reconciliation import reconcile
from moldau.coordinator.group.target_assignment import compute_target, metadata_hash
from moldau.coordinator.record_framing import encode_value
from moldau.deferred import Deferred
from moldau.errors import ErrorCode
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    RequestTopicPartitions,
)
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from moldau.slicing import Work, run_whole
from moldau.timeline import SnapshotRegistry

TOPICS = 2000
# How many elements at most were dealt with in one step.
COARSEST = 300


def beat(world: GroupWorld, member: str, epoch: int = 0, **fields: Any) -> Deferred[ConsumerGroupHeartbeatResponse]:
    request = ConsumerGroupHeartbeatRequest(
        group_id=fields.pop("group", "g"), member_id=member, member_epoch=epoch, rebalance_timeout_ms=60_000, **fields
    )
    return world.groups.consumer_group_heartbeat(world.info(1), request)


def commit(world: GroupWorld, group: str, topics: list[str]) -> None:
    rows = [
        commits.OffsetCommitRequestTopic(
            name=name, partitions=[commits.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)]
        )
        for name in topics
    ]
    request = commits.OffsetCommitRequest(group_id=group, topics=rows)
    settled(world, world.groups.commit_offsets(world.info(9), request))


def seen(deferred: Deferred[Any]) -> list[Any]:
    outcome: list[Any] = []
    deferred.then(lambda value, error: outcome.append(value if error is None else error))
    return outcome


def settled(world: GroupWorld, deferred: Deferred[Any]) -> Any:
    outcome = seen(deferred)
    world.time.settle()
    return outcome[0]


def slices_of(world: GroupWorld, deferred: Deferred[Any]) -> tuple[Any, int]:
    before = world.slicer.slices
    return settled(world, deferred), world.slicer.slices - before


@pytest.mark.parametrize("assignor", ["uniform", "range"])
def test_a_join_over_very_many_topics_is_many_slices(assignor: str) -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS, 2)
    joining = {"topic_partitions": [], "subscribed_topic_names": names, "server_assignor": assignor}
    first, slices = slices_of(world, beat(world, "a", **joining))
    # Hash, assignment, target, reconciliation, records, replay, answer: each walks over all of them.
    assert slices > 10 * TOPICS / COARSEST
    assert sum(len(row.partitions) for row in first.assignment.topic_partitions) == 2 * TOPICS
    assert first.member_epoch == 1
    _, slices = slices_of(world, beat(world, "b", **joining))
    assert slices > 5 * TOPICS / COARSEST
    owned = [
        RequestTopicPartitions(topic_id=row.topic_id, partitions=row.partitions)
        for row in first.assignment.topic_partitions
    ]
    told, slices = slices_of(world, beat(world, "a", 1, topic_partitions=owned))
    assert slices > 5 * TOPICS / COARSEST
    assert sum(len(row.partitions) for row in told.assignment.topic_partitions) == TOPICS
    group = world.shard.groups.consumer("g")
    assert group is not None
    before = dict(group.owners.items())
    world.reload()
    again = world.shard.groups.consumer("g")
    assert again is not None
    assert dict(again.owners.items()) == before


def test_subscriptions_that_differ_are_evened_out_in_slices() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    settled(world, beat(world, "a", topic_partitions=[], subscribed_topic_names=names))
    answer = beat(world, "b", topic_partitions=[], subscribed_topic_names=names[: TOPICS // 4])
    _, slices = slices_of(world, answer)
    assert slices > 10 * TOPICS / COARSEST
    group = world.shard.groups.consumer("g")
    assert group is not None
    sizes = {member: sum(map(len, target.values())) for member, target in group.targets.items()}
    assert sizes == {"a": TOPICS - TOPICS // 4, "b": TOPICS // 4}


def test_who_comes_meanwhile_waits_its_turn_and_sees_what_was_decided() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    first = seen(beat(world, "a", topic_partitions=[], subscribed_topic_names=names))
    second = seen(beat(world, "b", topic_partitions=[], subscribed_topic_names=names))
    other = seen(beat(world, "c", group="h", topic_partitions=[], subscribed_topic_names=[]))
    assert (first, second, other) == ([], [], [])
    world.time.settle()
    assert [answer.member_epoch for answer in (*first, *second, *other)] == [1, 2, 1]
    assert second[0].assignment.topic_partitions == [], "the first one holds all of them"


def test_topics_that_come_while_a_join_is_under_way_are_not_forgotten() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    wanted = [*names, "late"]
    answer = seen(beat(world, "a", topic_partitions=[], subscribed_topic_names=wanted))
    for _ in range(60):
        world.time.turn()
    assert not answer
    world.create_topic("late", 1)
    world.time.settle()
    assert len(answer[0].assignment.topic_partitions) == TOPICS
    told = settled(world, beat(world, "a", 1, topic_partitions=[]))
    assert len(told.assignment.topic_partitions) == TOPICS + 1


def test_a_shard_that_goes_in_the_middle_answers_everybody_who_waits() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    first = seen(beat(world, "a", topic_partitions=[], subscribed_topic_names=names))
    second = seen(beat(world, "b", topic_partitions=[], subscribed_topic_names=names))
    world.groups.unload(0, world.epoch + 1)
    world.time.settle()
    assert [answer.error_code for answer in (*first, *second)] == [ErrorCode.NOT_COORDINATOR] * 2
    world.epoch += 1
    world.reload()
    assert world.shard.groups.consumer("g") is None
    assert len(world.log.batches[OFFSETS]) == 0


def test_a_refused_append_takes_back_what_was_replayed_in_slices() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    world.log.refuse = NO_REPLICAS
    answer = settled(world, beat(world, "a", topic_partitions=[], subscribed_topic_names=names))
    assert answer.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(world.shard.groups) == 0
    world.log.refuse = None
    answer = settled(world, beat(world, "a", topic_partitions=[], subscribed_topic_names=names))
    assert len(answer.assignment.topic_partitions) == TOPICS


def test_offsets_of_deleted_topics_are_forgotten_in_slices_and_batches() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    for group in range(3):
        commit(world, f"g{group}", names)
    world.log.limit = 10_000
    batches, slices = len(world.log.batches[OFFSETS]), world.slicer.slices
    for name in names[:5]:
        world.delete_topic(name)
    world.time.settle()
    assert world.slicer.slices - slices > 5 * 3 * TOPICS / COARSEST
    assert len(world.log.batches[OFFSETS]) - batches == 5, "each deletion is a change of its own"
    assert {partition.topic for partition in world.shard.offsets.of_group("g1")} == set(names[5:])


def test_many_offsets_of_one_change_are_written_in_several_batches() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    commit(world, "g", names)
    world.log.limit = 10_000
    batches = len(world.log.batches[OFFSETS])
    world.groups.runtime.write_all("forget topics", lambda shard: shard.forget_topics(set(names)))
    world.time.settle()
    assert len(world.shard.offsets) == 0
    written = world.log.batches[OFFSETS][batches:]
    assert len(written) > 5
    assert max(map(len, written)) <= 10_000


def test_expiry_looks_at_some_offsets_at_a_time() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    commit(world, "g", names)
    slices = world.slicer.slices
    world.time.advance(world.config.offsets_retention_check_interval_ms)
    assert world.slicer.slices - slices > TOPICS / COARSEST
    assert len(world.shard.offsets) == TOPICS
    world.time.advance(world.config.offsets_retention_minutes * 60_000)
    assert len(world.shard.offsets) == 0
    assert len(world.shard.groups) == 0


def test_very_many_groups_are_listed_and_loaded_in_slices() -> None:
    world = GroupWorld(hurry=True)
    (name,) = world.create_topics(1)
    for number in range(TOPICS):
        commit(world, f"g{number}", [name])
    pauses = sum(1 for _ in world.groups.list_groups(ListGroupsRequest()))
    assert pauses > TOPICS / COARSEST
    listed = run_whole(world.groups.list_groups(ListGroupsRequest())).groups
    assert {group.group_id for group in listed} == {f"g{number}" for number in range(TOPICS)}
    slices = world.slicer.slices
    world.reload()
    assert world.slicer.slices - slices > TOPICS / COARSEST
    found = settled(world, world.groups.fetch_offsets(OffsetFetchRequestGroup(group_id="g9"), require_stable=False))
    assert found.topics == []


def test_a_group_of_very_many_topics_is_described_in_slices() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    settled(world, beat(world, "a", topic_partitions=[], subscribed_topic_names=names))
    pauses = sum(1 for _ in world.groups.describe_consumer_group("g"))
    assert pauses > 2 * TOPICS / COARSEST
    (member,) = run_whole(world.groups.describe_consumer_group("g")).members
    assert len(member.assignment.topic_partitions) == len(member.target_assignment.topic_partitions) == TOPICS


@pytest.mark.parametrize("stable", [True, False])
def test_all_offsets_of_a_group_are_fetched_and_deleted_in_slices(stable: bool) -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    commit(world, "g", names)
    asked = OffsetFetchRequestGroup(group_id="g", topics=None)
    found, slices = slices_of(world, world.groups.fetch_offsets(asked, require_stable=stable))
    assert {topic.name for topic in found.topics} == set(names)
    assert slices > TOPICS / COARSEST
    (deleted,), slices = slices_of(world, world.groups.delete_groups(["g"]))
    assert deleted.error_code == ErrorCode.NONE
    assert slices > 3 * TOPICS / COARSEST
    assert len(world.shard.offsets) == 0


def test_each_walk_over_very_many_topics_pauses() -> None:
    world = GroupWorld()
    names = world.create_topics(TOPICS)
    image = world.image
    ids = [image.topics.by_name[name].id for name in names]
    had = {topic_id: frozenset({0}) for topic_id in ids}
    member = ConsumerMember("a", assigned=had, assignment_epochs=all_at_epoch(0, had))
    problem = Problem([Subscriber("a", None, frozenset(ids), had)], dict.fromkeys(ids, 1))
    record = run_whole(current_record("g", member))
    works: list[Work[Any]] = [
        metadata_hash(names, image),
        compute_target("range", {"a": (member, frozenset(names))}, {}, image),
        assign_range(problem),
        assign_uniform(problem),
        target_record("g", "a", had),
        current_record("g", member),
        apply_current(ConsumerMember("a"), cast(Any, record.value)),
        reconcile(ConsumerMember("a"), 1, had, lambda _: None, None),
        encode_value(record),
        ConsumerGroup("g", SnapshotRegistry()).put_member(member),
    ]
    for work in works:
        assert sum(1 for _ in work) > TOPICS / COARSEST, work.__qualname__


def test_very_many_records_are_replayed_in_slices() -> None:
    world = GroupWorld(hurry=True)
    names = world.create_topics(TOPICS)
    commit(world, "g", names)
    # Looked for and encoded, then replayed: pauses of both.
    before = world.slicer.slices
    world.groups.runtime.write_all("forget topics", lambda shard: shard.forget_topics(set(names)))
    world.time.settle()
    assert len(world.shard.offsets) == 0
    assert world.slicer.slices - before > 1.5 * TOPICS / 32
