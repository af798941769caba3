"""Where replicas lie is told to the controller until the metadata says the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, MoldauError
from moldau.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsResponse,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
)
from moldau.replica import directory_assignments
from moldau.replica.directory_assignments import DirectoryAssignments
from moldau.simulation.clock import VirtualClock
from moldau.simulation.loop import Schedule, SimulatedLoop
from moldau.types import TopicPartition

TOPIC_ID = bytes(15) + b"\x09"
LOST, HERE, THERE = (bytes(15) + bytes([number]) for number in (1, 2, 3))


class Stage:
    """Broker 1 with the directories /here and /there; the metadata has its replicas on a disk that is gone."""

    def __init__(self, partitions: int = 2) -> None:
        self.schedule = Schedule(VirtualClock())
        self.asked: list[tuple[Any, Deferred[Any]]] = []
        self.epoch = 11
        self.known = dict.fromkeys(range(partitions), LOST)
        self.partitions = [
            SimpleNamespace(
                topic_id=TOPIC_ID,
                topic_partition=TopicPartition("orders", index),
                is_released=False,
                log=SimpleNamespace(directory=SimpleNamespace(parent="/here")),
            )
            for index in range(partitions)
        ]
        self.metadata_version = 30
        self.topics = self
        self.assignments = DirectoryAssignments(
            1,
            lambda: self.epoch,
            self,
            lambda: self,  # type: ignore[arg-type, return-value]
            {"/here": HERE, "/there": THERE}.get,
            SimulatedLoop(self.schedule),
        )

    def by_id(self, topic_id: bytes) -> Any:
        states = {
            index: SimpleNamespace(replicas=(2, 1), directory=lambda _, index=index: self.known[index])
            for index in self.known
        }
        return SimpleNamespace(partitions=states) if topic_id == TOPIC_ID else None

    def ask(self, request: Any) -> Deferred[Any]:
        answer: Deferred[Any] = Deferred()
        self.asked.append((request.decode(request.encode(0), 0), answer))
        return answer

    def check(self) -> None:
        for partition in self.partitions:
            self.assignments.check(partition)  # type: ignore[arg-type]

    def reported(self) -> list[tuple[bytes, int]]:
        """By directory the partitions of the newest request."""
        return [
            (directory.id, partition.partition_index)
            for directory in self.asked[-1][0].directories
            for topic in directory.topics
            for partition in topic.partitions
        ]

    def answer(self, *results: tuple[int, int]) -> None:
        partitions = [ResponsePartitionData(partition_index=index, error_code=code) for index, code in results]
        topics = [ResponseTopicData(topic_id=TOPIC_ID, partitions=partitions)]
        self.asked[-1][1].resolve(
            AssignReplicasToDirsResponse(directories=[ResponseDirectoryData(id=HERE, topics=topics)])
        )


def test_replicas_on_a_new_disk_are_reported_together() -> None:
    stage = Stage()
    stage.check()
    stage.schedule.run_for(0)
    assert len(stage.asked) == 1
    assert (stage.asked[0][0].broker_id, stage.asked[0][0].broker_epoch) == (1, 11)
    assert stage.reported() == [(HERE, 0), (HERE, 1)]
    stage.answer((0, 0), (1, 0))
    stage.known = dict.fromkeys(stage.known, HERE)
    stage.check()
    stage.schedule.run_for(10)
    assert len(stage.asked) == 1


def test_of_very_many_some_are_reported_at_a_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(directory_assignments, "MOST", 3)
    stage = Stage(8)
    stage.check()
    sizes = []
    for _ in range(3):
        stage.schedule.run_for(1)
        told = [index for _, index in stage.reported()]
        sizes.append(len(told))
        stage.answer(*((index, 0) for index in told))
        stage.known.update(dict.fromkeys(told, HERE))
    assert sizes == [3, 3, 2]
    assert set(stage.known.values()) == {HERE}


def test_what_the_controller_did_not_take_is_reported_again() -> None:
    stage = Stage()
    stage.check()
    stage.schedule.run_for(0)
    stage.answer((0, 0), (1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION))
    stage.known[0] = HERE
    stage.schedule.run_for(1)
    assert stage.reported() == [(HERE, 1)]
    stage.asked[-1][1].fail(MoldauError("nobody there"))
    stage.partitions[1].log.directory.parent = "/there"
    stage.schedule.run_for(1)
    assert len(stage.asked) == 3
    assert stage.reported() == [(THERE, 1)], "where it lies by then"


def test_nothing_is_reported_before_the_broker_is_registered() -> None:
    stage = Stage()
    stage.epoch = -1
    stage.check()
    stage.schedule.run_for(5)
    assert stage.asked == []
    stage.epoch = 12
    stage.schedule.run_for(1)
    assert len(stage.asked) == 1


@pytest.mark.parametrize("reason", ["old metadata", "no replica", "deleted", "closed"])
def test_what_nobody_wants_to_know_is_not_reported(reason: str) -> None:
    stage = Stage()
    if reason == "old metadata":
        stage.metadata_version = 16
    elif reason == "no replica":
        stage.known.clear()
    elif reason == "deleted":
        for partition in stage.partitions:
            partition.is_released = True
    else:
        stage.assignments.close()
    stage.check()
    stage.schedule.run_for(5)
    assert stage.asked == []


def test_what_has_come_right_by_itself_is_not_reported() -> None:
    stage = Stage()
    stage.check()
    stage.known = dict.fromkeys(stage.known, HERE)
    stage.schedule.run_for(5)
    assert stage.asked == []
    stage.known[1] = LOST
    stage.check()
    stage.schedule.run_for(1)
    assert stage.reported() == [(HERE, 1)], "and what comes up later is"
