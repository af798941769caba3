from __future__ import annotations

from pathlib import Path

import pytest
from bench.contenders import Contender
from bench.results import Metric, Results
from bench.rows import ROWS
from bench.rows.row import Plan, Row
from bench.schedule import Progress, Run, measure_all, minutes

METRIC = Metric("MB/s", "MB/s")


class Recorder:
    """Rows that note who was measured when, instead of measuring."""

    def __init__(self) -> None:
        self.calls: list[str] = []
        self.fail_for = ""

    def measure(self, contender, plan):
        self.calls.append(contender.name)
        if contender.name == self.fail_for:
            raise RuntimeError("it fell over")
        return {"MB/s": float(len(self.calls))}


def run_of(rows: list[Row], repetitions: int = 3) -> Run:
    contenders = [Contender("moldau", []), Contender("Kafka", [])]
    plan = Plan(0.1, 0.5, 10, Path("nowhere"), [])
    return Run(rows, contenders, repetitions, plan, Results())


def measured(run: Run) -> None:
    measure_all(run, None, Progress(run.estimate(), lambda line: None))


def test_contenders_take_turns():
    recorder = Recorder()
    run = run_of([Row("C", "row", [METRIC], fresh=recorder.measure)])
    measured(run)
    assert recorder.calls == ["moldau", "Kafka"] * 3
    assert run.results.get("row", "MB/s").values == {"moldau": [1.0, 3.0, 5.0], "Kafka": [2.0, 4.0, 6.0]}


def test_who_fails_is_named_and_not_asked_again():
    recorder = Recorder()
    recorder.fail_for = "Kafka"
    run = run_of([Row("C", "row", [METRIC], fresh=recorder.measure)])
    measured(run)
    assert recorder.calls == ["moldau", "Kafka", "moldau", "moldau"]
    assert run.results.reasons == {("row", "Kafka"): "failed: RuntimeError: it fell over"}


def test_who_cannot_is_not_asked_and_costs_nothing():
    recorder = Recorder()
    row = Row("C", "row", [METRIC], fresh=recorder.measure, unable=lambda c: "no log" if c.name == "Kafka" else "")
    run = run_of([row])
    measured(run)
    assert recorder.calls == ["moldau"] * 3
    assert run.results.reasons == {("row", "Kafka"): "no log"}
    assert run.cost(row) == pytest.approx(run.cost(row._replace(unable=lambda c: "")) / 2)


def test_a_row_that_takes_long_is_repeated_less():
    recorder = Recorder()
    run = run_of([Row("C", "row", [METRIC], fresh=recorder.measure, most=1)])
    measured(run)
    assert recorder.calls == ["moldau", "Kafka"]


def test_titles_are_unique_and_every_row_has_its_work():
    assert len({row.title for row in ROWS}) == len(ROWS)
    assert all((row.measure is None) != (row.fresh is None) for row in ROWS)
    assert sum(row.chapter == "Produce" for row in ROWS) == 3 * 2 * 2 * 3 * 2


def test_what_is_left_is_guessed_from_how_it_went(monkeypatch):
    now = iter([0.0, 20.0])
    monkeypatch.setattr("bench.schedule.time.monotonic", lambda: next(now))
    said: list[str] = []
    progress = Progress(100.0, said.append)
    progress.advance(10.0, "half as fast as planned")
    assert said == ["[0:20, about 3:00 left] half as fast as planned"]


def test_minutes():
    assert minutes(754.9) == "12:34"
