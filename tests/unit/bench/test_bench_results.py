from __future__ import annotations

import json

import pytest
from bench.results import EARLIER, Metric, Results, number, percentile

RATE = Metric("MB/s", "MB/s")
LATENCY = Metric("p99", "us", more_is_better=False)


def filled() -> Results:
    results = Results({"cpu": "a processor", "repetitions": 3})
    results.add("Produce", "small batches", RATE, "moldau", 90.0, 300.0, 110.0)
    results.add("Produce", "small batches", RATE, "Kafka", 200.0, 220.0)
    results.add("Produce", "small batches", LATENCY, "moldau", 50.0)
    results.add("Produce", "small batches", LATENCY, "Kafka", 100.0)
    results.add("Start", "start", LATENCY, "moldau", 30.0)
    results.reasons["start", "Kafka"] = "cannot"
    return results


def test_the_middle_counts_and_the_ends_are_the_spread():
    found = filled().get("small batches", "MB/s")
    assert found.median("moldau") == 110.0
    assert found.spread("moldau") == (90.0, 300.0)
    assert found.median("Kafka") == 210.0
    assert (found.median("mock"), found.spread("mock")) == (None, None)


def test_a_ratio_is_ours_by_theirs_and_an_advantage_is_good_above_one():
    results = filled()
    rate, latency = results.get("small batches", "MB/s"), results.get("small batches", "p99")
    assert rate.ratio("moldau", "Kafka") == rate.advantage("moldau", "Kafka") == pytest.approx(110 / 210)
    assert latency.ratio("moldau", "Kafka") == 0.5
    assert latency.advantage("moldau", "Kafka") == 2.0
    assert rate.ratio("moldau", "mock") is None


def test_a_peer_or_we_at_zero_give_no_ratio_that_could_not_be_computed():
    results = Results()
    results.add("Idle", "idle", LATENCY, "moldau", 0.0)
    results.add("Idle", "idle", LATENCY, "Kafka", 0.0)
    found = results.get("idle", "p99")
    assert found.ratio("moldau", "Kafka") is None
    results.add("Idle", "idle", LATENCY, "mock", 4.0)
    assert found.ratio("moldau", "mock") == 0.0
    assert found.advantage("moldau", "mock") is None


def test_repetitions_that_reach_into_each_other_decide_nothing():
    results = filled()
    assert results.get("small batches", "MB/s").overlaps("moldau", "Kafka")
    assert not results.get("small batches", "p99").overlaps("moldau", "Kafka")
    assert not results.get("start", "p99").overlaps("moldau", "Kafka"), "one of them has no number"


def test_rows_that_were_measured_again_take_the_place_of_the_old():
    results, newer = filled(), Results()
    results.remarks["small batches", "Kafka"] = "was not steady"
    newer.add("Produce", "small batches", RATE, "moldau", 1.0)
    newer.add("Start", "start", LATENCY, "Kafka", 5.0)
    results.measured_again(newer)
    assert results.get("small batches", "MB/s").values == {"moldau": [1.0]}
    assert results.get("small batches", "p99") is None
    assert results.get("start", "p99").values == {"Kafka": [5.0]}
    assert (results.reasons, results.remarks) == ({}, {})


def test_rows_of_another_day_or_commit_say_so():
    def run(date, commit, *rows):
        results = Results({"date": date, "commit": commit, "moldau warmed for": "3 s", "load average before": 0.1})
        for row in rows:
            results.add("Start", row, LATENCY, "Kafka", 5.0)
        return results

    results = run("2026-11-18T06:00", "aaa", "one", "two", "three")
    results.measured_again(run("2026-11-19T17:00", "bbb", "two"))
    assert results.about["date"] == "2026-11-19T17:00"
    assert results.about[EARLIER] == "2026-11-18, commit aaa: one / three"
    results.measured_again(run("2026-11-19T17:20", "bbb", "three"))
    assert results.about[EARLIER] == "2026-11-18, commit aaa: one"
    again = Results.from_json(results.to_json())
    again.measured_again(run("2026-11-20T08:00", "bbb", "four"))
    assert again.about[EARLIER] == "2026-11-18, commit aaa: one; 2026-11-19, commit bbb: two / three"
    again.measured_again(run("2026-11-21T08:00", "ccc", "one", "two", "three", "four"))
    assert EARLIER not in again.about
    assert again.earlier == {}


def test_what_is_written_is_read_again(tmp_path):
    results = filled()
    results.remarks["small batches", "Kafka"] = "was not steady"
    results.write(tmp_path / "deep" / "results.json")
    again = Results.read(tmp_path / "deep" / "results.json")
    assert again.to_json() == results.to_json()
    assert again.reasons == {("start", "Kafka"): "cannot"}
    assert again.remarks == {("small batches", "Kafka"): "was not steady"}
    assert again.get("small batches", "p99").metric == LATENCY
    assert json.loads((tmp_path / "deep" / "results.json").read_text())["machine"]["cpu"] == "a processor"


def test_numbers_of_another_program_are_added_under_its_chapter():
    results = filled()
    entry = {"row": "spark", "metric": "rows/s", "unit": "/s", "values": {"moldau": [1, 2], "theirs": 3}}
    results.merge_json({"measurements": [entry], "failures": []}, "Spark")
    assert results.chapters() == ["Produce", "Start", "Spark"]
    assert results.get("spark", "rows/s").values == {"moldau": [1.0, 2.0], "theirs": [3.0]}


def test_a_contender_with_nothing_but_a_reason_is_still_named():
    results = filled()
    assert results.contenders(results.of_chapter("Start")) == ["moldau", "Kafka"]
    assert results.contenders(results.of_chapter("Produce")) == ["moldau", "Kafka"]


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1.0), (0.5, 51.0), (0.99, 100.0), (0.999, 100.0), (1.0, 100.0)])
def test_percentiles(share, expected):
    assert percentile([float(value) for value in range(100, 0, -1)], share) == expected


@pytest.mark.parametrize(
    ("value", "text"), [(1234567.0, "1,234,567"), (99.94, "99.9"), (3.14159, "3.14"), (0.0, "0.00")]
)
def test_numbers_for_people(value, text):
    assert number(value) == text
