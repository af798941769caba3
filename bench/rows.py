"""What is measured. A row runs one load against one freshly started broker and returns numbers by name."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from bench import clients
from bench.contenders import Contender, Running, fresh
from bench.conversation import Conversation, Versions, common_version, read_answer
from bench.frames import Frame, fetch_frame, produce_frame
from bench.load import Group, GroupResult, run
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.produce import ProduceResponse

KIB, MIB = 1 << 10, 1 << 20
TOPIC = "bench"
# Produce 13 and Fetch 13 name topics by id. Clients that speak both use ids to fetch and names to produce.
PRODUCE_BY_NAME = 12


class Plan(NamedTuple):
    """How long and where; the same for every contender."""

    warmup: float
    seconds: float
    records: int  # for the rows with a whole client
    directory: Path
    spoken: list[Versions]

    def version(self, api: ApiKey, highest: int = 99) -> int:
        return common_version(api, self.spoken, highest)


class Metric(NamedTuple):
    name: str
    unit: str
    more_is_better: bool = True
    goal: str = ""


class Row(NamedTuple):
    title: str
    metrics: list[Metric]
    measure: Callable[[Contender, Plan], dict[str, float]]


def _run(broker: Running, plan: Plan, groups: list[Group]) -> dict[str, GroupResult]:
    return run(broker.address, groups, warmup=plan.warmup, seconds=plan.seconds, directory=plan.directory)


def prepared_produce(broker: Running, plan: Plan, size: int) -> Frame:
    with Conversation(broker.address) as conversation:
        conversation.topic(TOPIC, plan.version(ApiKey.METADATA))
    return produce_frame(TOPIC, size, plan.version(ApiKey.PRODUCE, PRODUCE_BY_NAME))


def produce(size: int) -> Callable[[Contender, Plan], dict[str, float]]:
    def measure(contender: Contender, plan: Plan) -> dict[str, float]:
        with contender.run(fresh(plan.directory / "data")) as broker:
            frame = prepared_produce(broker, plan, size)
            before = broker.cpu_seconds()
            result = _run(broker, plan, [Group("produce", frame, depth=5)])["produce"]
            cpu = broker.cpu_seconds() - before
        gigabytes = result.acknowledged_mb_s * (plan.seconds + plan.warmup) / 1000
        return {"MB/s": result.acknowledged_mb_s, "CPU s/GB": cpu / gigabytes, "p99": result.p99_us}

    return measure


def one_record_requests(contender: Contender, plan: Plan) -> dict[str, float]:
    with contender.run(fresh(plan.directory / "data")) as broker:
        frame = prepared_produce(broker, plan, 0)
        before = broker.cpu_seconds()
        result = _run(broker, plan, [Group("one", frame, connections=50)])["one"]
        cpu = broker.cpu_seconds() - before
    requests = result.per_second * (plan.seconds + plan.warmup)
    return {"requests/s": result.per_second, "CPU/request": cpu / requests * 1e6, "p99": result.p99_us}


def fetch(contender: Contender, plan: Plan) -> dict[str, float]:
    """Three batches of 1 MiB, over and over: more than a mock keeps could not be compared."""
    with contender.run(fresh(plan.directory / "data")) as broker:
        filling = prepared_produce(broker, plan, MIB - 100)
        with Conversation(broker.address) as conversation:
            topic_id = conversation.topic(TOPIC, plan.version(ApiKey.METADATA))
            for _ in range(3):
                conversation.send(filling.data)
        frame = fetch_frame(TOPIC, topic_id, MIB, plan.version(ApiKey.FETCH))
        group = Group(
            "fetch", frame, depth=2, stride=filling.records, last=2 * filling.records, at_least=len(filling.data) - 1000
        )
        before = broker.cpu_seconds()
        result = _run(broker, plan, [group])["fetch"]
        cpu = broker.cpu_seconds() - before
    gigabytes = result.received_mb_s * (plan.seconds + plan.warmup) / 1000
    return {"MB/s": result.received_mb_s, "CPU s/GB": cpu / gigabytes}


def small_request(bulk_streams: int) -> Callable[[Contender, Plan], dict[str, float]]:
    def measure(contender: Contender, plan: Plan) -> dict[str, float]:
        with contender.run(fresh(plan.directory / "data")) as broker:
            groups = [Group("small", prepared_produce(broker, plan, 0))]
            if bulk_streams:
                groups.append(Group("bulk", prepared_produce(broker, plan, MIB), connections=bulk_streams, depth=2))
            results = _run(broker, plan, groups)
        small = results["small"]
        found = {"p50": small.p50_us, "p99": small.p99_us}
        return found | {"bulk MB/s": results["bulk"].acknowledged_mb_s} if bulk_streams else found

    return measure


def many_connections(contender: Contender, plan: Plan) -> dict[str, float]:
    with contender.run(fresh(plan.directory / "data")) as broker:
        frame = prepared_produce(broker, plan, 0)
        before, _ = broker.memory_mb()
        result = _run(broker, plan, [Group("idle", None, connections=2000), Group("busy", frame, connections=50)])[
            "busy"
        ]
        after, _ = broker.memory_mb()
    return {"requests/s": result.per_second, "p99": result.p99_us, "more memory": after - before}


def start(contender: Contender, plan: Plan) -> dict[str, float]:
    """Twice in the same directory: when it is empty, and when there is a topic with records in it."""
    directory = fresh(plan.directory / "data")
    with contender.run(directory) as broker:
        empty = broker.ready_seconds
        first = acknowledge_one(broker, plan)
        time.sleep(0.3)  # whatever is put off until after the start belongs to the idle node too
        resident, proportional = broker.memory_mb()
    with contender.run(directory) as broker:
        again = broker.ready_seconds
    return {
        "ready, empty": empty * 1000,
        "ready, existing data": again * 1000,
        "first record acknowledged": first * 1000,
        "idle RSS": resident,
        "idle PSS": proportional,
    }


def acknowledge_one(broker: Running, plan: Plan) -> float:
    """Seconds from the start of the process to the first acknowledged record, the topic made on the way."""
    frame = prepared_produce(broker, plan, 0)
    with Conversation(broker.address) as conversation:
        answer = conversation.send(frame.data)
    seconds = time.perf_counter() - broker.started
    version = plan.version(ApiKey.PRODUCE, PRODUCE_BY_NAME)
    (topic,) = read_answer(answer, ProduceResponse, version).responses
    assert topic.partition_responses[0].error_code == 0
    return seconds


def client_produce(contender: Contender, plan: Plan) -> dict[str, float]:
    with contender.run(fresh(plan.directory / "data")) as broker:
        prepared_produce(broker, plan, 0)
        return {"records/s": clients.produce(broker.bootstrap, TOPIC, plan.records)}


def client_consume(contender: Contender, plan: Plan) -> dict[str, float]:
    with contender.run(fresh(plan.directory / "data")) as broker:
        prepared_produce(broker, plan, 0)
        return {"records/s": clients.consume(broker.bootstrap, TOPIC, plan.records)}


def us(name: str, goal: str = "") -> Metric:
    return Metric(name, "us", more_is_better=False, goal=goal)


ROWS = [
    Row(
        "produce 16 KiB, 1 connection, 5 in flight",
        [Metric("MB/s", "MB/s", goal=">= 50 % of the mock"), Metric("CPU s/GB", "s", False), us("p99")],
        produce(16 * KIB),
    ),
    Row(
        "produce 64 KiB, 1 connection, 5 in flight",
        [Metric("MB/s", "MB/s"), Metric("CPU s/GB", "s", False), us("p99")],
        produce(64 * KIB),
    ),
    Row(
        "produce 1 MiB, 1 connection, 5 in flight",
        [Metric("MB/s", "MB/s"), Metric("CPU s/GB", "s", False), us("p99")],
        produce(MIB - 100),
    ),
    Row(
        "produce 1 record per request, 50 connections",
        [Metric("requests/s", "/s", goal=">= 60 % of the mock"), us("CPU/request"), us("p99")],
        one_record_requests,
    ),
    Row(
        "fetch 1 MiB, 1 connection, 2 in flight",
        [Metric("MB/s", "MB/s", goal=">= 1000 MB/s"), Metric("CPU s/GB", "s", False)],
        fetch,
    ),
    Row("a small request alone", [us("p50"), us("p99")], small_request(0)),
    Row(
        "a small request beside two 1 MiB streams",
        [us("p50"), us("p99"), Metric("bulk MB/s", "MB/s")],
        small_request(2),
    ),
    Row(
        "2,000 idle connections and 50 busy ones",
        [Metric("requests/s", "/s"), us("p99"), Metric("more memory", "MB", False)],
        many_connections,
    ),
    Row(
        "start",
        [
            Metric("ready, empty", "ms", False, "< 500 ms"),
            Metric("ready, existing data", "ms", False, "< 500 ms"),
            Metric("first record acknowledged", "ms", False),
            Metric("idle RSS", "MB", False, "< 60 MB"),
            Metric("idle PSS", "MB", False),
        ],
        start,
    ),
    Row("confluent-kafka produces, 100-byte records", [Metric("records/s", "/s")], client_produce),
    Row("confluent-kafka consumes, 100-byte records", [Metric("records/s", "/s")], client_consume),
]
