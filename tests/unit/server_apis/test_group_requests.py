"""Requests of groups to a whole node: commits by both ways, and a join that is more than one batch can say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau import _speed
from moldau.errors import ErrorCode
from moldau.protocol.messages import offset_commit as commits
from moldau.protocol.messages import offset_fetch as fetches
from moldau.protocol.messages.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

SMALL = {"offsets.topic.num.partitions": "2"}


def started(directory: Path, *, compiled: bool = True, **settings: str) -> InProcessNode:
    """A node with its offsets topic."""
    node = InProcessNode(directory, compiled=compiled, settings={**SMALL, **settings})

    def found() -> bool:
        return node.ask(FindCoordinatorRequest(key="g"), 3, FindCoordinatorResponse).error_code == ErrorCode.NONE

    node.turn_until(found)
    node.turn_until(lambda: all(node.node.services.groups.runtime.is_loaded(each) for each in range(2)))
    return node


class Pair:
    def __init__(self, directory: Path) -> None:
        self.nodes = [started(directory / name, compiled=name == "compiled") for name in ("compiled", "generated")]
        self.ids = [{name: node.create_topic(name, 2) for name in ("a", "b")} for node in self.nodes]

    def ask(self, topics: list[tuple[str, list[Any]]], version: int, **fields: Any) -> list[Any]:
        """What both say, with names in place of ids."""
        answers = []
        for node, ids in zip(self.nodes, self.ids, strict=True):
            rows = [
                commits.OffsetCommitRequestTopic(
                    name=name if version < 10 else "",
                    topic_id=ids.get(name, b"absent".ljust(16)) if version >= 10 else bytes(16),
                    partitions=partitions,
                )
                for name, partitions in topics
            ]
            request = commits.OffsetCommitRequest(topics=rows, **fields)
            answer = node.ask(request, version, commits.OffsetCommitResponse)
            names = {topic_id: name for name, topic_id in ids.items()}
            for row in answer.topics:
                row.topic_id = names.get(row.topic_id, "").encode().ljust(16)
            answers.append(answer)
        return answers


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    pair = Pair(tmp_path_factory.mktemp("nodes"))
    yield pair
    for node in pair.nodes:
        node.close()


def some_topics(random: Random, version: int) -> list[tuple[str, list[Any]]]:
    return [
        (
            random.choice(("a", "a", "b", "absent")),
            [
                commits.OffsetCommitRequestPartition(
                    partition_index=random.choice((0, 0, 1, 7)),
                    committed_offset=random.randint(0, 1 << 40),
                    committed_leader_epoch=random.choice((-1, 0, 5)) if version >= 6 else -1,
                    committed_metadata=random.choice((None, "", "seen", "ž" * 10, "m" * 5000)),
                )
                for _ in range(random.randint(0, 3))
            ],
        )
        for _ in range(random.randint(0, 3))
    ]


@pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")
@pytest.mark.parametrize("version", range(2, 11))
def test_both_ways_answer_a_commit_the_same(pair: Pair, version: int) -> None:
    random = Random(version)
    groups = [f"g{number}" for number in range(4)]
    for _ in range(60):
        fields: dict[str, Any] = {"group_id": random.choice(groups)}
        if random.random() < 0.2:
            fields |= {"generation_id_or_member_epoch": 1, "member_id": "nobody"}
        if random.random() < 0.2 and version <= 4:
            fields["retention_time_ms"] = 60_000
        if random.random() < 0.2 and version >= 7:
            fields["group_instance_id"] = "i"
        one, other = pair.ask(some_topics(random, version), version, **fields)
        assert one == other
    for group in groups:
        asked = fetches.OffsetFetchRequest(groups=[fetches.OffsetFetchRequestGroup(group_id=group, topics=None)])
        one, other = (node.ask(asked, 9, fetches.OffsetFetchResponse) for node in pair.nodes)
        assert one == other
        assert one.groups[0].topics


@pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")
def test_a_commit_takes_the_short_way_and_a_long_one_the_other(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    node = pair.nodes[0]
    groups = node.node.services.groups
    taken: list[str] = []
    for owner, name in ((groups.plain_commits, "commit"), (groups, "commit_offsets")):
        inner = getattr(owner, name)
        monkeypatch.setattr(owner, name, lambda *a, _n=name, _i=inner: (taken.append(_n), _i(*a))[1])
    row = commits.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
    topics = [commits.OffsetCommitRequestTopic(name="a", partitions=[row])]
    node.ask(commits.OffsetCommitRequest(group_id="g", topics=topics), 8, commits.OffsetCommitResponse)
    assert taken == ["commit"]
    by_id = [commits.OffsetCommitRequestTopic(topic_id=pair.ids[0]["a"], partitions=[row])]
    node.ask(commits.OffsetCommitRequest(group_id="g", topics=by_id), 10, commits.OffsetCommitResponse)
    assert taken == ["commit"] * 2
    long = commits.OffsetCommitRequest(group_id="g" * 10_000, topics=topics)
    node.ask(long, 8, commits.OffsetCommitResponse)
    assert taken == ["commit", "commit", "commit_offsets"]


def read_commit(wire: Wire) -> int:
    (answer,) = wire.sent
    code: int = commits.OffsetCommitResponse.decode(answer[9:], 8).topics[0].partitions[0].error_code
    return code


def test_in_durable_mode_a_commit_is_answered_when_it_is_on_disk(tmp_path: Path) -> None:
    node = started(tmp_path / "data", **{"log.flush.interval.messages": "1"})
    try:
        node.create_topic("a", 2)
        row = commits.OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        topics = [commits.OffsetCommitRequestTopic(name="a", partitions=[row])]
        wire = Wire()
        node.send(wire, request_frame(commits.OffsetCommitRequest(group_id="g", topics=topics), 8))
        assert not wire.sent
        node.turn_until(lambda: bool(wire.sent))
        assert read_commit(wire) == ErrorCode.NONE
        wire = Wire()
        node.send(wire, request_frame(commits.OffsetCommitRequest(group_id="g", topics=topics), 8))
        for partition in range(2):
            node.node.services.groups.unload(partition, 99)
        assert read_commit(wire) == ErrorCode.NOT_COORDINATOR, "another leads it before it was on disk"
    finally:
        node.close()


def test_a_consumer_joins_more_topics_than_one_batch_can_say(tmp_path: Path) -> None:
    """With Kafka's own limit it takes ten thousand topics; with a smaller one it takes fewer."""
    node = started(tmp_path / "data", **{"message.max.bytes": "21000"})
    try:
        names = [f"topic-{number:05}" for number in range(200)]
        topics = [CreatableTopic(name=name, num_partitions=6, replication_factor=1) for name in names]
        node.settle(node.node.controller.create_topics(CreateTopicsRequest(topics=topics, timeout_ms=60_000)))
        request = ConsumerGroupHeartbeatRequest(
            group_id="g",
            member_id="m",
            rebalance_timeout_ms=60_000,
            subscribed_topic_names=names,
            topic_partitions=[],
        )
        answer = node.ask(request, 1, ConsumerGroupHeartbeatResponse)
        assert answer.error_code == ErrorCode.NONE
        assert sum(len(row.partitions) for row in answer.assignment.topic_partitions) == 1200
    finally:
        node.close()
