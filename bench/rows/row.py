"""What all rows share: how long and where a load runs, who takes part, and what a measurement is made of."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

from bench.clusters import RunningCluster
from bench.contenders import Contender, Running
from bench.conversation import Conversation, Versions, common_version
from bench.frames import Frame, produce_frame
from bench.load import Group, GroupResult, run
from bench.results import Metric
from bench.secured import SecuredBroker
from bench.steady import Patience, Warmth, until_steady
from moldau.protocol.api import ApiKey
from moldau.protocol.records import Compression

KIB, MIB = 1 << 10, 1 << 20
# Produce 13 and Fetch 13 name topics by id. Clients that speak both use ids to fetch and names to produce.
PRODUCE_BY_NAME = 12
MEMORY_ONLY = "keeps no log: 5 MB of a partition, in memory"

# Whoever is not steady after so many times what he is given at least is measured as he is; a row after so many seconds.
MOST_TIMES = 3
MOST_ROW_WARMING = 20.0
WINDOW_SECONDS = 1.0

_numbers = itertools.count(1)


class Plan(NamedTuple):
    """How long and where; the same for every contender."""

    warmup: float
    seconds: float
    records: int  # for the rows with a whole client
    directory: Path
    spoken: list[Versions]
    haste: float = 1.0  # how much shorter than in earnest everybody is warmed

    def patience(self, contender: Contender) -> Patience:
        """For a broker that was just started."""
        return Patience(contender.warming / self.haste, MOST_TIMES * contender.warming / self.haste)

    def version(self, api: ApiKey, highest: int = 99) -> int:
        return common_version(api, self.spoken, highest)

    @property
    def produce_version(self) -> int:
        return self.version(ApiKey.PRODUCE, PRODUCE_BY_NAME)


Measure = Callable[[Contender, Running, Plan], dict[str, float]]
FreshMeasure = Callable[[Contender, Plan], dict[str, float]]
ClusterMeasure = Callable[[Contender, RunningCluster, Plan], dict[str, float]]
SecuredMeasure = Callable[[Contender, SecuredBroker, Plan], dict[str, float]]


class Unanswered(Exception):
    """What was measured all the same until patience ended."""

    def __init__(self, what: str, numbers: dict[str, float]) -> None:
        super().__init__(what)
        self.numbers = numbers


class Row(NamedTuple):
    """`measure` is given a broker that has been running for a while, `cluster` three nodes, `secured` a broker with
    listeners of each kind; `fresh` starts its own."""

    chapter: str
    title: str
    metrics: list[Metric]
    measure: Measure | None = None
    fresh: FreshMeasure | None = None
    cluster: ClusterMeasure | None = None
    secured: SecuredMeasure | None = None
    cost: float = 0.0  # seconds of one measurement beyond a plain load, for the estimate
    most: int = 99  # repetitions, at most: some rows take long
    quick: bool = True  # also in a quick run
    unable: Callable[[Contender], str] = lambda _: ""  # why a contender cannot do this, if it cannot
    needs_kafka: bool = False  # the load is one of Kafka's own programs
    warmed: bool = True  # unless what is measured is one request, or a start


def needs_log(contender: Contender) -> str:
    return "" if contender.durable else MEMORY_ONLY


def must_wake_fetches(contender: Contender) -> str:
    return "" if contender.durable else "answers a fetch that waits only when its time is over, not when a record comes"


@contextmanager
def topic(broker: Running, partitions: int = 1, settings: dict[str, str] | None = None) -> Iterator[str]:
    """A topic for one measurement. Its records go with it, before the disk has seen most of them."""
    name = f"bench-{next(_numbers):06d}"
    broker.create_topic(name, partitions, settings or {})
    try:
        yield name
    finally:
        if broker.alive:
            broker.delete_topic(name)


def topic_id(broker: Running, name: str, plan: Plan) -> bytes:
    with Conversation(broker.address) as conversation:
        return conversation.topic(name, plan.version(ApiKey.METADATA))


def load(broker: Running, plan: Plan, groups: list[Group], times: float = 1.0) -> dict[str, GroupResult]:
    seconds = plan.seconds * times
    return run(broker.address, groups, warmup=plan.warmup, seconds=seconds, directory=plan.directory, door=broker.door)


def warm(contender: Contender, broker: Running, plan: Plan, request: Frame) -> Warmth:
    """For a broker that was just started for one row."""

    def window() -> float:
        seconds = min(WINDOW_SECONDS, plan.seconds)
        group = Group("warm", request, connections=50)
        done = run(broker.address, [group], warmup=0.0, seconds=seconds, directory=plan.directory)
        return done["warm"].per_second

    return until_steady(window, plan.patience(contender))


def one_record(name: str, plan: Plan, partitions: int = 1, acks: int = -1) -> Frame:
    return produce_frame(name, 0, plan.produce_version, acks, partitions=partitions, codec=Compression.NONE)


def us(name: str, goal: str = "") -> Metric:
    return Metric(name, "us", more_is_better=False, goal=goal)


P50, P99, P999 = us("p50"), us("p99"), us("p99.9")
MB_S = Metric("MB/s", "MB/s")
RECORDS_S = Metric("records/s", "/s")
CPU_GB = Metric("CPU s/GB", "s/GB", more_is_better=False)


def latencies(result: GroupResult) -> dict[str, float]:
    return {"p50": result.p50_us, "p99": result.p99_us, "p99.9": result.p999_us}
