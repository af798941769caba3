from __future__ import annotations

import pytest

from moldau.metrics.exposition import render
from moldau.metrics.instruments import Gauge
from moldau.metrics.registry import Registry


def test_an_instrument_is_made_once_for_its_name_and_tags():
    registry = Registry()
    first = registry.counter("moldau_requests_total", "Requests.", api="Produce", version="9")
    assert registry.counter("moldau_requests_total", "Requests.", version="9", api="Produce") is first
    assert registry.counter("moldau_requests_total", "Requests.", api="Fetch", version="9") is not first


def test_a_name_has_one_kind():
    registry = Registry()
    registry.counter("a_total", "A.")
    with pytest.raises(ValueError, match="a_total is a counter, not a gauge"):
        registry.gauge("a_total", "A.")


@pytest.mark.parametrize(("name", "tags"), [("1a", {}), ("a-b", {}), ("", {}), ("a", {"x-y": "1"})])
def test_names_are_those_prometheus_allows(name, tags):
    with pytest.raises(ValueError, match="is not a name"):
        Registry().counter(name, "A.", **tags)


def test_what_no_longer_exists_is_no_longer_shown():
    registry = Registry()
    registry.gauge("a", "A.", topic="x")
    registry.remove("a", topic="x")
    registry.remove("a", topic="never")
    registry.remove("never")
    assert render(registry, 0) == ""


def test_a_gauge_that_is_asked_replaces_the_one_before():
    registry = Registry()
    registry.gauge("a", "A.", lambda: 1)
    second = registry.gauge("a", "A.", lambda: 2)
    assert isinstance(second, Gauge)
    assert render(registry, 0).endswith("\na 2\n")


def test_counters_gauges_and_rates_as_text():
    registry = Registry()
    registry.counter("moldau_b_total", "Second.", topic="t").add(7)
    registry.counter("moldau_b_total", "Second.", topic="a").add(1)
    registry.gauge("moldau_a", "First.").value = 0.25
    registry.rate("moldau_c_per_second", "Third.").record(100, 5000)
    assert render(registry, 5000).splitlines() == [
        "# HELP moldau_a First.",
        "# TYPE moldau_a gauge",
        "moldau_a 0.25",
        "# HELP moldau_b_total Second.",
        "# TYPE moldau_b_total counter",
        'moldau_b_total{topic="a"} 1',
        'moldau_b_total{topic="t"} 7',
        "# HELP moldau_c_per_second Third.",
        "# TYPE moldau_c_per_second gauge",
        "moldau_c_per_second 10",
    ]


def test_a_histogram_as_text():
    registry = Registry()
    histogram = registry.histogram("moldau_wait_seconds", "Wait.", 1e-6, api="Fetch")
    for microseconds in (10, 16, 1_000_000):
        histogram.record(microseconds)
    lines = render(registry, 0).splitlines()
    assert lines[:3] == [
        "# HELP moldau_wait_seconds Wait.",
        "# TYPE moldau_wait_seconds histogram",
        'moldau_wait_seconds_bucket{api="Fetch",le="1.5e-05"} 1',
    ]
    assert 'moldau_wait_seconds_bucket{api="Fetch",le="6.3e-05"} 2' in lines
    assert 'moldau_wait_seconds_bucket{api="Fetch",le="0.262143"} 2' in lines
    assert 'moldau_wait_seconds_bucket{api="Fetch",le="1.048575"} 3' in lines
    assert lines[-3:] == [
        'moldau_wait_seconds_bucket{api="Fetch",le="+Inf"} 3',
        'moldau_wait_seconds_sum{api="Fetch"} 1.000026',
        'moldau_wait_seconds_count{api="Fetch"} 3',
    ]


def test_bounds_do_not_depend_on_what_was_recorded():
    registry = Registry()
    histogram = registry.histogram("size_bytes", "Size.")
    before = [line.rsplit(" ", 1)[0] for line in render(registry, 0).splitlines()]
    histogram.record(2**50)
    assert [line.rsplit(" ", 1)[0] for line in render(registry, 0).splitlines()] == before


def test_texts_are_escaped():
    registry = Registry()
    registry.counter("a_total", "back\\slash\nline", topic='quo"te\\\n').add()
    assert render(registry, 0).splitlines() == [
        "# HELP a_total back\\\\slash\\nline",
        "# TYPE a_total counter",
        'a_total{topic="quo\\"te\\\\\\n"} 1',
    ]


@pytest.mark.parametrize(
    ("value", "text"),
    [(float("inf"), "+Inf"), (float("-inf"), "-Inf"), (float("nan"), "NaN"), (3.0, "3"), (1 / 3, "0.333333333")],
)
def test_numbers(value, text):
    registry = Registry()
    registry.gauge("a", "A.").value = value
    assert render(registry, 0).splitlines()[-1] == f"a {text}"
