"""A group in use changes its protocol: from classic to consumer and back.

A classic group becomes a consumer group when the first member joins with the new protocol: the others stay, are kept as
members that speak the classic protocol, and are told to join again. It becomes a classic group again when the last
member of the new protocol has left. `group.consumer.migration.policy` says which of the two may happen.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.classic_group import ClassicGroup, ClassicState
from moldau.coordinator.group.classic_member import ClassicMember
from moldau.coordinator.group.classic_rebalance import ClassicRebalance
from moldau.coordinator.group.classic_records import group_record, group_tombstone
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import Assignment, ClassicSide, ConsumerMember, MemberState, all_at_epoch
from moldau.coordinator.group.consumer_protocol import (
    PROTOCOL_TYPE,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    version_of,
)
from moldau.coordinator.group.consumer_records import (
    current_record,
    group_epoch_record,
    group_tombstones,
    member_record,
    target_epoch_record,
    target_record,
)
from moldau.coordinator.group.consumer_sessions import ConsumerSessions
from moldau.coordinator.group.consumer_update import ConsumerUpdate
from moldau.coordinator.shard import CoordinatorRecord, Result, decided
from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages.consumer_protocol_assignment import ConsumerProtocolAssignment
from moldau.protocol.messages.consumer_protocol_assignment import TopicPartition as AssignedTopic
from moldau.protocol.messages.consumer_protocol_subscription import TopicPartition as OwnedTopic
from moldau.slicing import Work, pieces
from moldau.timeline import SnapshotRegistry


class Migration:
    def __init__(
        self, rebalance: ClassicRebalance, update: ConsumerUpdate, sessions: ConsumerSessions, config: BrokerConfig
    ) -> None:
        self._rebalance = rebalance
        self._groups = rebalance.groups
        self._update = update
        self._sessions = sessions
        policy = config.group_consumer_migration_policy.lower()
        self._may_upgrade = policy in ("bidirectional", "upgrade")
        self._may_downgrade = policy in ("bidirectional", "downgrade")
        self._classic_limit = config.group_max_size
        self._consumer_limit = config.group_consumer_max_size
        sessions.downgrade = self.downgrade

    # ----------------------------------------------------------------------------------------- classic to consumer

    def upgrade(self, classic: ClassicGroup, records: list[CoordinatorRecord]) -> Work[ConsumerGroup]:
        """The group as it will be when `records` are replayed; KafkaError if it has to stay classic."""
        if not self._may_upgrade or not classic.uses_consumer_protocol or len(classic.members) > self._consumer_limit:
            raise _not_a_consumer_group(classic.group_id)
        try:
            group = yield from self._as_consumer_group(classic)
        except ProtocolError as error:
            raise _not_a_consumer_group(classic.group_id) from error
        yield from classic.answer_all(ErrorCode.REBALANCE_IN_PROGRESS)
        group_id = group.group_id
        records.append(group_tombstone(group_id))
        for members in pieces(list(group.members.values())):
            records += [member_record(group_id, member) for member in members]
            yield
        records.append(group_epoch_record(group_id, group.epoch, group.metadata_hash))
        for member_id, target in group.targets.items():
            records.append((yield from target_record(group_id, member_id, target)))
        records.append(target_epoch_record(group_id, group.epoch, 0))
        for member in group.members.values():
            records.append((yield from current_record(group_id, member)))
        for members in pieces(list(group.members.values())):
            for member in members:
                self._sessions.extend_session(group_id, member)
            yield
        return group

    def _as_consumer_group(self, classic: ClassicGroup) -> Work[ConsumerGroup]:
        group = ConsumerGroup(classic.group_id, SnapshotRegistry())
        group.epoch = group.assignment_epoch = classic.generation
        for member in classic.members.values():
            protocol = classic.protocol_name or member.protocols[0].name
            subscription = decode_subscription(member.metadata(protocol))
            assigned: Assignment = {}
            if member.assignment:
                assigned = _by_id(decode_assignment(member.assignment).assigned_partitions, self._update.image)
            yield from group.put_member(
                ConsumerMember(
                    member.member_id,
                    classic.generation,
                    classic.generation,
                    MemberState.STABLE,
                    member.instance_id,
                    subscription.rack_id,
                    member.rebalance_timeout_ms,
                    member.client_id,
                    member.client_host,
                    tuple(sorted(set(subscription.topics))),
                    classic=ClassicSide(member.session_timeout_ms, member.protocols),
                    assigned=assigned,
                    assignment_epochs=all_at_epoch(classic.generation, assigned),
                )
            )
            group.targets[member.member_id] = assigned
            yield
        return group

    # ----------------------------------------------------------------------------------------- consumer to classic

    def downgrade(self, group: ConsumerGroup, leaving: Set[str], now_ms: int) -> Work[Result[None]] | None:
        """Makes the group without the leaving members a classic one; None if it stays a consumer group."""
        staying = [member for member in group.members.values() if member.member_id not in leaving]
        if not staying or not self.can_downgrade(group, leaving, len(staying)):
            return None
        return self._downgrade(group, staying, now_ms)

    def _downgrade(self, group: ConsumerGroup, staying: Sequence[ConsumerMember], now_ms: int) -> Work[Result[None]]:
        records, classic = yield from self.to_classic(group, staying, now_ms)
        yield from decided(self._rebalance.prepare(classic, "the last member of the consumer protocol left", now_ms))
        return Result(records, None, replay=False)

    def can_downgrade(self, group: ConsumerGroup, leaving: Set[str], size: int) -> bool:
        return self._may_downgrade and size <= self._classic_limit and group.only_classic_besides(leaving)

    def to_classic(
        self, group: ConsumerGroup, members: Sequence[ConsumerMember], now_ms: int
    ) -> Work[tuple[list[CoordinatorRecord], ClassicGroup]]:
        """Puts a classic group in the place of the consumer group, directly: it is needed before the replay."""
        classic = ClassicGroup(group.group_id, ClassicState.STABLE, group.epoch)
        classic.state_timestamp = now_ms
        for member in members:
            assert member.classic is not None
            version = version_of(member.classic.protocols[0].metadata)
            yield
            classic.add(
                ClassicMember(
                    member.member_id,
                    member.instance_id,
                    member.client_id,
                    member.client_host,
                    member.rebalance_timeout_ms,
                    member.classic.session_timeout_ms,
                    PROTOCOL_TYPE,
                    member.classic.protocols,
                    encode_assignment(by_name(member.assigned, self._update.image), version),
                )
            )
        classic.protocol_name = yield from classic.select_protocol()
        yield from classic.note_subscriptions(classic.protocol_name)
        records = group_tombstones(group)
        assignments = {each.member_id: each.assignment for each in classic.members.values()}
        records.append((yield from group_record(classic, assignments)))
        for member_ids in pieces(list(group.members)):
            for member_id in member_ids:
                self._sessions.forget(group.group_id, member_id)
            yield
        self._groups.put(classic)
        yield from self._rebalance.restart_sessions(classic)
        return records, classic


def by_name(assigned: Assignment, image: MetadataImage) -> ConsumerProtocolAssignment:
    """An assignment as classic consumers read it; topics that are gone are left out."""
    rows = [
        AssignedTopic(topic=topic.name, partitions=sorted(partitions))
        for topic_id, partitions in assigned.items()
        if (topic := image.topics.by_id(topic_id)) is not None
    ]
    return ConsumerProtocolAssignment(assigned_partitions=sorted(rows, key=lambda row: row.topic))


def owned_by_id(rows: Sequence[OwnedTopic], image: MetadataImage) -> Assignment:
    return _by_id(rows, image)


def _by_id(rows: Sequence[OwnedTopic | AssignedTopic], image: MetadataImage) -> Assignment:
    return {topic.id: frozenset(row.partitions) for row in rows if (topic := image.topics.get(row.topic)) is not None}


def _not_a_consumer_group(group_id: str) -> KafkaError:
    return KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"The group {group_id} is not a consumer group.")
