"""One step of a member towards its target: give up first, then take over what others have given up.

    STABLE ── a new target ──┬── must give something up ──> UNREVOKED ── says that it did ──┐
                             └──────────────────────────────────────────────────────────────┤
                                      everything it should have is free ──> STABLE  <───────┤
                                      another member still holds a part ──> UNRELEASED <────┘

A member stays at its old epoch until it has given up what it must, so it can still commit offsets for it. This is a
pure function: the member as it is, its target, who owns what, and what the member says it owns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from moldau.coordinator.group.consumer_member import (
    NO_PARTITIONS,
    Assignment,
    ConsumerMember,
    MemberState,
    assignment,
    holds_any,
    partitions_of,
)
from moldau.dataclass import replace
from moldau.errors import ErrorCode, KafkaError
from moldau.slicing import Work, pieces
from moldau.types import Uuid


def reconcile(
    member: ConsumerMember,
    target_epoch: int,
    target: Assignment,
    owner: Callable[[tuple[Uuid, int]], str | None],
    owned: Assignment | None,
) -> Work[ConsumerMember]:
    """The member after this step, or itself if it cannot go further now. `owned` is None where it does not say."""
    if member.is_reconciled_to(target_epoch):
        return member
    if member.state == MemberState.UNREVOKED_PARTITIONS:
        if _holds(owned, member.pending_revocation):
            return member
        # What was asked for is done; that alone is a step, even if the target has moved on meanwhile.
        return (yield from _next(member, member.epoch + 1, target_epoch, target, owner, owned))
    if member.state == MemberState.UNKNOWN:
        if owned is None or owned:
            raise KafkaError(
                ErrorCode.FENCED_MEMBER_EPOCH,
                "The member is in a state that this version does not know; it must give everything up and join again.",
            )
        return (yield from _next(member, target_epoch, target_epoch, target, owner, owned))
    return (yield from _next(member, member.epoch, target_epoch, target, owner, owned))


def _next(
    member: ConsumerMember,
    epoch: int,
    target_epoch: int,
    target: Assignment,
    owner: Callable[[tuple[Uuid, int]], str | None],
    owned: Assignment | None,
) -> Work[ConsumerMember]:
    has, wants = (yield from _distinct(member.assigned)), (yield from _distinct(target))
    keeps = has & wants
    revokes = yield from assignment(has - wants)
    if revokes and _holds(owned, revokes):
        return replace(
            member.at_epoch(epoch),
            state=MemberState.UNREVOKED_PARTITIONS,
            assigned=(yield from assignment(keeps)),
            pending_revocation=revokes,
            assignment_epochs=(yield from _epochs(member, has)),
        )
    missing = wants - has
    free: set[tuple[Uuid, int]] = set()
    for some in pieces(missing):
        free.update(partition for partition in some if owner(partition) in (None, member.member_id))
        yield
    kept = yield from _epochs(member, keeps)
    return replace(
        member.at_epoch(target_epoch),
        state=MemberState.STABLE if free == missing else MemberState.UNRELEASED_PARTITIONS,
        assigned=(yield from assignment(keeps | free)),
        pending_revocation=NO_PARTITIONS,
        assignment_epochs=kept | dict.fromkeys(free, target_epoch),
    )


def _distinct(partitions: Assignment) -> Work[set[tuple[Uuid, int]]]:
    found: set[tuple[Uuid, int]] = set()
    for some in pieces(partitions_of(partitions)):
        found.update(some)
        yield
    return found


def _epochs(member: ConsumerMember, partitions: Iterable[tuple[Uuid, int]]) -> Work[dict[tuple[Uuid, int], int]]:
    epochs: dict[tuple[Uuid, int], int] = {}
    for some in pieces(partitions):
        epochs.update((partition, member.assignment_epochs[partition]) for partition in some)
        yield
    return epochs


def _holds(owned: Assignment | None, partitions: Assignment) -> bool:
    """Whether the member still has some of them, or does not say that it has not."""
    return owned is None or holds_any(owned, partitions)
