"""A commit takes the short way or the long one: both write the same, and the short one leaves what it cannot do."""

from __future__ import annotations

from typing import Any

import pytest
from coordinator_world import NO_REPLICAS
from group_world import OFFSETS, GroupWorld

from moldau import _speed
from moldau.coordinator.group.classic_group import ClassicState
from moldau.coordinator.group.consumer_protocol import encode_subscription
from moldau.coordinator.group.offset_commit import PlainCommit
from moldau.coordinator.shard import Result
from moldau.errors import ErrorCode
from moldau.protocol.messages import consumer_group_heartbeat as beats
from moldau.protocol.messages import join_group as joins
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import sync_group as syncs
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.slicing import Work

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")

# Topic, partition, offset, leader epoch, metadata.
ROWS = [("a", 0, 7, 3, "now"), ("a", 1, 8, -1, ""), ("b", 0, 9, 0, "ž" * 90), ("a", 0, 10, 3, "")]


def world_of(**settings: str) -> GroupWorld:
    world = GroupWorld(settings)
    world.create_topic("a", 2)
    world.create_topic("b", 1)
    return world


def plain(
    world: GroupWorld,
    group: str = "g",
    generation: int = -1,
    member: str = "",
    version: int = 9,
    rows: list[Any] = ROWS,
    instance: str | None = None,
) -> Any:
    ids = {name: topic.id for name, topic in world.image.topics.by_name.items()}
    listed = [(topic, ids[topic], *rest) for topic, *rest in rows]
    return world.groups.plain_commits.commit(PlainCommit(group, generation, member, instance, version, listed))


def whole(world: GroupWorld, group: str = "g", generation: int = -1, member: str = "", rows: list[Any] = ROWS) -> Any:
    request = commits.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=generation,
        member_id=member,
        topics=[
            commits.OffsetCommitRequestTopic(
                name=topic,
                topic_id=world.image.topics.by_name[topic].id,
                partitions=[
                    commits.OffsetCommitRequestPartition(
                        partition_index=partition,
                        committed_offset=offset,
                        committed_leader_epoch=epoch,
                        committed_metadata=metadata,
                    )
                ],
            )
            for topic, partition, offset, epoch, metadata in rows
        ],
    )
    return settled(world, world.groups.commit_offsets(world.info(9), request))


def settled(world: GroupWorld, deferred: Any) -> Any:
    outcome: list[Any] = []
    deferred.then(lambda value, error: outcome.append(value if error is None else error))
    world.time.settle()
    return outcome[0]


def join_consumer(world: GroupWorld, **fields: Any) -> int:
    request = beats.ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="m",
        rebalance_timeout_ms=60_000,
        subscribed_topic_names=["a", "b"],
        topic_partitions=[],
        **fields,
    )
    answer = settled(world, world.groups.consumer_group_heartbeat(world.info(1), request))
    epoch: int = answer.member_epoch
    return epoch


def join_classic(world: GroupWorld) -> tuple[str, int]:
    joined = settled(world, world.groups.join_group(world.info(3), classic_join()))
    member, generation = joined.member_id, joined.generation_id
    given = [syncs.SyncGroupRequestAssignment(member_id=member, assignment=b"")]
    syncing = syncs.SyncGroupRequest(group_id="g", generation_id=generation, member_id=member, assignments=given)
    assert settled(world, world.groups.sync_group(world.info(5), syncing)).error_code == ErrorCode.NONE
    return member, generation


def classic_join() -> joins.JoinGroupRequest:
    metadata = encode_subscription(ConsumerProtocolSubscription(topics=["a"]), 1)
    return joins.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[joins.JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


@pytest.mark.parametrize("kind", ["simple", "classic", "consumer"])
def test_both_ways_write_the_same_and_remember_the_same(kind: str) -> None:
    worlds = [world_of(), world_of()]
    for way, world in zip((plain, whole), worlds, strict=True):
        member, generation = "", -1
        if kind == "classic":
            member, generation = join_classic(world)
        elif kind == "consumer":
            member, generation = "m", join_consumer(world)
        for rows in (ROWS, ROWS[:1]):
            outcome = way(world, generation=generation, member=member, rows=rows)  # type: ignore[operator]
            assert outcome is True or outcome.topics[0].partitions[0].error_code == ErrorCode.NONE
    short, long = worlds
    assert short.log.batches == long.log.batches
    assert short.shard.offsets.of_group("g") == long.shard.offsets.of_group("g")
    assert len(short.shard.offsets) == 3
    assert [group.group_id for group in short.shard.groups] == ["g"]
    before = short.shard.offsets.of_group("g")
    short.reload()
    assert short.shard.offsets.of_group("g") == before


def test_whoever_commits_is_alive() -> None:
    world = world_of()
    member, generation = join_classic(world)
    for _ in range(5):
        world.time.advance(6_000)
        assert plain(world, generation=generation, member=member) is True
    world.time.advance(11_000)
    group = world.shard.groups.classic("g")
    assert group is not None
    assert group.is_empty


def test_whoever_commits_while_others_join_is_alive() -> None:
    world = world_of()
    member, generation = join_classic(world)
    group = world.shard.groups.classic("g")
    assert group is not None
    world.groups.join_group(world.info(3), classic_join())
    for _ in range(3):
        world.time.advance(6_000)
        assert group.is_in(ClassicState.PREPARING_REBALANCE)
        assert plain(world, generation=generation, member=member) is True
    world.time.advance(11_000)
    assert member not in group.members


@pytest.mark.parametrize(
    "refused",
    [
        {"generation": 0, "member": "m"},
        {"group": "classic", "generation": 99, "member": "known"},
        {"group": "classic"},
        {"group": "classic", "generation": 1, "member": "unknown"},
    ],
    ids=["no group", "another generation", "a group with members", "unknown member"],
)
def test_what_is_refused_is_left_to_the_long_way(refused: dict[str, Any]) -> None:
    world = world_of()
    if refused.pop("group", None):
        member, _ = join_classic(world)
        if refused.get("member") == "known":
            refused["member"] = member
    batches = len(world.log.batches[OFFSETS])
    assert plain(world, **refused) is None
    assert len(world.log.batches[OFFSETS]) == batches
    assert len(world.shard.offsets) == 0
    assert whole(world, **refused).topics[0].partitions[0].error_code != ErrorCode.NONE


def test_a_member_that_lags_behind_is_left_to_the_long_way() -> None:
    world = world_of()
    join_consumer(world)
    world.add_partitions("a", 3)
    assert join_consumer(world, member_epoch=1) == 2
    assert plain(world, generation=1, member="m") is None
    assert plain(world, generation=2, member="m") is True
    assert plain(world, generation=2, member="m", version=8) is None, "that version knows no member epochs"


def test_metadata_that_is_too_long_is_left_to_the_long_way() -> None:
    world = world_of(**{"offset.metadata.max.bytes": "3"})
    assert plain(world, rows=[("a", 0, 1, 1, "abc")]) is True
    assert plain(world, rows=[("a", 0, 1, 1, "abc"), ("a", 1, 1, 1, "abcd")]) is None


def test_a_shard_that_is_elsewhere_or_loading_is_left_to_the_long_way() -> None:
    world = world_of()
    world.groups.unload(0, world.epoch + 1)
    assert plain(world) is None
    world.epoch += 2
    world.groups.load(0, world.epoch)
    assert plain(world) is None
    world.time.settle()
    assert plain(world) is True


def test_compressed_offsets_are_left_to_the_long_way() -> None:
    world = world_of(**{"offsets.topic.compression.codec": "1"})
    assert plain(world) is None


def test_nobody_is_overtaken() -> None:
    """An operation that takes long has its turn; a commit behind it must not go first, nor be lost."""
    world = GroupWorld(hurry=True)
    world.create_topic("a", 2)

    def long(shard: Any) -> Work[Result[None]]:
        yield
        yield
        assert len(shard.offsets) == 0
        return Result((), None)

    row = ROWS[:1]
    waiting = world.groups.runtime.write("long", 0, long)
    assert not waiting.settled
    assert plain(world, rows=row) is None
    whole(world, rows=row)
    assert waiting.settled
    assert plain(world, rows=row) is True


def test_an_operation_that_comes_while_a_commit_is_written_has_its_turn_after_it() -> None:
    world = world_of()
    inner: list[Any] = []
    append = world.log.append

    def interrupted(partition: Any, batch: bytearray, leader_epoch: int) -> int:
        world.log.append = append  # type: ignore[method-assign]
        offsets: list[int] = []
        inner.append(offsets)
        assert plain(world) is None
        world.groups.runtime.write("look", 0, lambda shard: Result((), offsets.append(len(shard.offsets))))
        assert not offsets
        return append(partition, batch, leader_epoch)

    world.log.append = interrupted  # type: ignore[method-assign]
    assert plain(world) is True
    assert inner == [[3]]


def test_a_refused_append_changes_nothing() -> None:
    world = world_of()
    assert plain(world, rows=ROWS[:1]) is True
    world.log.refuse = NO_REPLICAS
    assert plain(world) is None
    assert [found.offset for found in world.shard.offsets.of_group("g").values()] == [7]
    code = whole(world).topics[0].partitions[0].error_code
    assert code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    world.log.refuse = None
    assert plain(world) is True


def test_the_answer_waits_for_the_high_watermark() -> None:
    world = world_of()
    world.log.automatic = False
    written = plain(world)
    assert not written.settled
    assert len(world.shard.offsets) == 3
    world.log.commit(OFFSETS)
    assert written.settled
    late = plain(world)
    outcome: list[Any] = []
    late.then(lambda _, error: outcome.append(error.code))
    world.time.advance(world.config.offsets_commit_timeout_ms)
    assert outcome == [ErrorCode.COORDINATOR_NOT_AVAILABLE]


def test_what_was_not_committed_is_taken_back_with_the_shard() -> None:
    world = world_of()
    plain(world, rows=ROWS[:1])
    world.log.automatic = False
    outcome: list[Any] = []
    plain(world).then(lambda _, error: outcome.append(error.code))
    world.log.truncate_to_high_watermark(OFFSETS)
    world.reload()
    assert outcome == [ErrorCode.NOT_COORDINATOR]
    assert [found.offset for found in world.shard.offsets.of_group("g").values()] == [7]


def some(world: GroupWorld, group: str, offset: int, generation: int = -1, member: str = "") -> PlainCommit:
    row = ("a", world.image.topics.by_name["a"].id, 0, offset, -1, "")
    return PlainCommit(group, generation, member, None, 9, [row])


def test_commits_that_come_together_are_one_batch_and_count_as_one_by_one() -> None:
    together, alone = world_of(), world_of()
    asked = [("g", 1), ("h", 2), ("g", 3), ("i", 4)]
    assert together.groups.plain_commits.commit_together([some(together, *each) for each in asked]) == [True] * 4
    for each in asked:
        assert alone.groups.plain_commits.commit(some(alone, *each)) is True
    assert (len(together.log.batches[OFFSETS]), len(alone.log.batches[OFFSETS])) == (1, 4)
    for group in "ghi":
        assert together.shard.offsets.of_group(group) == alone.shard.offsets.of_group(group)
    assert [found.record_offset for found in together.shard.offsets.of_group("g").values()] == [2]
    before = together.shard.offsets.of_group("g")
    together.reload()
    assert together.shard.offsets.of_group("g") == before
    # And what comes after them finds its place.
    for world in (together, alone):
        assert plain(world, rows=ROWS[:1]) is True
    assert together.shard.offsets.of_group("g") == alone.shard.offsets.of_group("g")


def test_of_commits_that_come_together_those_in_doubt_are_left_out() -> None:
    world = world_of()
    asked = [some(world, "g", 1), some(world, "h", 1, 3, "m"), None, some(world, "i", 1)]
    assert world.groups.plain_commits.commit_together(asked) == [True, False, False, True]
    assert len(world.log.batches[OFFSETS]) == 1
    assert len(world.shard.offsets) == 2
    world.log.refuse = NO_REPLICAS
    assert world.groups.plain_commits.commit_together([some(world, "g", 2), some(world, "k", 2)]) == [False, False]
    assert [found.offset for found in world.shard.offsets.of_group("g").values()] == [1]
    assert "k" not in world.shard.groups


def test_what_has_to_wait_for_others_does_not_go_together() -> None:
    world = world_of()
    world.log.roles[OFFSETS].has_runs = world.log.automatic = False
    assert world.groups.plain_commits.commit_together([some(world, "g", 1)]) == [False]
    assert not world.log.batches[OFFSETS]
    world.log.roles[OFFSETS].has_runs = world.log.automatic = True
    assert world.groups.plain_commits.commit_together([some(world, "g", 1)]) == [True]
    world.log.roles[OFFSETS].is_leader = False
    assert world.groups.plain_commits.commit_together([some(world, "g", 1)]) == [False]


def test_while_earlier_changes_wait_a_commit_waits_behind_them() -> None:
    """Such as those of a time in which the partition had followers."""
    world = world_of()
    world.log.automatic = False
    early = plain(world, rows=ROWS[:1])
    assert not early.settled
    world.log.automatic = True
    assert plain(world, rows=ROWS[1:2]) is True
    assert early.settled
    assert len(world.shard.offsets) == 2


def test_what_was_decided_before_a_run_can_still_be_taken_back_after_it() -> None:
    """The timeline goes on from where the run ended."""
    world = world_of()
    for _ in range(3):
        assert plain(world, rows=ROWS[:1]) is True
    writer = world.groups.runtime.idle_writer("g")
    assert writer is not None
    assert writer.registry.offsets == (writer.committed,) == (writer.last_written,) == (3,)
    world.log.refuse = NO_REPLICAS
    whole(world, rows=[("a", 0, 99, 1, "")])
    assert [found.offset for found in world.shard.offsets.of_group("g").values()] == [7]
    world.log.refuse = None
    world.log.automatic = False
    assert not plain(world, rows=[("a", 0, 99, 1, "")]).settled
    before = world.groups.runtime.read("look", 0, lambda shard, at: shard.offsets.of_group("g", at))
    assert [found.offset for found in before.values()] == [7], "what is not committed yet is not seen"
