"""The state of one partition as the metadata log has it: replicas, in-sync set, leader and the epochs that fence.

Two epochs, as in Kafka. `leader_epoch` grows when the leader changes (or must be made to prove itself again) and is
stamped into the records; `partition_epoch` grows with every change and guards updates of the in-sync set.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final, NamedTuple

from moldau.protocol.messages.partition_change_record import PartitionChangeRecord
from moldau.protocol.messages.partition_record import PartitionRecord
from moldau.types import NO_LEADER, Uuid

# Kafka's reserved directory ids: a replica whose directory is not known to the controller (an old record), is not
# chosen yet, or was lost with its disk.
MIGRATING_DIRECTORY: Final[Uuid] = bytes(16)
UNASSIGNED_DIRECTORY: Final[Uuid] = bytes(15) + b"\x01"
LOST_DIRECTORY: Final[Uuid] = bytes(15) + b"\x02"

# In a PartitionChangeRecord: the leader stays, and so does its epoch.
NO_LEADER_CHANGE: Final = -2


def is_reserved_directory(directory: Uuid) -> bool:
    """Ids below 100 are kept for meanings of their own and are never the id of a directory."""
    return directory[:15] == bytes(15) and directory[15] < 100


class LeaderRecoveryState(IntEnum):
    """Whether the leader still has to recover from an election that may have lost records."""

    RECOVERED = 0
    RECOVERING = 1


class PartitionRegistration(NamedTuple):
    replicas: tuple[int, ...]
    directories: tuple[Uuid, ...]
    isr: tuple[int, ...]
    leader: int
    leader_epoch: int
    partition_epoch: int
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    leader_recovery_state: int = LeaderRecoveryState.RECOVERED
    elr: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def has_leader(self) -> bool:
        return self.leader != NO_LEADER

    @property
    def is_reassigning(self) -> bool:
        return bool(self.removing_replicas or self.adding_replicas)

    def directory(self, broker_id: int) -> Uuid:
        """The directory of this broker's replica; KeyError if it holds none."""
        try:
            return self.directories[self.replicas.index(broker_id)]
        except ValueError:
            raise KeyError(broker_id) from None

    def merge(self, change: PartitionChangeRecord) -> PartitionRegistration:
        """The state after a change record."""
        replicas = self.replicas if change.replicas is None else tuple(change.replicas)
        directories = self.directories if change.directories is None else tuple(change.directories)
        leader, leader_epoch = self.leader, self.leader_epoch
        if change.leader != NO_LEADER_CHANGE:
            leader, leader_epoch = change.leader, self.leader_epoch + 1
        recovery = change.leader_recovery_state
        return PartitionRegistration(
            replicas,
            _fill(directories, len(replicas)),
            self.isr if change.isr is None else tuple(change.isr),
            leader,
            leader_epoch,
            self.partition_epoch + 1,
            self.removing_replicas if change.removing_replicas is None else tuple(change.removing_replicas),
            self.adding_replicas if change.adding_replicas is None else tuple(change.adding_replicas),
            self.leader_recovery_state if recovery < 0 else recovery,
            self.elr if change.eligible_leader_replicas is None else tuple(change.eligible_leader_replicas),
            self.last_known_elr if change.last_known_elr is None else tuple(change.last_known_elr),
        )

    def without_eligible(self) -> PartitionRegistration:
        """The state after a ClearElrRecord."""
        return self._replace(elr=(), last_known_elr=(), partition_epoch=self.partition_epoch + 1)

    def to_record(self, topic_id: Uuid, partition: int) -> PartitionRecord:
        return PartitionRecord(
            partition_id=partition,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
            directories=list(self.directories),
            eligible_leader_replicas=list(self.elr) or None,
            last_known_elr=list(self.last_known_elr) or None,
        )


def partition_from_record(record: PartitionRecord) -> PartitionRegistration:
    replicas = tuple(record.replicas)
    return PartitionRegistration(
        replicas,
        _fill(tuple(record.directories), len(replicas)),
        tuple(record.isr),
        record.leader,
        record.leader_epoch,
        record.partition_epoch,
        tuple(record.removing_replicas),
        tuple(record.adding_replicas),
        record.leader_recovery_state,
        tuple(record.eligible_leader_replicas or ()),
        tuple(record.last_known_elr or ()),
    )


def _fill(directories: tuple[Uuid, ...], count: int) -> tuple[Uuid, ...]:
    """Records older than directory ids carry none; every replica then counts as not known."""
    return directories if len(directories) == count else (MIGRATING_DIRECTORY,) * count
