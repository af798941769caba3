"""The part a node takes in the quorum, in Kafka's words."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from moldau.node.monitoring.cluster import _role
from moldau.raft import roles


@pytest.mark.parametrize(
    ("kind", "is_voter", "told"),
    [
        (roles.Leader, True, "leader"),
        (roles.Leader, False, "leader"),  # until those who vote now have taken its leaving
        (roles.Candidate, True, "candidate"),
        (roles.Follower, True, "follower"),
        (roles.Follower, False, "observer"),
        (roles.Unattached, True, "unattached"),
        (roles.Unattached, False, "observer"),
    ],
)
def test_who_does_not_vote_looks_on_unless_it_leads(kind: type[Any], is_voter: bool, told: str) -> None:
    member: Any = SimpleNamespace(role=object.__new__(kind), is_voter=is_voter)
    assert _role(member) == told


def test_a_node_that_has_not_joined_is_attached_to_nobody() -> None:
    assert _role(None) == "unattached"
