"""Who should have which partitions: the assignors a consumer group may choose from.

`range` gives each member a run of neighbouring partitions of every topic, so that partitions of the same number meet at
the same member. `uniform` evens out the number of partitions over all topics and moves as few as possible.

Both work from a `Problem` to an assignment for every member, in slices, and come to the same for the same problem.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from itertools import islice
from typing import Final, NamedTuple, TypeAlias

from moldau.coordinator.group.consumer_member import Assignment, assignment, partitions_of
from moldau.slicing import Work, in_order, pieces
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


Assignor: TypeAlias = Callable[[Problem], Work[dict[str, Assignment]]]

# Steps of a loop between two pauses.
_PIECE: Final = 256


def assign_range(problem: Problem) -> Work[dict[str, Assignment]]:
    given: dict[str, list[Partition]] = {member.member_id: [] for member in problem.members}
    # Static members come first and by their instance id: a restart changes their member id, not their part.
    order = sorted(problem.members, key=lambda each: (each.instance_id is None, each.instance_id or each.member_id))
    steps = 0
    for topic_id, count in problem.partitions.items():
        if (steps := steps + len(order) + count) >= _PIECE:
            steps = 0
            yield
        subscribers = [member for member in order if topic_id in member.topics]
        if not subscribers:
            continue
        share, extra = divmod(count, len(subscribers))
        start = 0
        for index, member in enumerate(subscribers):
            end = start + share + (index < extra)
            given[member.member_id] += [(topic_id, number) for number in range(start, end)]
            start = end
    return (yield from _assignments(given))


def assign_uniform(problem: Problem) -> Work[dict[str, Assignment]]:
    held = yield from _still_valid(problem)
    if len({member.topics for member in problem.members}) <= 1:
        yield from _fill_evenly(problem, held)
    else:
        yield from _fill_by_subscription(problem, held)
    return (yield from _assignments(held))


def _assignments(held: Mapping[str, list[Partition]]) -> Work[dict[str, Assignment]]:
    assigned: dict[str, Assignment] = {}
    for member_id, partitions in held.items():
        assigned[member_id] = yield from assignment(partitions)
    return assigned


def _still_valid(problem: Problem) -> Work[dict[str, list[Partition]]]:
    """What each member had and may keep."""
    taken: set[Partition] = set()
    held: dict[str, list[Partition]] = {}
    for member in sorted(problem.members, key=lambda each: each.member_id):
        held[member.member_id] = mine = []
        had = yield from in_order(partitions_of(member.current))
        for some in pieces(had, _PIECE):
            for partition in some:
                topic_id, number = partition
                exists = number < problem.partitions.get(topic_id, 0)
                if exists and topic_id in member.topics and partition not in taken:
                    taken.add(partition)
                    mine.append(partition)
            yield
    return held


def _fill_evenly(problem: Problem, held: dict[str, list[Partition]]) -> Work[None]:
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
    missing = iter((yield from _unassigned(problem, held)))
    for mine in held.values():
        room = share - len(mine)
        if room >= 0 and extra and len(mine) <= share:
            room, extra = room + 1, extra - 1
        mine += islice(missing, max(room, 0))
        yield


def _fill_by_subscription(problem: Problem, held: dict[str, list[Partition]]) -> Work[None]:
    """Subscriptions differ: each partition goes to its least loaded subscriber, then the loads are evened out."""
    subscribers: dict[Uuid, list[str]] = {topic_id: [] for topic_id in problem.partitions}
    for member in sorted(problem.members, key=lambda each: each.member_id):
        for topics in pieces(member.topics, _PIECE):
            for topic_id in topics:
                if topic_id in subscribers:
                    subscribers[topic_id].append(member.member_id)
            yield
    spread = yield from _spread_of(held)
    # Topics with few subscribers first: they have the least choice.
    missing = yield from _unassigned(problem, held)
    missing.sort(key=lambda each: len(subscribers[each[0]]))
    for some in pieces(missing, 16):
        for topic_id, number in some:
            if subscribers[topic_id]:
                spread.give(topic_id, number, min(subscribers[topic_id], key=spread.load))
        yield
    moved = True
    while moved:
        moved = False
        for topic_id, members in subscribers.items():
            if members:
                moved = (yield from _even_out(topic_id, spread, members)) or moved
    for member_id in held:
        held[member_id] = []
    for topic_id, by_member in spread.topics.items():
        for member_id, numbers in by_member.items():
            held[member_id] += [(topic_id, number) for number in numbers]
        yield


class _Spread:
    """Who has what of each topic, and how much everybody has."""

    def __init__(self, members: Iterable[str]) -> None:
        self.topics: dict[Uuid, dict[str, set[int]]] = {}
        self._counts = dict.fromkeys(members, 0)

    def load(self, member_id: str) -> tuple[int, str]:
        return self._counts[member_id], member_id

    def give(self, topic_id: Uuid, number: int, member_id: str) -> None:
        self.topics.setdefault(topic_id, {}).setdefault(member_id, set()).add(number)
        self._counts[member_id] += 1

    def move(self, topic_id: Uuid, giver: str, taker: str) -> None:
        theirs = self.topics[topic_id][giver]
        number = max(theirs)
        theirs.remove(number)
        if not theirs:
            del self.topics[topic_id][giver]
        self._counts[giver] -= 1
        self.give(topic_id, number, taker)


def _spread_of(held: Mapping[str, list[Partition]]) -> Work[_Spread]:
    spread = _Spread(held)
    for member_id, partitions in held.items():
        for some in pieces(partitions, _PIECE):
            for topic_id, number in some:
                spread.give(topic_id, number, member_id)
            yield
    return spread


def _even_out(topic_id: Uuid, spread: _Spread, members: list[str]) -> Work[bool]:
    """Moves partitions of one topic from loaded to less loaded members; every move makes the loads more even."""
    moved = False
    while True:
        least = min(members, key=spread.load)
        most = max(spread.topics.get(topic_id, ()), key=spread.load, default=least)
        if spread.load(most)[0] - spread.load(least)[0] < 2:
            return moved
        spread.move(topic_id, most, least)
        moved = True
        yield


def _unassigned(problem: Problem, held: dict[str, list[Partition]]) -> Work[list[Partition]]:
    """In order."""
    taken: set[Partition] = set()
    for mine in held.values():
        taken.update(mine)
        yield
    missing: list[Partition] = []
    for some in pieces((yield from in_order(problem.partitions))):
        for topic_id in some:
            missing += [
                (topic_id, number) for number in range(problem.partitions[topic_id]) if (topic_id, number) not in taken
            ]
        yield
    return missing


ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
