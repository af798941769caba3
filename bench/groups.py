"""The group coordinator alone, without sockets and disks: how long 2,000 groups with 50,000 offsets take to load, and
what CPU a heartbeat costs when nothing happens, and a commit by both ways. `python -m bench.groups` prints it.
"""

from __future__ import annotations

import logging
import sys
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

GROUPS = 2000
OFFSETS = 50_000
PARTITIONS = 25
HEARTBEATS = 20_000

sys.path.insert(0, str(Path(__file__).parent.parent / "tests" / "unit" / "coordinator"))

from group_world import GroupWorld  # noqa: E402

from moldau.coordinator.group.consumer_protocol import encode_subscription  # noqa: E402
from moldau.coordinator.group.offset_commit import PlainCommit  # noqa: E402
from moldau.protocol.messages import consumer_group_heartbeat as chb  # noqa: E402
from moldau.protocol.messages import offset_commit as oc  # noqa: E402
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription  # noqa: E402
from moldau.protocol.messages.heartbeat import HeartbeatRequest  # noqa: E402
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol  # noqa: E402
from moldau.protocol.messages.sync_group import SyncGroupRequest  # noqa: E402


def main() -> None:
    logging.disable(logging.CRITICAL)
    world = GroupWorld()
    world.create_topic("t", PARTITIONS)
    members = [fill(world, f"group-{number}", classic=number % 2 == 0) for number in range(GROUPS)]
    size = sum(map(len, world.log.batches[next(iter(world.log.batches))]))
    loads = []
    for _ in range(3):
        started = time.perf_counter()
        world.reload()
        loads.append(time.perf_counter() - started)
    count = len(world.shard.offsets)
    assert (len(world.shard.groups), count) == (GROUPS, OFFSETS)
    print(f"load {GROUPS:,} groups and {count:,} offsets ({size / 1e6:.1f} MB): {median(loads):.2f} s")
    for kind, beats in (("classic", members[::2]), ("consumer", members[1::2])):
        print(f"steady heartbeat, {kind} group: {cost(world, kind, beats) * 1e6:.1f} us")
    whole, plain = commit_costs(world)
    print(f"offset commit of one partition, simple group: {whole * 1e6:.1f} us, the short way {plain * 1e6:.1f} us")


def fill(world: GroupWorld, group: str, *, classic: bool) -> tuple[str, str, int]:
    member_id, epoch = (join_classic if classic else join_consumer)(world, group)
    rows = [
        oc.OffsetCommitRequestPartition(partition_index=index, committed_offset=index) for index in range(PARTITIONS)
    ]
    request = oc.OffsetCommitRequest(
        group_id=group,
        generation_id_or_member_epoch=epoch,
        member_id=member_id,
        topics=[oc.OffsetCommitRequestTopic(name="t", partitions=rows)],
    )
    world.groups.commit_offsets(world.info(9), request)
    return group, member_id, epoch


def join_classic(world: GroupWorld, group: str) -> tuple[str, int]:
    metadata = encode_subscription(ConsumerProtocolSubscription(topics=["t"]), 1)
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=1_800_000,
        rebalance_timeout_ms=1_800_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    seen: list[Any] = []
    world.groups.join_group(world.info(3), request).then(lambda value, _: seen.append(value))
    world.time.settle()
    member_id, generation = seen[0].member_id, seen[0].generation_id
    world.groups.sync_group(
        world.info(5), SyncGroupRequest(group_id=group, generation_id=generation, member_id=member_id)
    )
    return member_id, generation


def join_consumer(world: GroupWorld, group: str) -> tuple[str, int]:
    request = chb.ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id=group,
        rebalance_timeout_ms=1_800_000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    seen: list[Any] = []
    world.groups.consumer_group_heartbeat(world.info(1), request).then(lambda value, _: seen.append(value))
    return group, seen[0].member_epoch


def cost(world: GroupWorld, kind: str, members: list[tuple[str, str, int]]) -> float:
    groups, info = world.groups, world.info(1)
    times = []
    for _ in range(5):
        started = time.process_time()
        for number in range(HEARTBEATS):
            group, member_id, epoch = members[number % len(members)]
            if kind == "classic":
                groups.heartbeat(info, HeartbeatRequest(group_id=group, generation_id=epoch, member_id=member_id))
            else:
                groups.consumer_group_heartbeat(
                    info, chb.ConsumerGroupHeartbeatRequest(group_id=group, member_id=member_id, member_epoch=epoch)
                )
        times.append((time.process_time() - started) / HEARTBEATS)
    return min(times)


def commit_costs(world: GroupWorld) -> tuple[float, float]:
    """Through the generated classes, and for what the compiled way has read."""
    info = world.info(9)
    row = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    request = oc.OffsetCommitRequest(
        group_id="simple", topics=[oc.OffsetCommitRequestTopic(name="t", partitions=[row])]
    )
    plain = PlainCommit("simple", -1, "", None, 9, [("t", world.image.topics.by_name["t"].id, 0, 7, -1, "")])

    def cost_of(commit: Callable[[], object]) -> float:
        started = time.process_time()
        for _ in range(HEARTBEATS):
            commit()
        return (time.process_time() - started) / HEARTBEATS

    return cost_of(lambda: world.groups.commit_offsets(info, request)), cost_of(
        lambda: world.groups.plain_commits.commit(plain)
    )


if __name__ == "__main__":
    main()
