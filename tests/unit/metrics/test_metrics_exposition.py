from __future__ import annotations

import pytest

from moldau.metrics.exposition import COUNTER, GAUGE, SUMMARY, Family, counter, gauge, labels, render
from moldau.slicing import run_whole


def shown(*families: Family, openmetrics: bool = False) -> list[str]:
    return b"".join(run_whole(render(families, openmetrics=openmetrics))).decode().splitlines()


def test_families_as_text():
    topics = Family("b_total", COUNTER, "Second.", [("", labels(topic="a"), 1), ("", labels(topic="t", part=3), 7)])
    assert shown(gauge("a", "First.", 0.25), topics) == [
        "# HELP a First.",
        "# TYPE a gauge",
        "a 0.25",
        "# HELP b_total Second.",
        "# TYPE b_total counter",
        'b_total{topic="a"} 1',
        'b_total{topic="t",part="3"} 7',
    ]


def test_a_summary_as_text():
    samples = [("", labels(api="Fetch", quantile="0.99"), 12), ("_sum", labels(api="Fetch"), 30), ("_count", "", 4)]
    assert shown(Family("wait_ms", SUMMARY, "Wait.", samples)) == [
        "# HELP wait_ms Wait.",
        "# TYPE wait_ms summary",
        'wait_ms{api="Fetch",quantile="0.99"} 12',
        'wait_ms_sum{api="Fetch"} 30',
        "wait_ms_count 4",
    ]


def test_openmetrics_names_the_family_of_a_counter_without_its_end_and_says_where_it_ends():
    assert shown(counter("b_total", "B.", 5), gauge("c_total", "C.", 1), openmetrics=True) == [
        "# HELP b B.",
        "# TYPE b counter",
        "b_total 5",
        "# HELP c_total C.",
        "# TYPE c_total gauge",
        "c_total 1",
        "# EOF",
    ]


def test_a_family_without_samples_is_not_shown():
    assert shown(Family("a", GAUGE, "A.", [])) == []


def test_values_are_asked_for_when_their_turn_comes():
    asked: list[int] = []

    def samples():
        for number in range(1000):
            asked.append(number)
            yield "", labels(number=number), number

    work = render([Family("a", GAUGE, "A.", samples())])
    next(work)
    assert 0 < len(asked) < 200
    assert sum(piece.count(b"\n") for piece in run_whole(work)) == 1002


def test_whoever_gathers_can_pause_before_there_is_a_line():
    family = Family("a", GAUGE, "A.", [None, ("", "", 1), None, ("", "", 2)])
    assert len(list(render([family]))) >= 2
    assert shown(family)[-2:] == ["a 1", "a 2"]


def test_texts_are_escaped():
    line = shown(Family("a", GAUGE, "A.", [("", labels(topic='quo"te\\\n'), 1)]))[2]
    assert line == 'a{topic="quo\\"te\\\\\\n"} 1'


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (float("inf"), "+Inf"),
        (float("-inf"), "-Inf"),
        (float("nan"), "NaN"),
        (3.0, "3"),
        (1 / 4, "0.25"),
        (1795063860.25, "1795063860.25"),
        (2**60, str(2**60)),
        (True, "1"),
    ],
)
def test_numbers(value: float, text: str):
    assert shown(gauge("a", "A.", value))[2] == f"a {text}"
