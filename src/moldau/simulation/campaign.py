"""Many clusters, one seed after the other: how far it has come, how fast, and how to have a failure again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final

from moldau.simulation.cluster_scenario import ClusterReport, run_cluster

_TELL_SECONDS: Final = 5.0


def seeds_from(text: str) -> range:
    """One seed, or FIRST:END; ValueError for anything else."""
    first, _, end = text.partition(":")
    return range(int(first), int(end) if end else int(first) + 1)


class Campaign:
    """`tell` takes a line, `clock` gives seconds of the real world."""

    def __init__(self, nodes: int, requests: int, faults: int, tell: Callable[[str], None], clock: Callable[[], float]):
        self._nodes = nodes
        self._requests = requests
        self._faults = faults
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
                report = run_cluster(seed, nodes=self._nodes, requests=self._requests, faults=self._faults)
            except BaseException as failure:
                failure.add_note(f"to repeat: {self.repeat_command(seed)}")
                raise
            self._add(report)
            if len(seeds) == 1:
                self._tell(str(report))
            elif self._clock() - told > _TELL_SECONDS or seed == seeds[-1]:
                told = self._clock()
                self._tell(f"seed {seed}: {self.summary(told - began)}")

    def repeat_command(self, seed: int) -> str:
        """What to type to have a run again."""
        return (
            f"moldau simulate --seed {seed} --nodes {self._nodes} --requests {self._requests} --faults {self._faults} "
            f"--log info"
        )

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
