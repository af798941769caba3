"""Members of streams groups that fall silent, do not give up tasks in time, or leave; and groups that wait to begin.

Timeouts of a member: `session` (no heartbeat), `rebalance` (told to give up tasks and has not). A group whose first
member comes waits `streams.initial.rebalance.delay.ms` for others before anybody is assigned anything (`gather`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from moldau.coordinator.group.classic_rebalance import NOTHING, session_key
from moldau.coordinator.group.consumer_member import MemberState
from moldau.coordinator.group.group_configs import GroupConfigs
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.group.streams_group import StreamsGroup
from moldau.coordinator.group.streams_member import StreamsMember
from moldau.coordinator.group.streams_records import streams_epoch_record, streams_member_tombstones
from moldau.coordinator.shard import Outcome, Result, Timers
from moldau.slicing import Work, pieces

logger = logging.getLogger("moldau.coordinator.group")


class StreamsSessions:
    def __init__(self, groups: Groups, timers: Timers, configs: GroupConfigs) -> None:
        self._groups = groups
        self._timers = timers
        self.settings = configs.of
        # When the groups that wait for their first members begin.
        self._beginning: dict[str, int] = {}

    # -------------------------------------------------------------------------------------------------- timeouts

    def extend_session(self, group_id: str, member_id: str) -> None:
        def expire(now_ms: int) -> Outcome[None]:
            group = self._groups.streams(group_id)
            if group is None or member_id not in group.members:
                return NOTHING
            logger.info("the member %s of %s was silent for too long and is removed", member_id, group_id)
            return self.fence(group, member_id)

        timeout = self.settings(group_id).streams_session_timeout_ms
        self._timers.schedule(session_key(group_id, member_id), timeout, expire)

    def watch_revocation(self, group_id: str, member: StreamsMember) -> None:
        """A member that must give up tasks has its rebalance timeout for it; others are not hurried."""
        key, epoch, member_id = _key(group_id, member.member_id), member.epoch, member.member_id
        if member.state != MemberState.UNREVOKED_PARTITIONS:
            self._timers.cancel(key)
            return

        def expire(now_ms: int) -> Outcome[None]:
            group = self._groups.streams(group_id)
            current = None if group is None else group.members.get(member_id)
            if group is None or current is None or current.epoch != epoch:
                return NOTHING
            if current.state != MemberState.UNREVOKED_PARTITIONS:
                return NOTHING
            logger.info("the member %s of %s did not give up its tasks in time", member_id, group_id)
            return self.fence(group, member_id)

        self._timers.schedule(key, member.rebalance_timeout_ms, expire)

    def gather(self, group_id: str, now_ms: int, then: Callable[[int], Outcome[None]]) -> None:
        """The group is about to have its first member: others that come soon are assigned together with it."""
        delay = self.settings(group_id).streams_initial_rebalance_delay_ms
        if delay and group_id not in self._beginning:
            self._beginning[group_id] = now_ms + delay

            def begin(now_ms: int) -> Outcome[None]:
                self._beginning.pop(group_id, None)
                return then(now_ms)

            self._timers.schedule(_gathering(group_id), delay, begin)

    def begins_ms(self, group_id: str) -> int | None:
        """When a group that waits for its first members begins; None for one that has begun."""
        return self._beginning.get(group_id)

    def restart(self, group: StreamsGroup) -> Work[None]:
        """After loading: everybody has its whole time again."""
        for member_ids in pieces(list(group.members)):
            for member_id in member_ids:
                member = group.members.get(member_id)
                if member is not None:
                    self.extend_session(group.group_id, member_id)
                    self.watch_revocation(group.group_id, member)
            yield

    # ----------------------------------------------------------------------------------------------------- removal

    def fence(self, group: StreamsGroup, member_id: str) -> Result[None]:
        """Removes a member; its tasks are free at once, and the next heartbeat of another one assigns anew."""
        group_id = group.group_id
        records = streams_member_tombstones(group_id, member_id)
        records.append(
            streams_epoch_record(
                group_id,
                group.epoch + 1,
                group.metadata_hash,
                group.validated_epoch.value,
                group.assignment_configs.value,
            )
        )
        if group.members[member_id].endpoint is not None:
            group.endpoint_epoch += 1

        def done(error: Exception | None) -> None:
            if error is not None:
                return
            current = self._groups.streams(group_id)
            # Who has come back before that was written down has new timeouts.
            if current is None or member_id not in current.members:
                self._timers.cancel(session_key(group_id, member_id))
                self._timers.cancel(_key(group_id, member_id))
            if (current is None or current.is_empty) and self._beginning.pop(group_id, None) is not None:
                self._timers.cancel(_gathering(group_id))

        return Result(records, None, done=done)


def _key(group_id: str, member_id: str) -> str:
    return f"rebalance {group_id} {member_id}"


def _gathering(group_id: str) -> str:
    return f"gather {group_id}"
