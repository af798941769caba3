"""The state of one classic group.

    Empty ──join──> PreparingRebalance ──all joined──> CompletingRebalance ──leader's assignment──> Stable
      ^                  ^        │                          │                                        │
      └── nobody left ───┼────────┘                          └──── a member joins, leaves, dies ──────┤
                         └────────────────────────────────────────────────────────────────────────────┘

Only two of these states are ever stored: Empty and Stable, with the members and their assignments. Everything between
two generations lives in memory, so it is changed here directly and not by replay; after a restart a group is as it was
when its last generation was complete, and the members notice and join again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final

from moldau.coordinator.group.classic_member import ClassicMember, MemberProtocol
from moldau.coordinator.group.consumer_protocol import PROTOCOL_TYPE, subscribed_topics
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.protocol.messages.join_group import JoinGroupResponse, JoinGroupResponseMember
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.slicing import Work, pieces

# Members that are dealt with between two pauses: each may have come with thousands of protocols.
PIECE: Final = 16


class ClassicState(StrEnum):
    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_S = ClassicState
_FROM: Final = {
    _S.EMPTY: (_S.PREPARING_REBALANCE,),
    _S.PREPARING_REBALANCE: (_S.STABLE, _S.COMPLETING_REBALANCE, _S.EMPTY),
    _S.COMPLETING_REBALANCE: (_S.PREPARING_REBALANCE,),
    _S.STABLE: (_S.COMPLETING_REBALANCE,),
    _S.DEAD: tuple(_S),
}


class ClassicGroup:
    TYPE: Final = "classic"

    def __init__(self, group_id: str, state: ClassicState = ClassicState.EMPTY, generation: int = 0) -> None:
        self.group_id = group_id
        self.state = state
        self.previous_state = state
        self.generation = generation
        # When the state was entered; None in records too old to say.
        self.state_timestamp: int | None = None
        # "consumer" for consumers, another word for others; None while only offsets were committed.
        self.protocol_type: str | None = None
        self.protocol_name: str | None = None
        self.leader: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.static_members: dict[str, str] = {}
        # Members that were told their id and have not joined with it yet.
        self.pending_join: set[str] = set()
        # Members of the current generation that have not asked for their assignment yet.
        self.pending_sync: set[str] = set()
        # A member came while the first rebalance was being delayed, which delays it further.
        self.member_added = False
        # None where it cannot be known: not consumers, or metadata that cannot be read.
        self.subscribed_topics: frozenset[str] | None = None
        self.awaiting_join = 0
        self._support: Counter[str] = Counter()

    def __repr__(self) -> str:
        return f"ClassicGroup({self.group_id!r}, {self.state}, generation {self.generation}, {list(self.members)})"

    # ------------------------------------------------------------------------------------------------------- state

    def is_in(self, *states: ClassicState) -> bool:
        return self.state in states

    @property
    def is_empty(self) -> bool:
        return self.state == ClassicState.EMPTY

    @property
    def can_rebalance(self) -> bool:
        return self.state in _FROM[ClassicState.PREPARING_REBALANCE]

    @property
    def is_simple(self) -> bool:
        """Only offsets were ever committed: nobody joined."""
        return self.protocol_type is None

    @property
    def uses_consumer_protocol(self) -> bool:
        return self.protocol_type == PROTOCOL_TYPE

    def transition_to(self, state: ClassicState, now_ms: int) -> None:
        if self.state not in _FROM[state]:
            raise RuntimeError(f"the group {self.group_id} cannot go from {self.state} to {state}")
        self.previous_state, self.state, self.state_timestamp = self.state, state, now_ms

    def next_generation(self, now_ms: int) -> Work[None]:
        protocol_name = (yield from self.select_protocol()) if self.members else None
        yield from self.note_subscriptions(protocol_name)
        self.generation += 1
        self.protocol_name = protocol_name
        self.transition_to(ClassicState.COMPLETING_REBALANCE if self.members else ClassicState.EMPTY, now_ms)
        self.pending_sync.clear()

    # ----------------------------------------------------------------------------------------------------- members

    def add(self, member: ClassicMember, answer: Deferred[JoinGroupResponse] | None = None) -> None:
        if not self.members:
            self.protocol_type = member.protocol_type
        if self.leader is None:
            self.leader = member.member_id
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        self._count_support(member, 1)
        self.await_join(member, answer)
        self.pending_join.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_support(member, -1)
            self.await_join(member, None)
            if member.instance_id is not None and self.static_members.get(member.instance_id) == member_id:
                del self.static_members[member.instance_id]
        if self.leader == member_id:
            self.leader = next(iter(self.members), None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)

    def update(
        self,
        member: ClassicMember,
        protocols: Sequence[MemberProtocol],
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
        answer: Deferred[JoinGroupResponse] | None,
    ) -> None:
        self._count_support(member, -1)
        member.protocols = tuple(protocols)
        self._count_support(member, 1)
        member.rebalance_timeout_ms, member.session_timeout_ms = rebalance_timeout_ms, session_timeout_ms
        self.await_join(member, answer)

    def replace_static(self, instance_id: str, old_id: str, new_id: str) -> ClassicMember:
        """The instance came back under a new member id; whoever still uses the old one is fenced."""
        member = self.members.pop(old_id)
        self.complete_join(member, JoinGroupResponse(member_id=old_id, error_code=ErrorCode.FENCED_INSTANCE_ID))
        self.complete_sync(member, SyncGroupResponse(error_code=ErrorCode.FENCED_INSTANCE_ID))
        member.member_id = new_id
        self.members[new_id] = member
        self.static_members[instance_id] = new_id
        if self.leader == old_id:
            self.leader = new_id
        if old_id in self.pending_sync:
            self.pending_sync.remove(old_id)
            self.pending_sync.add(new_id)
        return member

    def check_member(self, member_id: str, instance_id: str | None) -> None:
        """Whether the caller is who it says: UNKNOWN_MEMBER_ID, or FENCED_INSTANCE_ID if it was replaced."""
        if instance_id is not None:
            current = self.static_members.get(instance_id)
            if current is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
            if current != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)

    @property
    def rebalance_timeout_ms(self) -> int:
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    @property
    def all_joined(self) -> bool:
        return self.awaiting_join == len(self.members) and not self.pending_join

    def not_rejoined(self) -> list[ClassicMember]:
        return [member for member in self.members.values() if member.join_answer is None]

    def elect_joined_leader(self) -> bool:
        """The leader stays if it has joined, else another member that has; False if nobody has."""
        if self.leader is None:
            return False
        if self.members[self.leader].join_answer is not None:
            return True
        joined = next((member for member in self.members.values() if member.join_answer is not None), None)
        if joined is None:
            return False
        self.leader = joined.member_id
        return True

    # --------------------------------------------------------------------------------------------------- protocols

    def supports(self, protocol_type: str, protocols: Collection[str]) -> bool:
        """Whether somebody with these protocols can be a member together with those who are there."""
        if self.is_empty:
            return bool(protocol_type and protocols)
        return protocol_type == self.protocol_type and any(
            self._support[name] == len(self.members) for name in protocols
        )

    def select_protocol(self) -> Work[str]:
        """Each member votes for the first of its protocols that all support; the most votes win."""
        members = list(self.members.values())
        candidates = {each.name for each in members[0].protocols if self._support[each.name] == len(members)}
        votes: Counter[str] = Counter()
        for some in pieces(members, PIECE):
            votes.update(member.vote(candidates) for member in some)
            yield
        return votes.most_common(1)[0][0]

    def is_subscribed(self, topic: str) -> bool:
        """Where it cannot be known, a group of consumers counts as subscribed: its offsets are not touched."""
        return self.uses_consumer_protocol if self.subscribed_topics is None else topic in self.subscribed_topics

    def note_subscriptions(self, protocol_name: str | None) -> Work[None]:
        self.subscribed_topics = yield from self._subscribed_topics(protocol_name)

    def _subscribed_topics(self, protocol_name: str | None) -> Work[frozenset[str] | None]:
        if not self.uses_consumer_protocol:
            return None
        if not self.members:
            return frozenset()
        if protocol_name is None:
            return None
        topics: set[str] = set()
        # Nearly always all members subscribe to the same.
        seen: set[bytes] = set()
        for members in pieces(list(self.members.values()), PIECE):
            for metadata in {member.metadata(protocol_name) for member in members} - seen:
                seen.add(metadata)
                try:
                    topics.update((yield from subscribed_topics(metadata)))
                except ProtocolError:
                    return None
            yield
        return frozenset(topics)

    def _count_support(self, member: ClassicMember, change: int) -> None:
        for name in {protocol.name for protocol in member.protocols}:
            self._support[name] += change
            if not self._support[name]:
                del self._support[name]

    # ----------------------------------------------------------------------------------------------------- answers

    def await_join(self, member: ClassicMember, answer: Deferred[JoinGroupResponse] | None) -> None:
        self.awaiting_join += (answer is not None) - (member.join_answer is not None)
        member.join_answer = answer

    def complete_join(self, member: ClassicMember, response: JoinGroupResponse) -> bool:
        answer = member.join_answer
        if answer is None:
            return False
        self.await_join(member, None)
        if not answer.settled:
            answer.resolve(response)
        return True

    def complete_sync(self, member: ClassicMember, response: SyncGroupResponse) -> bool:
        answer = member.sync_answer
        if answer is None:
            return False
        member.sync_answer = None
        if not answer.settled:
            answer.resolve(response)
        return True

    def answer_all(self, code: ErrorCode) -> Work[None]:
        """Whoever waits for something hears why it does not come."""
        for members in pieces(list(self.members.values()), PIECE):
            for member in members:
                self.complete_join(member, JoinGroupResponse(member_id=member.member_id, error_code=code))
                self.complete_sync(member, SyncGroupResponse(error_code=code))
            yield

    def joined(
        self, member_id: str, roster: Sequence[JoinGroupResponseMember] = (), *, skip: bool = False
    ) -> JoinGroupResponse:
        """The answer to a member of the current generation."""
        return JoinGroupResponse(
            generation_id=self.generation,
            protocol_type=self.protocol_type,
            protocol_name=self.protocol_name,
            leader=self.leader or "",
            skip_assignment=skip,
            member_id=member_id,
            members=list(roster),
        )

    def roster(self, member_id: str) -> Work[list[JoinGroupResponseMember]]:
        """The leader is told who the others are, nobody else is."""
        rows: list[JoinGroupResponseMember] = []
        for members in pieces(list(self.members.values()) if member_id == self.leader else (), PIECE):
            rows += [
                JoinGroupResponseMember(
                    member_id=member.member_id,
                    group_instance_id=member.instance_id,
                    metadata=member.metadata(self.protocol_name),
                )
                for member in members
            ]
            yield
        return rows
