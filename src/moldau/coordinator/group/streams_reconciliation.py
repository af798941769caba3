"""One step of a member of a streams group towards its target: give up first, then take over what is free.

The states and their order are those of consumer groups (`reconciliation`). What is free depends on the role: a task is
active with one process only, and a process has it in one role at a time.
"""

from __future__ import annotations

from collections.abc import Callable

from moldau.coordinator.group.consumer_member import MemberState, assignment, partitions_of
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_member import NO_TASKS, Partitions, StreamsMember, TaskId, Tasks
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.slicing import Work, pieces


def reconcile_tasks(
    group: StreamsGroup, member: StreamsMember, target_epoch: int, target: Tasks, owned: Tasks | None
) -> Work[StreamsMember]:
    """The member after this step, or itself if it cannot go further now. `owned` is None where it does not say."""
    if member.is_reconciled_to(target_epoch):
        return member
    epoch = member.epoch
    if member.state == MemberState.UNREVOKED_PARTITIONS:
        if owned is None or owned.holds_any(member.pending_revocation):
            return member
        # What was asked for is done; that alone is a step, even if the target has moved on meanwhile.
        epoch += 1
    elif member.state == MemberState.UNKNOWN:
        if owned is None or owned:
            raise KafkaError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The member is in a state that this version does not know; it must give everything up and join again.",
            )
        epoch = target_epoch
    return (yield from _next(group, member, epoch, target_epoch, target, owned))


def _next(
    group: StreamsGroup, member: StreamsMember, epoch: int, target_epoch: int, target: Tasks, owned: Tasks | None
) -> Work[StreamsMember]:
    process, owners, keepers = member.process_id, group.owners, group.keepers

    def kept_here(task: TaskId) -> bool:
        return process in keepers.get(task, ())

    def no_other_role(task: TaskId) -> bool:
        return owners.get(task) != process and not kept_here(task)

    active = yield from _difference(
        member.assigned.active, target.active, lambda task: owners.get(task) is None and not kept_here(task)
    )
    standby = yield from _difference(member.assigned.standby, target.standby, no_other_role)
    warmup = yield from _difference(member.assigned.warmup, target.warmup, no_other_role)
    everything = (active, standby, warmup)
    revoked = Tasks(*[each.revoked for each in everything])
    since = {task: member.assignment_epochs[task] for task in partitions_of(member.assigned.active)}
    if revoked and (owned is None or owned.holds_any(revoked)):
        return replace(
            member.at_epoch(epoch),
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=Tasks(*[each.kept for each in everything]),
            pending_revocation=revoked,
            assignment_epochs=since,
        )
    assigned = Tasks(*[each.taken for each in everything])
    return replace(
        member.at_epoch(target_epoch),
        state=(MemberState.STABLE if all(each.complete for each in everything) else MemberState.UNRELEASED_PARTITIONS),
        assigned=assigned,
        pending_revocation=NO_TASKS,
        assignment_epochs={task: since.get(task, target_epoch) for task in partitions_of(assigned.active)},
    )


class _Difference:
    """Between what a member has in one role and what it should have."""

    __slots__ = ("complete", "kept", "revoked", "taken")

    def __init__(self, kept: Partitions, revoked: Partitions, taken: Partitions, complete: bool) -> None:
        self.kept = kept
        self.revoked = revoked
        # What it keeps and what it may have as well.
        self.taken = taken
        # Whether that is all it should have.
        self.complete = complete


def _difference(has: Partitions, wants: Partitions, is_free: Callable[[TaskId], bool]) -> Work[_Difference]:
    kept: list[TaskId] = []
    revoked: list[TaskId] = []
    free: list[TaskId] = []
    complete = True
    for some in pieces(partitions_of(has)):
        for task in some:
            (kept if task[1] in wants.get(task[0], ()) else revoked).append(task)
        yield
    for some in pieces(partitions_of(wants)):
        for task in some:
            if task[1] in has.get(task[0], ()):
                continue
            if is_free(task):
                free.append(task)
            else:
                complete = False
        yield
    return _Difference(
        (yield from assignment(kept)),
        (yield from assignment(revoked)),
        (yield from assignment([*kept, *free])),
        complete,
    )
