"""Who reads what, in classic groups: the member that leads the group decides, for all.

Each assignor is given the partitions of all topics and what each member wants and has, and returns everybody's share.
They agree with Java's on their names and on the bytes they exchange, so members in other languages can be in the group.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from struct import Struct, error
from typing import ClassVar, Final

from moldau.client.leaders import by_topic
from moldau.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from moldau.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.consumer_protocol_subscription import TopicPartition as OwnedTopic
from moldau.types import TopicPartition

_VERSION: Final = Struct(">h")
_INT: Final = Struct(">i")
_SUBSCRIPTION_VERSION: Final = 3

Shares = dict[str, list[TopicPartition]]


@dataclass(slots=True)
class Member:
    """What a member says of itself when it joins."""

    topics: Sequence[str]
    owned: Sequence[TopicPartition] = ()
    generation: int = -1
    instance_id: str | None = None
    user_data: bytes = b""
    # The topics again, to be asked about: a pattern may match ten thousand of them.
    wanted: frozenset[str] = field(init=False)

    def __post_init__(self) -> None:
        self.wanted = frozenset(self.topics)


class PartitionAssignor(ABC):
    """`cooperative` ones move a partition only after its owner has given it back, in a second round."""

    name: ClassVar[str]
    cooperative: ClassVar[bool] = False

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return None

    @abstractmethod
    def assign(self, partitions: Mapping[str, int], members: Mapping[str, Member]) -> Shares: ...


class RangePartitionAssignor(PartitionAssignor):
    """Topic by topic, each member a run of neighbouring partitions: equal keys of two topics meet in one member."""

    name = "range"

    def assign(self, partitions: Mapping[str, int], members: Mapping[str, Member]) -> Shares:
        shares: Shares = {member: [] for member in members}
        for topic, count in sorted(partitions.items()):
            wanting = _in_order(members, topic)
            if not wanting:
                continue
            each, more = divmod(count, len(wanting))
            begin = 0
            for index, member in enumerate(wanting):
                size = each + (index < more)
                shares[member] += [TopicPartition(topic, number) for number in range(begin, begin + size)]
                begin += size
        return shares


class RoundRobinPartitionAssignor(PartitionAssignor):
    """All partitions of all topics dealt out in turn."""

    name = "roundrobin"

    def assign(self, partitions: Mapping[str, int], members: Mapping[str, Member]) -> Shares:
        shares: Shares = {member: [] for member in members}
        order = sorted(members, key=lambda member: (members[member].instance_id or "", member))
        position = 0
        for topic, count in sorted(partitions.items()):
            if not any(topic in member.wanted for member in members.values()):
                continue
            for number in range(count):
                while topic not in members[order[position % len(order)]].wanted:
                    position += 1
                shares[order[position % len(order)]].append(TopicPartition(topic, number))
                position += 1
        return shares


class StickyPartitionAssignor(PartitionAssignor):
    """As equal as possible, and among equal ways the one that moves the least."""

    name = "sticky"

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        topics = by_topic(owned)
        parts = [_INT.pack(len(topics))]
        for topic, partitions in topics.items():
            name = topic.encode()
            numbers = b"".join(_INT.pack(where.partition) for where in partitions)
            parts += [_VERSION.pack(len(name)), name, _INT.pack(len(partitions)), numbers]
        return b"".join([*parts, _INT.pack(generation)])

    def assign(self, partitions: Mapping[str, int], members: Mapping[str, Member]) -> Shares:
        balance = _Balance(partitions, members, {id: self._had(member) for id, member in members.items()})
        balance.keep()
        balance.fill()
        balance.level()
        return {member: sorted(share) for member, share in balance.shares.items()}

    def _had(self, member: Member) -> tuple[int, Sequence[TopicPartition]]:
        if member.owned or not member.user_data:
            return member.generation, member.owned
        return _read_user_data(member.user_data)


class CooperativeStickyAssignor(StickyPartitionAssignor):
    name = "cooperative-sticky"
    cooperative = True

    def user_data(self, owned: Sequence[TopicPartition], generation: int) -> bytes | None:
        return _INT.pack(generation)

    def assign(self, partitions: Mapping[str, int], members: Mapping[str, Member]) -> Shares:
        shares = super().assign(partitions, members)
        owners = {where: id for id, member in members.items() for where in member.owned}
        # What another member still reads is left out of this round; that member gives it back and all join again.
        return {id: [where for where in share if owners.get(where, id) == id] for id, share in shares.items()}

    def _had(self, member: Member) -> tuple[int, Sequence[TopicPartition]]:
        return member.generation, member.owned


@dataclass(slots=True)
class _Balance:
    partitions: Mapping[str, int]
    members: Mapping[str, Member]
    had: Mapping[str, tuple[int, Sequence[TopicPartition]]]
    shares: dict[str, list[TopicPartition]] = field(default_factory=dict)
    owner: dict[TopicPartition, str] = field(default_factory=dict)

    def keep(self) -> None:
        """Everybody keeps what it had, as far as it still wants it and nobody has it from a later generation."""
        self.shares = {member: [] for member in self.members}
        for member in sorted(self.had, key=lambda each: (-self.had[each][0], each)):
            for where in self.had[member][1]:
                wanted = where.topic in self.members[member].wanted
                there = where.partition < self.partitions.get(where.topic, 0)
                if wanted and there and where not in self.owner:
                    self._give(member, where)

    def fill(self) -> None:
        """What nobody has goes to whoever has the least."""
        for topic, count in sorted(self.partitions.items()):
            wanting = _in_order(self.members, topic)
            for number in range(count):
                where = TopicPartition(topic, number)
                if wanting and where not in self.owner:
                    self._give(min(wanting, key=lambda member: len(self.shares[member])), where)

    def level(self) -> None:
        """Moves one partition at a time from those who have more to those who have two or more less."""
        moved = True
        while moved:
            moved = False
            for giver in sorted(self.shares, key=lambda member: -len(self.shares[member])):
                for where in reversed(self.shares[giver]):
                    taker = min(_in_order(self.members, where.topic), key=lambda member: len(self.shares[member]))
                    if len(self.shares[giver]) - len(self.shares[taker]) > 1:
                        self.shares[giver].remove(where)
                        self._give(taker, where)
                        moved = True
                        break

    def _give(self, member: str, where: TopicPartition) -> None:
        self.shares[member].append(where)
        self.owner[where] = member


ASSIGNORS: Final[dict[str, type[PartitionAssignor]]] = {
    kind.name: kind
    for kind in (
        RangePartitionAssignor,
        RoundRobinPartitionAssignor,
        StickyPartitionAssignor,
        CooperativeStickyAssignor,
    )
}


def _in_order(members: Mapping[str, Member], topic: str) -> list[str]:
    """The members that want a topic; static ones by their instance, so that a restart changes nothing."""
    wanting = [id for id, member in members.items() if topic in member.wanted]
    return sorted(wanting, key=lambda id: (members[id].instance_id is None, members[id].instance_id or id))


# ----------------------------------------------------------------------------------------------------------- the bytes


def encode_subscription(assignor: PartitionAssignor, member: Member) -> bytes:
    message = ConsumerProtocolSubscription(
        topics=sorted(member.topics),
        user_data=assignor.user_data(member.owned, member.generation),
        owned_partitions=[
            OwnedTopic(topic=topic, partitions=[where.partition for where in partitions])
            for topic, partitions in by_topic(member.owned).items()
        ]
        if assignor.cooperative
        else [],
        generation_id=member.generation,
    )
    return _VERSION.pack(_SUBSCRIPTION_VERSION) + message.encode(_SUBSCRIPTION_VERSION)


def decode_subscription(data: bytes, instance_id: str | None) -> Member:
    (version,) = _VERSION.unpack_from(data)
    message = ConsumerProtocolSubscription.decode(data[2:], min(version, _SUBSCRIPTION_VERSION))
    owned = [TopicPartition(entry.topic, number) for entry in message.owned_partitions for number in entry.partitions]
    return Member(message.topics, owned, message.generation_id, instance_id, bytes(message.user_data or b""))


def encode_assignment(share: Sequence[TopicPartition]) -> bytes:
    message = ConsumerProtocolAssignment(
        assigned_partitions=[
            AssignedTopic(topic=topic, partitions=[where.partition for where in partitions])
            for topic, partitions in by_topic(share).items()
        ],
        user_data=None,
    )
    return _VERSION.pack(1) + message.encode(1)


def decode_assignment(data: bytes) -> list[TopicPartition]:
    if not data:
        return []
    (version,) = _VERSION.unpack_from(data)
    message = ConsumerProtocolAssignment.decode(data[2:], min(version, ConsumerProtocolAssignment.MAX_VERSION))
    return [TopicPartition(entry.topic, number) for entry in message.assigned_partitions for number in entry.partitions]


def _read_user_data(data: bytes) -> tuple[int, list[TopicPartition]]:
    """What the sticky assignor of a member remembers; nothing if it was written by something else."""
    owned: list[TopicPartition] = []
    try:
        (topics,) = _INT.unpack_from(data)
        at = 4
        for _ in range(topics):
            (size,) = _VERSION.unpack_from(data, at)
            name = data[at + 2 : at + 2 + size].decode()
            at += 2 + size
            (count,) = _INT.unpack_from(data, at)
            owned += [TopicPartition(name, _INT.unpack_from(data, at + 4 + 4 * index)[0]) for index in range(count)]
            at += 4 + 4 * count
        generation = _INT.unpack_from(data, at)[0] if at < len(data) else -1
    except (error, UnicodeDecodeError):
        return -1, []
    return generation, owned
