"""`python -m bench.python_clients`: Python's Kafka clients side by side, on one broker of ours, in one run.

Every measurement is a fresh process that does one thing (client_work.py); the clients take turns.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from bench.client_work import WARM, Task, produce_moldau
from bench.contenders import MOLDAU, fresh
from bench.results import Metric, Results, number
from bench.schedule import Progress, to_stderr

CHAPTER = "Python clients"
METRICS = (
    Metric("records/s", "/s"),
    Metric("CPU", "us/record", more_is_better=False),
    Metric("memory", "MB", more_is_better=False),
)
DIRECTORY = Path("build/bench")
# By what they are called in a row's title: nothing asked about single records; told what became of each; reading.
WORK = {"produce": "produce", "outcomes": "produce, told of each record,", "consume": "consume"}
CLIENTS = ("moldau", "confluent-kafka", "kafka-python", "aiokafka", "moldau.aio")
# The slower a client, the fewer records it is given: a row shall not take minutes.
SHARE = {"moldau": 1.0, "confluent-kafka": 1.0, "kafka-python": 0.05, "aiokafka": 0.15, "moldau.aio": 0.25}


class Combination(NamedTuple):
    size: int
    partitions: int
    codec: str

    @property
    def title(self) -> str:
        size = "100 B" if self.size == 100 else "1 KB"
        return f"{size}, {self.partitions} partition{'s' if self.partitions > 1 else ''}, {self.codec}"

    @property
    def topic(self) -> str:
        return f"b{self.size}-{self.partitions}-{self.codec}"


def measure(what: str, task: Task) -> dict[str, float]:
    """In a fresh process; whatever it says beside the numbers is for the case that it fails."""
    command = [sys.executable, "-W", "ignore", "-m", "bench.client_work", what, json.dumps(task._asdict())]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise RuntimeError(f"{task.client} failed: {done.stderr.strip().splitlines()[-1:]}")
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


class Comparison:
    """All clients on one node of ours, every combination of record size, partitions and codec, in turn."""

    def __init__(
        self,
        results: Results,
        repetitions: int,
        quick: bool,
        clients: Sequence[str] = CLIENTS,
        words: Sequence[str] = (),
    ) -> None:
        self._results = results
        self._repetitions = repetitions
        self._records = 100_000 if quick else 200_000
        self._clients = list(clients)
        chosen = [Combination(*each) for each in itertools.product((100, 1000), (1, 6), ("none", "lz4"))]
        if not words:
            # The ends of it; what lies between is measured when it is asked for.
            chosen = [each for each in chosen if each in (Combination(100, 1, "none"), Combination(1000, 6, "lz4"))]
        self._combinations = [each for each in chosen if not words or any(word in each.title for word in words)]

    def estimate(self) -> float:
        return len(WORK) * len(self._combinations) * self._cost()

    def _cost(self) -> float:
        """Of one row. Starting a Python and importing a client is most of it."""
        return (0.6 + self._records / 600_000) * len(self._clients) * self._repetitions

    def measure(self, progress: Progress) -> None:
        directory = fresh(DIRECTORY / f"clients-{os.getpid()}")
        try:
            self._measure(directory, progress)
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def _measure(self, directory: Path, progress: Progress) -> None:
        with MOLDAU.run(directory) as broker:
            for combination in self._combinations:
                self._fill(broker.bootstrap, combination)
                for what, called in WORK.items():
                    title = f"{called} {combination.title}"
                    for _ in range(self._repetitions):
                        for client in self._clients:
                            self._once(broker.bootstrap, what, title, combination, client)
                    progress.advance(self._cost(), f"Python clients: {title}: {self._summary(title)}")

    def _fill(self, bootstrap: str, combination: Combination) -> None:
        """What the consumers read, and a topic for each producer."""
        from moldau.admin import KafkaAdminClient, NewTopic

        names = [combination.topic, *(f"{combination.topic}-{client}" for client in self._clients)]
        with KafkaAdminClient(bootstrap_servers=bootstrap) as admin:
            admin.create_topics([NewTopic(name, combination.partitions, 1) for name in names])
        records = self._count(combination) + WARM
        produce_moldau(Task("moldau", bootstrap, combination.topic, records, *combination))

    def _count(self, combination: Combination) -> int:
        return self._records if combination.size == 100 else self._records // 4

    def _once(self, bootstrap: str, what: str, title: str, combination: Combination, client: str) -> None:
        if (title, client) in self._results.reasons:
            return
        topic = combination.topic if what == "consume" else f"{combination.topic}-{client}"
        records = int(self._count(combination) * SHARE[client])
        try:
            found = measure(what, Task(client, bootstrap, topic, records, *combination))
        except Exception as error:
            self._results.reasons[title, client] = f"failed: {type(error).__name__}: {error}"[:300]
            return
        for metric in METRICS:
            self._results.add(CHAPTER, title, metric, client, found[metric.name])

    def _summary(self, title: str) -> str:
        found = self._results.get(title, METRICS[0].name)
        middles = {client: found.median(client) if found else None for client in self._clients}
        return ", ".join(f"{client} {'-' if rate is None else number(rate)}" for client, rate in middles.items())


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.python_clients", description=__doc__)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--repetitions", type=int, default=3)
    parser.add_argument("--clients", nargs="*", default=CLIENTS, choices=CLIENTS)
    parser.add_argument("--rows", nargs="*", default=[], help="only rows whose title has one of these words")
    options = parser.parse_args()
    results = Results()
    comparison = Comparison(results, options.repetitions, options.quick, options.clients, options.rows)
    comparison.measure(Progress(comparison.estimate(), to_stderr))
    for each in results.measurements:
        cells = [f"{client} {number(each.median(client) or 0)}" for client in each.values]
        print(f"{each.row}, {each.metric.name}: {', '.join(cells)}")
    for (row, client), why in results.reasons.items():
        print(f"{row}: {client} {why}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
