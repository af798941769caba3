"""Where a consumer leaves off, kept by its group: commits as an application asks for them, and those made for it."""

from __future__ import annotations

from collections.abc import Mapping
from time import monotonic
from typing import Any, Final

from moldau.client.consumer.committer import Committer
from moldau.client.consumer.fetch_buffer import FetchBuffer
from moldau.client.consumer.interceptors import Interceptors
from moldau.client.consumer.membership import ClassicMembership
from moldau.client.consumer.offsets import GroupOffsets
from moldau.client.future import Future
from moldau.client.session import Session
from moldau.client.structs import ConsumerGroupMetadata, MemberState, OffsetAndMetadata
from moldau.errors.named import IllegalStateError
from moldau.types import TopicPartition

# Whoever closes does not wait longer than this for brokers that say nothing at all.
_SILENCE: Final = 5.0


class Commits:
    """Without a membership, and so without a group, there is nobody to keep them."""

    def __init__(
        self,
        session: Session,
        buffer: FetchBuffer,
        membership: ClassicMembership | None,
        interceptors: Interceptors,
    ) -> None:
        self.group: GroupOffsets | None = None
        self.committer: Committer | None = None
        # When the end has to be reached, once it has begun, and since when it is waited for in silence.
        self._deadline: float | None = None
        self._silent_since: float | None = None
        self._session = session
        if membership is not None:
            stable_only = session.config["isolation_level"] == "read_committed"
            self.group = GroupOffsets(session.config["group_id"], membership.coordinator, stable_only=stable_only)
            self.committer = Committer(
                session.background, session.network, self.group, membership, buffer.consumed, interceptors
            )

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout_ms: float | None = None
    ) -> None:
        """Commits what was handed out so far, or the given offsets; returns when the group remembers."""
        self._committer().commit(offsets, self._session.timeout if timeout_ms is None else timeout_ms / 1000)

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, callback: Any = None
    ) -> Future:
        """The same without waiting. `callback(offsets, response or exception)` runs within a later call of `poll`,
        `commit`, `commit_async` or `close`, in the order of the commits."""
        usual = self._session.config["default_offset_commit_callback"]
        return self._committer().commit_async(offsets, callback or usual)

    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> int | OffsetAndMetadata | None:
        """What the group has committed for a partition; None if nothing."""
        self._committer()
        assert self.group is not None
        where = TopicPartition(*partition)
        found = self._session.ask(self.group.fetch([where]), timeout_ms).get(where)
        return found if metadata or found is None else found.offset

    def group_metadata(self) -> ConsumerGroupMetadata:
        if self.committer is None:
            return ConsumerGroupMetadata()
        membership = self.committer.membership
        state = MemberState.STABLE if membership.stable else MemberState.REBALANCING
        if membership.generation < 0:
            state = MemberState.UNJOINED
        me = membership.membership
        group_id = self._session.config["group_id"]
        return ConsumerGroupMetadata(group_id, me.generation, me.member_id, me.instance_id, state)

    def _committer(self) -> Committer:
        self._session.check_open()
        if self.committer is None:
            raise IllegalStateError("A consumer without a group_id has nowhere to commit offsets.")
        return self.committer

    # ----------------------------------------------------------------------------------------------- by themselves

    def tell(self) -> None:
        """Within every poll: the callbacks of those that are over."""
        if self.committer is not None:
            self.committer.tell()

    def commit_now_and_then(self) -> None:
        if self.committer is not None and self._session.config["enable_auto_commit"]:
            self.committer.commit_now_and_then(self._session.config["auto_commit_interval_ms"] / 1000)

    def before_revoking(self, deadline: float | None = None) -> bool:
        """Whether it is over; False if there was no answer by `deadline`, and the next call is to wait for it."""
        if self.committer is None or not self._session.config["enable_auto_commit"]:
            return True
        ending = self._deadline is not None
        return self.committer.commit_quietly(self._session.timeout, self.time_left if ending else None, deadline)

    def time_left(self) -> float:
        """How long a step may take from now on, in seconds. At the end without a limit of its own that is longer while
        brokers say something, be it that they are not ready: from one that is silent no answer is to be expected."""
        if self._deadline is None:
            return self._session.timeout
        deadline = self._deadline
        if self._silent_since is not None:
            deadline = min(deadline, max(self._silent_since, self._session.network.heard_at) + _SILENCE)
        return max(0.0, deadline - monotonic())

    def finish(self, limit: float | None) -> None:
        """Waits for those that are on their way. The last one and all else that is to come share the limit."""
        now = monotonic()
        self._deadline = now + (self._session.timeout if limit is None else limit)
        self._silent_since = now if limit is None else None
        if self.committer is not None:
            self.committer.finish(self.time_left)

    def give_up(self) -> None:
        if self.committer is not None:
            self.committer.give_up()
