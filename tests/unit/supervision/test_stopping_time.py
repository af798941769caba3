"""A node that is asked to stop is killed only when it can no longer be stopping in order."""

from __future__ import annotations

from typing import Any

import pytest

from moldau.cli.supervisor import Supervisor
from moldau.node import node as stopping
from moldau.supervision.process import STOP_SECONDS

LONGEST = (
    max(stopping._HAND_OVER_SECONDS, stopping._LEAVE_SECONDS)
    + stopping._DRAIN_SECONDS
    + stopping._CLOSE_SECONDS
    + stopping._HURRY_SECONDS
)


class Time:
    """Moves on while somebody waits for a signal; a node runs until `ends`."""

    def __init__(self, ends: float, signals: int = 1) -> None:
        self.now = 0.0
        self.ends = ends
        self.times = signals

    def monotonic(self) -> float:
        return self.now

    def within(self, seconds: float) -> bool:
        self.now += 0.5
        return self.times > 0

    @property
    def running(self) -> bool:
        return self.now < self.ends


def test_every_step_of_a_stop_has_its_time() -> None:
    assert LONGEST < STOP_SECONDS


@pytest.mark.parametrize(
    ("ends", "signals", "in_time"), [(LONGEST, 1, True), (STOP_SECONDS + 1, 1, False), (2.0, 2, False)]
)
def test_a_supervisor_waits_as_long_as_a_node_may_take(
    monkeypatch: pytest.MonkeyPatch, ends: float, signals: int, in_time: bool
) -> None:
    time: Any = Time(ends, signals)
    monkeypatch.setattr("moldau.cli.supervisor.monotonic", time.monotonic)
    assert Supervisor._ended_in_time(time, time) is in_time
