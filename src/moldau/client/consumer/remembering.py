"""Where a consumer leaves off, kept by its group: the part of `KafkaConsumer` that deals with commits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, TypeVar

from moldau.client.consumer.committing import Committer
from moldau.client.consumer.fetcher import Fetcher
from moldau.client.consumer.offsets import GroupOffsets
from moldau.client.consumer.rebalancing import Rebalancer
from moldau.client.conversation import Conversation
from moldau.client.future import Future
from moldau.client.structs import ConsumerGroupMetadata, MemberState, OffsetAndMetadata
from moldau.errors.named import IllegalStateError
from moldau.types import TopicPartition

T = TypeVar("T")


class Remembering(ABC):
    config: dict[str, Any]
    _fetcher: Fetcher
    _ahead: dict[TopicPartition, int]
    _group: GroupOffsets | None
    _committer: Committer | None
    _rebalancer: Rebalancer | None
    # How long the last commit may take, once the end has been set a limit.
    _patience: float | None

    @abstractmethod
    def _check_open(self) -> None: ...

    @abstractmethod
    def _ask(self, conversation: Conversation[T], timeout_ms: float | None = None) -> T: ...

    @property
    @abstractmethod
    def _timeout(self) -> float: ...

    def commit(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, timeout_ms: float | None = None
    ) -> None:
        """Commits what was handed out so far, or the given offsets; returns when the group remembers."""
        timeout = self._timeout if timeout_ms is None else timeout_ms / 1000
        self._committing().commit(offsets, timeout)

    def commit_async(
        self, offsets: Mapping[TopicPartition, OffsetAndMetadata] | None = None, callback: Any = None
    ) -> Future:
        """The same without waiting. `callback(offsets, response or exception)` runs within a later call of `poll`,
        `commit`, `commit_async` or `close`, in the order of the commits."""
        return self._committing().commit_async(offsets, callback or self.config["default_offset_commit_callback"])

    def committed(
        self, partition: TopicPartition, metadata: bool = False, timeout_ms: float | None = None
    ) -> int | OffsetAndMetadata | None:
        """What the group has committed for a partition; None if nothing."""
        self._committing()
        assert self._group is not None
        where = TopicPartition(*partition)
        found = self._ask(self._group.fetch([where]), timeout_ms).get(where)
        return found if metadata or found is None else found.offset

    def group_metadata(self) -> ConsumerGroupMetadata:
        if self._rebalancer is None:
            return ConsumerGroupMetadata()
        membership = self._rebalancer.membership
        state = MemberState.STABLE if membership.stable else MemberState.REBALANCING
        if membership.generation < 0:
            state = MemberState.UNJOINED
        me = membership.membership
        return ConsumerGroupMetadata(self.config["group_id"], me.generation, me.member_id, me.instance_id, state)

    def _committing(self) -> Committer:
        self._check_open()
        if self._committer is None:
            raise IllegalStateError("A consumer without a group_id has nowhere to commit offsets.")
        return self._committer

    def _consumed(self) -> dict[TopicPartition, OffsetAndMetadata]:
        """Where the application is: after the last record that was handed out."""
        with self._fetcher.changed:
            return {
                where: OffsetAndMetadata(self._ahead.get(where, reading.position), "", reading.position_epoch)
                for where, reading in self._fetcher.readings.items()
                if reading.position is not None
            }

    def _commit_before_revoking(self) -> None:
        if self.config["enable_auto_commit"] and self._committer is not None:
            self._committer.commit_quietly(self._timeout if self._patience is None else self._patience)
