"""The same promise on both sides: a record is forced to disk before it is acknowledged (`flush.messages=1`)."""

from __future__ import annotations

from bench.contenders import Contender, Running
from bench.load import Group
from bench.results import Metric
from bench.rows.row import P50, P99, P999, Measure, Plan, Row, latencies, load, needs_log, one_record, topic, us

CHAPTER = "Durable"
SETTINGS = {"flush.messages": "1"}


def forced(connections: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        with topic(broker, settings=SETTINGS) as name:
            before = broker.cpu_seconds()
            result = load(broker, plan, [Group("forced", one_record(name, plan), connections=connections)])["forced"]
            cpu = broker.cpu_seconds() - before
        spent = cpu / (result.per_second * (plan.seconds + plan.warmup)) * 1e6
        return {"requests/s": result.per_second, **latencies(result), "CPU/request": spent}

    return measure


ROWS = [
    Row(
        CHAPTER,
        f"1 record per request, forced to disk first, {number} connection{'s' if number > 1 else ''}",
        [Metric("requests/s", "/s"), P50, P99, P999, us("CPU/request")],
        forced(number),
        quick=False,
        unable=needs_log,
    )
    for number in (1, 50)
]
