"""Who leads a partition, and which record says so.

`change_partition` is the one place where a change of leader or in-sync set is made: it elects if it must, finishes a
reassignment that has become complete, and returns a record only if something is different. Leader epoch and partition
epoch follow from the record itself (see `PartitionRegistration.merge`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from typing import NamedTuple

from moldau.controller.brokers import BrokerControl
from moldau.metadata.partition_registration import (
    NO_LEADER_CHANGE,
    LeaderRecoveryState,
    PartitionRegistration,
)
from moldau.metadata.records import PartitionChangeRecord
from moldau.slicing import Work
from moldau.types import NO_LEADER, Uuid


class Election(Enum):
    # Keep the leader if it can lead, else the first replica in sync.
    ONLINE = "online"
    # Give the first replica the leadership back if it can lead.
    PREFERRED = "preferred"
    # As ONLINE, and with none in sync any living replica: records may be lost.
    UNCLEAN = "unclean"


class PartitionKey(NamedTuple):
    topic_id: Uuid
    partition: int


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
    election: Election = Election.ONLINE,
    recovery_state: int | None = None,
    directories: dict[int, Uuid] | None = None,
) -> PartitionChangeRecord | None:
    """The record that brings the partition to the wanted in-sync set with a leader that can lead, or None."""
    wanted_isr = current.isr if isr is None else isr
    replicas, removing, adding = current.replicas, current.removing_replicas, current.adding_replicas
    finished = _finish_reassignment(current, wanted_isr)
    if finished is not None:
        replicas, wanted_isr = finished
        removing = adding = ()

    record = PartitionChangeRecord(partition_id=key.partition, topic_id=key.topic_id)
    elected = _elect(current, replicas, wanted_isr, election, can_lead)
    if elected.leader != current.leader:
        record.leader = elected.leader
        if elected.unclean:
            # The new leader may lack records that others have: nobody else counts as in sync with it.
            wanted_isr = (elected.leader,)
            if current.leader_recovery_state != LeaderRecoveryState.RECOVERING:
                record.leader_recovery_state = LeaderRecoveryState.RECOVERING
    elif not set(current.replicas) <= set(replicas):
        # A replica was dropped: a new epoch keeps its late requests out.
        record.leader = current.leader

    # The last in-sync replica stays in the set even when it is gone: only it has everything that was acknowledged.
    if wanted_isr and wanted_isr != current.isr:
        record.isr = list(wanted_isr)
    if recovery_state is not None and recovery_state != current.leader_recovery_state:
        record.leader_recovery_state = recovery_state
    _set_assignment(record, current, brokers, replicas, removing, adding, directories or {})
    return record if _says_something(record) else None


def updates_for_broker(
    partitions: Iterable[tuple[PartitionKey, PartitionRegistration, bool]],
    brokers: BrokerControl,
    *,
    leaving: int | None = None,
    joining: int | None = None,
) -> Work[list[PartitionChangeRecord]]:
    """What a broker's coming or going means for partitions: any number of them, so it pauses.

    Each partition comes with whether an unclean election is allowed for it. The state still shows `joining` as fenced
    and `leaving` as active while this is decided, so both are named.
    """

    def can_lead(broker_id: int) -> bool:
        return broker_id != leaving and (broker_id == joining or brokers.is_active(broker_id))

    changes = []
    for key, current, unclean in partitions:
        change = change_partition(
            key,
            current,
            brokers,
            can_lead,
            isr=tuple(replica for replica in current.isr if replica != leaving),
            election=Election.UNCLEAN if unclean else Election.ONLINE,
        )
        if change is not None:
            changes.append(change)
        yield
    return changes


def _elect(
    current: PartitionRegistration,
    replicas: tuple[int, ...],
    isr: tuple[int, ...],
    election: Election,
    can_lead: Callable[[int], bool],
) -> _Elected:
    def is_valid(replica: int) -> bool:
        return replica in isr and can_lead(replica)

    if election is Election.PREFERRED and replicas and is_valid(replicas[0]):
        return _Elected(replicas[0], False)
    if is_valid(current.leader):
        return _Elected(current.leader, False)
    for replica in replicas:
        if is_valid(replica):
            return _Elected(replica, False)
    if election is Election.UNCLEAN:
        for replica in replicas:
            if can_lead(replica):
                return _Elected(replica, True)
    return _Elected(NO_LEADER, False)


def _finish_reassignment(
    current: PartitionRegistration, isr: tuple[int, ...]
) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    """(replicas, isr) once every replica that stays is in sync; None while it is not so, or nothing is reassigned."""
    if not current.is_reassigning or not set(current.adding_replicas) <= set(isr):
        return None
    new_isr = tuple(replica for replica in isr if replica not in current.removing_replicas)
    new_replicas = tuple(replica for replica in current.replicas if replica not in current.removing_replicas)
    if not new_isr or not new_replicas or not set(new_replicas) <= set(new_isr):
        return None
    return new_replicas, new_isr


def _set_assignment(
    record: PartitionChangeRecord,
    current: PartitionRegistration,
    brokers: BrokerControl,
    replicas: tuple[int, ...],
    removing: tuple[int, ...],
    adding: tuple[int, ...],
    directories: dict[int, Uuid],
) -> None:
    if replicas == current.replicas and not directories:
        return
    known = {**dict(zip(current.replicas, current.directories, strict=True)), **directories}
    wanted = tuple(known[r] if r in known else brokers.default_directory(r) for r in replicas)
    if wanted != current.directories:
        record.directories = list(wanted)
    if replicas != current.replicas:
        record.replicas = list(replicas)
    if removing != current.removing_replicas:
        record.removing_replicas = list(removing)
    if adding != current.adding_replicas:
        record.adding_replicas = list(adding)


def _says_something(record: PartitionChangeRecord) -> bool:
    return (
        record.leader != NO_LEADER_CHANGE
        or record.leader_recovery_state >= 0
        or record.isr is not None
        or record.replicas is not None
        or record.removing_replicas is not None
        or record.adding_replicas is not None
        or record.directories is not None
    )
