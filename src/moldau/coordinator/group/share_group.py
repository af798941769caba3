"""The state of one share group (KIP-932).

Members of a share group own nothing: several may read one partition, and nobody has to give up what another should
have. So there is no reconciliation; a member takes over its target as soon as it hears of it. An *Empty* group has no
members, every other one is *Stable*.

Before a partition is assigned, its state must be there: the share coordinator, which may be another broker, has to
initialise it. Until it has said that it did, the partition is *initializing*; what it said so of is *initialized* and
may be assigned; what is to be forgotten is *deleting* until that is confirmed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from typing import Final, NamedTuple, TypeAlias

from moldau.coordinator.group.consumer_member import NO_PARTITIONS, Assignment
from moldau.dataclass import dataclass, field
from moldau.errors import ErrorCode, KafkaError
from moldau.timeline import SnapshotRegistry, TimelineMap, TimelineValue
from moldau.types import Uuid

EMPTY: Final = "Empty"
STABLE: Final = "Stable"


@dataclass(slots=True, frozen=True)
class ShareMember:
    member_id: str
    epoch: int = 0
    previous_epoch: int = -1
    rack_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    topics: tuple[str, ...] = ()
    assigned: Assignment = field(default_factory=dict)


class TopicState(NamedTuple):
    """The share partitions of one topic."""

    name: str
    partitions: frozenset[int]


TopicStates: TypeAlias = Mapping[Uuid, TopicState]


class StatePartitions(NamedTuple):
    """What is known of the state of the group's share partitions."""

    initializing: TopicStates = {}
    initialized: TopicStates = {}
    deleting: Mapping[Uuid, str] = {}


NO_STATE: Final = StatePartitions()


class ShareGroup:
    TYPE: Final = "share"

    def __init__(self, group_id: str, registry: SnapshotRegistry) -> None:
        self.group_id = group_id
        self._epoch = TimelineValue(registry, 0)
        self._metadata_hash = TimelineValue(registry, 0)
        self._assignment_epoch = TimelineValue(registry, 0)
        self._state_partitions = TimelineValue(registry, NO_STATE)
        # When the target was computed; 0 while there is none.
        self.assignment_timestamp = TimelineValue(registry, 0)
        self.members: TimelineMap[str, ShareMember] = TimelineMap(registry)
        self.targets: TimelineMap[str, Assignment] = TimelineMap(registry)
        # Topics changed: the next heartbeat looks again at what there is to assign.
        self.refresh_metadata = True
        # When the initialisation of a topic was last asked for; of what was asked before a restart nothing is known.
        self.asked_ms: dict[Uuid, int] = {}

    def __repr__(self) -> str:
        return f"ShareGroup({self.group_id!r}, {self.state}, epoch {self.epoch}, {list(self.members)})"

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
    def state_partitions(self) -> StatePartitions:
        return self._state_partitions.value

    @state_partitions.setter
    def state_partitions(self, value: StatePartitions) -> None:
        self._state_partitions.value = value

    def state_partitions_at(self, offset: int) -> StatePartitions:
        return self._state_partitions.at(offset)

    # ------------------------------------------------------------------------------------------------------- state

    @property
    def is_empty(self) -> bool:
        return not self.members

    @property
    def state(self) -> str:
        return STABLE if self.members else EMPTY

    def state_at(self, offset: int) -> str:
        return STABLE if self.members.snapshot_at(offset) else EMPTY

    def epochs_at(self, offset: int) -> tuple[int, int]:
        """The group's epoch and the epoch of its target assignment."""
        return self._epoch.at(offset), self._assignment_epoch.at(offset)

    def member(self, member_id: str) -> ShareMember:
        member = self.members.get(member_id)
        if member is None:
            raise KafkaError(
                ErrorCode.UNKNOWN_MEMBER_ID, f"Member {member_id} is not a member of group {self.group_id}."
            )
        return member

    def target(self, member_id: str) -> Assignment:
        return self.targets.get(member_id, NO_PARTITIONS)

    def is_subscribed(self, topic: str) -> bool:
        return self.is_subscribed_to_any({topic})

    def is_subscribed_to_any(self, topics: Set[str]) -> bool:
        return any(not topics.isdisjoint(member.topics) for member in self.members.values())


def subscribed_topics(members: Iterable[ShareMember]) -> set[str]:
    return {topic for member in members for topic in member.topics}


def combined(first: TopicStates, second: TopicStates) -> dict[Uuid, TopicState]:
    """The partitions of both; the name the second knows counts."""
    both = dict(first)
    for topic_id, state in second.items():
        known = both.get(topic_id)
        both[topic_id] = state if known is None else TopicState(state.name, known.partitions | state.partitions)
    return both


def without(states: TopicStates, taken: Mapping[Uuid, Set[int]]) -> dict[Uuid, TopicState]:
    left: dict[Uuid, TopicState] = {}
    for topic_id, state in states.items():
        partitions = state.partitions - taken.get(topic_id, frozenset())
        if partitions:
            left[topic_id] = TopicState(state.name, partitions)
    return left
