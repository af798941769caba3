"""What is said of the loop does not depend on how many look, nor how often."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from moldau.node.monitoring.machine import LoopIdleness


def test_the_longest_turn_is_told_to_everybody_for_half_a_minute_at_least() -> None:
    load: Any = SimpleNamespace(idle_seconds=0.0, longest_seconds=0.0)
    loop: Any = SimpleNamespace(load=load)
    watched = LoopIdleness(loop, 0.0)
    load.longest_seconds = 0.5
    assert [watched.longest_turn(now) for now in (1.0, 2.0, 29.0)] == [0.5] * 3
    load.longest_seconds = 0.1
    assert watched.longest_turn(31.0) == 0.5
    # It happened more than half a minute ago for everybody.
    assert watched.longest_turn(45.0) == 0.5
    assert watched.longest_turn(62.0) == 0.5
    assert watched.longest_turn(63.0) == 0.0
    load.longest_seconds = 0.2
    # Who looks once a minute misses nothing.
    assert watched.longest_turn(123.0) == 0.2
    assert watched.longest_turn(183.0) == 0.2
    assert watched.longest_turn(243.0) == 0.0
