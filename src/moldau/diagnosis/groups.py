"""What a group is waiting for, and what would unblock it: from a description to sentences.

A pure function of what can be seen from outside, looked at twice: the description of the group, its positions, and its
positions a moment later.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from moldau.diagnosis.findings import Finding, some
from moldau.diagnosis.positions import Position, total_lag
from moldau.quantities import counted

if TYPE_CHECKING:
    from moldau.client.admin.groups import GroupDescription, MemberDescription


_STREAMS: Final = "streams"


def diagnose(
    group: GroupDescription, before: Sequence[Position], after: Sequence[Position], seconds: float
) -> list[Finding]:
    findings = _state(group)
    if group.type in ("consumer", _STREAMS) and group.state in ("Assigning", "Reconciling"):
        findings += _reconciliation(group)
    findings += _ownership(group, after)
    findings += _progress(group, before, after, seconds)
    findings += _lost_positions(after)
    pending = [row for row in after if row.pending]
    if pending:
        findings.append(
            Finding(
                f"An open transaction has committed offsets for {_names(pending)}; until it ends, consumers that want "
                "stable offsets wait.",
                "`moldau transactions list` shows open transactions, `moldau explain txn ID` what one waits for.",
            )
        )
    return findings


def _state(group: GroupDescription) -> list[Finding]:
    members = counted(len(group.members), "member")
    match group.state:
        case "Empty" if group.type == _STREAMS:
            return [
                Finding(
                    "No instance of the application runs.",
                    f"Start one with application.id={group.group_id} and group.protocol=streams. Its offsets expire "
                    "after offsets.retention.minutes, its topics stay.",
                )
            ]
        case "NotReady" if group.missing_topics:
            return [
                Finding(
                    f"Nothing runs, since topics of the application are missing: {some(list(group.missing_topics))}.",
                    "Create those that it reads. Those it has for itself are created with the next heartbeat of a "
                    "member, if its user may create topics: its log says what stands in the way.",
                )
            ]
        case "NotReady":
            return [
                Finding(
                    "Nothing runs, since the topics of the application do not have the numbers of partitions they "
                    "should have.",
                    "The log of its members names the topic. One that was changed later has to be made anew, with the "
                    "others that depend on it (kafka-streams-application-reset).",
                )
            ]
        case "Empty":
            return [
                Finding(
                    "Nobody is in the group: it waits for a member.",
                    f"Start a consumer with group.id={group.group_id}. While the group is empty its offsets can be "
                    "moved, and they expire after offsets.retention.minutes.",
                )
            ]
        case "PreparingRebalance":
            return [
                Finding(
                    f"A rebalance has begun, and the group waits until its {members} have joined again; who has not "
                    "by its rebalance timeout (max.poll.interval.ms) is removed.",
                    "A member that is busy with its last records joins when it polls again; stop one that never will: "
                    + _who(group.members),
                )
            ]
        case "CompletingRebalance":
            return [
                Finding(
                    f"All {members} have joined, and wait for the assignment of their leader.",
                    "If this lasts, the leader is stuck in its assignor: stop it, and another becomes the leader.",
                )
            ]
        case "Assigning":
            return [
                Finding(
                    f"Members or topics changed (epoch {group.epoch}); the next heartbeat of a member makes a new "
                    f"assignment (the last was made at epoch {group.assignment_epoch})."
                )
            ]
        case "Reconciling":
            return [Finding(f"The assignment of epoch {group.assignment_epoch} is being carried out.")]
        case _:
            return [Finding("Every member has what it should have.")]


def _reconciliation(group: GroupDescription) -> list[Finding]:
    """Who holds what another waits for."""
    holders = {where: member for member in group.members for where in member.assigned}
    behind = [member for member in group.members if member.epoch < group.assignment_epoch]
    findings = []
    for member in group.members:
        missing = sorted(member.target - member.assigned)
        held = [(where, holders[where]) for where in missing if where in holders]
        if held:
            where, holder = held[0]
            more = f" and {len(held) - 1} more" if len(held) > 1 else ""
            findings.append(
                Finding(
                    f"{member.member_id} waits for {where}{more}, held by {holder.member_id} at epoch {holder.epoch}.",
                    f"It is released when {holder.member_id} has finished with it and polls, or when its rebalance "
                    "timeout (max.poll.interval.ms) is over.",
                )
            )
        elif missing:
            told = [each for each in behind if each is not member]
            findings.append(
                Finding(
                    f"{member.member_id} is still to get {some([str(where) for where in missing])}.",
                    f"They are free once {_who(told)} said that it gave them up; then with the next heartbeat."
                    if told
                    else "It gets them with its next heartbeat.",
                )
            )
    return findings


def _ownership(group: GroupDescription, positions: Sequence[Position]) -> list[Finding]:
    findings = []
    idle = [member for member in group.members if not (member.assigned or member.target or member.copies)]
    if group.state == "Stable" and idle and len(idle) < len(group.members):
        findings.append(
            Finding(
                f"{counted(len(idle), 'member')} of {len(group.members)} have nothing to do: {_who(idle)}",
                "There are more members than tasks."
                if group.type == _STREAMS
                else "There are more members than partitions; more partitions would give them work.",
            )
        )
    subscribed = {topic for member in group.members for topic in member.subscription}
    nobodys = [row for row in positions if row.member is None and row.partition.topic in subscribed and row.lag]
    if group.state == "Stable" and nobodys:
        findings.append(Finding(f"Nobody reads {_names(nobodys)}, though the group subscribes to it."))
    return findings


def _progress(
    group: GroupDescription, before: Sequence[Position], after: Sequence[Position], seconds: float
) -> list[Finding]:
    lag = total_lag(after)
    if not lag:
        return [Finding("It has read everything there is.")] if after else []
    committed = {row.partition: row.committed for row in before if row.committed is not None}
    ends = {row.partition: row.end for row in before if row.end is not None}
    read = sum((row.committed or 0) - committed.get(row.partition, row.committed or 0) for row in after)
    written = sum((row.end or 0) - ends.get(row.partition, row.end or 0) for row in after)
    worst = max(after, key=lambda row: row.lag or 0)
    fact = f"It is {counted(lag, 'record')} behind, most of all in {worst.partition} ({worst.lag:,})."
    pace = f" In {seconds:g} s it committed {read:,} and {written:,} were written."
    if not group.members:
        return [Finding(fact)]
    if read > written:
        left = lag / (read - written) * seconds
        return [Finding(fact + pace + f" At this pace it catches up in about {_duration(left)}.")]
    if read == 0:
        return [
            Finding(
                fact + pace,
                "Either it commits less often than this look took (look for longer with --for), or its members are "
                "stuck on a record or do not commit.",
            )
        ]
    return [
        Finding(fact + pace + " It falls further behind.", "More members, up to the number of partitions, would help.")
    ]


def _lost_positions(positions: Sequence[Position]) -> list[Finding]:
    findings = []
    fresh = [row for row in positions if row.committed is None and row.end and not row.pending]
    if fresh:
        findings.append(
            Finding(
                f"Nothing is committed for {_names(fresh)}; auto.offset.reset of its members says where they start."
            )
        )
    gone = [row for row in positions if row.end is None]
    if gone:
        findings.append(Finding(f"{_names(gone)}: no longer there; what is committed for it will expire."))
    for row in positions:
        if row.committed is None or row.start is None or row.end is None:
            continue
        if row.committed < row.start:
            missed = counted(row.start - row.committed, "record")
            findings.append(
                Finding(
                    f"In {row.partition} it stands at {row.committed:,}, but the log starts at {row.start:,}: {missed} "
                    "were deleted before they were read.",
                    "Its members go on where auto.offset.reset says.",
                )
            )
        elif row.committed > row.end:
            findings.append(
                Finding(
                    f"In {row.partition} it stands at {row.committed:,}, beyond the end of the log ({row.end:,}).",
                    "The topic was made anew or lost records; `moldau groups reset-offsets` moves the group.",
                )
            )
    return findings


def _names(positions: Sequence[Position]) -> str:
    return some([str(row.partition) for row in positions])


def _who(members: Sequence[MemberDescription]) -> str:
    return some([f"{member.member_id} ({member.host.removeprefix('/')})" for member in members])


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    if seconds < 7200:
        return f"{seconds / 60:.0f} min"
    return f"{seconds / 3600:.0f} h"
