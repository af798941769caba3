"""What follows from a member that joined, changed or came back: epoch, target, and its own next step.

Both ways into a consumer group, its own heartbeat and a classic JoinGroup, come through here. Nothing is changed: the
records are gathered, and what the operation needs to know of their effect is worked out beside the group.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from moldau.config.broker import BrokerConfig
from moldau.config.settings.coordinator import ASSIGNORS as ASSIGNOR_NAMES
from moldau.coordinator.group.consumer_group import ConsumerGroup, ResolvedPattern, preferred_assignor
from moldau.coordinator.group.consumer_member import Assignment, ConsumerMember
from moldau.coordinator.group.consumer_records import (
    current_record,
    group_epoch_record,
    member_record,
    member_tombstones,
    pattern_record,
    pattern_tombstone,
    target_record,
)
from moldau.coordinator.group.reconciliation import reconcile
from moldau.coordinator.group.target_assignment import compute_target, metadata_hash, target_records
from moldau.coordinator.group.topic_pattern import TopicPattern, compile_pattern
from moldau.coordinator.shard import CoordinatorRecord
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage


class MemberChange(NamedTuple):
    before: ConsumerMember
    after: ConsumerMember
    # What the member says it owns; None where it does not say.
    owned: Assignment | None
    # The member id a static member had before it came back.
    replaced: str | None = None


class ConsumerUpdate:
    def __init__(self, config: BrokerConfig) -> None:
        self.image: MetadataImage = EMPTY_IMAGE
        self._default_assignor = ASSIGNOR_NAMES[config.group_consumer_assignors[0]]
        self._compiled: dict[str, TopicPattern] = {}

    def apply(
        self, group: ConsumerGroup, change: MemberChange, now_ms: int, records: list[CoordinatorRecord]
    ) -> ConsumerMember:
        """The member as it will be once `records` are replayed."""
        before, after = change.before, change.after
        if change.replaced is None and before == after and self._nothing_new(group, after.member_id):
            return self._step(group, change, group.assignment_epoch, group.target(after.member_id), records)
        if change.replaced is not None:
            self._replace(group, change, records)
        is_new = before.member_id not in group.members and change.replaced is None
        if is_new or before != after:
            records.append(member_record(group.group_id, after))
        members = self._members_after(group, change)
        patterns, patterns_changed = self._patterns(group, members, now_ms, records)
        epoch = group.epoch
        bump = is_new or patterns_changed or not before.same_subscription(after)
        if bump or group.refresh_metadata:
            topics = _all_topics(members, patterns)
            new_hash = metadata_hash(topics, self.image)
            if bump or new_hash != group.metadata_hash:
                epoch += 1
                records.append(group_epoch_record(group.group_id, epoch, new_hash))
        target_epoch, target = group.assignment_epoch, group.target(change.replaced or after.member_id)
        if epoch > target_epoch:
            targets = self._targets(group, members, patterns, change)
            records += target_records(group, epoch, targets, now_ms)
            target_epoch, target = epoch, targets[after.member_id]
        return self._step(group, change, target_epoch, target, records)

    def _nothing_new(self, group: ConsumerGroup, member_id: str) -> bool:
        """Nearly every heartbeat: neither the group nor the topics have changed since the last target was computed."""
        return member_id in group.members and not group.refresh_metadata and group.epoch == group.assignment_epoch

    def _step(
        self,
        group: ConsumerGroup,
        change: MemberChange,
        target_epoch: int,
        target: Assignment,
        records: list[CoordinatorRecord],
    ) -> ConsumerMember:
        reconciled = reconcile(change.after, target_epoch, target, group.owners.get, change.owned)
        if reconciled != change.after:
            records.append(current_record(group.group_id, reconciled))
        return reconciled

    def leave(self, group: ConsumerGroup, leaving: set[str], now_ms: int) -> list[CoordinatorRecord]:
        """Members are gone: the group's epoch grows, and the next heartbeat of another member assigns anew."""
        group_id = group.group_id
        records = [record for member_id in sorted(leaving) for record in member_tombstones(group_id, member_id)]
        members = {member_id: member for member_id, member in group.members.items() if member_id not in leaving}
        patterns, _ = self._patterns(group, members, now_ms, records)
        new_hash = metadata_hash(_all_topics(members, patterns), self.image)
        records.append(group_epoch_record(group_id, group.epoch + 1, new_hash))
        return records

    def _replace(self, group: ConsumerGroup, change: MemberChange, records: list[CoordinatorRecord]) -> None:
        """The instance goes on under another member id, with the same partitions."""
        assert change.replaced is not None
        group_id, member = group.group_id, change.before
        records += member_tombstones(group_id, change.replaced)
        records.append(member_record(group_id, member))
        records.append(target_record(group_id, member.member_id, group.target(change.replaced)))
        records.append(current_record(group_id, member))

    def _members_after(self, group: ConsumerGroup, change: MemberChange) -> dict[str, ConsumerMember]:
        members = dict(group.members.items())
        if change.replaced is not None:
            members.pop(change.replaced, None)
        members[change.after.member_id] = change.after
        return members

    def _patterns(
        self,
        group: ConsumerGroup,
        members: Mapping[str, ConsumerMember],
        now_ms: int,
        records: list[CoordinatorRecord],
    ) -> tuple[dict[str, frozenset[str]], bool]:
        """The topics of every pattern in use, and whether they are other than before."""
        used = {member.pattern for member in members.values() if member.pattern}
        changed = False
        topics: dict[str, frozenset[str]] = {}
        for pattern in sorted(used):
            known = group.patterns.get(pattern)
            if known is not None and not group.refresh_patterns:
                topics[pattern] = known.topics
                continue
            topics[pattern] = matched = self._resolve(pattern)
            if known is None or known.topics != matched:
                changed = True
                resolved = ResolvedPattern(matched, self.image.offset, now_ms)
                records.append(pattern_record(group.group_id, pattern, resolved))
        records += [pattern_tombstone(group.group_id, each) for each in group.patterns if each not in used]
        return topics, changed

    def _resolve(self, pattern: str) -> frozenset[str]:
        compiled = self._compiled.get(pattern)
        if compiled is None:
            if len(self._compiled) > 1000:
                self._compiled.clear()
            compiled = self._compiled[pattern] = compile_pattern(pattern)
        # Internal topics are subscribed to by name or not at all.
        return compiled.select(name for name in self.image.topics.by_name if not name.startswith("__"))

    def _targets(
        self,
        group: ConsumerGroup,
        members: Mapping[str, ConsumerMember],
        patterns: Mapping[str, frozenset[str]],
        change: MemberChange,
    ) -> dict[str, Assignment]:
        previous = dict(group.targets.items())
        if change.replaced is not None:
            previous[change.after.member_id] = previous.pop(change.replaced, {})
        subscriptions = {member_id: (member, _topics(member, patterns)) for member_id, member in members.items()}
        return compute_target(
            preferred_assignor(members.values(), self._default_assignor), subscriptions, previous, self.image
        )

    @property
    def default_assignor(self) -> str:
        return self._default_assignor


def _topics(member: ConsumerMember, patterns: Mapping[str, frozenset[str]]) -> frozenset[str]:
    topics = frozenset(member.topics)
    return topics | patterns.get(member.pattern, frozenset()) if member.pattern else topics


def _all_topics(members: Mapping[str, ConsumerMember], patterns: Mapping[str, frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*(_topics(member, patterns) for member in members.values()))
