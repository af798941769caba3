"""One-record requests on many connections, each waiting for its answer before it sends again."""

from __future__ import annotations

from bench.contenders import Contender, Running, fresh
from bench.load import Group
from bench.results import Metric
from bench.rows.row import P50, P99, P999, Measure, Plan, Row, latencies, load, one_record, topic, us, warm

CHAPTER = "Connections"
NUMBERS = (1, 10, 50, 250, 1000)
REQUESTS_S = Metric("requests/s", "/s")


def requests(connections: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        with topic(broker) as name:
            group = Group("one", one_record(name, plan), connections=connections)
            before = broker.cpu_seconds()
            result = load(broker, plan, [group])["one"]
            cpu = broker.cpu_seconds() - before
        spent = cpu / (result.per_second * (plan.seconds + plan.warmup))
        return {"requests/s": result.per_second, "CPU/request": spent * 1e6, **latencies(result)}

    return measure


def beside_idle(contender: Contender, plan: Plan) -> dict[str, float]:
    with contender.run(fresh(plan.directory / "fresh")) as broker, topic(broker) as name:
        warm(contender, broker, plan, one_record(name, plan))
        before, _ = broker.memory_mb()
        groups = [Group("idle", None, connections=2000), Group("busy", one_record(name, plan), connections=50)]
        result = load(broker, plan, groups)["busy"]
        after, _ = broker.memory_mb()
    return {"requests/s": result.per_second, **latencies(result), "more memory": after - before}


ROWS = [
    Row(
        CHAPTER,
        f"1 record per request, {number:,} connection{'s' if number > 1 else ''}",
        [REQUESTS_S, us("CPU/request"), P50, P99, P999],
        requests(number),
        quick=number in (1, 50),
    )
    for number in NUMBERS
] + [
    Row(
        CHAPTER,
        "50 busy connections beside 2,000 idle ones",
        [REQUESTS_S, P50, P99, P999, Metric("more memory", "MB", more_is_better=False)],
        fresh=beside_idle,
        cost=40.0,
    )
]
