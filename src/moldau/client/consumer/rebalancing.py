"""The application's side of group membership: when to join, what the listener is told, what is read afterwards.

Everything here happens inside `poll`, on the application's thread: a listener may commit, seek and take its time.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from functools import partial
from inspect import iscoroutine
from time import monotonic
from typing import Any
from weakref import WeakMethod

from moldau.client.background import Background, Waiter
from moldau.client.consumer.membership import ClassicMembership, Joined
from moldau.client.consumer.subscription import Subscription
from moldau.client.conversation import Learn
from moldau.client.exceptions import named
from moldau.client.metadata import ClusterView
from moldau.client.network import ClientNetwork
from moldau.types import TopicPartition


class ConsumerRebalanceListener:
    """To be overridden. Called from within `poll`."""

    def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None:
        """Before partitions go to another member: the last chance to commit what was read of them."""

    def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None:
        """After partitions came, before the first record of them is handed out."""

    def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        """Partitions went to another member before anybody could be asked; nothing can be committed for them."""
        self.on_partitions_revoked(lost)


class AsyncConsumerRebalanceListener:
    """The same with coroutines. Each is run to its end within `poll`, on an event loop of its own; heartbeats go on."""

    async def on_partitions_revoked(self, revoked: Iterable[TopicPartition]) -> None: ...

    async def on_partitions_assigned(self, assigned: Iterable[TopicPartition]) -> None: ...

    async def on_partitions_lost(self, lost: Iterable[TopicPartition]) -> None:
        await self.on_partitions_revoked(lost)


class Rebalancer:
    """`assigned(partitions)` makes the consumer read exactly these; `before_revoking(deadline)` commits what was read,
    or says that it is still about it."""

    def __init__(
        self,
        background: Background,
        network: ClientNetwork,
        membership: ClassicMembership,
        subscription: Subscription,
        assigned: Callable[[Iterable[TopicPartition]], None],
        before_revoking: Callable[[float | None], bool],
    ) -> None:
        self.membership = membership
        self.listener: Any = None
        # What was read is being committed, or a listener hears what goes: nothing more is handed out meanwhile.
        self.revoking = False
        self._background = background
        self._network = network
        self._assigned = assigned
        self._before_revoking = before_revoking
        self._subscription = subscription
        self._current: set[TopicPartition] = set()
        self._joining: Waiter[Joined] | None = None
        # Not to be held by the loop: a listener often knows the consumer, which then would never end by itself.
        look = WeakMethod(self._look_at)
        network.watch(lambda view: None if (found := look()) is None else found(view))

    def subscribe(self, listener: Any) -> None:
        self.listener = listener
        self._want(self._subscription.names or frozenset())

    def _want(self, topics: frozenset[str]) -> None:
        self.membership.topics = topics
        self.membership.rejoin = True
        self._background.call(self._look_around)

    def _look_around(self) -> None:
        if self._subscription.pattern is None:
            self._network.refresh()
            return

        def told(view: ClusterView | None, _error: BaseException | None) -> None:
            if view is None:
                self._network.refresh()  # which tries until it is told
            else:
                self._subscription.began_with(view)

        self._network.learn(Learn(None, anew=True)).then(told)

    def _look_at(self, _view: ClusterView) -> None:
        """With a pattern, new topics that match are part of the subscription."""
        names = self._subscription.names
        if self._subscription.pattern is not None and names is not None and names is not self.membership.topics:
            self.membership.topics = names
            self.membership.rejoin = True

    @property
    def settled(self) -> bool:
        """Whether there is a share of the work, and no reason known to ask for another."""
        membership = self.membership
        joined = membership.generation >= 0 and not membership.rejoin and self._joining is None
        return joined or not membership.topics

    def ensure(self, deadline: float, polled_at: float | None = None) -> None:
        """Takes part in the group as far as there is time; without a share of the work there is nothing to read.
        `polled_at` is when the application last wanted records, if that is not now."""
        membership = self.membership
        membership.last_poll = monotonic() if polled_at is None else polled_at
        if membership.fatal is not None:
            raise named(membership.fatal)
        names = self._subscription.names
        if names is not None and names is not membership.topics:
            self._want(names)  # Ctrl-C came between the two
        while (membership.rejoin or self._joining is not None) and membership.topics:
            if self._joining is None:
                if not self._while_revoking(partial(self._prepare, deadline)):
                    return
                self._joining = self._begin_join()
            if not self._joining.settles(max(0.0, deadline - monotonic())):
                return
            try:
                joined = self._joining.wait(0)
            except Exception as error:
                self._joining = None
                membership.rejoin = True
                raise named(error) from None
            if not self._while_revoking(partial(self._complete, joined, deadline)):
                return

    def _while_revoking(self, work: Callable[[], bool]) -> bool:
        """Whether it is done; if not, time is over for now, and the next call does the rest."""
        self.revoking = True
        done = True
        try:
            done = work()
        finally:
            self.revoking = not done
        return done

    def _begin_join(self) -> Waiter[Joined]:
        waiter: Waiter[Joined] = Waiter()
        membership = self.membership  # which may be another one by the time the loop comes to it
        self._background.call(lambda: membership.begin_join().then(waiter.settle))
        return waiter

    def _prepare(self, deadline: float) -> bool:
        """Before joining: give back what cannot be kept. Cooperative assignors keep everything for now."""
        membership = self.membership
        if membership.lost:
            membership.lost = False
            membership.owned = []
            gone, self._current = self._current, set()
            self._assigned(())
            self._tell("on_partitions_lost", gone)
        elif not membership.cooperative:
            if not self._before_revoking(deadline):
                return False
            gone, self._current = self._current, set()
            self._tell("on_partitions_revoked", gone)
            self._assigned(())
        return True

    def _complete(self, joined: Joined, deadline: float) -> bool:
        share = set(joined.share)
        gone, new = self._current - share, share - self._current
        if gone and not self._before_revoking(deadline):
            return False
        self._joining = None
        if gone:
            self._tell("on_partitions_revoked", gone)
            # Others wait for these; another round hands them out.
            self.membership.rejoin = True
        self._current = share
        self.membership.owned = sorted(share)
        self._assigned(share)
        self._tell("on_partitions_assigned", new, always=True)
        return True

    def leave(self) -> None:
        """The end of membership, in order."""
        self._before_revoking(None)
        gone, self._current = self._current, set()
        self._tell("on_partitions_revoked", gone)

    def begin_anew(self, membership: ClassicMembership) -> None:
        """After leaving: nothing is wanted, and what is still said of the former membership is nobody's business."""
        self.listener = self._joining = None
        self.revoking = False
        self._current = set()
        self.membership = membership

    def _tell(self, what: str, partitions: set[TopicPartition], *, always: bool = False) -> None:
        if self.listener is None or not (partitions or always):
            return
        hook = getattr(self.listener, what, None)
        if hook is None and what == "on_partitions_lost":
            hook = self.listener.on_partitions_revoked
        if hook is not None:
            said = hook(partitions)
            if iscoroutine(said):
                asyncio.run(said)
