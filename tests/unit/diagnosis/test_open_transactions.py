"""For how long transactions have been open, and which of them for long."""

from __future__ import annotations

import pytest

from moldau.cli.transactions import _open_for, _open_json
from moldau.client.admin.transactions import TransactionDescription
from moldau.console.rendering import Templates
from moldau.diagnosis.transactions import OpenTime, open_times

NOW = 1_700_000_000_000


def described(state: str, start_ms: int, timeout_ms: int = 60_000) -> TransactionDescription:
    return TransactionDescription("id", 1, state, 7, 0, timeout_ms, start_ms, ())


@pytest.mark.parametrize(
    ("seconds", "long", "overdue", "told"),
    [
        (0, False, False, "0s of 60s"),
        (30, False, False, "30s of 60s"),
        (31, True, False, "31s of 60s, long"),
        (60, True, False, "60s of 60s, long"),
        (61, True, True, "61s of 60s, overdue"),
    ],
)
def test_half_of_the_timeout_is_long(seconds: int, long: bool, overdue: bool, told: str) -> None:
    found = open_times([described("Ongoing", NOW - seconds * 1000)], NOW)["id"]
    assert (found.seconds, found.long, found.overdue) == (seconds, long, overdue)
    assert _open_for(found) == told
    assert _open_json(found) == {"open_seconds": seconds, "timeout_seconds": 60, "long": long, "overdue": overdue}
    shown = str(Templates()._environment.get_template("macros.html").module.open_for(found))  # type: ignore[attr-defined]
    assert (", long" in shown, ", overdue" in shown) == (long and not overdue, overdue)
    assert ("warn" in shown, "bad" in shown) == (long and not overdue, overdue)


@pytest.mark.parametrize("state", ["PrepareCommit", "PrepareAbort", "PrepareEpochFence"])
def test_what_is_being_ended_is_open_still(state: str) -> None:
    assert open_times([described(state, NOW - 5000)], NOW) == {"id": OpenTime(5, 60)}


@pytest.mark.parametrize(("state", "start"), [("Empty", -1), ("CompleteCommit", NOW - 1), ("Ongoing", -1)])
def test_the_others_are_not_told_of(state: str, start: int) -> None:
    assert open_times([described(state, start)], NOW) == {}
    assert _open_for(None) is None


def test_a_coordinator_whose_clock_is_ahead() -> None:
    assert open_times([described("Ongoing", NOW + 3000)], NOW)["id"].seconds == 0
