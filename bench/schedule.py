"""Who is measured when: contenders take turns within every row, again and again, because a machine is not equally
fast all day. Says beforehand how long it will take, and on the way how far it is.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from bench.clusters import RunningCluster, start_cluster
from bench.contenders import Contender, Running, fresh, log_of, stop
from bench.frames import produce_frame
from bench.load import Group
from bench.results import Results, number
from bench.rows.cluster import warm_cluster
from bench.rows.row import KIB, MOST_ROW_WARMING, WINDOW_SECONDS, Plan, Row, Unanswered, load, one_record, topic
from bench.secured import SecuredBroker, start_secured
from bench.steady import TOLERANCE, Patience, Warmth, until_steady
from moldau.protocol.records import Compression

# Latencies are never as even as rates.
LATENCY_TOLERANCE = 2 * TOLERANCE


class Stage:
    """The brokers that run all the while: a broker in use is warm, and one written in Java needs that to show what it
    can do. A broker that died is started again for the row after.
    """

    def __init__(self, plan: Plan, results: Results) -> None:
        self._plan = plan
        self._results = results
        self._directory = plan.directory
        self._brokers: dict[str, Running] = {}
        self._clusters: dict[str, RunningCluster] = {}
        self._secured: dict[str, SecuredBroker] = {}

    def broker(self, contender: Contender) -> Running:
        broker = self._brokers.get(contender.name)
        if broker is not None and not broker.alive:
            last = log_of(self._directory / contender.name).read_text(errors="replace").splitlines()[-1:]
            to_stderr(f"{contender.name} had ended and is started again: {' '.join(last)}")
        if broker is None or not broker.alive:
            broker = contender.start(fresh(self._directory / contender.name))
            self._brokers[contender.name] = broker
            self._note(contender.name, warm_up(contender, broker, self._plan))
        return broker

    def secured(self, contender: Contender) -> SecuredBroker:
        """With listeners of each kind. Those that had no others end before."""
        for broker in self._brokers.values():
            stop(broker)
        self._brokers.clear()
        secured = self._secured.get(contender.name)
        if secured is None or not secured.running.alive:
            secured = start_secured(contender, self._directory / f"{contender.name}-secured")
            self._secured[contender.name] = secured
            self._note(f"secured {contender.name}", warm_up(contender, secured.running, self._plan))
        return secured

    def cluster(self, contender: Contender) -> RunningCluster:
        """Single brokers end before the first cluster begins: three nodes of each are enough for a machine."""
        self._end_brokers()
        cluster = self._clusters.get(contender.name)
        if cluster is not None and not cluster.alive:
            to_stderr(f"of three nodes of {contender.name} not all were left; they are started again")
            cluster.close()
        if cluster is None or not cluster.alive:
            cluster = start_cluster(contender, self._directory / f"{contender.name}-cluster")
            self._clusters[contender.name] = cluster
            self._note(f"three nodes of {contender.name}", warm_cluster(contender, cluster, self._plan))
        return cluster

    def close(self) -> None:
        self._end_brokers()
        for cluster in self._clusters.values():
            cluster.close()
        self._clusters.clear()

    def _end_brokers(self) -> None:
        for broker in (*self._brokers.values(), *(secured.running for secured in self._secured.values())):
            stop(broker)
        self._brokers.clear()
        self._secured.clear()

    def _note(self, who: str, warmth: Warmth) -> None:
        to_stderr(f"{who}: warmed for {warmth.words}")
        self._results.about[f"{who} warmed for"] = warmth.words


@contextmanager
def stage(plan: Plan, results: Results) -> Iterator[Stage]:
    opened = Stage(plan, results)
    try:
        yield opened
    finally:
        opened.close()


def warm_up(contender: Contender, broker: Running, plan: Plan) -> Warmth:
    """A little of everything that is measured, the same for everybody, until the small requests are answered at an even
    rate. How long that took stands on the page."""
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

        return until_steady(window, plan.patience(contender))


def warm_row(run: Run, row: Row, contender: Contender, brokers: Stage) -> Warmth | None:
    """The row itself, in short windows, until its first number is even: each kind of work has code of its own that a
    Java machine has to compile. None for rows that begin with a start, for those who cannot do it, and in haste."""
    unable = (row.title, contender.name) in run.results.reasons
    if row.fresh is not None or not row.warmed or unable or run.plan.haste > 1:
        return None
    first = row.metrics[0]
    seconds = min(WINDOW_SECONDS, run.plan.seconds)
    short = run.plan._replace(seconds=seconds, records=max(1, run.plan.records // 4))
    patience = Patience(0.0, MOST_ROW_WARMING, TOLERANCE if first.more_is_better else LATENCY_TOLERANCE)
    try:
        return until_steady(lambda: found_by(row, contender, brokers, short)[first.name], patience)
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
        in_windows = row.warmed and row.fresh is None and self.plan.haste == 1
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
    key = row.title, contender.name
    if key in run.results.reasons or key in run.results.unanswered:
        return
    try:
        found = found_by(row, contender, brokers, run.plan)
    except Unanswered as unanswered:
        run.results.unanswered.add(key)
        run.results.remarks[key] = str(unanswered)
        found = unanswered.numbers
        # It may still be busy with it, and the next rows are about something else.
        stop(brokers.broker(contender))
    except Exception as error:
        run.results.reasons[key] = failed(error)
        return
    for metric in row.metrics:
        run.results.add(row.chapter, row.title, metric, contender.name, found[metric.name])


def found_by(row: Row, contender: Contender, brokers: Stage, plan: Plan) -> dict[str, float]:
    if row.fresh is not None:
        return row.fresh(contender, plan)
    if row.cluster is not None:
        return row.cluster(contender, brokers.cluster(contender), plan)
    if row.secured is not None:
        return row.secured(contender, brokers.secured(contender), plan)
    assert row.measure is not None
    return row.measure(contender, brokers.broker(contender), plan)


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
