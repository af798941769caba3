"""Nodes that take nothing: noticed after the time allowed, forgiven as soon as something leaves."""

from __future__ import annotations

from math import inf

from moldau.client.producer.partition import UnavailableNodes


def test_a_node_is_stuck_after_the_timeout_and_until_something_leaves() -> None:
    stuck = UnavailableNodes(1.0)
    assert not stuck.look({1, 2}, 10.0)
    assert stuck.next_look == 11.0
    stuck.moves(2)
    assert not stuck.look({1, 2}, 10.9)
    assert stuck.look({1, 2}, 11.0)
    assert stuck.nodes == {1}
    assert stuck.next_look == 11.9
    assert not stuck.look({1, 2}, 11.5)
    stuck.moves(1)
    assert stuck.look({1, 2}, 11.6)
    assert stuck.nodes == set()


def test_a_node_nothing_waits_for_is_not_unavailable() -> None:
    stuck = UnavailableNodes(1.0)
    stuck.look({1}, 10.0)
    assert stuck.look({1}, 12.0)
    assert stuck.look(set(), 12.1)
    assert stuck.nodes == set()
    assert stuck.next_look == inf
    # And its time begins anew.
    assert not stuck.look({1}, 12.2)


def test_partitions_without_a_leader_are_nobodys_fault() -> None:
    stuck = UnavailableNodes(1.0)
    stuck.look({-1}, 10.0)
    assert not stuck.look({-1}, 20.0)
