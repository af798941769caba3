from __future__ import annotations

from pathlib import Path

import pytest
from bench.apache_kafka import PROPERTIES, Kafka, settings_of_kafka
from bench.contenders import MOLDAU, Contender
from bench.results import Metric, Results
from bench.rows.row import Plan, Row
from bench.schedule import Progress, Run, measure_all
from bench.steady import WINDOWS, Patience, Warmth, is_steady, swing, until_steady

RATE = Metric("requests/s", "/s")


class Windows:
    """Work whose rates are known beforehand; the clock moves on by a second with each. The last rate stays."""

    def __init__(self, *rates: float) -> None:
        self.rates = list(rates)
        self.taken = 0

    def window(self) -> float:
        rate = self.rates[min(self.taken, len(self.rates) - 1)]
        self.taken += 1
        return rate

    def clock(self) -> float:
        return float(self.taken)

    def until_steady(self, patience: Patience) -> Warmth:
        return until_steady(self.window, patience, self.clock)


def test_a_machine_that_compiles_itself_is_waited_for():
    work = Windows(10, 20, 40, 60, 80, 90, 99, 100, 101)
    assert work.until_steady(Patience(0, 60)) == Warmth(9.0, (10, 20, 40, 60, 80, 90, 99, 100, 101), True)


def test_one_that_pauses_between_its_steps_is_not_taken_for_steady_before_its_time():
    work = Windows(50, 50, 50, 50, 50, 100)
    warmth = work.until_steady(Patience(6, 60))
    assert warmth.steady
    assert warmth.rates[-WINDOWS:] == (100, 100, 100)


def test_a_rate_that_creeps_upward_is_not_steady():
    assert not is_steady([100, 104, 108])  # neighbours are close, the ends are not
    assert is_steady([50, 104, 106, 108])


@pytest.mark.parametrize("rates", [[], [100], [100, 100], [0, 0, 0]])
def test_too_little_is_not_steady(rates):
    assert not is_steady(rates)


def test_who_never_becomes_steady_is_measured_after_a_while_and_it_is_said():
    rates = [100.0, 50.0] * 50
    warmth = Windows(*rates).until_steady(Patience(0, 20))
    assert (warmth.seconds, warmth.steady) == (20.0, False)
    assert warmth.words == "20 s, its last windows still 50 % apart"
    assert Warmth(61.2, (1.0, 1.0, 1.0), True).words == "61 s until steady"


def test_windows_that_take_longer_than_the_patience_are_still_compared():
    warmth = Windows(100, 100, 100).until_steady(Patience(0, 0.5))
    assert warmth == Warmth(3.0, (100, 100, 100), True)


def test_the_swing_is_a_part_of_the_largest():
    assert swing([95, 100, 98]) == pytest.approx(0.05)


def test_a_java_machine_is_given_a_minute_and_everybody_less_in_haste():
    kafka = Kafka(Path("nowhere"))
    plan = Plan(0.2, 4.0, 10, Path("nowhere"), [])
    assert plan.patience(kafka) == Patience(60.0, 180.0)
    assert plan.patience(MOLDAU).least < 60
    assert plan._replace(haste=50.0).patience(kafka).most < 5


class Work:
    """A row that notes who did it, and for how many seconds."""

    def __init__(self, *rates: float) -> None:
        self.rates = iter(rates)
        self.calls: list[tuple[str, float]] = []

    def measure(self, contender, _broker, plan):
        self.calls.append((contender.name, plan.seconds))
        return {"requests/s": next(self.rates)}


class Standing:
    def broker(self, contender):
        return None


def run_of(row: Row, **plan) -> Run:
    everything = {"warmup": 0.1, "seconds": 4.0, "records": 10, "directory": Path("nowhere"), "spoken": [], **plan}
    return Run([row], [Contender("moldau", [])], 3, Plan(**everything), Results())


def measured(run: Run) -> Run:
    measure_all(run, Standing(), Progress(run.estimate(), lambda line: None))
    return run


def test_a_row_is_warmed_in_short_windows_and_only_its_loads_count():
    work = Work(10, 100, 100, 100, 101, 102, 103)
    run = measured(run_of(Row("C", "row", [RATE], work.measure)))
    assert [seconds for _, seconds in work.calls] == [1.0] * 4 + [4.0] * 3
    assert run.results.get("row", "requests/s").values == {"moldau": [101, 102, 103]}
    assert run.results.remarks == {}


def test_what_cannot_be_warmed_or_need_not_be_is_measured_at_once():
    work = Work(1, 2, 3)
    measured(run_of(Row("C", "row", [RATE], work.measure, warmed=False)))
    assert [seconds for _, seconds in work.calls] == [4.0] * 3
    work = Work(1, 2, 3)
    measured(run_of(Row("C", "row", [RATE], work.measure), haste=50.0, seconds=0.3))
    assert [seconds for _, seconds in work.calls] == [0.3] * 3


def test_a_row_that_is_not_steady_says_so(monkeypatch):
    work = Work(*[10, 100] * 10)
    now = iter(range(0, 1000, 5))
    monkeypatch.setattr("bench.steady.until_steady.__defaults__", (lambda: float(next(now)),))
    run = measured(run_of(Row("C", "row", [RATE], work.measure)))
    assert run.results.remarks == {("row", "moldau"): "was not steady after 20 s"}


def test_who_fails_while_he_is_warmed_is_named():
    run = measured(run_of(Row("C", "row", [RATE], Work().measure)))
    assert run.results.reasons == {("row", "moldau"): "failed: StopIteration: "}


def test_the_page_is_told_what_decides_how_fast_kafka_can_be():
    said = settings_of_kafka()
    assert "num.network.threads=3, num.io.threads=8, a heap of 1G" in said
    assert "G1 with pauses of 20 ms" in said
    assert "num.io.threads=8\n" in PROPERTIES
