from __future__ import annotations

import pytest

from moldau.metrics.instruments import Counter, Gauge, Rate


def test_a_counter_grows():
    counter = Counter()
    counter.value += 2
    counter.add()
    counter.add(3)
    assert counter.value == 6


def test_a_gauge_is_set_or_asked():
    gauge = Gauge()
    gauge.value = 2.5
    assert gauge.value == 2.5
    sizes = [1]
    asked = Gauge(lambda: len(sizes))
    sizes.append(2)
    assert asked.value == 2
    with pytest.raises(TypeError):
        asked.value = 3


def test_a_steady_stream_has_its_rate():
    rate = Rate(window_ms=1000, samples=11)
    for now_ms in range(0, 30_000, 100):
        rate.record(5, now_ms)
    assert rate.per_second(30_000) == pytest.approx(50, rel=0.01)
    assert rate.total == 1500


def test_a_single_event_is_not_a_flood():
    rate = Rate(window_ms=1000, samples=11)
    rate.record(100, 5000)
    assert rate.per_second(5000) == 10
    assert rate.per_second(5500) == pytest.approx(100 / 10.5)


def test_what_lies_behind_the_windows_is_forgotten():
    rate = Rate(window_ms=1000, samples=3)
    rate.record(10, 0)
    rate.record(20, 1000)
    assert rate.per_second(2000) == 15
    assert rate.per_second(3000) == 10
    assert rate.per_second(4000) == 0
    rate.record(8, 100_000)
    assert rate.per_second(100_000) == 4
    assert rate.total == 38


def test_a_clock_that_goes_back_loses_nothing():
    rate = Rate(window_ms=1000, samples=3)
    rate.record(10, 5000)
    rate.record(10, 3000)
    assert rate.per_second(5000) == 10


def test_a_rate_needs_windows():
    with pytest.raises(ValueError, match="at least"):
        Rate(window_ms=0)
    with pytest.raises(ValueError, match="at least"):
        Rate(samples=1)
