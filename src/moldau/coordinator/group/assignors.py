"""Who should have which partitions: the assignors a consumer group may choose from.

`range` gives each member a run of neighbouring partitions of every topic, so that partitions of the same number meet at
the same member. `uniform` evens out the number of partitions over all topics and moves as few as possible.

Both are functions from a `Problem` to an assignment for every member, and give the same answer for the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple, TypeAlias

from moldau.coordinator.group.consumer_member import Assignment, assignment, partitions_of
from moldau.types import Uuid

Partition: TypeAlias = tuple[Uuid, int]


class Subscriber(NamedTuple):
    member_id: str
    instance_id: str | None
    topics: frozenset[Uuid]
    # What it was meant to have so far.
    current: Assignment


class Problem(NamedTuple):
    members: list[Subscriber]
    # The number of partitions of every topic that somebody subscribes to.
    partitions: Mapping[Uuid, int]


Assignor: TypeAlias = Callable[[Problem], dict[str, Assignment]]


def assign_range(problem: Problem) -> dict[str, Assignment]:
    given: dict[str, list[Partition]] = {member.member_id: [] for member in problem.members}
    # Static members come first and by their instance id: a restart changes their member id, not their part.
    order = sorted(problem.members, key=lambda each: (each.instance_id is None, each.instance_id or each.member_id))
    for topic_id, count in problem.partitions.items():
        subscribers = [member for member in order if topic_id in member.topics]
        if not subscribers:
            continue
        share, extra = divmod(count, len(subscribers))
        start = 0
        for index, member in enumerate(subscribers):
            end = start + share + (index < extra)
            given[member.member_id] += [(topic_id, number) for number in range(start, end)]
            start = end
    return {member_id: assignment(partitions) for member_id, partitions in given.items()}


def assign_uniform(problem: Problem) -> dict[str, Assignment]:
    held = _still_valid(problem)
    if len({member.topics for member in problem.members}) <= 1:
        _fill_evenly(problem, held)
    else:
        _fill_by_subscription(problem, held)
    return {member_id: assignment(partitions) for member_id, partitions in held.items()}


def _still_valid(problem: Problem) -> dict[str, list[Partition]]:
    """What each member had and may keep."""
    taken: set[Partition] = set()
    held: dict[str, list[Partition]] = {}
    for member in sorted(problem.members):
        held[member.member_id] = mine = []
        for partition in sorted(partitions_of(member.current)):
            topic_id, number = partition
            if topic_id in member.topics and number < problem.partitions.get(topic_id, 0) and partition not in taken:
                taken.add(partition)
                mine.append(partition)
    return held


def _fill_evenly(problem: Problem, held: dict[str, list[Partition]]) -> None:
    """Everybody subscribes to the same topics: all get the same number, some one more."""
    if not held:
        return
    total = sum(problem.partitions.values())
    share, extra = divmod(total, len(held))
    # Whoever has more than its share keeps one more than the others, as long as there are some to spare.
    for mine in held.values():
        allowed = share
        if extra and len(mine) > share:
            allowed, extra = share + 1, extra - 1
        del mine[allowed:]
    missing = iter(_unassigned(problem, held))
    for mine in held.values():
        room = share - len(mine)
        if room >= 0 and extra and len(mine) <= share:
            room, extra = room + 1, extra - 1
        mine += [partition for _, partition in zip(range(room), missing, strict=False)]


def _fill_by_subscription(problem: Problem, held: dict[str, list[Partition]]) -> None:
    """Subscriptions differ: each partition goes to its least loaded subscriber, then the loads are evened out."""
    subscribers: dict[Uuid, list[str]] = {topic_id: [] for topic_id in problem.partitions}
    for member in sorted(problem.members):
        for topic_id in member.topics & problem.partitions.keys():
            subscribers[topic_id].append(member.member_id)
    # Topics with few subscribers first: they have the least choice.
    for partition in sorted(_unassigned(problem, held), key=lambda each: (len(subscribers[each[0]]), each)):
        candidates = subscribers[partition[0]]
        if candidates:
            held[min(candidates, key=lambda member_id: (len(held[member_id]), member_id))].append(partition)
    topics = [(topic_id, members) for topic_id, members in subscribers.items() if members]
    while sum(_even_out(topic_id, held, members) for topic_id, members in topics):
        pass


def _even_out(topic_id: Uuid, held: dict[str, list[Partition]], members: list[str]) -> bool:
    """Moves partitions of one topic from loaded to less loaded members; every move makes the loads more even."""
    moved = False
    while True:
        least = min(members, key=lambda member_id: (len(held[member_id]), member_id))
        donors = [each for each in members if any(partition[0] == topic_id for partition in held[each])]
        most = max(donors, key=lambda member_id: (len(held[member_id]), member_id), default=least)
        if len(held[most]) - len(held[least]) < 2:
            return moved
        partition = max(each for each in held[most] if each[0] == topic_id)
        held[most].remove(partition)
        held[least].append(partition)
        moved = True


def _unassigned(problem: Problem, held: dict[str, list[Partition]]) -> list[Partition]:
    taken = {partition for mine in held.values() for partition in mine}
    return [
        (topic_id, number)
        for topic_id, count in sorted(problem.partitions.items())
        for number in range(count)
        if (topic_id, number) not in taken
    ]


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
