"""Reading as fast as the broker gives it, from the page cache: fetches of 1 MiB, two in flight."""

from __future__ import annotations

from collections.abc import Callable

from bench.contenders import Contender, Running
from bench.conversation import Conversation
from bench.frames import fetch_frame, produce_frame
from bench.load import Group
from bench.results import Metric
from bench.rows.row import (
    CPU_GB,
    MB_S,
    MIB,
    P50,
    P99,
    P999,
    Measure,
    Plan,
    Row,
    latencies,
    load,
    needs_log,
    topic,
    topic_id,
)
from moldau.protocol.api import ApiKey

CHAPTER = "Consume"
MORE = Metric("MB/s", "MB/s", goal=">= 1000 MB/s")


def nobody(_: Contender) -> str:
    return ""


def fetch(batches: int, connections: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        with topic(broker) as name:
            filling = produce_frame(name, MIB - 100, plan.produce_version)
            with Conversation(broker.address) as conversation:
                for _number in range(batches):
                    conversation.send(filling.data)
            frame = fetch_frame(name, topic_id(broker, name, plan), MIB, plan.version(ApiKey.FETCH))
            group = Group(
                "fetch",
                frame,
                connections=connections,
                depth=2,
                stride=filling.records,
                last=(batches - 1) * filling.records,
                at_least=len(filling.data) - 1000,
            )
            before = broker.cpu_seconds()
            result = load(broker, plan, [group])["fetch"]
            cpu = broker.cpu_seconds() - before
        gigabytes = result.received_mb_s * (plan.seconds + plan.warmup) / 1000
        return {"MB/s": result.received_mb_s, "CPU s/GB": cpu / gigabytes, **latencies(result)}

    return measure


def row(title: str, batches: int, connections: int, metric: Metric, unable: Callable[[Contender], str]) -> Row:
    return Row(
        CHAPTER, title, [metric, P50, P99, P999, CPU_GB], fetch(batches, connections), cost=batches / 300, unable=unable
    )


ROWS = [
    # Three batches are all that a mock keeps of a partition, so that it can take part.
    row("fetch 1 MiB, 1 connection, the same 3 MB again and again", 3, 1, MORE, nobody),
    row("fetch 1 MiB, 1 connection, through 200 MB", 200, 1, MB_S, needs_log),
    row("fetch 1 MiB, 10 connections, through 200 MB", 200, 10, MB_S, needs_log),
]
