"""How a classic group gets from one generation to the next, and the four timeouts on the way.

    session     a member was silent for too long: it is removed
    join        members that have not joined again in time are removed, and the next generation begins
    initial     a group that was empty waits a little for further members before its first generation
    sync        members that joined but never asked for their assignment are removed

An operation here changes the group directly (see `classic_group`) and returns the records to write, if any. Whatever is
to be said to every member, or done with each, is work that pauses: a group may have ten thousand.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final

from moldau.config.broker import BrokerConfig
from moldau.coordinator.group.classic_group import PIECE, ClassicGroup, ClassicState
from moldau.coordinator.group.classic_member import ClassicMember
from moldau.coordinator.group.classic_records import group_record
from moldau.coordinator.group.groups import Groups
from moldau.coordinator.shard import Outcome, Result, Timers, decided
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.join_group import JoinGroupResponse
from moldau.protocol.messages.sync_group import SyncGroupResponse
from moldau.slicing import Work, in_order, pieces

logger = logging.getLogger("moldau.coordinator.group")

NOTHING: Final[Result[None]] = Result((), None)
# How long the first JoinGroup of a new member may wait: it cannot send heartbeats, and if its client gave up and asked
# again, nobody will ever answer for it.
NEW_MEMBER_TIMEOUT_MS: Final = 5 * 60 * 1000
# Members a log line names; the others are counted.
_NAMED: Final = 5


class ClassicRebalance:
    def __init__(self, groups: Groups, timers: Timers, config: BrokerConfig) -> None:
        self.groups = groups
        self.timers = timers
        self.config = config

    # ---------------------------------------------------------------------------------------------------- sessions

    def extend_session(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int | None = None) -> None:
        group_id, member_id = group.group_id, member.member_id
        self.timers.schedule(
            session_key(group_id, member_id),
            member.session_timeout_ms if timeout_ms is None else timeout_ms,
            lambda now: self.expire_member(group_id, member_id, now),
        )

    def restart_sessions(self, group: ClassicGroup) -> Work[None]:
        """After loading: everybody has its whole time again, if it has not left meanwhile."""
        for members in pieces(list(group.members.values()), PIECE):
            for member in members:
                if group.members.get(member.member_id) is member:
                    self.extend_session(group, member)
            yield

    def expire_member(self, group_id: str, member_id: str, now_ms: int) -> Outcome[None]:
        group = self.groups.classic(group_id)
        if group is None or group.is_in(ClassicState.DEAD):
            return NOTHING
        if member_id in group.pending_join:
            group.remove(member_id)
            return self._complete_if_all_joined(group, now_ms)
        member = group.members.get(member_id)
        if member is None or member.is_waiting:
            return NOTHING
        logger.info("the member %s of %s was silent for too long and is removed", member_id, group_id)
        self.drop_member(group, member)
        if group.is_in(ClassicState.STABLE, ClassicState.COMPLETING_REBALANCE):
            return self.rebalance_or_complete(group, f"the session of {member_id} expired", now_ms)
        return self._complete_if_all_joined(group, now_ms)

    def drop_member(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Removes a member; if it is waiting to join it hears so, and joins again as a new one if it is still there."""
        self.timers.cancel(session_key(group.group_id, member.member_id))
        gone = JoinGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID)
        group.complete_join(member, gone)
        group.complete_sync(member, SyncGroupResponse(error_code=ErrorCode.UNKNOWN_MEMBER_ID))
        group.remove(member.member_id)

    def _complete_if_all_joined(self, group: ClassicGroup, now_ms: int) -> Outcome[None]:
        if group.is_in(ClassicState.PREPARING_REBALANCE) and group.all_joined:
            return self.complete_join(group, now_ms)
        return NOTHING

    # --------------------------------------------------------------------------------------------------- rebalance

    def rebalance_or_complete(self, group: ClassicGroup, reason: str, now_ms: int) -> Outcome[None]:
        if group.can_rebalance:
            return self.prepare(group, reason, now_ms)
        return self.maybe_complete_join(group, now_ms)

    def prepare(self, group: ClassicGroup, reason: str, now_ms: int) -> Outcome[None]:
        """Everybody has to join again."""
        if group.is_in(ClassicState.COMPLETING_REBALANCE):
            return self._interrupt(group, reason, now_ms)
        return self._await_everybody(group, reason, now_ms)

    def _interrupt(self, group: ClassicGroup, reason: str, now_ms: int) -> Work[Result[None]]:
        yield from self.fail_sync(group, ErrorCode.REBALANCE_IN_PROGRESS)
        return (yield from decided(self._await_everybody(group, reason, now_ms)))

    def _await_everybody(self, group: ClassicGroup, reason: str, now_ms: int) -> Outcome[None]:
        group.pending_sync.clear()
        self.timers.cancel(_sync_key(group.group_id))
        initial = group.is_empty
        group.transition_to(ClassicState.PREPARING_REBALANCE, now_ms)
        logger.info("the group %s rebalances after generation %d: %s", group.group_id, group.generation, reason)
        if initial:
            group.member_added = False
            delay = self.config.group_initial_rebalance_delay_ms
            self._delay_initial(group.group_id, delay, max(group.rebalance_timeout_ms - delay, 0))
            return NOTHING
        if group.all_joined:
            return self.complete_join(group, now_ms)
        self._await_joins(group)
        return NOTHING

    def maybe_complete_join(self, group: ClassicGroup, now_ms: int) -> Outcome[None]:
        if not group.is_in(ClassicState.PREPARING_REBALANCE) or group.previous_state == ClassicState.EMPTY:
            # The first generation begins when its delay is over, not when the first member has joined.
            return NOTHING
        return self.complete_join(group, now_ms) if group.all_joined else NOTHING

    def complete_join(self, group: ClassicGroup, now_ms: int) -> Work[Result[None]]:
        """The next generation begins with those who have joined; static members stay though they have not."""
        self.timers.cancel(_join_key(group.group_id))
        late = [member.member_id for member in group.not_rejoined() if member.instance_id is None]
        yield from self._remove(group, late)
        if group.is_in(ClassicState.DEAD):
            return NOTHING
        if not group.elect_joined_leader() and group.members:
            logger.warning("no member of %s has joined again, which goes on waiting", group.group_id)
            self._await_joins(group)
            return NOTHING
        yield from group.next_generation(now_ms)
        if group.is_empty:
            record = yield from group_record(group, {})
            return Result([record], None, replay=False, done=_note_failure(group))
        group.pending_sync.update(group.members)
        for members in pieces(list(group.members.values()), PIECE):
            for member in members:
                roster = yield from group.roster(member.member_id)
                group.complete_join(member, group.joined(member.member_id, roster))
                self.extend_session(group, member)
                member.is_new = False
            yield
        self._await_syncs(group)
        return NOTHING

    def _remove(self, group: ClassicGroup, member_ids: Sequence[str]) -> Work[None]:
        for some in pieces(member_ids, PIECE):
            for member_id in some:
                group.remove(member_id)
                self.timers.cancel(session_key(group.group_id, member_id))
            yield

    def _await_joins(self, group: ClassicGroup) -> None:
        def expire(group: ClassicGroup, now_ms: int) -> Outcome[None]:
            return self.complete_join(group, now_ms) if group.is_in(ClassicState.PREPARING_REBALANCE) else NOTHING

        self._on_timeout(_join_key(group.group_id), group.rebalance_timeout_ms, group.group_id, expire)

    def _delay_initial(self, group_id: str, delay_ms: int, remaining_ms: int) -> None:
        def expire(group: ClassicGroup, now_ms: int) -> Outcome[None]:
            if not group.is_in(ClassicState.PREPARING_REBALANCE):
                return NOTHING
            if not group.member_added or remaining_ms == 0:
                return self.complete_join(group, now_ms)
            group.member_added = False
            delay = min(self.config.group_initial_rebalance_delay_ms, remaining_ms)
            self._delay_initial(group_id, delay, max(remaining_ms - delay, 0))
            return NOTHING

        self._on_timeout(_join_key(group_id), delay_ms, group_id, expire)

    def _await_syncs(self, group: ClassicGroup) -> None:
        generation = group.generation

        def expire(group: ClassicGroup, now_ms: int) -> Outcome[None]:
            if group.generation != generation or not group.pending_sync:
                return NOTHING
            if not group.is_in(ClassicState.COMPLETING_REBALANCE, ClassicState.STABLE):
                return NOTHING
            return self._remove_unsynced(group, now_ms)

        self._on_timeout(_sync_key(group.group_id), group.rebalance_timeout_ms, group.group_id, expire)

    def _remove_unsynced(self, group: ClassicGroup, now_ms: int) -> Work[Result[None]]:
        missing = yield from in_order(list(group.pending_sync))
        yield from self._remove(group, missing)
        return (yield from decided(self.prepare(group, f"{named(missing)} did not ask for an assignment", now_ms)))

    def _on_timeout(
        self, key: str, delay_ms: int, group_id: str, operation: Callable[[ClassicGroup, int], Outcome[None]]
    ) -> None:
        def run(now_ms: int) -> Outcome[None]:
            group = self.groups.classic(group_id)
            return NOTHING if group is None else operation(group, now_ms)

        self.timers.schedule(key, delay_ms, run)

    # -------------------------------------------------------------------------------------------------- assignment

    def note_sync(self, group: ClassicGroup, member_id: str) -> None:
        """The member has asked for its assignment; the last one to do so ends the wait for the others."""
        group.pending_sync.discard(member_id)
        if not group.pending_sync:
            self.timers.cancel(_sync_key(group.group_id))

    def fail_sync(self, group: ClassicGroup, code: ErrorCode) -> Work[None]:
        for members in pieces(list(group.members.values()), PIECE):
            for member in members:
                member.assignment = b""
                self._answer_sync(group, member, SyncGroupResponse(error_code=code))
            yield

    def distribute(self, group: ClassicGroup, assignments: dict[str, bytes], now_ms: int) -> Work[None]:
        """The assignment is stored: everybody who waits for it gets its part."""
        for member in group.members.values():
            member.assignment = assignments.get(member.member_id, b"")
        group.transition_to(ClassicState.STABLE, now_ms)
        for members in pieces(list(group.members.values()), PIECE):
            for member in members:
                self._answer_sync(group, member, synced(group, member))
            yield

    def _answer_sync(self, group: ClassicGroup, member: ClassicMember, response: SyncGroupResponse) -> None:
        if group.complete_sync(member, response):
            self.extend_session(group, member)


def synced(group: ClassicGroup, member: ClassicMember) -> SyncGroupResponse:
    return SyncGroupResponse(
        protocol_type=group.protocol_type, protocol_name=group.protocol_name, assignment=member.assignment
    )


def named(member_ids: Sequence[str]) -> str:
    """Members, as a log line has them."""
    others = len(member_ids) - _NAMED
    return ", ".join(member_ids[:_NAMED]) + (f" and {others} others" if others > 0 else "")


def session_key(group_id: str, member_id: str) -> str:
    return f"session {group_id} {member_id}"


def _join_key(group_id: str) -> str:
    return f"join {group_id}"


def _sync_key(group_id: str) -> str:
    return f"sync {group_id}"


def _note_failure(group: ClassicGroup) -> Callable[[KafkaError | None], None]:
    def done(error: KafkaError | None) -> None:
        if error is not None:
            logger.warning("that %s is empty could not be stored: %s", group.group_id, error)

    return done
