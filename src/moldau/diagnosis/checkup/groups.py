"""Groups that are behind: not by how many records, but by how old the first record is that they have not read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from time import time
from typing import TYPE_CHECKING, Final

from moldau.diagnosis.checkup.found import Found, problem, warning
from moldau.diagnosis.findings import some
from moldau.errors import KafkaError
from moldau.quantities import counted
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.cluster import Cluster

_READING: Final = ("classic", "consumer")


@dataclass(slots=True, frozen=True)
class GroupStanding:
    """`old` are partitions with an unread record that is older than the patience of who asks."""

    name: str
    state: str
    lag: int
    old: tuple[TopicPartition, ...]
    patience: float


def look_at_groups(cluster: Cluster, patience: float, seconds: float) -> list[GroupStanding]:
    """Those that have anything left to read."""
    from moldau.client.admin.committed import committed_of_groups
    from moldau.client.admin.groups import list_groups
    from moldau.client.admin.offsets import LATEST, list_offsets

    listed = [each for each in cluster.run(list_groups(), timeout=seconds) if each.type in _READING]
    if not listed:
        return []
    committed = cluster.run(committed_of_groups({each.group_id: each.coordinator for each in listed}), timeout=seconds)
    places = sorted({where for each in committed.values() for where in each})
    if not places:
        return []
    ends = cluster.run(list_offsets(dict.fromkeys(places, LATEST)), timeout=seconds)
    since = round((time() - patience) * 1000)
    young = cluster.run(list_offsets(dict.fromkeys(places, since)), timeout=seconds)
    found = []
    for group in listed:
        lag, old = 0, []
        for where, offset in sorted(committed.get(group.group_id, {}).items()):
            end, first_young = ends[where], young[where]
            if isinstance(end, KafkaError) or isinstance(first_young, KafkaError) or offset >= end.offset:
                continue
            lag += end.offset - offset
            # No record is that young: all that is left is old.
            if not first_young.found or offset < first_young.offset:
                old.append(where)
        if lag:
            found.append(GroupStanding(group.group_id, group.state, lag, tuple(old), patience))
    return found


def check_groups(groups: Sequence[GroupStanding]) -> list[Found]:
    return [_found(group) for group in groups if group.old]


def _found(group: GroupStanding) -> Found:
    fact = (
        f"Group {group.name} is {counted(group.lag, 'record')} behind, and has not read what was written more than "
        f"{group.patience:g} s ago in {some([str(where) for where in group.old])}."
    )
    if group.state == "Empty":
        return warning(
            "group-lag",
            fact,
            "Nobody is in the group, so nothing is read; what retention deletes meanwhile is never read.",
            f"Start its consumers; if it is no longer wanted, `moldau groups delete {group.name}`.",
        )
    return problem(
        "group-lag",
        fact,
        "Its members are too few, too slow or stuck; what retention deletes before they come to it is never read.",
        f"`moldau explain group {group.name} --for 10s` tells who reads what and whether it catches up; more members "
        "help up to the number of partitions.",
    )
