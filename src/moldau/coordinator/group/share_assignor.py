"""Who reads which share partitions: the assignor `simple`, the only one share groups have.

A partition may be given to several members. Each is given to as many as it takes for every member to have one, and
members get about the same number of them; what somebody has already stays with it as far as that allows. Where all
members subscribe to the same topics, all partitions are shared out together, else those of each topic among its
subscribers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import cycle
from typing import Final

from moldau.coordinator.group.assignors import Partition, Problem, Subscriber
from moldau.coordinator.group.consumer_member import Assignment, assignment
from moldau.slicing import Work, pieces
from moldau.types import Uuid

NAME: Final = "simple"
# Steps of a loop between two pauses.
_PIECE: Final = 256


def assign_simple(problem: Problem, assignable: Mapping[Uuid, frozenset[int]]) -> Work[dict[str, Assignment]]:
    """`assignable` are the partitions whose state is there."""
    members = sorted(problem.members, key=lambda each: each.member_id)
    given: dict[str, list[Partition]] = {member.member_id: [] for member in members}
    if len({member.topics for member in members}) <= 1:
        everything = [
            (topic_id, number)
            for topic_id in problem.partitions
            for number in sorted(assignable.get(topic_id, frozenset()))
        ]
        yield from _share_out(everything, members, given)
    else:
        for topic_id in problem.partitions:
            subscribers = [member for member in members if topic_id in member.topics]
            partitions = [(topic_id, number) for number in sorted(assignable.get(topic_id, frozenset()))]
            yield from _share_out(partitions, subscribers, given)
    assigned: dict[str, Assignment] = {}
    for member_id, partitions in given.items():
        assigned[member_id] = yield from assignment(partitions)
    return assigned


def _share_out(
    partitions: Sequence[Partition], members: Sequence[Subscriber], given: Mapping[str, list[Partition]]
) -> Work[None]:
    if not partitions or not members:
        return
    # How many members read each partition, and how many partitions each member reads: all of it adds up.
    sharing = -(-len(members) // len(partitions))
    total = sharing * len(partitions)
    room = {
        member.member_id: -(-total * (place + 1) // len(members)) + (-total * place // len(members))
        for place, member in enumerate(members)
    }
    readers = dict.fromkeys(partitions, 0)
    held: dict[str, set[Partition]] = {}
    for member in members:
        mine: set[Partition] = set()
        held[member.member_id] = mine
        for topic_id in sorted(member.current):
            for numbers in pieces(sorted(member.current[topic_id]), _PIECE):
                for number in numbers:
                    partition = topic_id, number
                    if len(mine) < room[member.member_id] and readers.get(partition, sharing) < sharing:
                        readers[partition] += 1
                        mine.add(partition)
                yield
    yield from _fill(readers, sharing, room, held)
    for member_id, mine in held.items():
        given[member_id].extend(sorted(mine))
        yield


def _fill(
    readers: dict[Partition, int], sharing: int, room: Mapping[str, int], held: Mapping[str, set[Partition]]
) -> Work[None]:
    """Gives each partition to those in turn who have room, until enough of them read it."""
    unfilled = {member_id for member_id, mine in held.items() if len(mine) < room[member_id]}
    turns = cycle(list(held))
    for some in pieces(readers.items(), 16):
        for partition, known in some:
            missing, passed = sharing - known, 0
            while missing and unfilled and passed < len(held):
                member_id = next(turns)
                passed += 1
                if member_id not in unfilled or partition in held[member_id]:
                    continue
                held[member_id].add(partition)
                missing, passed = missing - 1, 0
                if len(held[member_id]) >= room[member_id]:
                    unfilled.discard(member_id)
        yield
