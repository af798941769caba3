from __future__ import annotations

import re
from html.parser import HTMLParser

import pytest
from bench.apache_kafka import settings_of_kafka
from bench.charts import Bar, Line, Point, compact, line_chart, ratio_bars, value_bars
from bench.page import GROWTH, growth_lines, page
from bench.report import goal, markdown
from bench.results import Metric, Results
from bench.rows import EVERYTHING

RATE = Metric("MB/s", "MB/s", goal=">= 50 MB/s")
P99 = Metric("p99", "us", more_is_better=False)
PLAIN = "produce 16 KiB batches of 100 B records, acks=all, none, 1 partition"


def results() -> Results:
    found = Results({"date": "2026-01-01", "Apache Kafka": "4.3.0", "repetitions": 3})
    found.add("Produce", PLAIN, RATE, "moldau", 100.0, 120.0, 80.0)
    found.add("Produce", PLAIN, RATE, "Kafka", 50.0, 60.0, 40.0)
    found.add("Produce", PLAIN, P99, "moldau", 10.0)
    found.add("Produce", PLAIN, P99, "Kafka", 20.0)
    found.add("Latency", "one <record> & more", P99, "moldau", 300.0)
    found.add("Latency", "one <record> & more", P99, "Kafka", 100.0)
    for number in (1, 100, 1000):
        row = f"{number:,} partition{'s' if number > 1 else ''}, 4,000 one-record requests/s"
        found.add("Partitions", row, P99, "moldau", number * 2.0)
        found.reasons[row, "mock"] = "has no log"
    return found


def test_the_table_has_medians_spreads_and_ratios_that_are_good_above_one():
    text = markdown(results())
    assert f"| {PLAIN} | MB/s, goal >= 50 MB/s: met | 100 (80.0 to 120) | 50.0 (40.0 to 60.0) | **2.00** |" in text
    assert "|  | p99 (us) | 10.0 | 20.0 | **2.00** |" in text
    assert "| one <record> & more | p99 (us) | 300 | 100 | 0.33 |" in text
    assert "Beside Kafka: better in every number of 1 of 2 rows, and in 2 of 3 numbers." in text
    assert "make bench-peers" in text


def test_what_was_lost_stands_first_on_both_pages():
    for text in (markdown(results()), page(results()).replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")):
        behind, ahead = text.index("Behind Kafka"), text.index("Ahead of Kafka")
        assert behind < text.index("one <record> & more", behind) < ahead < text.index(PLAIN, ahead)


def test_the_page_says_how_it_was_measured_and_what_kafka_was_given():
    found = results()
    found.about |= {"Kafka's settings": settings_of_kafka(), "seconds per load": 4.0, "steady windows": 3}
    found.remarks[PLAIN, "Kafka"] = "was not steady after 20 s"
    text = markdown(found)
    assert "broker and controller in one process: num.network.threads=3, num.io.threads=8, a heap of 1G" in text
    assert "Loads last 4.0 s and are repeated 3\ntimes" in text
    assert f"- Kafka was not steady after 20 s ({PLAIN})" in text
    assert f"Kafka was not steady after 20 s ({PLAIN})" in page(found)
    assert "num.io.threads=8" in page(found)


def test_who_cannot_do_a_row_is_named_with_the_reason_once():
    text = markdown(results())
    (line,) = [line for line in text.splitlines() if "has no log" in line]
    assert line.startswith("- mock has no log (1 partition, 4,000")
    assert line.count("partition") == 3
    assert text.count("cannot, see below") == 3


def test_a_goal_that_is_missed_is_said_to_be():
    found = Results()
    found.add("Start", "start", Metric("ready", "ms", False, "< 500 ms"), "moldau", 600.0)
    assert goal(found.measurements[0]) == "< 500 ms: missed"


class Checker(HTMLParser):
    """Every element that is opened is closed, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.seen.append(tag)
        if tag not in ("meta", "br"):
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.seen.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_page_is_whole_and_needs_nothing_from_elsewhere():
    text = page(results())
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert "svg" in checker.seen
    assert re.findall(r"https?://|src=|@import|url\(", text) == []
    assert "prefers-color-scheme: dark" in text
    assert "one &lt;record&gt; &amp; more" in text
    assert "<record>" not in text
    assert "has no log" in text


def test_a_page_of_nothing_is_a_page():
    checker = Checker()
    checker.feed(page(Results()))
    assert checker.open == []


def test_growth_takes_its_points_from_the_titles_of_rows():
    (line,) = growth_lines(results(), GROWTH[0])
    assert [(point.x, point.y) for point in line.points] == [(1.0, 2.0), (100.0, 200.0), (1000.0, 2000.0)]


@pytest.mark.parametrize("growth", GROWTH, ids=lambda growth: growth.title)
def test_every_growth_chart_has_rows_that_feed_it(growth):
    fed = [row for row in EVERYTHING if re.search(growth.pattern, row.title)]
    assert len(fed) >= 3
    assert all(growth.metric in {metric.name for metric in row.metrics} for row in fed)


def places(chart: str) -> list[tuple[float, float]]:
    return [(float(x), float(width)) for x, width in re.findall(r'<rect x="([\d.]+)" y="\d+" width="([\d.]+)"', chart)]


def test_bars_of_ratios_go_right_when_good_and_left_when_not():
    better, worse = places(ratio_bars([Bar("a", 2.0, "--good"), Bar("b", 0.5, "--bad")], "ratios"))
    assert better[0] == worse[0] + worse[1]
    assert better[1] == worse[1]


def test_bars_of_values_are_as_long_as_their_values():
    long, short = places(value_bars([Bar("a", 10.0, "--ours"), Bar("b", 5.0, "--mock")], "values"))
    assert short[1] == pytest.approx(long[1] / 2, abs=0.1)


def test_a_line_over_one_point_or_none_does_not_fail():
    assert line_chart([], "nothing", "x", "us") == ""
    assert "<circle" in line_chart([Line("ours", "--ours", [Point(10, 5, 5, 5)])], "one", "x", "us")


@pytest.mark.parametrize(
    ("value", "text"), [(0.05, "0.05"), (999.0, "999"), (1500.0, "1.5k"), (2e6, "2M"), (3e9, "3G")]
)
def test_compact_numbers(value, text):
    assert compact(value) == text
