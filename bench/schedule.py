"""Who is measured when: contenders take turns within every row, again and again, because a machine is not equally
fast all day. Says beforehand how long it will take, and on the way how far it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.contenders import Contender, Running, fresh, log_of, stop
from bench.frames import produce_frame
from bench.load import Group
from bench.results import Results, number
from bench.rows.row import KIB, MOST_ROW_WARMING, WINDOW_SECONDS, Plan, Row, load, one_record, topic
from bench.steady import TOLERANCE, Patience, Warmth, until_steady
from moldau.protocol.records import Compression

# Latencies are never as even as rates.
LATENCY_TOLERANCE = 2 * TOLERANCE


class Stage:
    """The brokers that run all the while: a broker in use is warm, and one written in Java needs that to show what it
    can do. A broker that died is started again for the row after.
    """

    def __init__(self, directory: Path, warm: Callable[[Contender, Running], None]) -> None:
        self._directory = directory
        self._warm = warm
        self._brokers: dict[str, Running] = {}

    def broker(self, contender: Contender) -> Running:
        broker = self._brokers.get(contender.name)
        if broker is not None and not broker.alive:
            last = log_of(self._directory / contender.name).read_text(errors="replace").splitlines()[-1:]
            to_stderr(f"{contender.name} had ended and is started again: {' '.join(last)}")
        if broker is None or not broker.alive:
            broker = contender.start(fresh(self._directory / contender.name))
            self._brokers[contender.name] = broker
            self._warm(contender, broker)
        return broker

    def close(self) -> None:
        for broker in self._brokers.values():
            stop(broker)
        self._brokers.clear()


@contextmanager
def stage(directory: Path, warm: Callable[[Contender, Running], None]) -> Iterator[Stage]:
    opened = Stage(directory, warm)
    try:
        yield opened
    finally:
        opened.close()


def warm_up(plan: Plan, results: Results) -> Callable[[Contender, Running], None]:
    """A little of everything that is measured, the same for everybody, until the small requests are answered at an even
    rate. How long that took stands on the page."""

    def warm(contender: Contender, broker: Running) -> None:
        short = plan._replace(seconds=min(WINDOW_SECONDS, plan.seconds))
        with topic(broker) as name:
            bulks = [
                Group("bulk", produce_frame(name, 64 * KIB, plan.produce_version, codec=codec), depth=5)
                for codec in (Compression.NONE, Compression.LZ4, Compression.ZSTD)
            ]

            def window() -> float:
                for bulk in bulks:
                    load(broker, short, [bulk], 0.3)
                return load(broker, short, [Group("small", one_record(name, plan), connections=50)])["small"].per_second

            warmth = until_steady(window, plan.patience(contender))
        to_stderr(f"{contender.name} was warmed for {warmth.words}")
        results.about[f"{contender.name} warmed for"] = warmth.words

    return warm


def warm_row(run: Run, row: Row, contender: Contender, brokers: Stage) -> Warmth | None:
    """The row itself, in short windows, until its first number is even: each kind of work has code of its own that a
    Java machine has to compile. None for rows that begin with a start, for those who cannot do it, and in haste."""
    measure = row.measure
    unable = (row.title, contender.name) in run.results.reasons
    if measure is None or not row.warmed or unable or run.plan.haste > 1:
        return None
    first = row.metrics[0]
    seconds = min(WINDOW_SECONDS, run.plan.seconds)
    short = run.plan._replace(seconds=seconds, records=max(1, run.plan.records // 4))
    broker = brokers.broker(contender)
    patience = Patience(0.0, MOST_ROW_WARMING, TOLERANCE if first.more_is_better else LATENCY_TOLERANCE)
    try:
        return until_steady(lambda: measure(contender, broker, short)[first.name], patience)
    except Exception as error:
        run.results.reasons[row.title, contender.name] = failed(error)
        return None


def failed(error: Exception) -> str:
    return f"failed: {type(error).__name__}: {error}"[:300]


class Progress:
    """The time a run takes, guessed from the rows and corrected by how it goes."""

    def __init__(self, planned: float, out: Callable[[str], None], clock: Callable[[], float] = time.monotonic) -> None:
        self._planned = planned
        self._done = 0.0
        self._clock = clock
        self._began = clock()
        self._out = out

    def advance(self, seconds: float, what: str) -> None:
        self._done += seconds
        passed = self._clock() - self._began
        left = (self._planned - self._done) * (passed / self._done if self._done else 1.0)
        self._out(f"[{minutes(passed)}, about {minutes(max(0.0, left))} left] {what}")


def minutes(seconds: float) -> str:
    return f"{int(seconds) // 60}:{int(seconds) % 60:02d}"


class Run(NamedTuple):
    rows: list[Row]
    contenders: list[Contender]
    repetitions: int
    plan: Plan
    results: Results

    def cost(self, row: Row) -> float:
        """Seconds that a row is expected to take, all contenders and repetitions together."""
        able = [contender for contender in self.contenders if not row.unable(contender)]
        one = self.plan.warmup + self.plan.seconds + 0.12 + row.cost * min(1.0, self.plan.seconds / 4)
        in_windows = row.warmed and row.measure is not None and self.plan.haste == 1
        warming = 0.5 * MOST_ROW_WARMING if in_windows else 0.0
        return (one * self.times(row) + warming) * len(able)

    def times(self, row: Row) -> int:
        return min(self.repetitions, row.most)

    def estimate(self) -> float:
        return sum(map(self.cost, self.rows))


def measure_all(run: Run, brokers: Stage, progress: Progress) -> None:
    for row in run.rows:
        for contender in run.contenders:
            why = row.unable(contender)
            if why:
                run.results.reasons[row.title, contender.name] = why
        for contender in run.contenders:
            warmth = warm_row(run, row, contender, brokers)
            if warmth is not None and not warmth.steady:
                run.results.remarks[row.title, contender.name] = f"was not steady after {MOST_ROW_WARMING:.0f} s"
        for _ in range(run.times(row)):
            for contender in run.contenders:
                measure(run, row, contender, brokers)
        progress.advance(run.cost(row), f"{row.title}: {summary(run, row)}")


def measure(run: Run, row: Row, contender: Contender, brokers: Stage) -> None:
    """A contender that fails a row is named in the table instead of left out, and not asked again."""
    if (row.title, contender.name) in run.results.reasons:
        return
    try:
        if row.fresh is not None:
            found = row.fresh(contender, run.plan)
        else:
            assert row.measure is not None
            found = row.measure(contender, brokers.broker(contender), run.plan)
    except Exception as error:
        run.results.reasons[row.title, contender.name] = failed(error)
        return
    for metric in row.metrics:
        run.results.add(row.chapter, row.title, metric, contender.name, found[metric.name])


def summary(run: Run, row: Row) -> str:
    """The first metric of the row, for whoever watches."""
    metric = row.metrics[0]
    found = run.results.get(row.title, metric.name)
    parts = []
    for contender in run.contenders:
        middle = found.median(contender.name) if found is not None else None
        parts.append(f"{contender.name} {'-' if middle is None else number(middle)}")
    return f"{', '.join(parts)} {metric.unit}"


def to_stderr(line: str) -> None:
    print(line, file=sys.stderr, flush=True)
