"""From nothing to the first acknowledged record, and what a broker weighs, idle and after work."""

from __future__ import annotations

import time

from bench import cluster_start
from bench.contenders import Contender, Running, fresh
from bench.conversation import Conversation, read_answer
from bench.frames import produce_frame
from bench.load import Group
from bench.results import Metric
from bench.rows.row import KIB, Plan, Row, load, one_record
from moldau.protocol.messages.produce import ProduceResponse

CHAPTER = "Start and memory"
SETTLE_SECONDS = 0.5  # whatever is put off until after the start belongs to the idle node too


def start(contender: Contender, plan: Plan) -> dict[str, float]:
    """Twice in the same directory: when it is empty, and when there is a topic with records in it."""
    directory = fresh(plan.directory / "fresh")
    with contender.run(directory) as broker:
        empty = broker.ready_seconds
        first = acknowledge_one(broker, plan)
        time.sleep(SETTLE_SECONDS)
        before = broker.cpu_seconds()
        idle, _ = broker.memory_mb()
        time.sleep(1.0)
        busy = broker.cpu_seconds() - before
        work(broker, plan)
        loaded, _ = broker.memory_mb()
    with contender.run(directory) as broker:
        again = broker.ready_seconds
    return {
        "ready, empty": empty * 1000,
        "ready, existing data": again * 1000,
        "first record acknowledged": first * 1000,
        "idle RSS": idle,
        "loaded RSS": loaded,
        "idle CPU": busy * 100,
    }


def acknowledge_one(broker: Running, plan: Plan) -> float:
    """Seconds from the start of the process to the first acknowledged record, the topic made on the way."""
    broker.create_topic("first", 1)
    deadline = time.monotonic() + 30
    with Conversation(broker.address) as conversation:
        while time.monotonic() < deadline:
            answer = read_answer(
                conversation.send(one_record("first", plan).data), ProduceResponse, plan.produce_version
            )
            if answer.responses[0].partition_responses[0].error_code == 0:
                return time.perf_counter() - broker.started
            time.sleep(0.002)
    raise TimeoutError("no record was acknowledged")


def work(broker: Running, plan: Plan) -> None:
    """Small requests and large ones at the same time, on partitions of their own."""
    broker.create_topic("work", 12)
    time.sleep(0.2)
    bulk = produce_frame("work", 64 * KIB, plan.produce_version, partitions=12)
    groups = [
        Group("small", one_record("work", plan), connections=50),
        Group("bulk", bulk, connections=4, depth=5),
    ]
    load(broker, plan, groups, 3)


def from_a_test(contender: Contender, _: Plan) -> dict[str, float]:
    return {"first record acknowledged": cluster_start.seconds(contender) * 1000}


ROWS = [
    Row(
        CHAPTER,
        "start and work",
        [
            Metric("ready, empty", "ms", False, "< 500 ms"),
            Metric("ready, existing data", "ms", False, "< 500 ms"),
            Metric("first record acknowledged", "ms", False),
            Metric("idle RSS", "MB", False, "< 60 MB"),
            Metric("loaded RSS", "MB", False),
            Metric("idle CPU", "% of a core", False),
        ],
        fresh=start,
        cost=5.0,
        most=3,
    ),
    Row(
        CHAPTER,
        "from a test: a cluster is asked for, a client connects and has a record acknowledged",
        [Metric("first record acknowledged", "ms", False)],
        fresh=from_a_test,
        cost=1.5,
    ),
]
