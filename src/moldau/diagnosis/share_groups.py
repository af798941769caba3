"""Why a share group does not get on: from what can be seen of it, twice, to sentences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, NamedTuple

from moldau.diagnosis.findings import Finding, some
from moldau.errors import KafkaError
from moldau.quantities import counted
from moldau.types import TopicPartition

if TYPE_CHECKING:
    from moldau.client.admin.groups import GroupDescription
    from moldau.client.cluster import Cluster

# What a broker has unless it is told otherwise.
_DELIVERIES: Final = 5
_LOCK_MS: Final = 30_000


class Tried(NamedTuple):
    """Offsets that were handed out in vain, and how often."""

    first: int
    last: int
    deliveries: int


@dataclass(slots=True, frozen=True)
class ShareGroupPosition:
    partition: TopicPartition
    # None where the group has not begun, or the partition is not there any more.
    start: int | None
    end: int | None
    # Records that are still to be delivered; None where the broker does not tell.
    lag: int | None
    # Who reads from it; several may.
    members: int
    error: str | None = None


def share_group_positions(cluster: Cluster, group: GroupDescription) -> list[ShareGroupPosition]:
    """Every partition the group has begun to read from, or that a member has."""
    from moldau.client.admin.offsets import LATEST, list_offsets
    from moldau.client.admin.share_groups import share_positions

    found = cluster.run(share_positions(group.group_id))
    assigned = [where for member in group.members for where in member.assigned]
    partitions = sorted({*found, *assigned})
    ends = cluster.run(list_offsets(dict.fromkeys(partitions, LATEST))) if partitions else {}
    rows = []
    for where in partitions:
        known, end = found.get(where), ends[where]
        bad = isinstance(known, KafkaError)
        begun = known is not None and not isinstance(known, KafkaError) and known.start >= 0
        rows.append(
            ShareGroupPosition(
                where,
                known.start if begun and known is not None and not isinstance(known, KafkaError) else None,
                None if isinstance(end, KafkaError) else end.offset,
                known.lag
                if begun and not isinstance(known, KafkaError) and known is not None and known.lag >= 0
                else None,
                assigned.count(where),
                str(known) if bad else None,
            )
        )
    return rows


def delivery_limits(cluster: Cluster, name: str) -> tuple[int, int]:
    """How often a record may be delivered, and how long it is locked: the group's settings, or its coordinator's."""
    from moldau.client.admin.configs import ConfigResource, ResourceType, describe_configs

    limit, lock_ms = _DELIVERIES, _LOCK_MS
    places = [(ConfigResource(ResourceType.BROKER, str(node)), "group.") for node in sorted(cluster.view.brokers)[:1]]
    for resource, prefix in [*places, (ConfigResource(ResourceType.GROUP, name), "")]:
        try:
            found = {each.name: each.value for each in cluster.run(describe_configs(resource))}
        except KafkaError:
            continue
        limit = int(found.get(f"{prefix}share.delivery.count.limit") or limit)
        lock_ms = int(found.get(f"{prefix}share.record.lock.duration.ms") or lock_ms)
    return limit, lock_ms


def left_to_deliver(positions: Sequence[ShareGroupPosition]) -> int:
    return sum(row.lag or 0 for row in positions)


def diagnose(
    group: GroupDescription,
    before: Sequence[ShareGroupPosition],
    after: Sequence[ShareGroupPosition],
    tried: Mapping[TopicPartition, Sequence[Tried]] | None,
    limit: int,
    lock_seconds: float,
    seconds: float,
) -> list[Finding]:
    """`limit` is how often a record is handed out at most, `tried` is None where nobody may look."""
    return [
        *_members(group, after),
        *_unreachable(after),
        *_progress(group, before, after, lock_seconds, seconds),
        *_in_vain(tried, limit),
    ]


def _members(group: GroupDescription, positions: Sequence[ShareGroupPosition]) -> list[Finding]:
    if not group.members:
        return [
            Finding(
                "Nobody is in the group: it waits for a member.",
                f"Start a share consumer with group.id={group.group_id}. While the group is empty it can be moved "
                "(`moldau share-groups reset-offsets`).",
            )
        ]
    findings = []
    idle = [member.member_id for member in group.members if not member.assigned]
    if len(idle) == len(group.members):
        topics = sorted({topic for member in group.members for topic in member.subscription})
        findings.append(
            Finding(
                f"Its {counted(len(group.members), 'member')} have no partitions to read from.",
                f"Is what they subscribe to there ({some(topics)})? A new member is told with its next heartbeat.",
            )
        )
    elif idle:
        findings.append(Finding(f"Nothing to read from have {some(idle)}."))
    else:
        findings.append(Finding(f"Its {counted(len(group.members), 'member')} all have partitions to read from."))
    nobodys = [str(row.partition) for row in positions if not row.members and row.lag]
    if nobodys:
        findings.append(Finding(f"Nobody reads from {some(nobodys)}, where records are left."))
    return findings


def _unreachable(positions: Sequence[ShareGroupPosition]) -> list[Finding]:
    findings = [Finding(row.error) for row in positions if row.error is not None]
    gone = [str(row.partition) for row in positions if row.end is None]
    if gone:
        findings.append(Finding(f"{some(gone)}: no longer there, or without a leader."))
    fresh = [str(row.partition) for row in positions if row.start is None and row.error is None and row.end is not None]
    if fresh:
        findings.append(
            Finding(
                f"It has not begun in {some(fresh)}.",
                "It begins when a member first fetches there, where share.auto.offset.reset of the group says.",
            )
        )
    return findings


def _progress(
    group: GroupDescription,
    before: Sequence[ShareGroupPosition],
    after: Sequence[ShareGroupPosition],
    lock_seconds: float,
    seconds: float,
) -> list[Finding]:
    left = left_to_deliver(after)
    if not left:
        return [Finding("There is nothing left to deliver.")] if any(row.start is not None for row in after) else []
    earlier = {row.partition: row for row in before}
    worst = max(after, key=lambda row: row.lag or 0)
    fact = f"{counted(left, 'record')} are left to deliver, most of all in {worst.partition} ({worst.lag:,})."
    if not group.members:
        return [Finding(fact)]
    written = sum((row.end or 0) - (known.end or 0) for row in after if (known := earlier.get(row.partition)))
    done = left_to_deliver(before) + written - left
    pace = f" In {seconds:g} s {done:,} were done with and {written:,} were written."
    if done <= 0:
        return [
            Finding(
                fact + pace,
                f"Members hold records and have not acknowledged them: each is locked for up to {lock_seconds:g} s "
                "(share.record.lock.duration.ms), then others get it. Which member holds which is known to the leader "
                "of the partition only. Or the look was too short: --for looks for longer.",
            )
        ]
    if done < written:
        return [Finding(fact + pace + " It falls further behind.", "More members help, also beyond the partitions.")]
    return [Finding(fact + pace)]


def _in_vain(tried: Mapping[TopicPartition, Sequence[Tried]] | None, limit: int) -> list[Finding]:
    if tried is None:
        return [
            Finding("How often records were delivered in vain cannot be seen: __share_group_state is not readable.")
        ]
    findings = []
    for where, ranges in sorted(tried.items()):
        last = [each for each in ranges if each.deliveries >= limit - 1]
        count = sum(each.last - each.first + 1 for each in ranges)
        if last:
            records = counted(sum(each.last - each.first + 1 for each in last), "record")
            findings.append(
                Finding(
                    f"In {where} one attempt is left for {records}, from offset {last[0].first} on: "
                    f"{limit} are allowed.",
                    "group.share.delivery.count.limit says how many; after the last one nobody gets the record.",
                )
            )
        elif count:
            most = max(each.deliveries for each in ranges)
            findings.append(
                Finding(f"In {where} {counted(count, 'record')} were delivered in vain, up to {counted(most, 'time')}.")
            )
    return findings
