"""Who runs which tasks: the assignor `sticky`, the only one streams groups have.

Active tasks are shared out so that every member has about the same number. A task stays with whoever has it, as far as
that allows, else it goes to a member that has kept a copy of its state, else to the process with the least work for
each of its members; the first time that gives each member a range. Then each stateful task gets its standby copies, in
other processes than the one that runs it: where client tags differ most from those who have it already, so that a copy
is left when a rack fails, then where it was before, then where there is the least work. Of equal members the first
one in the order of ids is taken: the same group is always assigned in the same way.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from heapq import heapify, heappop, heappush, heapreplace
from typing import Final, NamedTuple

from moldau.coordinator.group.consumer_member import assignment, partitions_of
from moldau.coordinator.group.streams_member import NO_TASKS, TaskId, Tasks
from moldau.slicing import Work, in_order, pieces

logger = logging.getLogger("moldau.coordinator.group")

_PIECE: Final = 64


class Worker(NamedTuple):
    """A member, and what it was meant to have so far."""

    member_id: str
    process_id: str
    client_tags: tuple[tuple[str, str], ...] = ()
    previous: Tasks = NO_TASKS


class TaskProblem(NamedTuple):
    workers: Sequence[Worker]
    # The number of tasks of each subtopology, and which of them keep state.
    tasks: Mapping[str, int]
    stateful: frozenset[str]
    standby_replicas: int


class _Member:
    __slots__ = ("active", "member_id", "process", "standby")

    def __init__(self, member_id: str, process: _Process) -> None:
        self.member_id = member_id
        self.process = process
        self.active: list[TaskId] = []
        self.standby: list[TaskId] = []

    @property
    def count(self) -> int:
        return len(self.active) + len(self.standby)


class _Process:
    __slots__ = ("_by_count", "count", "held", "members", "place", "tags")

    def __init__(self, place: int, tags: tuple[tuple[str, str], ...]) -> None:
        self.place = place
        self.tags = frozenset(tags)
        self.members: list[_Member] = []
        self.held: set[TaskId] = set()
        self.count = 0
        # The members, the one with the fewest tasks first; as in `_ByLoad` entries are put right when they come up.
        self._by_count: list[tuple[int, int]] = []

    @property
    def load(self) -> float:
        return self.count / len(self.members)

    def least_loaded(self) -> _Member:
        members, heap = self.members, self._by_count
        if not heap:
            heap += ((member.count, place) for place, member in enumerate(members))
            heapify(heap)
        while True:
            count, place = heap[0]
            member = members[place]
            if count == member.count:
                return member
            heapreplace(heap, (member.count, place))

    def give(self, task: TaskId, member: _Member, *, active: bool) -> None:
        (member.active if active else member.standby).append(task)
        self.held.add(task)
        self.count += 1


class _Quota:
    """How many tasks a member may keep: all of them have as many, and some one more, where it does not divide."""

    def __init__(self, tasks: int, members: int) -> None:
        self._tasks, self._members = tasks, members
        self.limit = self._share()

    def filled(self, count: int) -> None:
        """A member has so many now; whoever has its share does not count among the rest."""
        if count == self.limit:
            self._members -= 1
            self._tasks -= count
            self.limit = self._share()

    def _share(self) -> int:
        return -(-self._tasks // self._members) if self._members else 0


def assign_sticky(problem: TaskProblem) -> Work[dict[str, Tasks]]:
    members, processes = yield from _players(problem.workers)
    if not members:
        return {}
    active_before: dict[TaskId, _Member] = {}
    kept_before: dict[TaskId, list[_Member]] = {}
    for worker in problem.workers:
        member = members[worker.member_id]
        for some in pieces(partitions_of(worker.previous.active), _PIECE):
            active_before.update((task, member) for task in some)
            yield
        for some in pieces(partitions_of(worker.previous.standby, worker.previous.warmup), _PIECE):
            for task in some:
                kept_before.setdefault(task, []).append(member)
            yield
    yield from _assign_active(problem, members, processes, active_before, kept_before)
    if problem.standby_replicas:
        yield from _assign_standby(problem, processes, active_before, kept_before)
    assigned: dict[str, Tasks] = {}
    for member in members.values():
        active = yield from assignment(member.active)
        assigned[member.member_id] = Tasks(active, (yield from assignment(member.standby)))
    return assigned


def _players(workers: Iterable[Worker]) -> Work[tuple[dict[str, _Member], list[_Process]]]:
    members: dict[str, _Member] = {}
    processes: dict[str, _Process] = {}
    for number, worker in enumerate(sorted(workers, key=lambda each: each.member_id)):
        if not number % _PIECE:
            yield
        process = processes.get(worker.process_id)
        if process is None:
            process = processes[worker.process_id] = _Process(len(processes), worker.client_tags)
        members[worker.member_id] = member = _Member(worker.member_id, process)
        process.members.append(member)
    return members, list(processes.values())


def _tasks(problem: TaskProblem) -> Iterator[TaskId]:
    """By partition, so that who keeps a part of the tasks keeps some of each subtopology."""
    subtopologies = sorted(problem.tasks)
    for partition in range(max(problem.tasks.values(), default=0)):
        for each in subtopologies:
            if partition < problem.tasks[each]:
                yield each, partition


def _assign_active(
    problem: TaskProblem,
    members: Mapping[str, _Member],
    processes: Sequence[_Process],
    active_before: Mapping[TaskId, _Member],
    kept_before: Mapping[TaskId, Sequence[_Member]],
) -> Work[None]:
    quota = _Quota(sum(problem.tasks.values()), len(members))
    unassigned: list[TaskId] = []
    for some in pieces(_tasks(problem), _PIECE):
        for task in some:
            before = active_before.get(task)
            if before is not None and len(before.active) < quota.limit:
                before.process.give(task, before, active=True)
                quota.filled(len(before.active))
            else:
                unassigned.append(task)
        yield
    left: list[TaskId] = []
    for some in pieces(unassigned, _PIECE):
        for task in some:
            copies = [member for member in kept_before.get(task, ()) if len(member.active) < quota.limit]
            if copies:
                before = min(copies, key=lambda member: (member.process.load, member.count, member.member_id))
                before.process.give(task, before, active=True)
                quota.filled(len(before.active))
            else:
                left.append(task)
        yield
    by_load = _ByLoad(processes)
    for some in pieces((yield from in_order(left)), _PIECE):
        for task in some:
            process = by_load.without(task)
            assert process is not None
            process.give(task, process.least_loaded(), active=True)
        yield


class _ByLoad:
    """The processes, the one with the least work first. Work only grows: an entry that says less is put right when
    it comes up."""

    def __init__(self, processes: Sequence[_Process]) -> None:
        self._processes = {process.place: process for process in processes}
        self._heap = [(process.load, process.place) for process in processes]
        heapify(self._heap)

    def without(self, task: TaskId) -> _Process | None:
        """The first one that does not have the task."""
        passed = []
        found = None
        while self._heap and found is None:
            load, place = self._heap[0]
            process = self._processes[place]
            if load != process.load:
                heapreplace(self._heap, (process.load, place))
            elif task in process.held:
                passed.append(heappop(self._heap))
            else:
                found = process
        for entry in passed:
            heappush(self._heap, entry)
        return found


def _assign_standby(
    problem: TaskProblem,
    processes: Sequence[_Process],
    active_before: Mapping[TaskId, _Member],
    kept_before: Mapping[TaskId, Sequence[_Member]],
) -> Work[None]:
    tasks: list[TaskId] = []
    for some in pieces(_tasks(problem), _PIECE):
        tasks += [task for task in some if task[0] in problem.stateful]
        yield
    copies = min(problem.standby_replicas, len(processes) - 1)
    if copies < problem.standby_replicas and tasks:
        logger.warning(
            "tasks have %d standby copies instead of %d: there are only %d processes",
            copies, problem.standby_replicas, len(processes),
        )  # fmt: skip
    members = sum(len(process.members) for process in processes)
    # So many tasks, active ones included, may a member have for the sake of racks and of where copies were.
    most = -(-(sum(problem.tasks.values()) + len(tasks) * copies) // members)
    owners: dict[TaskId, _Process] = {}
    by_tags: dict[frozenset[tuple[str, str]], list[_Process]] = {}
    for process in processes:
        for some in pieces(process.held, _PIECE):
            owners.update((task, process) for task in some)
            yield
        by_tags.setdefault(process.tags, []).append(process)
    # Of processes with the same tags the one with the least work is as good as any, but for those that had the task.
    alike = [_ByLoad(each) for each in by_tags.values()]
    pause = max(1, _PIECE // len(alike))
    for number, task in enumerate(tasks):
        # The last one to be noted counts: whoever ran the task knows the most of it.
        before = {member.process: member for member in reversed(kept_before.get(task, ()))}
        if task in active_before:
            before[active_before[task].process] = active_before[task]
        before = {process: member for process, member in before.items() if member.count < most}
        tags = set(owners[task].tags)
        for _ in range(copies):
            free = [each.without(task) for each in alike]
            free += [process for process in before if task not in process.held]
            process = min(filter(None, free), key=_preference(before, tags, most))
            member = before.get(process)
            process.give(task, process.least_loaded() if member is None else member, active=False)
            tags |= process.tags
        if not number % pause:
            yield


def _preference(
    before: Mapping[_Process, _Member], tags: Set[tuple[str, str]], most: int
) -> Callable[[_Process], tuple[bool, int, bool, float, int]]:
    def key(process: _Process) -> tuple[bool, int, bool, float, int]:
        full = process.load >= most
        return full, -len(process.tags - tags), process not in before, process.load, process.place

    return key
