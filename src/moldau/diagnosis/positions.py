"""Where a group stands: what it has committed beside what there is, partition by partition."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from moldau.errors import KafkaError
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.groups import GroupDescription, MemberDescription
    from moldau.client.cluster import Cluster


@dataclass(slots=True, frozen=True)
class Position:
    partition: TopicPartition
    # None where nothing is committed, or the partition does not exist any more.
    committed: int | None
    start: int | None
    end: int | None
    member: MemberDescription | None
    pending: bool = False
    metadata: str = ""

    @property
    def lag(self) -> int | None:
        """What is left to read; from the start if nothing is committed yet."""
        if self.end is None or self.committed is None:
            return None
        return max(self.end - self.committed, 0)


def group_positions(cluster: Cluster, group: GroupDescription) -> list[Position]:
    """Every partition the group has committed for, or that a member has or should have."""
    from moldau.client.admin.groups import committed_positions
    from moldau.client.admin.offsets import EARLIEST, LATEST, list_offsets

    committed = cluster.run(committed_positions(group.group_id))
    owners = {where: member for member in group.members for where in member.assigned}
    partitions = sorted({*committed, *owners, *(where for member in group.members for where in member.target)})
    starts = cluster.run(list_offsets(dict.fromkeys(partitions, EARLIEST))) if partitions else {}
    ends = cluster.run(list_offsets(dict.fromkeys(partitions, LATEST))) if partitions else {}
    rows = []
    for where in partitions:
        known, start, end = committed.get(where), starts[where], ends[where]
        rows.append(
            Position(
                where,
                known.offset if known is not None and known.offset >= 0 else None,
                None if isinstance(start, KafkaError) else start.offset,
                None if isinstance(end, KafkaError) else end.offset,
                owners.get(where),
                known is not None and known.pending,
                "" if known is None else known.metadata,
            )
        )
    return rows


def total_lag(positions: Iterable[Position]) -> int:
    return sum(position.lag or 0 for position in positions)
