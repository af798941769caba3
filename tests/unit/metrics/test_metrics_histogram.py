from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.metrics.histogram import Histogram

values = st.lists(st.one_of(st.integers(0, 100), st.integers(0, 2**40)), min_size=1, max_size=60)


def filled(numbers: list[int]) -> Histogram:
    histogram = Histogram()
    for number in numbers:
        histogram.record(number)
    return histogram


def test_an_empty_one():
    empty = Histogram()
    assert (empty.count, empty.total, empty.maximum, empty.mean, empty.quantile(0.99)) == (0, 0, 0, 0.0, 0)


def test_count_sum_mean_and_maximum_are_exact():
    histogram = filled([5, 1_000_003, 7])
    assert (histogram.count, histogram.total, histogram.maximum) == (3, 1_000_015, 1_000_003)
    assert histogram.mean == pytest.approx(333_338.33, abs=0.01)


def test_small_values_have_exact_quantiles():
    histogram = filled(list(range(1, 31)))
    assert [histogram.quantile(q) for q in (0, 0.5, 0.9, 1)] == [1, 15, 27, 30]


def test_negative_values_count_as_nothing():
    histogram = filled([-5])
    assert (histogram.count, histogram.total, histogram.quantile(1)) == (1, 0, 0)


@settings(max_examples=150)
@given(values, st.floats(0, 1))
def test_a_quantile_is_never_below_and_at_most_a_sixteenth_above_the_truth(numbers, fraction):
    ordered = sorted(numbers)
    rank = next(n for n in range(1, len(ordered) + 1) if n >= fraction * len(ordered))
    truth = ordered[rank - 1]
    assert truth <= filled(numbers).quantile(fraction) <= truth + truth // 16


@settings(max_examples=150)
@given(values, st.integers(0, 45))
def test_counts_below_a_power_of_two_are_exact(numbers, exponent):
    assert filled(numbers).below_power(exponent) == sum(number < 2**exponent for number in numbers)


@settings(max_examples=100)
@given(values, values)
def test_what_was_recorded_since_a_copy(before, after):
    histogram = filled(before)
    earlier = histogram.copy()
    for number in after:
        histogram.record(number)
    recent = histogram.since(earlier)
    expected = filled(after)
    assert (recent.count, recent.total) == (expected.count, expected.total)
    assert recent.quantile(0.5) >= expected.quantile(0.5)
    assert [recent.below_power(e) for e in range(42)] == [expected.below_power(e) for e in range(42)]
    assert earlier.count == len(before)


def test_a_quantile_lies_between_nothing_and_everything():
    with pytest.raises(ValueError, match="between 0 and 1"):
        Histogram().quantile(50)
