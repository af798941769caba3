"""The state of one consumer group (KIP-848).

Three epochs chase each other. The *group epoch* grows when members or topics change. The *assignment epoch* is the
group epoch the target assignment was computed at. A *member epoch* is how far that member has followed:

    Empty         nobody is in it
    Assigning     the group epoch is ahead of the assignment epoch
    Reconciling   some member is behind the assignment epoch
    Stable        everybody has what it should have

A partition has one owner: whoever was told to have it, until it has said that it gave it up. Everything here comes from
records and is changed by replay only, except the hints at the end of the constructor.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Set
from typing import Final, NamedTuple

from moldau.coordinator.group.consumer_member import (
    NO_PARTITIONS,
    Assignment,
    ConsumerMember,
    MemberState,
    partitions_of,
)
from moldau.coordinator.group.consumer_protocol import PROTOCOL_TYPE
from moldau.errors import ErrorCode, KafkaError
from moldau.slicing import Work, pieces
from moldau.timeline import SnapshotRegistry, TimelineMap, TimelineValue
from moldau.types import Uuid

EMPTY: Final = "Empty"
ASSIGNING: Final = "Assigning"
RECONCILING: Final = "Reconciling"
STABLE: Final = "Stable"


class ResolvedPattern(NamedTuple):
    """The topics a regular expression stands for."""

    topics: frozenset[str]
    # The offset of the metadata it was resolved against, and when.
    version: int
    timestamp: int


class ConsumerGroup:
    TYPE: Final = "consumer"

    def __init__(self, group_id: str, registry: SnapshotRegistry) -> None:
        self.group_id = group_id
        self._epoch = TimelineValue(registry, 0)
        self._metadata_hash = TimelineValue(registry, 0)
        self._assignment_epoch = TimelineValue(registry, 0)
        # When the target was computed; 0 while there is none.
        self.assignment_timestamp = TimelineValue(registry, 0)
        self.members: TimelineMap[str, ConsumerMember] = TimelineMap(registry)
        self.static_members: TimelineMap[str, str] = TimelineMap(registry)
        self.targets: TimelineMap[str, Assignment] = TimelineMap(registry)
        self.owners: TimelineMap[tuple[Uuid, int], str] = TimelineMap(registry)
        self.patterns: TimelineMap[str, ResolvedPattern] = TimelineMap(registry)
        # Topics changed: the next heartbeat looks again at what there is to assign.
        self.refresh_metadata = True
        # The oldest metadata that one of the patterns was last resolved against, and when that was.
        self.patterns_version = -1
        self.patterns_resolved_ms = 0

    def __repr__(self) -> str:
        return f"ConsumerGroup({self.group_id!r}, {self.state}, epoch {self.epoch}, {list(self.members)})"

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

    # ------------------------------------------------------------------------------------------------------- state

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        return _state(self.members.values(), self.epoch, self.assignment_epoch)

    def state_at(self, offset: int) -> str:
        members = self.members.snapshot_at(offset).values()
        return _state(members, self._epoch.at(offset), self._assignment_epoch.at(offset))

    def epochs_at(self, offset: int) -> tuple[int, int]:
        """The group's epoch and the epoch of its target assignment."""
        return self._epoch.at(offset), self._assignment_epoch.at(offset)

    # ----------------------------------------------------------------------------------------------------- members

    def member(self, member_id: str) -> ConsumerMember:
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return member

    def static_member(self, instance_id: str) -> ConsumerMember | None:
        member_id = self.static_members.get(instance_id)
        return None if member_id is None else self.members.get(member_id)

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

    def supports_classic(self, protocol_type: str, protocols: Iterable[str]) -> bool:
        """Whether a member with these classic protocols can take part beside the other classic ones."""
        names = list(protocols)
        if protocol_type != PROTOCOL_TYPE or not names:
            return False
        classic = [member.classic for member in self.members.values() if member.classic is not None]
        support = Counter(name for side in classic for name in {protocol.name for protocol in side.protocols})
        return any(support[name] == len(classic) for name in names)

    def only_classic_besides(self, leaving: Set[str]) -> bool:
        return all(member.classic is not None for each, member in self.members.items() if each not in leaving)

    def waits_for_others(self, member: ConsumerMember) -> bool:
        """Whether a partition the member should have is still held by another."""
        if member.state != MemberState.UNRELEASED_PARTITIONS:
            return False
        mine = set(partitions_of(member.assigned))
        return any(
            partition not in mine and self.owners.get(partition) is not None
            for partition in partitions_of(self.target(member.member_id))
        )

    # ---------------------------------------------------------------------------------------------- subscriptions

    def target(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NO_PARTITIONS)

    def is_subscribed(self, topic: str) -> bool:
        return self.is_subscribed_to_any({topic})

    def is_subscribed_to_any(self, topics: Set[str]) -> bool:
        """By name, or by a pattern; those that nobody uses any more are gone."""
        return any(not topics.isdisjoint(member.topics) for member in self.members.values()) or any(
            not topics.isdisjoint(resolved.topics) for resolved in self.patterns.values()
        )

    # ------------------------------------------------------------------------------------------------------ replay

    def put_member(self, member: ConsumerMember) -> Work[None]:
        old = self.members.get(member.member_id)
        if old is not None:
            yield from self._release(old)
            if old.instance_id is not None and old.instance_id != member.instance_id:
                self._forget_instance(old)
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for partitions in pieces(partitions_of(member.assigned, member.pending_revocation)):
            for partition in partitions:
                self.owners[partition] = member.member_id
            yield

    def remove_member(self, member_id: str) -> Work[None]:
        old = self.members.pop(member_id)
        if old is not None:
            yield from self._release(old)
            self._forget_instance(old)

    def put_pattern(self, pattern: str, resolved: ResolvedPattern) -> None:
        others = len(self.patterns) > (pattern in self.patterns)
        self.patterns_version = min(self.patterns_version, resolved.version) if others else resolved.version
        self.patterns_resolved_ms = min(self.patterns_resolved_ms, resolved.timestamp) if others else resolved.timestamp
        self.patterns[pattern] = resolved

    def _release(self, member: ConsumerMember) -> Work[None]:
        for partitions in pieces(partitions_of(member.assigned, member.pending_revocation)):
            for partition in partitions:
                if self.owners.get(partition) == member.member_id:
                    del self.owners[partition]
            yield

    def _forget_instance(self, member: ConsumerMember) -> None:
        instance_id = member.instance_id
        if instance_id is not None and self.static_members.get(instance_id) == member.member_id:
            del self.static_members[instance_id]


def preferred_assignor(members: Iterable[ConsumerMember], default: str) -> str:
    """What most members ask for; the first of the broker's where nobody asks."""
    wishes = Counter(member.assignor for member in members if member.assignor is not None)
    return max(sorted(wishes), key=wishes.__getitem__) if wishes else default


def _state(members: Iterable[ConsumerMember], epoch: int, assignment_epoch: int) -> str:
    everybody = list(members)
    if not everybody:
        return EMPTY
    if epoch > assignment_epoch:
        return ASSIGNING
    if all(member.is_reconciled_to(assignment_epoch) for member in everybody):
        return STABLE
    return RECONCILING
