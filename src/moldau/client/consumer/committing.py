"""When and how a consumer commits: now, later in order, and now and then by itself."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from time import monotonic
from typing import Any

from moldau.client.background import Background
from moldau.client.consumer.membership import ClassicMembership
from moldau.client.consumer.offsets import GroupOffsets, Membership
from moldau.client.exceptions import named
from moldau.client.future import Future
from moldau.client.network import ClientNetwork
from moldau.client.structs import OffsetAndMetadata
from moldau.errors import MoldauError
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.client")

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


class Committer:
    """`consumed()` says where the application is. Commits that nobody waits for go out one after the other, so that a
    later one never is overtaken by an earlier one that had to be repeated."""

    def __init__(
        self,
        background: Background,
        network: ClientNetwork,
        group: GroupOffsets,
        membership: ClassicMembership,
        consumed: Callable[[], Offsets],
    ) -> None:
        self._background = background
        self._network = network
        self._group = group
        self._membership = membership
        self._consumed = consumed
        self._queue: deque[tuple[dict[TopicPartition, OffsetAndMetadata], Future, Any]] = deque()
        self._running = False
        self._next = 0.0
        self._last: Offsets = {}

    def commit(self, offsets: Offsets | None, timeout: float) -> None:
        chosen = self._chosen(offsets)
        if not chosen:
            return
        try:
            self._background.run(self._network, self._group.commit(chosen, self._who()), timeout)
        except MoldauError as error:
            raise named(error) from None

    def commit_async(self, offsets: Offsets | None, callback: Any = None) -> Future:
        future = Future()
        chosen = self._chosen(offsets)
        if not chosen:
            return future.success({})

        def begin() -> None:
            self._queue.append((chosen, future, callback))
            self._go_on()

        self._background.call(begin)
        return future

    def commit_quietly(self, timeout: float) -> None:
        """Before partitions are given back: a failure is worth a line in the log, and no more."""
        try:
            self.commit(None, timeout)
        except MoldauError as error:
            logger.warning("the offsets of group %s could not be committed: %s", self._group.group_id, error)

    def commit_now_and_then(self, interval: float) -> None:
        now = monotonic()
        if self._next == 0.0:
            self._next = now + interval
        if now < self._next:
            return
        self._next = now + interval
        consumed = self._consumed()
        if consumed and consumed != self._last:
            self._last = consumed
            self.commit_async(consumed, _log_failure)

    def _go_on(self) -> None:
        if self._running or not self._queue:
            return
        self._running = True
        offsets, future, callback = self._queue.popleft()

        def done(result: Offsets | None, error: BaseException | None) -> None:
            self._running = False
            outcome: Any = result if error is None else named(error)
            if callback is not None:
                future.add_both(lambda _ignored: callback(offsets, outcome))
            if error is None:
                future.success(result)
            else:
                future.failure(named(error))
            self._go_on()

        timeout = self._network.request_timeout
        self._network.perform(self._group.commit(offsets, self._who()), timeout).then(done)

    def _who(self) -> Membership:
        return self._membership.membership

    def _chosen(self, offsets: Offsets | None) -> dict[TopicPartition, OffsetAndMetadata]:
        if offsets is None:
            return dict(self._consumed())
        return {
            TopicPartition(*where): each if isinstance(each, OffsetAndMetadata) else OffsetAndMetadata(*each)
            for where, each in offsets.items()
        }


def _log_failure(_offsets: Offsets, outcome: Any) -> None:
    if isinstance(outcome, BaseException):
        logger.warning("offsets could not be committed automatically: %s", outcome)
