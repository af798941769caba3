"""How long one record takes: to be acknowledged, and to reach a consumer that waits for it.

With a rate, a latency counts from the moment the request was due. acks=all everywhere, one record of 100 bytes.
"""

from __future__ import annotations

from bench.contenders import Contender, Running
from bench.conversation import Conversation
from bench.frames import fetch_frame, produce_frame
from bench.load import Group, end_to_end
from bench.results import Metric, percentile
from bench.rows.row import (
    KIB,
    MIB,
    P50,
    P99,
    P999,
    Plan,
    Row,
    latencies,
    load,
    must_wake_fetches,
    one_record,
    topic,
    topic_id,
)
from moldau.protocol.api import ApiKey

CHAPTER = "Latency"
LOW, STEADY = 2_000, 10_000
CONNECTIONS = 50
TIMES = 2  # longer than a plain load, where few requests are sent and one of a thousand shall be seen


def low_load(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    with topic(broker) as name:
        group = Group("one", one_record(name, plan), depth=5, rate=LOW)
        return latencies(load(broker, plan, [group], TIMES)["one"])


def alone(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    with topic(broker) as name:
        return latencies(load(broker, plan, [Group("one", one_record(name, plan))])["one"])


def half_of_capacity(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    """Of its own capacity: what 50 connections get out of it when they send as fast as they can."""
    with topic(broker) as name:
        frame = one_record(name, plan)
        full = load(broker, plan, [Group("full", frame, connections=CONNECTIONS)])["full"]
        half = full.per_second / 2
        group = Group("half", frame, connections=CONNECTIONS, depth=5, rate=half)
        return {"requests/s": half, **latencies(load(broker, plan, [group])["half"])}


def steady(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    with topic(broker) as name:
        group = Group("steady", one_record(name, plan), connections=CONNECTIONS, depth=5, rate=STEADY)
        return latencies(load(broker, plan, [group])["steady"])


def beside_streams(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    with topic(broker, 2) as name:
        bulk = produce_frame(name, MIB - 100, plan.produce_version)
        groups = [Group("small", one_record(name, plan)), Group("bulk", bulk, connections=2, depth=2)]
        results = load(broker, plan, groups, TIMES)
    found = latencies(results["small"])
    return found | {"streams": results["bulk"].acknowledged_mb_s}


def to_a_consumer(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    with topic(broker) as name:
        produce = one_record(name, plan)
        fetch = fetch_frame(name, topic_id(broker, name, plan), 64 * KIB, plan.version(ApiKey.FETCH))
        with Conversation(broker.address) as conversation:
            conversation.versions()
        count = int(plan.seconds * 2000)
        times = end_to_end(broker.address, produce, fetch, warmup=count // 10, count=count, directory=plan.directory)
    return {"p50": percentile(times, 0.5), "p99": percentile(times, 0.99), "p99.9": percentile(times, 0.999)}


ROWS = [
    Row(CHAPTER, "one record, one connection, one at a time", [P50, P99, P999], alone, cost=0.5),
    Row(CHAPTER, f"one record, low load: {LOW:,} requests/s", [P50, P99, P999], low_load, cost=1.5),
    Row(
        CHAPTER,
        f"one record, {STEADY:,} requests/s on {CONNECTIONS} connections",
        [P50, P99, P999],
        steady,
        cost=1.5,
    ),
    Row(
        CHAPTER,
        f"one record, half of its own capacity on {CONNECTIONS} connections",
        [Metric("requests/s", "/s"), P50, P99, P999],
        half_of_capacity,
        cost=2.0,
    ),
    Row(
        CHAPTER,
        "one record beside two 1 MiB streams",
        [P50, P99, P999, Metric("streams", "MB/s")],
        beside_streams,
        cost=1.0,
    ),
    Row(
        CHAPTER,
        "end to end: sent until a waiting fetch has it",
        [P50, P99, P999],
        to_a_consumer,
        cost=3.0,
        unable=must_wake_fetches,
    ),
]
