"""What one Produce appends: by which name, what is refused where, and what it waits for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process_node import InProcessNode

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.records import Compression, Record, encode_batch
from moldau.replica.appends import Appends, Guard


class Stage:
    def __init__(self, path: Path) -> None:
        self.node = InProcessNode(path / "data", compiled=True)
        self.replicas = self.node.node.replicas
        self.plain = self.node.create_topic("plain")
        self.durable = self.node.create_topic("durable", **{"flush.messages": "1"})
        self.keyed = self.node.create_topic("keyed", **{"cleanup.policy": "compact"})

    def append(self, topic: str | bytes, *, acks: int = 1, epoch: int = -1, guard: Guard | None = None) -> Appends:
        appends = Appends(self.replicas, acks, by_id=isinstance(topic, bytes))
        data = memoryview(bytearray(encode_batch([Record(0, 1_700_000_000_000, None, b"value", [])])))
        appends.append(topic, 0, data, 0, len(data), guard=guard)
        return appends

    def end_of(self, topic: str) -> int:
        return self.replicas.by_name[topic].partitions[0].log.log_end_offset


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = Stage(tmp_path)
    yield stage
    stage.node.close()


def test_a_topic_is_found_by_what_it_is_called_in_this_request(stage: Stage) -> None:
    for topic in ("plain", stage.plain):
        [result] = stage.append(topic).results
        assert (result[0], result[2]) == (topic, ErrorCode.NONE)
    assert stage.end_of("plain") == 2
    [by_name] = stage.append("nowhere").results
    [by_id] = stage.append(b"n" * 16).results
    assert (by_name[2], by_id[2]) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


def test_nothing_is_written_that_may_not_be_any_more(stage: Stage) -> None:
    def forbids() -> None:
        raise KafkaError(ErrorCode.INVALID_TXN_STATE)

    appends = stage.append("plain", guard=forbids)
    [result] = appends.results
    assert result[2] == ErrorCode.INVALID_TXN_STATE
    assert appends.refusals[0].code == ErrorCode.INVALID_TXN_STATE
    assert stage.end_of("plain") == 0


def test_the_start_of_the_log_is_told_by_the_log_only(stage: Stage) -> None:
    [refused_by_the_log] = stage.append("keyed").results
    assert (refused_by_the_log[2], refused_by_the_log[5]) == (ErrorCode.INVALID_RECORD, 0)
    stage.replicas.by_name["plain"].partitions[0].is_leader = False
    [before_it] = stage.append("plain").results
    assert (before_it[2], before_it[5]) == (ErrorCode.NOT_LEADER_OR_FOLLOWER, -1)
    stage.replicas.by_name["plain"].partitions[0].is_leader = True


@pytest.mark.parametrize(("topic", "acks"), [("plain", 1), ("plain", -1), ("durable", 0)])
def test_what_counts_at_once_is_answered_at_once(stage: Stage, topic: str, acks: int) -> None:
    assert stage.append(topic, acks=acks).finish(1000, lambda: "answer") == "answer"


@pytest.mark.parametrize("acks", [1, -1])
def test_what_is_to_be_forced_to_disk_is_answered_then_and_as_it_was(stage: Stage, acks: int) -> None:
    appends = stage.append("durable", acks=acks)
    before = list(appends.results)
    answer = appends.finish(60_000, lambda: "answer")
    assert isinstance(answer, Deferred)
    assert stage.node.settle(answer) == "answer"
    assert (appends.results, appends.refusals) == (before, {})
    assert stage.replicas.by_name["durable"].partitions[0].log.durability.durable_offset == 1


def test_a_large_batch_that_is_judged_elsewhere_is_refused_for_what_it_is(stage: Stage) -> None:
    large = encode_batch([Record(0, 1_700_000_000_000, None, bytes(2 << 20), [])], compression=Compression.ZSTD)
    data = memoryview(bytearray(large))
    appends = Appends(stage.replicas, 1, by_id=False)
    for topic in ("plain", "keyed"):
        appends.append(topic, 0, data, 0, len(data))
    answer = appends.finish(60_000, lambda: "answer")
    assert isinstance(answer, Deferred), "it is not judged here"
    assert stage.node.settle(answer) == "answer"
    assert [result[2] for result in appends.results] == [ErrorCode.NONE, ErrorCode.INVALID_RECORD]
    assert "no key" in str(appends.refusals[1])
    assert (stage.end_of("plain"), stage.end_of("keyed")) == (1, 0)
