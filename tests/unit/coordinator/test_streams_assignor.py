"""Sharing out the tasks of an application of Kafka Streams: what always holds, and how much is looked at in one go."""

from __future__ import annotations

import random

import pytest

from moldau.coordinator.group import streams_assignor
from moldau.coordinator.group.streams_assignor import TaskProblem, Worker, assign_sticky
from moldau.coordinator.group.streams_member import Tasks
from moldau.slicing import run_whole


def spread(tasks: Tasks) -> tuple[set[tuple[str, int]], set[tuple[str, int]]]:
    active, standby = ({(each, n) for each, numbers in role.items() for n in numbers} for role in tasks[:2])
    return active, standby


@pytest.mark.parametrize("seed", range(200))
def test_every_task_is_run_once_and_its_copies_are_elsewhere(seed: int) -> None:
    chance = random.Random(seed)
    members, processes = chance.randint(1, 14), chance.randint(1, 7)
    tags = [(("rack", str(chance.randint(0, 2))),) if chance.random() < 0.5 else () for _ in range(processes)]
    tasks = {"0": chance.randint(1, 9), "1": chance.randint(1, 9)}
    replicas = chance.randint(0, 3)
    before: dict[str, Tasks] = {}
    for _ in range(3):
        workers = [
            Worker(
                f"m{number:02}",
                f"p{number % processes}",
                tags[number % processes],
                before.get(f"m{number:02}", Tasks()),
            )
            for number in range(members)
            if members == 1 or chance.random() < 0.8 or number == 0
        ]
        before = run_whole(assign_sticky(TaskProblem(workers, tasks, frozenset("1"), replicas)))
        assert before.keys() == {worker.member_id for worker in workers}
        runs = [task for each in before.values() for task in spread(each)[0]]
        assert sorted(runs) == sorted((each, number) for each, count in tasks.items() for number in range(count))
        assert max(len(spread(each)[0]) for each in before.values()) <= -(-len(runs) // len(workers))
        holders: dict[tuple[str, int], list[str]] = {}
        for worker in workers:
            active, standby = spread(before[worker.member_id])
            for task in (*active, *standby):
                holders.setdefault(task, []).append(worker.process_id)
        copies = min(replicas, len({worker.process_id for worker in workers}) - 1)
        for task, processes_of in holders.items():
            assert len(processes_of) == len(set(processes_of)) == 1 + (copies if task[0] == "1" else 0)


def test_copies_go_to_other_racks() -> None:
    workers = [Worker(f"m{number}", f"p{number}", (("rack", str(number % 3)),)) for number in range(6)]
    assigned = run_whole(assign_sticky(TaskProblem(workers, {"0": 12}, frozenset("0"), 2)))
    racks: dict[tuple[str, int], set[str]] = {}
    for worker in workers:
        for role in spread(assigned[worker.member_id]):
            for task in role:
                racks.setdefault(task, set()).add(worker.client_tags[0][1])
    assert all(each == {"0", "1", "2"} for each in racks.values())


@pytest.mark.parametrize(("processes", "tagged"), [(1, False), (2000, False), (2000, True)])
def test_many_members_and_tasks_in_small_steps(processes: int, tagged: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    looks = 0
    counted = streams_assignor._Member.count.fget
    loaded = streams_assignor._Process.load.fget

    def count(member: streams_assignor._Member) -> int:
        nonlocal looks
        looks += 1
        return counted(member)  # type: ignore[misc, no-any-return]

    def load(process: streams_assignor._Process) -> float:
        nonlocal looks
        looks += 1
        return loaded(process)  # type: ignore[misc, no-any-return]

    monkeypatch.setattr(streams_assignor._Member, "count", property(count))
    monkeypatch.setattr(streams_assignor._Process, "load", property(load))
    workers = [
        Worker(f"m{number:04}", f"p{number % processes}", (("rack", str(number % 3)),) if tagged else ())
        for number in range(2000)
    ]
    most = before = 0
    for _ in assign_sticky(TaskProblem(workers, {"0": 2000, "1": 2000}, frozenset("1"), 2)):
        most, before = max(most, looks - before), looks
    # One look at each of all, when they are put in order; else some for each task of a step.
    assert most < 4 * 2000
    assert looks < 20 * 4000 * 3
