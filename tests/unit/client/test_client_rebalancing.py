"""The application's side of membership, with a group that answers when the test says so."""

from __future__ import annotations

from time import monotonic
from typing import Any

import pytest

from moldau.client.background import Waiter
from moldau.client.consumer.assignors import CooperativeStickyAssignor, RangePartitionAssignor
from moldau.client.consumer.membership import Joined
from moldau.client.consumer.rebalancing import Rebalancer
from moldau.client.consumer.subscription import Subscription
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
        self.joins: list[Waiter[Joined]] = []
        background: Any = None
        self.rebalancer = Rebalancer(
            background,
            type("Network", (), {"watch": lambda self, watcher: None})(),  # type: ignore[arg-type]
            self,  # type: ignore[arg-type]
            Subscription(exclude_internal=True),
            lambda partitions: self.told.append(("read", set(partitions))),
            lambda: self.told.append("commit"),
        )
        self.rebalancer.listener = self
        self.rebalancer._begin_join = self._begin  # type: ignore[method-assign]

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
