"""Who may commit and delete offsets: the checks as functions, and what they are asked in."""

from __future__ import annotations

from typing import Any

import pytest
from group_world import OFFSETS, GroupWorld

from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.classic_member import ClassicMember, MemberProtocol
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import ClassicSide, ConsumerMember
from moldau.coordinator.group.offset_commit import check_classic, check_consumer, check_consumer_transactional
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import offset_delete as deletion
from moldau.protocol.messages import txn_offset_commit as transactional
from moldau.slicing import run_whole
from moldau.timeline import SnapshotRegistry

FINE = ErrorCode.NONE


def code_of(check: Any, *arguments: Any, **options: Any) -> ErrorCode:
    try:
        check(*arguments, **options)
    except KafkaError as error:
        return error.code
    return FINE


def settled(world: GroupWorld, deferred: Deferred[Any]) -> Any:
    seen: list[Any] = []
    deferred.then(lambda value, error: seen.append(value if error is None else error))
    world.time.settle()
    return seen[0]


# --------------------------------------------------------------------------------------------------------- classic


def classic_group(state: ClassicState, kind: str = "consumer") -> ClassicGroup:
    group = ClassicGroup("g", state, generation=3)
    if state != ClassicState.EMPTY:
        group.add(ClassicMember("a", "i", "c", "/h", 1000, 1000, kind, [MemberProtocol("range", b"")]))
    return group


@pytest.mark.parametrize(
    ("state", "member_id", "instance_id", "generation", "committing", "in_transaction"),
    [
        (ClassicState.STABLE, "a", None, 3, FINE, FINE),
        (ClassicState.STABLE, "a", "i", 3, FINE, FINE),
        (ClassicState.STABLE, "a", None, 2, ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (ClassicState.STABLE, "a", None, 4, ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (ClassicState.STABLE, "a", None, -1, ErrorCode.ILLEGAL_GENERATION, ErrorCode.ILLEGAL_GENERATION),
        (ClassicState.STABLE, "b", None, 3, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.STABLE, "", None, 3, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.STABLE, "", "x", -1, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.STABLE, "b", "i", 3, ErrorCode.FENCED_INSTANCE_ID, ErrorCode.FENCED_INSTANCE_ID),
        # Nobody in particular: not beside members, but a producer may, whose consumer is outside of the group.
        (ClassicState.STABLE, "", None, -1, ErrorCode.UNKNOWN_MEMBER_ID, FINE),
        (ClassicState.EMPTY, "", None, -1, FINE, FINE),
        (ClassicState.EMPTY, "a", None, -1, FINE, FINE),
        (ClassicState.EMPTY, "a", None, 3, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.UNKNOWN_MEMBER_ID),
        (ClassicState.COMPLETING_REBALANCE, "a", None, 3, ErrorCode.REBALANCE_IN_PROGRESS, FINE),
        (ClassicState.PREPARING_REBALANCE, "a", None, 3, FINE, FINE),
        (ClassicState.DEAD, "a", None, 3, ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.COORDINATOR_NOT_AVAILABLE),
    ],
)
def test_who_may_commit_to_a_classic_group(
    state: ClassicState,
    member_id: str,
    instance_id: str | None,
    generation: int,
    committing: ErrorCode,
    in_transaction: ErrorCode,
) -> None:
    for transactional_commit, expected in ((False, committing), (True, in_transaction)):
        group = classic_group(state)
        found = code_of(check_classic, group, member_id, instance_id, generation, transactional=transactional_commit)
        assert found is expected, transactional_commit


# -------------------------------------------------------------------------------------------------------- consumer


def consumer_group(*members: ConsumerMember) -> ConsumerGroup:
    group = ConsumerGroup("g", SnapshotRegistry())
    for member in members:
        run_whole(group.put_member(member))
    return group


@pytest.mark.parametrize(
    ("member_id", "epoch", "version", "expected"),
    [
        ("a", 5, 9, FINE),
        ("a", 4, 9, FINE),  # each of its partitions has to be looked at
        ("a", 6, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("b", 5, 9, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, 9, ErrorCode.UNKNOWN_MEMBER_ID),
        ("a", 5, 8, ErrorCode.UNSUPPORTED_VERSION),
        ("c", 5, 8, FINE),  # one that speaks the classic protocol
        ("c", 6, 8, ErrorCode.ILLEGAL_GENERATION),
    ],
)
def test_who_may_commit_to_a_consumer_group(member_id: str, epoch: int, version: int, expected: ErrorCode) -> None:
    members = ConsumerMember("a", epoch=5), ConsumerMember("c", epoch=5, classic=ClassicSide(1000, ()))
    group = consumer_group(*members)
    assert code_of(check_consumer, group, member_id, epoch, version) is expected
    assert code_of(check_consumer, consumer_group(), "", -1, 9) is FINE
    assert code_of(check_consumer, consumer_group(), "a", 0, 9) is ErrorCode.UNKNOWN_MEMBER_ID
    lagging = check_consumer(group, "a", 4, 9)
    assert lagging is not None
    assert check_consumer(group, "a", 5, 9) is None


@pytest.mark.parametrize(
    ("member_id", "instance_id", "epoch", "expected"),
    [
        ("a", None, 5, FINE),
        ("a", None, 6, ErrorCode.ILLEGAL_GENERATION),  # producers know generations only
        ("b", None, 5, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", None, -1, FINE),  # nobody in particular
        ("", None, 0, ErrorCode.UNKNOWN_MEMBER_ID),
        ("b", None, -1, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", "i", -1, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_who_may_commit_to_a_consumer_group_in_a_transaction(
    member_id: str, instance_id: str | None, epoch: int, expected: ErrorCode
) -> None:
    group = consumer_group(ConsumerMember("a", epoch=5))
    assert code_of(check_consumer_transactional, group, member_id, instance_id, epoch) is expected
    assert code_of(check_consumer_transactional, consumer_group(), "b", None, -1) is FINE


# -------------------------------------------------------------------------------------------------------- requests


def commit(world: GroupWorld, version: int = 9, metadata: str = "", **fields: Any) -> Any:
    row = commits.OffsetCommitRequestPartition(partition_index=0, committed_offset=5, committed_metadata=metadata)
    topics = [commits.OffsetCommitRequestTopic(name="t", partitions=[row])]
    request = commits.OffsetCommitRequest(**{"group_id": "g", "topics": topics, **fields})
    answer = settled(world, world.groups.commit_offsets(world.info(version), request))
    return answer.topics[0].partitions[0].error_code


def test_a_generation_of_a_group_that_does_not_exist() -> None:
    world = GroupWorld()
    world.create_topic("t", 1)
    member = {"generation_id_or_member_epoch": 1, "member_id": "a"}
    assert commit(world, 8, **member) == ErrorCode.ILLEGAL_GENERATION
    assert commit(world, 9, **member) == ErrorCode.GROUP_ID_NOT_FOUND
    row = transactional.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    request = transactional.TxnOffsetCommitRequest(
        transactional_id="x",
        group_id="g",
        producer_id=1,
        producer_epoch=0,
        generation_id=1,
        member_id="a",
        topics=[transactional.TxnOffsetCommitRequestTopic(name="t", partitions=[row])],
    )
    answer = settled(world, world.groups.commit_transactional_offsets(world.info(3), request))
    assert answer.topics[0].partitions[0].error_code == ErrorCode.ILLEGAL_GENERATION
    assert len(world.shard.groups) == 0


def test_metadata_that_is_too_long_is_refused_for_its_partition() -> None:
    world = GroupWorld({"offset.metadata.max.bytes": "3"})
    world.create_topic("t", 1)
    assert commit(world, metadata="abc") == FINE
    assert commit(world, metadata="abcd") == ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert [each.metadata for each in world.shard.offsets.of_group("g").values()] == ["abc"]


def delete(world: GroupWorld) -> Any:
    topics = [
        deletion.OffsetDeleteRequestTopic(
            name="t", partitions=[deletion.OffsetDeleteRequestPartition(partition_index=index) for index in (0, 1)]
        )
    ]
    request = deletion.OffsetDeleteRequest(group_id="g", topics=topics)
    return settled(world, world.groups.delete_offsets(request))


def test_whose_offsets_can_be_deleted() -> None:
    world = GroupWorld()
    world.create_topic("t", 2)
    assert delete(world).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert commit(world) == FINE
    group = world.shard.groups.classic("g")
    assert group is not None
    group.add(ClassicMember("a", None, "c", "/h", 1000, 1000, "connect", [MemberProtocol("range", b"")]))
    group.state = ClassicState.STABLE
    assert delete(world).error_code == ErrorCode.NON_EMPTY_GROUP
    group.state = ClassicState.DEAD
    assert delete(world).error_code == ErrorCode.GROUP_ID_NOT_FOUND
    group.state = ClassicState.EMPTY
    before = world.log.log_end_offset(OFFSETS)
    assert delete(world).error_code == FINE
    assert world.log.log_end_offset(OFFSETS) == before + 1, "a tombstone for what there was, no other"
    assert len(world.shard.offsets) == 0


def test_an_old_client_says_itself_how_long_an_offset_is_kept() -> None:
    world = GroupWorld()
    world.create_topic("t", 1)
    interval = world.config.offsets_retention_check_interval_ms
    assert commit(world, 4, retention_time_ms=interval * 3 // 2) == FINE
    world.time.advance(interval)
    assert len(world.shard.offsets) == 1
    world.time.advance(interval)
    assert len(world.shard.offsets) == 0
