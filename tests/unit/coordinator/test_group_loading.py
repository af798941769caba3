"""What a group is after its coordinator has started again under other circumstances."""

from __future__ import annotations

from typing import Any

from group_world import OFFSETS, SETTINGS, GroupWorld

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.classic_group import ClassicState
from moldau.coordinator.group.coordinator import GroupCoordinator
from moldau.coordinator.group.record_types import RECORD_TYPES
from moldau.coordinator.record_framing import decode_record
from moldau.errors import ErrorCode
from moldau.protocol.messages import offset_commit as oc
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.offset_commit_value import OffsetCommitValue
from moldau.protocol.messages.offset_fetch import OffsetFetchRequestGroup
from moldau.protocol.messages.sync_group import SyncGroupRequest
from moldau.protocol.records import decode_batch, encode_batch


def join(world: GroupWorld, member_id: str = "") -> list[Any]:
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
    )
    seen: list[Any] = []
    world.groups.join_group(world.info(3), request).then(lambda value, _: seen.append(value))
    world.time.settle()
    return seen


def start_again(world: GroupWorld, **settings: str) -> None:
    config = BrokerConfig.parse({**SETTINGS, **{key.replace("_", "."): value for key, value in settings.items()}})
    world.groups.close()
    world.groups = GroupCoordinator(config, world.log, world.time, world.time, world.random, world.workers)
    world.groups.runtime.image = world.image
    world.reload()


def test_a_group_that_is_larger_than_it_may_be_rebalances() -> None:
    world = GroupWorld()
    first = join(world)
    second = join(world)
    first = join(world, first[0].member_id)
    for joined in (first[0], second[0]):
        sync = SyncGroupRequest(group_id="g", generation_id=joined.generation_id, member_id=joined.member_id)
        world.groups.sync_group(world.info(5), sync)
    start_again(world, group_max_size="2")
    assert world.shard.groups.classic("g").state == ClassicState.STABLE  # type: ignore[union-attr]
    start_again(world, group_max_size="1")
    world.time.advance(1)
    assert world.shard.groups.classic("g").state == ClassicState.PREPARING_REBALANCE  # type: ignore[union-attr]
    waiting = join(world, first[0].member_id)
    assert join(world, second[0].member_id)[0].error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert waiting[0].error_code == 0


def fetched(world: GroupWorld) -> dict[int, int]:
    seen: list[Any] = []
    request = OffsetFetchRequestGroup(group_id="old", topics=None)
    world.groups.fetch_offsets(request, require_stable=False).then(lambda value, _: seen.append(value))
    return {row.partition_index: row.committed_offset for topic in seen[0].topics for row in topic.partitions}


def test_records_of_older_and_newer_brokers() -> None:
    world = GroupWorld()
    group, topic = b"\0\3old", b"\0\1t"
    oldest = OffsetCommitValue(offset=4, metadata="", commit_timestamp=1).encode(0)
    records = [
        # The first form of the key, with the first form of the value.
        (0, b"\0\0" + group + topic + bytes(4), b"\0\0" + oldest, ()),
        # A type that does not exist yet.
        (0, b"\0\x7fwhatever", b"\0\0", ()),
    ]
    world.log.append(OFFSETS, bytearray(encode_batch(records)))
    world.reload()
    assert fetched(world) == {0: 4}


def test_a_record_that_makes_no_sense_stops_only_its_partition() -> None:
    world = GroupWorld()
    world.log.append(OFFSETS, bytearray(encode_batch([(0, b"\0\1\0", b"\0\3", ())])))
    world.reload()
    assert not world.groups.runtime.is_loaded(0)
    assert fetched_code(world) == ErrorCode.NOT_COORDINATOR


def fetched_code(world: GroupWorld) -> int:
    seen: list[Any] = []
    request = OffsetFetchRequestGroup(group_id="old", topics=None)
    world.groups.fetch_offsets(request, require_stable=False).then(lambda value, _: seen.append(value))
    code: int = seen[0].error_code
    return code


def test_the_versions_offsets_are_written_in() -> None:
    """As old as possible: 1 only with a retention of its own, 4 only with a topic id."""
    world = GroupWorld()
    row = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    for retention, topic_id in ((-1, bytes(16)), (1000, bytes(16)), (-1, b"x" * 16)):
        topic = oc.OffsetCommitRequestTopic(name="t", topic_id=topic_id, partitions=[row])
        request = oc.OffsetCommitRequest(group_id="g", retention_time_ms=retention, topics=[topic])
        world.groups.commit_offsets(world.info(4), request)
    written = [decode_batch(batch)[0] for batch in world.log.batches[OFFSETS]]
    versions = [decode_record(RECORD_TYPES, each.key, each.value).value_version for each in written]  # type: ignore[union-attr]
    assert versions == [3, 1, 4]
