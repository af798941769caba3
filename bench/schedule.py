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
from bench.rows.row import KIB, Plan, Row, load, one_record, topic
from moldau.protocol.records import Compression


class Stage:
    """The brokers that run all the while: a broker in use is warm, and one written in Java needs that to show what it
    can do. A broker that died is started again for the row after.
    """

    def __init__(self, directory: Path, warm: Callable[[Running], None]) -> None:
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
            self._warm(broker)
        return broker

    def close(self) -> None:
        for broker in self._brokers.values():
            stop(broker)
        self._brokers.clear()


@contextmanager
def stage(directory: Path, warm: Callable[[Running], None]) -> Iterator[Stage]:
    opened = Stage(directory, warm)
    try:
        yield opened
    finally:
        opened.close()


def warm_up(plan: Plan, seconds: float) -> Callable[[Running], None]:
    """A little of everything that is measured, for everybody the same."""

    def warm(broker: Running) -> None:
        part = seconds / 4 / plan.seconds
        with topic(broker) as name:
            load(broker, plan, [Group("small", one_record(name, plan), connections=50)], part)
            for codec in (Compression.NONE, Compression.LZ4, Compression.ZSTD):
                frame = produce_frame(name, 64 * KIB, plan.produce_version, codec=codec)
                load(broker, plan, [Group("bulk", frame, depth=5)], part)

    return warm


class Progress:
    """The time a run takes, guessed from the rows and corrected by how it goes."""

    def __init__(self, planned: float, out: Callable[[str], None]) -> None:
        self._planned = planned
        self._done = 0.0
        self._began = time.monotonic()
        self._out = out

    def advance(self, seconds: float, what: str) -> None:
        self._done += seconds
        passed = time.monotonic() - self._began
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
        one = self.plan.warmup + self.plan.seconds + 0.12 + row.cost * min(1.0, self.plan.seconds / 0.4)
        return one * len(able) * self.times(row)

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
        run.results.reasons[row.title, contender.name] = f"failed: {type(error).__name__}: {error}"[:300]
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
