"""What follows from a member that joined, changed or came back: epoch, target, and its own next step.

Both ways into a consumer group, its own heartbeat and a classic JoinGroup, come through here. Nothing is changed: the
records are gathered, and what the operation needs to know of their effect is worked out beside the group.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from itertools import chain
from typing import Final, NamedTuple

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
from moldau.coordinator.group.group_configs import GroupConfigs
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.reconciliation import reconcile
from moldau.coordinator.group.requests import Visible
from moldau.coordinator.group.target_assignment import compute_target, may_assign, metadata_hash, target_records
from moldau.coordinator.group.topic_pattern import PatternResolver, Topics
from moldau.coordinator.shard import CoordinatorRecord, Result, Timers
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.slicing import Work

# Topics come and go in bursts: the patterns of a group are not resolved again more often than that.
_MIN_REFRESH_MS: Final = 10_000


class MemberChange(NamedTuple):
    before: ConsumerMember
    after: ConsumerMember
    # What the member says it owns; None where it does not say.
    owned: Assignment | None
    # The member id a static member had before it came back.
    replaced: str | None = None
    # Who it is decides which topics its patterns, and those of others that are resolved now, stand for.
    visible: Visible | None = None


class Updated(NamedTuple):
    # The member as it will be once the records are replayed.
    member: ConsumerMember
    # How many of the records are the change itself: the member, and the epoch without which nobody would look at it.
    # A target that is only half written is worked out again, and so is the member's own step.
    together: int
    # The target was computed too lately to compute another one now.
    waits: bool = False


class ConsumerUpdate:
    def __init__(
        self, config: BrokerConfig, groups: Groups, timers: Timers, resolver: PatternResolver, configs: GroupConfigs
    ) -> None:
        self.image: MetadataImage = EMPTY_IMAGE
        self._configs = configs
        self._groups = groups
        self._timers = timers
        self._resolver = resolver
        self._default_assignor = ASSIGNOR_NAMES[config.group_consumer_assignors[0]]
        self._refresh_ms = config.group_consumer_regex_refresh_interval_ms
        # Groups whose patterns are being resolved.
        self._resolving: set[str] = set()

    def apply(
        self, group: ConsumerGroup, change: MemberChange, now_ms: int, records: list[CoordinatorRecord]
    ) -> Work[Updated]:
        before, after = change.before, change.after
        target_epoch, target = group.assignment_epoch, group.target(change.replaced or after.member_id)
        if change.replaced is None and before == after and self._nothing_new(group, after.member_id):
            self._refresh_patterns(group, now_ms, change.visible)
            return Updated((yield from self._step(group, change, target_epoch, target, records)), 0)
        # What the topics are may change while this goes on.
        image = self.image
        if change.replaced is not None:
            yield from self._replace(group, change, records)
        is_new = before.member_id not in group.members and change.replaced is None
        if is_new or before != after:
            records.append(member_record(group.group_id, after))
        members = self._members_after(group, change)
        patterns, patterns_changed = yield from self._patterns(group, members, now_ms, records, change)
        epoch = group.epoch
        bump = is_new or patterns_changed or not before.same_subscription(after)
        if bump or group.refresh_metadata:
            new_hash = yield from metadata_hash((yield from _all_topics(members, patterns)), image)
            if bump or new_hash != group.metadata_hash:
                epoch += 1
                records.append(group_epoch_record(group.group_id, epoch, new_hash))
        together = len(records)
        interval = self._configs.of(group.group_id).consumer_assignment_interval_ms
        if epoch > target_epoch and may_assign(group.assignment_timestamp.value, interval, now_ms):
            targets = yield from self._targets(group, members, patterns, change, image)
            records += yield from target_records(group, epoch, targets, now_ms)
            target_epoch, target = epoch, targets[after.member_id]
        waits = epoch > target_epoch
        return Updated((yield from self._step(group, change, target_epoch, target, records)), together, waits)

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
    ) -> Work[ConsumerMember]:
        reconciled = yield from reconcile(change.after, target_epoch, target, group.owners.get, change.owned)
        if reconciled != change.after:
            records.append((yield from current_record(group.group_id, reconciled)))
        return reconciled

    def leave(self, group: ConsumerGroup, leaving: Set[str], now_ms: int) -> Work[list[CoordinatorRecord]]:
        """Members are gone: the group's epoch grows, and the next heartbeat of another member assigns anew."""
        group_id = group.group_id
        records = [record for member_id in sorted(leaving) for record in member_tombstones(group_id, member_id)]
        members = {member_id: member for member_id, member in group.members.items() if member_id not in leaving}
        image = self.image
        patterns, _ = yield from self._patterns(group, members, now_ms, records, None)
        new_hash = yield from metadata_hash((yield from _all_topics(members, patterns)), image)
        records.append(group_epoch_record(group_id, group.epoch + 1, new_hash))
        return records

    def _replace(self, group: ConsumerGroup, change: MemberChange, records: list[CoordinatorRecord]) -> Work[None]:
        """The instance goes on under another member id, with the same partitions."""
        assert change.replaced is not None
        group_id, member = group.group_id, change.before
        records += member_tombstones(group_id, change.replaced)
        records.append(member_record(group_id, member))
        records.append((yield from target_record(group_id, member.member_id, group.target(change.replaced))))
        records.append((yield from current_record(group_id, member)))

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
        change: MemberChange | None,
    ) -> Work[tuple[dict[str, Topics], bool]]:
        """The topics of every pattern in use, as far as they are known, and whether they are other than before.
        Without a change nobody asks, in whose name they could be looked for: the next one who does will."""
        used = _used_patterns(members)
        changed = False
        topics: dict[str, Topics] = {}
        missing = []
        for pattern in sorted(used):
            known = group.patterns.get(pattern)
            if known is not None:
                topics[pattern] = known.topics
                continue
            found = None if change is None else self._resolver.known(pattern)
            if found is not None and change is not None and change.visible is not None:
                found = change.visible(found)
            topics[pattern] = found or frozenset()
            if found is None:
                missing.append(pattern)
            else:
                changed = True
                resolved = ResolvedPattern(found, self._resolver.version, now_ms)
                records.append((yield from pattern_record(group.group_id, pattern, resolved)))
        records += [pattern_tombstone(group.group_id, each) for each in group.patterns if each not in used]
        if change is None:
            return topics, changed
        if missing:
            self._resolve(group.group_id, missing, change.visible)
        else:
            self._refresh_patterns(group, now_ms, change.visible)
        return topics, changed

    # ---------------------------------------------------------------------------------------------------- patterns

    def _refresh_patterns(self, group: ConsumerGroup, now_ms: int, visible: Visible | None) -> None:
        """Topics have come or gone, or it is long ago: the known patterns may stand for something else now."""
        if not group.patterns:
            return
        age = now_ms - group.patterns_resolved_ms
        outdated = group.patterns_version < self._resolver.version
        if age >= (_MIN_REFRESH_MS if outdated else self._refresh_ms):
            self._resolve(group.group_id, list(group.patterns), visible)

    def _resolve(self, group_id: str, patterns: Collection[str], visible: Visible | None) -> None:
        """Takes its time elsewhere; what comes of it is an operation of its own."""
        if group_id in self._resolving:
            return
        self._resolving.add(group_id)

        def found(topics: Mapping[str, Topics], version: int) -> None:
            self._timers.schedule(
                f"patterns {group_id}", 0, lambda now_ms: self._resolved(group_id, topics, version, now_ms, visible)
            )

        self._resolver.resolve_all(patterns, found)

    def _resolved(
        self, group_id: str, found: Mapping[str, Topics], version: int, now_ms: int, visible: Visible | None
    ) -> Work[Result[None]]:
        self._resolving.discard(group_id)
        group = self._groups.consumer(group_id)
        if group is None:
            return Result((), None)
        records: list[CoordinatorRecord] = []
        members = dict(group.members.items())
        used = _used_patterns(members)
        patterns = {pattern: known.topics for pattern, known in group.patterns.items() if pattern in used}
        for pattern, all_topics in found.items():
            topics = all_topics if visible is None else visible(all_topics)
            yield
            if pattern in used and patterns.get(pattern) != topics:
                patterns[pattern] = topics
                records.append((yield from pattern_record(group_id, pattern, ResolvedPattern(topics, version, now_ms))))
        group.patterns_version, group.patterns_resolved_ms = version, now_ms
        if records:
            new_hash = yield from metadata_hash((yield from _all_topics(members, patterns)), self.image)
            records.append(group_epoch_record(group_id, group.epoch + 1, new_hash))
        missing = used - patterns.keys()
        if missing:
            # Somebody else came with another pattern meanwhile.
            self._resolve(group_id, missing, visible)
        return Result(records, None)

    def _targets(
        self,
        group: ConsumerGroup,
        members: Mapping[str, ConsumerMember],
        patterns: Mapping[str, Topics],
        change: MemberChange,
        image: MetadataImage,
    ) -> Work[dict[str, Assignment]]:
        previous = dict(group.targets.items())
        if change.replaced is not None:
            previous[change.after.member_id] = previous.pop(change.replaced, {})
        subscriptions: dict[str, tuple[ConsumerMember, Topics]] = {}
        for member_id, member in members.items():
            subscriptions[member_id] = (member, _topics(member, patterns))
            yield
        assignor = preferred_assignor(members.values(), self._default_assignor)
        return (yield from compute_target(assignor, subscriptions, previous, image))

    @property
    def default_assignor(self) -> str:
        return self._default_assignor


def _used_patterns(members: Mapping[str, ConsumerMember]) -> set[str]:
    return {member.pattern for member in members.values() if member.pattern}


def _topics(member: ConsumerMember, patterns: Mapping[str, Topics]) -> Topics:
    topics = frozenset(member.topics)
    return topics | patterns.get(member.pattern, frozenset()) if member.pattern else topics


def _all_topics(members: Mapping[str, ConsumerMember], patterns: Mapping[str, Topics]) -> Work[set[str]]:
    names: set[str] = set()
    for topics in chain((member.topics for member in members.values()), patterns.values()):
        names.update(topics)
        yield
    return names
