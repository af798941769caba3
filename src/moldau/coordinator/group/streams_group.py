"""The state of one streams group (KIP-1071): a Kafka Streams application whose tasks the coordinator hands out.

As in a consumer group three epochs chase each other: of the group, of its target assignment, of each member. Before
there is anything to assign, the topology of the application must fit the topics of the cluster:

    Empty         nobody is in it
    NotReady      the topology was not found to fit: topics are missing, or have the wrong number of partitions
    Assigning     the group epoch is ahead of the assignment epoch
    Reconciling   some member is behind the assignment epoch
    Stable        everybody has what it should have

An active task is with one process: the one that was told to have it, until its member has said that it gave it up. Nor
does a process get a task in one role before it has given it up in another: its members share a directory of state.
Everything here comes from records and is changed by replay only, except the hints at the end of the constructor.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final

from moldau.coordinator.group.consumer_member import partitions_of
from moldau.coordinator.group.streams_member import NO_TASKS, StreamsMember, TaskId, Tasks
from moldau.coordinator.group.streams_topics import ConfiguredTopology
from moldau.coordinator.group.streams_topology import Topology
from moldau.errors import ErrorCode, KafkaError
from moldau.slicing import Work, pieces
from moldau.timeline import SnapshotRegistry, TimelineMap, TimelineValue

EMPTY: Final = "Empty"
NOT_READY: Final = "NotReady"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"

# As in Kafka the first member is at this epoch until it has been assigned something: at 0 it would join again.
_FIRST_EPOCH: Final = 1
_NOBODY: Final[frozenset[str]] = frozenset()


class StreamsGroup:
    TYPE: Final = "streams"

    def __init__(self, group_id: str, registry: SnapshotRegistry) -> None:
        self.group_id = group_id
        self._epoch = TimelineValue(registry, _FIRST_EPOCH)
        self._metadata_hash = TimelineValue(registry, 0)
        self._assignment_epoch = TimelineValue(registry, _FIRST_EPOCH)
        self._topology: TimelineValue[Topology | None] = TimelineValue(registry, None)
        # The epoch of the topology that was last found to fit; -1 if it does not.
        self.validated_epoch = TimelineValue(registry, -1)
        # The settings the target depends on, as they were when it was computed.
        self.assignment_configs: TimelineValue[Mapping[str, str]] = TimelineValue(registry, {})
        # When the target was computed; 0 while there is none.
        self.assignment_timestamp = TimelineValue(registry, 0)
        self.members: TimelineMap[str, StreamsMember] = TimelineMap(registry)
        self.targets: TimelineMap[str, Tasks] = TimelineMap(registry)
        # The process that has a task as active one, and those that have it as standby or warm-up.
        self.owners: TimelineMap[TaskId, str] = TimelineMap(registry)
        self.keepers: TimelineMap[TaskId, frozenset[str]] = TimelineMap(registry)
        # Topics changed: the next heartbeat looks again at what there is to assign.
        self.refresh_metadata = True
        # What the topology came to when it was last looked at.
        self.configured: ConfiguredTopology | None = None
        # The member that wants the whole application to end.
        self.shutdown_by: str | None = None
        # Grows when endpoints have other partitions.
        self.endpoint_epoch = 0

    def __repr__(self) -> str:
        return f"StreamsGroup({self.group_id!r}, {self.state}, epoch {self.epoch}, {list(self.members)})"

    @property
    def epoch(self) -> int:
        return self._epoch.value

    @epoch.setter
    def epoch(self, value: int) -> None:
        self._epoch.value = value

    @property
    def metadata_hash(self) -> int:
        return self._metadata_hash.value

    @metadata_hash.setter
    def metadata_hash(self, value: int) -> None:
        self._metadata_hash.value = value

    @property
    def assignment_epoch(self) -> int:
        return self._assignment_epoch.value

    @assignment_epoch.setter
    def assignment_epoch(self, value: int) -> None:
        self._assignment_epoch.value = value

    @property
    def topology(self) -> Topology | None:
        return self._topology.value

    @topology.setter
    def topology(self, value: Topology | None) -> None:
        self._topology.value = value

    def topology_at(self, offset: int) -> Topology | None:
        return self._topology.at(offset)

    # ------------------------------------------------------------------------------------------------------- state

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        ready = self.topology is not None and self.topology.epoch == self.validated_epoch.value
        return _state(self.members.values(), ready, self.epoch, self.assignment_epoch)

    def state_at(self, offset: int) -> str:
        topology = self.topology_at(offset)
        ready = topology is not None and topology.epoch == self.validated_epoch.at(offset)
        members = self.members.snapshot_at(offset).values()
        return _state(members, ready, self._epoch.at(offset), self._assignment_epoch.at(offset))

    def epochs_at(self, offset: int) -> tuple[int, int]:
        """The group's epoch and the epoch of its target assignment."""
        return self._epoch.at(offset), self._assignment_epoch.at(offset)

    # ----------------------------------------------------------------------------------------------------- members

    def member(self, member_id: str) -> StreamsMember:
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return member

    def target(self, member_id: str) -> Tasks:
        return self.targets.get(member_id, NO_TASKS)

    def check_fetch(self, member_id: str | None, epoch: int, committed: int | None) -> None:
        if not member_id and epoch < 0:
            # A tool, or a client that does not say who it is.
            return
        members = self.members
        member = members.get(member_id or "") if committed is None else members.get_at(member_id or "", committed)
        if member is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        if epoch != member.epoch:
            raise member.stale(epoch)

    # ------------------------------------------------------------------------------------------------------ topics

    def is_subscribed(self, topic: str) -> bool:
        """Whether its members read it, so that offsets of it are in use."""
        return not self.is_empty and self.topology is not None and topic in self.topology.readers

    def is_subscribed_to_any(self, topics: Set[str]) -> bool:
        return self.topology is not None and not topics.isdisjoint(self.topology.topics)

    # ------------------------------------------------------------------------------------------------------ replay

    def put_member(self, member: StreamsMember) -> Work[None]:
        old = self.members.get(member.member_id)
        if old is not None:
            yield from self._release(old)
        self.members[member.member_id] = member
        for tasks in (member.assigned, member.pending_revocation):
            for some in pieces(partitions_of(tasks.active)):
                for task in some:
                    self.owners[task] = member.process_id
                yield
            for some in pieces(partitions_of(tasks.standby, tasks.warmup)):
                for task in some:
                    self.keepers[task] = self.keepers.get(task, _NOBODY) | {member.process_id}
                yield

    def remove_member(self, member_id: str) -> Work[None]:
        old = self.members.pop(member_id)
        if old is not None:
            yield from self._release(old)
        if not self.members:
            # Whoever starts it again does not mean that it should end.
            self.shutdown_by = None

    def _release(self, member: StreamsMember) -> Work[None]:
        for tasks in (member.assigned, member.pending_revocation):
            for some in pieces(partitions_of(tasks.active)):
                for task in some:
                    if self.owners.get(task) == member.process_id:
                        del self.owners[task]
                yield
            for some in pieces(partitions_of(tasks.standby, tasks.warmup)):
                for task in some:
                    left = self.keepers.get(task, _NOBODY) - {member.process_id}
                    if left:
                        self.keepers[task] = left
                    else:
                        self.keepers.pop(task)
                yield


def _state(members: Iterable[StreamsMember], ready: bool, epoch: int, assignment_epoch: int) -> str:
    everybody = list(members)
    if not everybody:
        return EMPTY
    if not ready:
        return NOT_READY
    if epoch > assignment_epoch:
        return ASSIGNING
    if all(member.is_reconciled_to(assignment_epoch) for member in everybody):
        return STABLE
    return RECONCILING
