"""Who leads a partition, and which record says so.

`change_partition` is the one place where a change of leader, in-sync set or replicas is made: it elects if it must,
finishes a reassignment that has become complete, and returns a record only if something is different. Leader epoch and
partition epoch follow from the record itself (see `PartitionRegistration.merge`).

Eligible leader replicas (KIP-966). While fewer than `min.insync.replicas` are in sync nothing is committed, so whoever
leaves the in-sync set in that time has all there is: it becomes eligible and may lead again once nobody is in sync.
Hence the in-sync set can be empty, where without the feature its last member stays in it for ever. A replica that may
have lost what it had (it died without writing everything down) is eligible no more. When nobody is left at all, the
last leader is waited for and taken, as after an unclean election: records may be missing, but from nobody fewer.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from enum import Enum
from typing import NamedTuple

from moldau.controller.brokers import BrokerControl
from moldau.controller.partition_index import PartitionKey
from moldau.metadata.partition_registration import (
    NO_LEADER_CHANGE,
    LeaderRecoveryState,
    PartitionRegistration,
)
from moldau.metadata.records import PartitionChangeRecord
from moldau.types import NO_LEADER, Uuid


class Election(Enum):
    # Keep the leader if it can lead, else the first replica in sync.
    ONLINE = "online"
    # Give the first replica the leadership back if it can lead.
    PREFERRED = "preferred"
    # As ONLINE, and with none in sync any living replica: records may be lost.
    UNCLEAN = "unclean"


class Assignment(NamedTuple):
    """Where a partition is and where it goes: `replicas` has those that are added and those that are removed, too."""

    replicas: tuple[int, ...]
    removing: tuple[int, ...] = ()
    adding: tuple[int, ...] = ()


class _Elected(NamedTuple):
    leader: int
    unclean: bool


def change_partition(
    key: PartitionKey,
    current: PartitionRegistration,
    brokers: BrokerControl,
    can_lead: Callable[[int], bool],
    *,
    isr: tuple[int, ...] | None = None,
    assignment: Assignment | None = None,
    election: Election = Election.ONLINE,
    recovery_state: int | None = None,
    directories: Mapping[int, Uuid] | None = None,
    min_isr: int | None = None,
    incomplete: Container[int] = (),
) -> PartitionChangeRecord | None:
    """The record that brings the partition to what is wanted with a leader that can lead, or None.

    `min_isr` is the least number of replicas in sync for a commit, None where there are no eligible leaders;
    `incomplete` are replicas that may have lost records. What is not named stays as it is.
    """
    target = Assignment(current.replicas, current.removing_replicas, current.adding_replicas)
    target, wanted_isr = _finish_reassignment(assignment or target, current.isr if isr is None else isr)
    elr = _eligible(current, target.replicas, wanted_isr, min_isr, incomplete)
    known = {**dict(zip(current.replicas, current.directories, strict=True)), **(directories or {})}

    def may_lead(replica: int) -> bool:
        return can_lead(replica) and brokers.has_online_directory(replica, known.get(replica))

    record = PartitionChangeRecord(partition_id=key.partition, topic_id=key.topic_id)
    elected = _elect(current, target.replicas, wanted_isr, elr, election, may_lead, min_isr)
    if elected.unclean:
        # The new leader may lack records that others have: nobody else counts as in sync with it, or eligible.
        wanted_isr, elr = (elected.leader,), ()
    elif elected.leader in elr:
        wanted_isr = (elected.leader,)
        elr = tuple(replica for replica in elr if replica != elected.leader)
    if elected.leader != current.leader:
        record.leader = elected.leader
        if elected.unclean and current.leader_recovery_state != LeaderRecoveryState.RECOVERING:
            record.leader_recovery_state = LeaderRecoveryState.RECOVERING
    elif not set(current.replicas) <= set(target.replicas):
        # A replica was dropped: a new epoch keeps its late requests out.
        record.leader = current.leader

    # Without eligible leaders, the last in-sync replica stays in the set even when it is gone: only it has everything
    # that was acknowledged.
    if (wanted_isr or min_isr is not None) and wanted_isr != current.isr:
        record.isr = list(wanted_isr)
    _set_eligible(record, current, target.replicas, elr, wanted_isr, min_isr)
    if recovery_state is not None and recovery_state != current.leader_recovery_state:
        record.leader_recovery_state = recovery_state
    _set_assignment(record, current, brokers, target, known)
    return record if _says_something(record) else None


def _elect(
    current: PartitionRegistration,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    elr: tuple[int, ...],
    election: Election,
    may_lead: Callable[[int], bool],
    min_isr: int | None,
) -> _Elected:
    # Those who are eligible have everything only as long as nobody is in sync: a leader may have gone on since.
    complete = isr or elr

    def is_valid(replica: int) -> bool:
        return replica in complete and may_lead(replica)

    if election is Election.PREFERRED and replicas and is_valid(replicas[0]):
        return _Elected(replicas[0], False)
    if is_valid(current.leader):
        return _Elected(current.leader, False)
    for replica in replicas:
        if is_valid(replica):
            return _Elected(replica, False)
    if min_isr is not None and not complete and len(current.last_known_elr) == 1:
        last_leader = current.last_known_elr[0]
        if last_leader in replicas and may_lead(last_leader):
            return _Elected(last_leader, True)
    if election is Election.UNCLEAN:
        for replica in replicas:
            if may_lead(replica):
                return _Elected(replica, True)
    return _Elected(NO_LEADER, False)


def _eligible(
    current: PartitionRegistration,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    min_isr: int | None,
    incomplete: Container[int],
) -> tuple[int, ...]:
    """Those out of sync that have everything that was committed, in the order of the replicas."""
    if min_isr is None:
        # The feature was switched off: who is eligible for a partition without anybody in sync is still needed.
        return () if isr or current.isr else current.elr
    candidates = {*current.elr, *current.isr}.difference(isr)
    return tuple(replica for replica in replicas if replica in candidates and replica not in incomplete)


def _set_eligible(
    record: PartitionChangeRecord,
    current: PartitionRegistration,
    replicas: tuple[int, ...],
    elr: tuple[int, ...],
    isr: tuple[int, ...],
    min_isr: int | None,
) -> None:
    last_known = _last_known(current, replicas, elr, isr, min_isr)
    if isr and (min_isr is None or len(isr) >= min_isr):
        # Those in sync, were it only the one who was just elected, are enough to commit without the others.
        elr = ()
    if elr != current.elr:
        record.eligible_leader_replicas = list(elr)
    if last_known != current.last_known_elr:
        record.last_known_elr = list(last_known)


def _last_known(
    current: PartitionRegistration,
    replicas: tuple[int, ...],
    elr: tuple[int, ...],
    isr: tuple[int, ...],
    min_isr: int | None,
) -> tuple[int, ...]:
    """Who is waited for when nobody is in sync and nobody eligible is left; Kafka's field holds one at most."""
    if isr or (min_isr is None and current.isr):
        return ()
    known = current.last_known_elr
    if min_isr is None or (known and set(known) <= set(replicas)):
        return known
    # It may have been without a leader before the feature was switched on: the last in sync was the last to lead. And
    # a leader that a reassignment takes away does not come back: of those who are left, the eligible have all it had.
    candidates = (current.leader, *current.isr, *elr)
    return next(((replica,) for replica in candidates if replica in replicas), ())


def _finish_reassignment(target: Assignment, isr: tuple[int, ...]) -> tuple[Assignment, tuple[int, ...]]:
    """(assignment, isr) without those who leave, once every replica that stays is in sync; both as they are before."""
    if not target.adding and not target.removing:
        return target, isr
    new_isr = tuple(replica for replica in isr if replica not in target.removing)
    new_replicas = tuple(replica for replica in target.replicas if replica not in target.removing)
    if not new_isr or not new_replicas or not set(new_replicas) <= set(new_isr):
        return target, isr
    return Assignment(new_replicas), new_isr


def _set_assignment(
    record: PartitionChangeRecord,
    current: PartitionRegistration,
    brokers: BrokerControl,
    target: Assignment,
    known: Mapping[int, Uuid],
) -> None:
    wanted = tuple(known[r] if r in known else brokers.default_directory(r) for r in target.replicas)
    if wanted != current.directories:
        record.directories = list(wanted)
    if target.replicas != current.replicas:
        record.replicas = list(target.replicas)
    if target.removing != current.removing_replicas:
        record.removing_replicas = list(target.removing)
    if target.adding != current.adding_replicas:
        record.adding_replicas = list(target.adding)


def _says_something(record: PartitionChangeRecord) -> bool:
    return (
        record.leader != NO_LEADER_CHANGE
        or record.leader_recovery_state >= 0
        or record.isr is not None
        or record.eligible_leader_replicas is not None
        or record.last_known_elr is not None
        or record.replicas is not None
        or record.removing_replicas is not None
        or record.adding_replicas is not None
        or record.directories is not None
    )
