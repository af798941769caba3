"""The application's side of membership, with a group that answers when the test says so."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest

from moldau.client.background import Waiter
from moldau.client.consumer.assignors import CooperativeStickyAssignor, RangePartitionAssignor
from moldau.client.consumer.membership import ClassicMembership, GroupOptions, Joined
from moldau.client.consumer.rebalancing import Rebalancer
from moldau.client.consumer.subscription import Subscription
from moldau.deferred import Deferred
from moldau.errors import KafkaTimeoutError
from moldau.links.errors import RequestTimedOut
from moldau.types import TopicPartition

ONE, TWO, THREE = (TopicPartition("moldau", number) for number in range(3))


class Group:
    """Stands in for the membership, the network and the thread."""

    def __init__(self, assignor: Any) -> None:
        self.options = type("Options", (), {"assignors": (assignor,), "rebalance_timeout_ms": 1000})()
        self.cooperative = assignor.cooperative
        self.topics = frozenset({"moldau"})
        self.owned: list[TopicPartition] = []
        self.rejoin, self.lost, self.fatal, self.last_poll = True, False, None, 0.0
        self.told: list[Any] = []
        self.answered = True
        self.joins: list[Waiter[Joined]] = []
        background: Any = None
        self.rebalancer = Rebalancer(
            background,
            type("Network", (), {"watch": lambda self, watcher: None})(),  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            Subscription(exclude_internal=True),
            lambda partitions: self.told.append(("read", set(partitions))),
            self.commit,
        )
        self.rebalancer.listener = self
        self.rebalancer._begin_join = self._begin  # type: ignore[method-assign]

    def commit(self, _deadline: float | None) -> bool:
        self.told.append("commit")
        return self.answered

    def _begin(self) -> Waiter[Joined]:
        self.rejoin = False
        self.joins.append(Waiter())
        return self.joins[-1]

    def give(self, *share: TopicPartition) -> None:
        self.joins[-1].settle(Joined(self.options.assignors[0], list(share)), None)

    def poll(self) -> list[Any]:
        self.told.clear()
        self.rebalancer.ensure(monotonic())
        return list(self.told)

    def on_partitions_revoked(self, partitions: set[TopicPartition]) -> None:
        self.told.append(("revoked", partitions))

    def on_partitions_assigned(self, partitions: set[TopicPartition]) -> None:
        self.told.append(("assigned", partitions))

    def on_partitions_lost(self, partitions: set[TopicPartition]) -> None:
        self.told.append(("lost", partitions))


def test_a_join_that_takes_long_is_waited_for_by_several_polls() -> None:
    group = Group(RangePartitionAssignor())
    group.poll()
    assert group.poll() == []
    assert len(group.joins) == 1
    group.give(ONE)
    assert group.poll() == [("read", {ONE}), ("assigned", {ONE})]
    assert group.poll() == []


def test_eager_members_give_everything_back_first() -> None:
    group = Group(RangePartitionAssignor())
    group.poll()
    group.give(ONE, TWO)
    group.poll()
    group.rejoin = True
    assert group.poll() == ["commit", ("revoked", {ONE, TWO}), ("read", set())]
    group.give(ONE)
    assert group.poll() == [("read", {ONE}), ("assigned", {ONE})]


def test_cooperative_members_give_back_what_goes_and_join_again() -> None:
    group = Group(CooperativeStickyAssignor())
    group.poll()
    group.give(ONE, TWO)
    group.poll()
    group.rejoin = True
    assert group.poll() == []
    group.give(TWO, THREE)
    assert group.poll() == ["commit", ("revoked", {ONE}), ("read", {TWO, THREE}), ("assigned", {THREE})]
    assert len(group.joins) == 3, "another round hands out what was given back"
    assert group.owned == [TWO, THREE]


def test_what_is_lost_cannot_be_committed() -> None:
    group = Group(CooperativeStickyAssignor())
    group.poll()
    group.give(ONE)
    group.poll()
    group.rejoin = group.lost = True
    assert group.poll() == [("read", set()), ("lost", {ONE})]


def test_a_join_that_failed_is_begun_again_by_the_next_poll() -> None:
    group = Group(RangePartitionAssignor())
    group.poll()
    group.joins[-1].settle(None, RequestTimedOut("too late"))
    with pytest.raises(KafkaTimeoutError):
        group.poll()
    group.poll()
    assert len(group.joins) == 2


@pytest.mark.parametrize("assignor", [RangePartitionAssignor, CooperativeStickyAssignor])
def test_nothing_is_given_back_before_what_was_read_is_committed(assignor: Any) -> None:
    """That may take longer than a poll: the next one goes on where this one had to end."""
    group = Group(assignor())
    group.poll()
    group.give(ONE, TWO)
    group.poll()
    group.answered, group.rejoin = False, True
    if assignor is CooperativeStickyAssignor:
        group.poll()
        group.give(ONE)
    for _ in range(2):
        assert group.poll() == ["commit"]
        assert group.rebalancer.revoking
    group.answered = True
    assert ("revoked", {ONE, TWO} if assignor is RangePartitionAssignor else {TWO}) in group.poll()
    assert not group.rebalancer.revoking


class Loop:
    """Stands in for the thread and the network: what is called waits here, what is performed never ends."""

    def __init__(self) -> None:
        self.calls: list[Any] = []
        self.performed: list[Any] = []
        self.clock = self

    def monotonic(self) -> float:
        return 0.0

    def call(self, callback: Any) -> None:
        self.calls.append(callback)

    def run(self) -> None:
        while self.calls:
            self.calls.pop(0)()

    def perform(self, conversation: Any, _timeout: float) -> Deferred[Any]:
        self.performed.append(conversation)
        return Deferred()

    def watch(self, _watcher: Any) -> None: ...
    def refresh(self) -> None: ...


def member_on(loop: Any) -> ClassicMembership:
    options = GroupOptions("g", None, 10_000, 10_000, 3.0, (RangePartitionAssignor(),))
    member = ClassicMembership(loop, options, lambda: None)
    member.topics = frozenset({"moldau"})
    return member


def rebalancer_on(loop: Any, subscription: Subscription) -> Rebalancer:
    return Rebalancer(loop, loop, member_on(loop), subscription, lambda partitions: None, lambda deadline: True)


def test_nobody_joins_twice_at_once() -> None:
    loop = Loop()
    rebalancer = rebalancer_on(loop, Subscription(exclude_internal=True))
    for _ in range(2):  # Ctrl-C may come before the first is known to have begun
        rebalancer._begin_join()
    loop.run()
    assert len(loop.performed) == 1


def test_who_was_to_join_is_not_who_came_after() -> None:
    loop: Any = Loop()
    rebalancer = rebalancer_on(loop, Subscription(exclude_internal=True))
    former, latter = rebalancer.membership, member_on(loop)
    rebalancer._begin_join()
    rebalancer.begin_anew(latter)
    loop.run()
    assert (former._joining is None, latter._joining is None) == (False, True)


def test_a_subscription_that_was_interrupted_is_taken_up() -> None:
    loop: Any = Loop()
    subscription = Subscription(exclude_internal=True)
    rebalancer = rebalancer_on(loop, subscription)
    subscription.begin(["rivers"], None, type("View", (), {"topics": {}})())  # type: ignore[arg-type]
    rebalancer.ensure(0.0)
    assert rebalancer.membership.topics == {"rivers"}
