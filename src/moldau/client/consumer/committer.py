"""When and how a consumer commits: now, later in order, and now and then by itself."""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from time import monotonic
from typing import Any

from moldau.client.background import Background
from moldau.client.consumer.interceptors import Interceptors
from moldau.client.consumer.membership import ClassicMembership
from moldau.client.consumer.offsets import GroupOffsets, Membership
from moldau.client.exceptions import named
from moldau.client.future import Future, run
from moldau.client.network import ClientNetwork
from moldau.client.structs import OffsetAndMetadata
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, MoldauError
from moldau.errors.named import IllegalArgumentError, KafkaConnectionError, KafkaTimeoutError
from moldau.types import TopicPartition

logger = logging.getLogger("moldau.client")

Offsets = Mapping[TopicPartition, OffsetAndMetadata]


@dataclass(slots=True, eq=False)
class Commit:
    offsets: dict[TopicPartition, OffsetAndMetadata]
    future: Future
    callback: Any
    # It may have to wait for those before it; its time runs meanwhile.
    deadline: float


class Committer:
    """`consumed()` says where the application is. Commits go out one after the other, so that a later one never is
    overtaken by an earlier one that had to be repeated. Their callbacks run on the application's thread (`tell`), in
    the same order, where they may use the consumer."""

    def __init__(
        self,
        background: Background,
        network: ClientNetwork,
        group: GroupOffsets,
        membership: ClassicMembership,
        consumed: Callable[[], Offsets],
        interceptors: Interceptors,
    ) -> None:
        self._background = background
        self._network = network
        self._group = group
        self.membership = membership
        self._consumed = consumed
        self._interceptors = interceptors
        self._queue: deque[Commit] = deque()
        self._begun: deque[Commit] = deque()
        self._over: deque[tuple[Commit, Any]] = deque()
        self._telling = False
        self._parting: Commit | None = None
        self._running = False
        self._next = 0.0
        self._last: Offsets = {}
        self.commits = 0

    def commit(self, offsets: Offsets | None, timeout: float) -> None:
        self.tell()
        chosen = self._chosen(offsets)
        if not chosen:
            return
        if self._background.on_thread:
            raise RuntimeError("a callback on the client's own thread cannot wait for a commit")
        try:
            self._begin(Commit(chosen, Future(), None, monotonic() + timeout)).get(timeout)
        finally:
            self.tell()

    def commit_async(self, offsets: Offsets | None, callback: Any = None) -> Future:
        self.tell()
        chosen = self._chosen(offsets)
        if not chosen:
            return Future().success({})
        return self._begin(Commit(chosen, Future(), callback, monotonic() + self._network.request_timeout))

    def _begin(self, commit: Commit) -> Future:
        def begin() -> None:
            # Here and not before: one that Ctrl-C kept from the loop would be waited for at the end, in vain.
            self._begun.append(commit)
            self._queue.append(commit)
            self._go_on()

        self._background.call(begin)
        return commit.future

    def finish(self, time_left: Callable[[], float]) -> None:
        """Waits for what was begun without waiting; a failure is told to whoever began it, and to nobody else."""
        if self._background.on_thread:
            return  # a callback there would wait for itself
        self._background.begin(_nothing).settles(time_left())  # all of it has come to the loop by then
        while (begun := tuple(self._begun)) and time_left() > 0:
            for commit in begun:
                settles(commit.future, time_left)
            self.tell()

    def give_up(self) -> None:
        """The loop has ended: what it left undone has failed."""
        for commit in tuple(self._begun):
            self._is_over(commit, KafkaConnectionError("The consumer was closed before the offsets were committed."))
        self.tell()

    def tell(self) -> None:
        """Runs the callbacks of those that are over. A callback that commits in its turn does not get here again."""
        if self._telling:
            return
        try:
            self._telling = True
            while self._over:
                try:
                    commit, outcome = self._over.popleft()
                except IndexError:
                    break  # another thread tells it
                if not isinstance(outcome, BaseException):
                    self._interceptors.on_commit(commit.offsets)
                if commit.callback is not None:
                    run(partial(commit.callback, commit.offsets), outcome)
        finally:
            self._telling = False

    def commit_quietly(
        self, timeout: float, time_left: Callable[[], float] | None, deadline: float | None = None
    ) -> bool:
        """Before partitions are given back: a failure is worth a line in the log, and no more. False if `deadline`
        comes first: it is on its way, and the next call waits for the same."""
        consumed = dict(self._of_topics_there_are())
        if self._parting is None or self._parting.offsets != consumed:
            self.tell()
            if not consumed:
                return True
            if self._background.on_thread:
                raise RuntimeError("a callback on the client's own thread cannot wait for a commit")
            parting = Commit(consumed, Future(), None, monotonic() + timeout)
            self._begin(parting)
            self._parting = parting
        future = self._parting.future
        if deadline is not None and not future.settles(max(0.0, deadline - monotonic())):
            return False
        self._parting = None
        try:
            if time_left is not None and not settles(future, time_left):
                raise KafkaTimeoutError("There was no answer in the time that was left.")
            future.get(timeout)
        except MoldauError as error:
            logger.warning("the offsets of group %s could not be committed: %s", self._group.group_id, error)
        finally:
            self.tell()
        return True

    def commit_now_and_then(self, interval: float) -> None:
        now = monotonic()
        if self._next == 0.0:
            self._next = now + interval
        if now < self._next:
            return
        self._next = now + interval
        consumed = self._of_topics_there_are()
        if consumed and consumed != self._last:
            self._last = consumed
            self.commit_async(consumed, self._committed_by_itself)

    def _of_topics_there_are(self) -> Offsets:
        """Of one that was deleted nothing is kept, and the coordinator would be asked again until time is over."""
        topics = self._network.view.topics
        gone = {name for name, topic in topics.items() if topic.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        return {where: each for where, each in self._consumed().items() if where.topic not in gone}

    def _committed_by_itself(self, _offsets: Offsets, outcome: Any) -> None:
        if isinstance(outcome, BaseException):
            self._last = {}  # so that it is tried again, also if nothing more is read
            logger.warning("offsets could not be committed automatically: %s", outcome)

    def _go_on(self) -> None:
        if self._running or not self._queue:
            return
        self._running = True
        commit = self._queue.popleft()

        def done(result: Offsets | None, error: BaseException | None) -> None:
            self._running = False
            self._is_over(commit, result if error is None else named(error))
            self._go_on()

        remaining = max(0.0, commit.deadline - monotonic())
        self._network.perform(self._group.commit(commit.offsets, self._who()), remaining).then(done)

    def _is_over(self, commit: Commit, outcome: Any) -> None:
        """In this order: whoever waits for the future finds the callback ready to be run."""
        self._over.append((commit, outcome))
        self._begun.remove(commit)
        if isinstance(outcome, BaseException):
            commit.future.failure(outcome)
        else:
            self.commits += 1
            commit.future.success(outcome)

    def _who(self) -> Membership:
        return self.membership.membership

    def _chosen(self, offsets: Offsets | None) -> dict[TopicPartition, OffsetAndMetadata]:
        if offsets is None:
            return dict(self._consumed())
        chosen = {
            TopicPartition(*where): each if isinstance(each, OffsetAndMetadata) else OffsetAndMetadata(*each)
            for where, each in offsets.items()
        }
        for where, each in chosen.items():
            if each.offset < 0:
                raise IllegalArgumentError(f"{each.offset} cannot be committed for {where}: offsets begin at 0.")
        return chosen


def _nothing() -> Deferred[None]:
    done: Deferred[None] = Deferred()
    done.resolve(None)
    return done


def settles(future: Future, time_left: Callable[[], float]) -> bool:
    """Whether it is settled before the time is over, which may be prolonged meanwhile."""
    while not future.settles(time_left()):
        if time_left() <= 0:
            return False
    return True
