"""Members of consumer groups that fall silent, do not give up partitions in time, or leave.

Timeouts of a member: `session` (no heartbeat), `rebalance` (told to give up partitions and has not). A member that
speaks the classic protocol has instead `rejoin` (told to join again and has not) and `sync` (joined and has not asked
for its assignment).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Set

from moldau.coordinator.group.classic_rebalance import NOTHING, session_key
from moldau.coordinator.group.consumer_group import ConsumerGroup
from moldau.coordinator.group.consumer_member import ConsumerMember, MemberState
from moldau.coordinator.group.consumer_update import ConsumerUpdate
from moldau.coordinator.group.group_configs import GroupConfigs
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.shard import Outcome, Result, Timers
from moldau.slicing import Work, pieces

logger = logging.getLogger("moldau.coordinator.group")


class ConsumerSessions:
    def __init__(self, groups: Groups, timers: Timers, configs: GroupConfigs, update: ConsumerUpdate) -> None:
        self._groups = groups
        self._timers = timers
        self._update = update
        self.settings = configs.of
        # Set by the migration: turns the group into a classic one if only classic members are left.
        self.downgrade: Callable[[ConsumerGroup, Set[str], int], Work[Result[None]] | None]
        self.downgrade = lambda group, leaving, now: None

    # -------------------------------------------------------------------------------------------------- timeouts

    def extend_session(self, group_id: str, member: ConsumerMember) -> None:
        timeout = (
            self.settings(group_id).consumer_session_timeout_ms
            if member.classic is None
            else member.classic.session_timeout_ms
        )
        self._fence_after(session_key(group_id, member.member_id), timeout, group_id, member.member_id, "was silent")

    def watch_revocation(self, group_id: str, member: ConsumerMember) -> None:
        """A member that must give up partitions has its rebalance timeout for it; others are not hurried."""
        key = _key("rebalance", group_id, member.member_id)
        if member.classic is not None or member.state != MemberState.UNREVOKED_PARTITIONS:
            self._timers.cancel(key)
            return
        epoch = member.epoch

        def expire(now_ms: int) -> Outcome[None]:
            group = self._groups.consumer(group_id)
            current = None if group is None else group.members.get(member.member_id)
            if group is None or current is None or current.epoch != epoch:
                return NOTHING
            if current.state != MemberState.UNREVOKED_PARTITIONS:
                return NOTHING
            logger.info("the member %s of %s did not give up its partitions in time", member.member_id, group_id)
            return self.fence(group, {member.member_id}, now_ms)

        self._timers.schedule(key, member.rebalance_timeout_ms, expire)

    def await_rejoin(self, group_id: str, member: ConsumerMember) -> None:
        key = _key("rejoin", group_id, member.member_id)
        if not self._timers.is_scheduled(key):
            timeout = member.rebalance_timeout_ms
            self._fence_after(key, timeout, group_id, member.member_id, "did not join again")

    def await_sync(self, group_id: str, member: ConsumerMember) -> None:
        self._timers.cancel(_key("rejoin", group_id, member.member_id))
        key = _key("sync", group_id, member.member_id)
        self._fence_after(key, member.rebalance_timeout_ms, group_id, member.member_id, "did not sync")

    def synced(self, group_id: str, member: ConsumerMember) -> None:
        self._timers.cancel(_key("sync", group_id, member.member_id))
        self.extend_session(group_id, member)

    def forget(self, group_id: str, member_id: str) -> None:
        self._timers.cancel(session_key(group_id, member_id))
        for kind in ("rebalance", "rejoin", "sync"):
            self._timers.cancel(_key(kind, group_id, member_id))

    def restart(self, group: ConsumerGroup) -> Work[None]:
        """After loading: everybody has its whole time again, if it has not left meanwhile."""
        for member_ids in pieces(list(group.members)):
            for member_id in member_ids:
                member = group.members.get(member_id)
                if member is not None:
                    self.extend_session(group.group_id, member)
                    self.watch_revocation(group.group_id, member)
            yield

    def _fence_after(self, key: str, delay_ms: int, group_id: str, member_id: str, why: str) -> None:
        def expire(now_ms: int) -> Outcome[None]:
            group = self._groups.consumer(group_id)
            if group is None or member_id not in group.members:
                return NOTHING
            logger.info("the member %s of %s %s for too long and is removed", member_id, group_id, why)
            return self.fence(group, {member_id}, now_ms)

        self._timers.schedule(key, delay_ms, expire)

    # ----------------------------------------------------------------------------------------------------- removal

    def fence(self, group: ConsumerGroup, leaving: Set[str], now_ms: int) -> Work[Result[None]]:
        """Removes members; their partitions are free at once."""
        downgrading = self.downgrade(group, leaving, now_ms)
        if downgrading is not None:
            downgraded = yield from downgrading
            for member_id in leaving:
                self.forget(group.group_id, member_id)
            return downgraded
        records = yield from self._update.leave(group, leaving, now_ms)

        def done(error: Exception | None) -> None:
            if error is not None:
                return
            current = self._groups.consumer(group.group_id)
            for member_id in leaving:
                # Who has come back before that was written down has new timeouts.
                if current is None or member_id not in current.members:
                    self.forget(group.group_id, member_id)

        return Result(records, None, done=done)


def _key(kind: str, group_id: str, member_id: str) -> str:
    return f"{kind} {group_id} {member_id}"
