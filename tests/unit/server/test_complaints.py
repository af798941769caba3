"""What the log says of those who send nonsense: enough, and not more."""

from __future__ import annotations

import logging

import pytest

from moldau.server.complaints import _MOST, QUIET_SECONDS, Complaints


class Clock:
    now = 100.0


def told(caplog: pytest.LogCaptureFixture) -> list[str]:
    lines = [record.getMessage() for record in caplog.records]
    caplog.clear()
    return lines


def test_an_address_is_told_of_once_in_a_while_with_how_often_it_was(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    complaints = Complaints(lambda: clock.now)
    with caplog.at_level(logging.WARNING):
        for _ in range(50):
            complaints.tell("10.0.0.1", "%s is no good", "it")
        complaints.tell("10.0.0.2", "nor is %s", "this")
        assert told(caplog) == ["it is no good", "nor is this"]
        clock.now += QUIET_SECONDS
        complaints.tell("10.0.0.1", "%s is no good", "it")
        complaints.tell("10.0.0.2", "nor is %s", "this")
        assert told(caplog) == ["it is no good (and 49 like it from 10.0.0.1 before)", "nor is this"]


def test_very_many_addresses_are_told_of_as_one(caplog: pytest.LogCaptureFixture) -> None:
    clock = Clock()
    complaints = Complaints(lambda: clock.now)
    with caplog.at_level(logging.WARNING):
        for number in range(3 * _MOST):
            complaints.tell(f"2001:db8::{number:x}", "no good")
        assert len(told(caplog)) == _MOST + 1
        assert len(complaints._quiet) == _MOST + 1
        clock.now += QUIET_SECONDS
        complaints.tell("192.0.2.1", "no good")
        assert len(complaints._quiet) == 1
