from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from moldau.metrics.histogram import LATELY_SECONDS, Histogram

microseconds = st.lists(st.one_of(st.integers(0, 100), st.integers(0, 2**36)), min_size=1, max_size=60)


def filled(numbers: list[int]) -> Histogram:
    histogram = Histogram()
    for number in numbers:
        # In the midst of its microsecond, which no rounding moves into another.
        histogram.record((number + 0.5) / 1e6)
    return histogram


def test_an_empty_one():
    assert (Histogram().count, Histogram().quantiles((0.5, 0.99), 0.0)) == (0, [0, 0])


def test_small_values_have_exact_quantiles():
    assert filled(list(range(1, 31))).quantiles((0.0, 0.5, 0.9, 1.0), 0.0) == [1, 15, 27, 30]


def test_negative_values_count_as_nothing():
    histogram = Histogram()
    histogram.record(-0.5)
    assert (histogram.count, histogram.quantiles((1.0,), 0.0)) == (1, [0])


@settings(max_examples=150)
@given(microseconds, st.lists(st.floats(0, 1), min_size=1, max_size=6).map(sorted))
def test_a_quantile_is_never_below_and_at_most_a_sixteenth_above_the_truth(numbers: list[int], fractions: list[float]):
    ordered = sorted(numbers)
    for fraction, found in zip(fractions, filled(numbers).quantiles(fractions, 0.0), strict=True):
        rank = next(n for n in range(1, len(ordered) + 1) if n >= fraction * len(ordered))
        truth = ordered[rank - 1]
        assert truth <= found <= truth + truth // 16


def test_quantiles_forget_what_is_long_ago_and_the_count_does_not():
    histogram = filled([1000] * 100)
    assert histogram.quantiles((0.5,), 0.0)[0] >= 1000
    assert histogram.quantiles((0.5,), LATELY_SECONDS - 1)[0] >= 1000
    assert histogram.quantiles((0.5,), LATELY_SECONDS) == [0], "older than that"
    for _ in range(10):
        histogram.record(10.5e-6)
    assert histogram.quantiles((0.5,), LATELY_SECONDS + 1)[0] == 10
    assert histogram.quantiles((0.5,), 2 * LATELY_SECONDS + 1)[0] == 10
    assert histogram.quantiles((0.5,), 4 * LATELY_SECONDS) == [0], "nothing of late"
    assert histogram.count == 110


def test_several_are_shown_together():
    both = Histogram()
    both.replace([filled([1, 2]).counts, filled([30]).counts, []])
    assert (both.count, both.quantiles((0.5, 1.0), 0.0)) == (3, [2, 30])
