"""The wheel against the obvious implementation: a list sorted by deadline."""

from __future__ import annotations

import logging

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.runtime.timing_wheel import TimingWheel

START = 1_700_000_000_123

steps = st.lists(
    st.one_of(
        st.tuples(st.just("add"), st.one_of(st.integers(-5, 200), st.integers(0, 100_000), st.integers(0, 1 << 40))),
        st.tuples(st.just("cancel"), st.integers(0, 50)),
        st.tuples(st.just("advance"), st.one_of(st.integers(0, 100), st.integers(0, 1 << 41))),
    ),
    max_size=60,
)


@settings(max_examples=300, deadline=None)
@given(steps)
def test_runs_what_a_sorted_list_would_run(plan: list[tuple[str, int]]) -> None:
    now = START
    wheel = TimingWheel(now)
    expected: list[tuple[int, int]] = []
    handles = []
    ran: list[int] = []
    for name, value in plan:
        if name == "add":
            number = len(handles)
            handles.append(wheel.add(now + value, lambda number=number: ran.append(number)))
            expected.append((max(now + value, now), number))
        elif name == "cancel" and handles:
            number = value % len(handles)
            handles[number].cancel()
            expected = [entry for entry in expected if entry[1] != number]
        elif name == "advance":
            now += value
            ran.clear()
            count = wheel.advance(now)
            due = sorted(entry for entry in expected if entry[0] <= now)
            assert ran == [number for _, number in due]
            assert count == len(due)
            expected = [entry for entry in expected if entry[0] > now]
        deadline = wheel.next_deadline()
        if expected:
            assert deadline is not None
            assert deadline <= min(expected)[0]
        else:
            assert deadline is None


@given(st.lists(st.integers(0, 1 << 30), min_size=1, max_size=20))
def test_following_next_deadline_runs_each_at_its_millisecond(delays: list[int]) -> None:
    wheel = TimingWheel(START)
    now = START
    seen: list[tuple[int, int]] = []
    for delay in delays:
        wheel.add(START + delay, lambda delay=delay: seen.append((now, START + delay)))
    wakes = 0
    while (deadline := wheel.next_deadline()) is not None:
        assert deadline >= now
        now = deadline
        wheel.advance(now)
        wakes += 1
    assert all(ran_at == wanted for ran_at, wanted in seen)
    assert len(seen) == len(delays)
    assert wakes <= len(delays) * 6


def test_one_that_expires_may_cancel_another_of_the_same_millisecond() -> None:
    wheel = TimingWheel(0)
    ran: list[str] = []
    wheel.add(10, lambda: (ran.append("first"), second.cancel()))
    second = wheel.add(10, lambda: ran.append("second"))
    assert wheel.advance(10) == 1
    assert ran == ["first"]
    assert wheel.next_deadline() is None


def test_one_that_expires_may_add_another() -> None:
    wheel = TimingWheel(0)
    ran: list[int] = []
    wheel.add(10, lambda: wheel.add(20, lambda: ran.append(20)))
    wheel.advance(15)
    assert ran == []
    wheel.advance(25)
    assert ran == [20]


def test_a_failing_callback_does_not_stop_the_others(caplog: pytest.LogCaptureFixture) -> None:
    wheel = TimingWheel(0)
    ran: list[int] = []
    wheel.add(1, lambda: 1 // 0)
    wheel.add(1, lambda: ran.append(1))
    with caplog.at_level(logging.ERROR):
        assert wheel.advance(1) == 2
    assert ran == [1]
    assert "ZeroDivisionError" in caplog.text


def test_time_does_not_go_back() -> None:
    wheel = TimingWheel(100)
    ran: list[int] = []
    wheel.advance(200)
    wheel.advance(150)
    wheel.add(180, lambda: ran.append(180))
    assert wheel.next_deadline() == 200
    wheel.advance(200)
    assert ran == [180]


def test_cancel_after_it_ran_does_nothing() -> None:
    wheel = TimingWheel(0)
    timer = wheel.add(1, lambda: None)
    wheel.advance(1)
    timer.cancel()
    timer.cancel()
    assert wheel.next_deadline() is None
