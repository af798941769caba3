"""From nothing to the first answer, empty and with data, and what a broker weighs, idle and after work."""

from __future__ import annotations

import time

from bench import cluster_start
from bench.contenders import Contender, Running, fresh
from bench.conversation import METADATA, Conversation
from bench.frames import produce_frame
from bench.load import Group
from bench.results import Metric
from bench.rows.row import KIB, Plan, Row, load, one_record
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse

CHAPTER = "Start and memory"
SETTLE_SECONDS = 0.5  # whatever is put off until after the start belongs to the idle node too
PARTITIONS = 500
FIRST_ANSWER = "first answer"
STARTED = [Metric(FIRST_ANSWER, "ms", False, "< {} ms"), Metric("CPU", "ms", False)]


def start_empty(contender: Contender, plan: Plan) -> dict[str, float]:
    with contender.run(fresh(plan.directory / "fresh")) as broker:
        return started(broker)


def start_with_data(contender: Contender, plan: Plan) -> dict[str, float]:
    """The second start in a directory with some records in each of many partitions, after a stop in order."""
    directory = fresh(plan.directory / "fresh")
    with contender.run(directory) as broker:
        broker.create_topic("kept", PARTITIONS)
        load(broker, plan, [Group("fill", one_record("kept", plan, PARTITIONS), connections=2, depth=5)])
    with contender.run(directory) as broker:
        return started(broker)


def started(broker: Running) -> dict[str, float]:
    """From the exec of the process until it has answered what every client asks first: ApiVersions and Metadata."""
    with Conversation(broker.address) as conversation:
        conversation.versions()
        conversation.ask(MetadataRequest(topics=[]), METADATA, MetadataResponse)
    return {FIRST_ANSWER: (time.perf_counter() - broker.started) * 1000, "CPU": broker.cpu_seconds() * 1000}


def memory(contender: Contender, plan: Plan) -> dict[str, float]:
    with contender.run(fresh(plan.directory / "fresh")) as broker:
        broker.create_topic("first", 1)
        time.sleep(SETTLE_SECONDS)
        before = broker.cpu_seconds()
        idle, _ = broker.memory_mb()
        time.sleep(1.0)
        busy = broker.cpu_seconds() - before
        work(broker, plan)
        loaded, _ = broker.memory_mb()
    return {"idle": idle, "after work": loaded, "idle CPU": busy * 100}


def work(broker: Running, plan: Plan) -> None:
    """Small requests and large ones at the same time, on partitions of their own."""
    broker.create_topic("work", 12)
    time.sleep(0.2)
    bulk = produce_frame("work", 64 * KIB, plan.produce_version, partitions=12)
    groups = [
        Group("small", one_record("work", plan), connections=50),
        Group("bulk", bulk, connections=4, depth=5),
    ]
    load(broker, plan, groups)


def from_a_test(contender: Contender, _: Plan) -> dict[str, float]:
    return {"first record acknowledged": cluster_start.seconds(contender) * 1000}


def within(milliseconds: int) -> list[Metric]:
    return [metric._replace(goal=metric.goal.format(milliseconds)) for metric in STARTED]


ROWS = [
    Row(CHAPTER, "start, empty", within(300), fresh=start_empty, cost=3.0),
    Row(
        CHAPTER,
        f"start, {PARTITIONS} partitions with data after a clean stop",
        within(500),
        fresh=start_with_data,
        cost=8.0,
        quick=False,
        unable=lambda contender: "" if contender.durable else "has forgotten everything when it starts again",
    ),
    Row(
        CHAPTER,
        "memory, idle and after work",
        [
            Metric("idle", "MB", False, "< 60 MB"),
            Metric("after work", "MB", False),
            Metric("idle CPU", "% of a core", False),
        ],
        fresh=memory,
        cost=5.0,
    ),
    Row(
        CHAPTER,
        "from a test: a cluster is asked for, a client connects and has a record acknowledged",
        [Metric("first record acknowledged", "ms", False)],
        fresh=from_a_test,
        cost=1.5,
    ),
]
