"""The same brokers under programs we did not write: confluent-kafka, kcat, and Kafka's own programs for measuring."""

from __future__ import annotations

from collections.abc import Callable

from bench import clients
from bench.apache_kafka import Kafka, KafkaTools
from bench.contenders import Contender, Running
from bench.results import Metric
from bench.rows.row import P99, RECORDS_S, Measure, Plan, Row, topic

CHAPTER = "With tools we did not write"
# How many times what a mock keeps of a topic is read in one pass from those that keep all.
PASS = 8


def confluent_produce(size: int) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        with topic(broker, clients.PARTITIONS) as name:
            return {"records/s": clients.produce(broker.bootstrap, name, _count(plan, size), size)}

    return measure


def confluent_consume(size: int) -> Measure:
    def measure(contender: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        count, there = _count(plan, size), clients.kept(size)
        if contender.durable:
            # A pass through what a mock keeps is over in 50 ms, which says more of the moment than of the broker.
            there = max(there, min(PASS * there, count // 2))
        with topic(broker, clients.PARTITIONS) as name:
            return {"records/s": clients.consume(broker.bootstrap, name, count, size, there)}

    return measure


def kcat_both(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    count = min(plan.records // 2, clients.kept(100) // 2)
    with topic(broker, clients.PARTITIONS) as name:
        sent = clients.kcat_produce(broker.bootstrap, name, count, 100, plan.directory)
        return {"produced": sent, "consumed": clients.kcat_consume(broker.bootstrap, name, count)}


def _count(plan: Plan, size: int) -> int:
    return plan.records if size == 100 else plan.records // 4


# Kafka's programs need its jars; the list is filled by the run that has them.
kafka_tools: list[KafkaTools] = []


def use_tools_of(kafka: Kafka) -> None:
    kafka_tools[:] = [kafka.tools]


def java_produce(size: int, codec: str) -> Measure:
    def measure(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
        (tools,) = kafka_tools
        with topic(broker, clients.PARTITIONS) as name:
            settings = ("acks=all", f"compression.type={codec}")
            return tools.produce(broker.bootstrap, name, _count(plan, size), size, *settings)

    return measure


def java_consume(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    (tools,) = kafka_tools
    with topic(broker, clients.PARTITIONS) as name:
        clients.produce(broker.bootstrap, name, plan.records, 100)
        return tools.consume(broker.bootstrap, name, plan.records)


def java_end_to_end(_: Contender, broker: Running, plan: Plan) -> dict[str, float]:
    (tools,) = kafka_tools
    with topic(broker) as name:
        return tools.end_to_end(broker.bootstrap, name, int(plan.seconds * 2000))


def row(
    title: str, metrics: list[Metric], measure: Measure, cost: float, unable: Callable[[Contender], str] | None = None
) -> Row:
    kafka = title.startswith("Kafka's")
    return Row(CHAPTER, title, metrics, measure, cost=cost, most=3, unable=unable or (lambda _: ""), needs_kafka=kafka)


def speaks_java(contender: Contender) -> str:
    return "" if contender.durable else "does not come to terms with Kafka's Java clients: they wait without end"


def without_kcat(_: Contender) -> str:
    return "" if clients.has_kcat() else "kcat is not installed (on Debian: apt-get install kcat)"


ROWS = [
    row("confluent-kafka produces, 100 B", [RECORDS_S], confluent_produce(100), 0.5),
    row("confluent-kafka produces, 1 KB", [RECORDS_S], confluent_produce(1000), 0.5),
    row("confluent-kafka consumes, 100 B", [RECORDS_S], confluent_consume(100), 1.0),
    row("confluent-kafka consumes, 1 KB", [RECORDS_S], confluent_consume(1000), 1.0),
    row(
        "kcat produces and consumes, 100 B",
        [Metric("produced", "/s"), Metric("consumed", "/s")],
        kcat_both,
        1.0,
        without_kcat,
    ),
    row("Kafka's kafka-producer-perf-test, 100 B", [RECORDS_S, P99], java_produce(100, "none"), 3.0, speaks_java),
    row("Kafka's kafka-producer-perf-test, 1 KB", [RECORDS_S, P99], java_produce(1000, "none"), 3.0, speaks_java),
    row("Kafka's kafka-producer-perf-test, 1 KB, lz4", [RECORDS_S, P99], java_produce(1000, "lz4"), 3.0, speaks_java),
    row(
        "Kafka's kafka-consumer-perf-test, 100 B",
        [RECORDS_S, Metric("MB/s", "MB/s")],
        java_consume,
        4.0,
        speaks_java,
    ),
    row(
        "Kafka's kafka-e2e-latency, 100 B",
        [Metric("mean", "us", False), P99],
        java_end_to_end,
        4.0,
        speaks_java,
    ),
]
