"""Many clusters, one seed after the other: how far it has come, how fast, and how to have a failure again.

`Campaign` stops at the first that fails. What runs for hours notes each `Outcome` instead, as a line of a file, and a
`Tally` says what all of them came to, those of earlier days included.
"""

from __future__ import annotations

import logging
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Final

from moldau.simulation.cluster_scenario import ClusterReport, run_cluster

_TELL_SECONDS: Final = 5.0


def seeds_from(text: str) -> range:
    """One seed, or FIRST:END; ValueError for anything else."""
    first, _, end = text.partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


def show_log(level: int) -> None:
    """The nodes' log from this level on. What is not shown is still said: a world finds tracebacks in it.

    A program that has handlers of its own keeps them, and their levels, as they are."""
    shown = logging.StreamHandler()
    shown.setLevel(level)
    logging.basicConfig(
        level=min(level, logging.WARNING), format="%(levelname)s %(name)s: %(message)s", handlers=[shown]
    )


@dataclass(frozen=True, slots=True)
class Form:
    """What a seed is a seed of. With `minutes` that is how long a cluster lives, whatever `requests` and `faults`."""

    nodes: int = 3
    requests: int = 40
    faults: int = 6
    minutes: float = 0.0
    changing_voters: bool = False
    share_group: bool = False
    failing_disks: bool = False

    def run(self, seed: int) -> ClusterReport:
        return run_cluster(
            seed,
            nodes=self.nodes,
            requests=self.requests,
            faults=self.faults,
            minutes=self.minutes,
            changing_voters=self.changing_voters,
            share_group=self.share_group,
            failing_disks=self.failing_disks,
        )

    def repeat_command(self, seed: int) -> str:
        """What to type to have a run again."""
        return f"moldau simulate --seed {seed} {self} --log info"

    def __str__(self) -> str:
        size = f"--minutes {self.minutes:g}" if self.minutes else f"--requests {self.requests} --faults {self.faults}"
        also = {
            " --changing-voters": self.changing_voters,
            " --share-group": self.share_group,
            " --failing-disks": self.failing_disks,
        }
        return f"--nodes {self.nodes} {size}" + "".join(option for option, is_on in also.items() if is_on)


class Campaign:
    """`tell` takes a line, `clock` gives seconds of the real world."""

    def __init__(self, form: Form, tell: Callable[[str], None], clock: Callable[[], float]) -> None:
        self._form = form
        self._tell = tell
        self._clock = clock
        self.seeds = 0
        self.simulated_seconds = 0.0
        self.acknowledged = self.transactions = self.failovers = self.faults = 0

    def run(self, seeds: Sequence[int]) -> None:
        """Stops at the first seed that fails, with what failed."""
        began = told = self._clock()
        for seed in seeds:
            try:
                report = self._form.run(seed)
            except BaseException as failure:
                failure.add_note(f"to repeat: {self._form.repeat_command(seed)}")
                raise
            self._add(report)
            if len(seeds) == 1:
                self._tell(str(report))
            elif self._clock() - told > _TELL_SECONDS or seed == seeds[-1]:
                told = self._clock()
                self._tell(f"seed {seed}: {self.summary(told - began)}")

    def summary(self, seconds: float) -> str:
        return (
            f"{self.seeds} clusters lived {self.simulated_seconds / 3600:.2f} hours in {seconds:.0f} s "
            f"({self.seeds / max(seconds, 0.001):.2f} seeds/s); {self.faults} faults, {self.failovers} elections, "
            f"{self.acknowledged} records acknowledged, {self.transactions} transactions"
        )

    def _add(self, report: ClusterReport) -> None:
        self.seeds += 1
        self.simulated_seconds += report.seconds
        self.acknowledged += report.acknowledged
        self.transactions += report.transactions
        self.failovers += report.failovers
        self.faults += len(report.faults)


@dataclass(slots=True)
class Outcome:
    """What one seed came to: a line of a campaign's file. `failure` says what was broken."""

    form: str
    seed: int
    cpu_seconds: float
    seconds: float = 0.0
    acknowledged: int = 0
    transactions: int = 0
    elections: int = 0
    faults: dict[str, int] = field(default_factory=dict)
    failure: str | None = None

    def as_dict(self) -> dict[str, Any]:
        return asdict(self)


def run_seed(form: Form, seed: int, cpu_clock: Callable[[], float]) -> Outcome:
    """Whatever the seed ends with is part of its outcome."""
    began = cpu_clock()
    try:
        report = form.run(seed)
    except Exception as failure:
        notes = "; ".join(getattr(failure, "__notes__", ()))
        return Outcome(str(form), seed, cpu_clock() - began, failure=f"{type(failure).__name__}: {failure} ({notes})")
    return Outcome(
        str(form),
        seed,
        round(cpu_clock() - began, 3),
        report.seconds,
        report.acknowledged,
        report.transactions,
        report.failovers,
        dict(sorted(Counter(report.faults).items())),
    )


class Tally:
    """The outcomes of one form, the last one of each seed."""

    def __init__(self, form: Form) -> None:
        self._form = form
        self._outcomes: dict[int, Outcome] = {}

    def add(self, outcome: Outcome) -> None:
        if outcome.form == str(self._form):
            self._outcomes[outcome.seed] = outcome

    def left(self, seeds: Sequence[int]) -> list[int]:
        """Those without an outcome, or with a failure that may be repaired by now."""
        return [seed for seed in seeds if seed not in self._outcomes or self._outcomes[seed].failure is not None]

    @property
    def hours(self) -> float:
        return sum(outcome.seconds for outcome in self._outcomes.values()) / 3600

    @property
    def failures(self) -> list[str]:
        return [
            f"seed {outcome.seed}: {outcome.failure}; to repeat: {self._form.repeat_command(outcome.seed)}"
            for outcome in self._outcomes.values()
            if outcome.failure is not None
        ]

    def summary(self) -> str:
        outcomes = self._outcomes.values()
        cpu = sum(outcome.cpu_seconds for outcome in outcomes)
        faults: Counter[str] = Counter()
        for outcome in outcomes:
            faults.update(outcome.faults)
        kinds = ", ".join(f"{name} {count}" for name, count in faults.most_common())
        return (
            f"{len(outcomes)} seeds, {self.hours:.2f} simulated hours, {cpu:.0f} CPU s "
            f"({cpu / max(self.hours, 0.001):.1f} an hour), {len(self.failures)} failures; "
            f"{sum(outcome.acknowledged for outcome in outcomes)} records acknowledged, "
            f"{sum(outcome.transactions for outcome in outcomes)} transactions, "
            f"{sum(outcome.elections for outcome in outcomes)} elections, {faults.total()} faults ({kinds})"
        )
