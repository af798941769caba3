"""Encoding and decoding of three messages, beside kio (decodes in native code) and kafka-python (generated Python).

    python bench/messages.py

Microseconds per message, the best of many rounds, and how many times as long the others take.
"""

from __future__ import annotations

import io
import time
from collections.abc import Callable, Sequence
from importlib import import_module
from typing import Any

from kio.serial import entity_reader, entity_writer

from moldau.protocol.message import Message
from moldau.protocol.messages import fetch, metadata, produce

SECONDS = 0.7
ROUNDS = 5


def metadata_response() -> Message:
    """100 topics of 10 partitions with three replicas."""
    return metadata.MetadataResponse(
        brokers=[metadata.MetadataResponseBroker(node_id=i, host=f"broker-{i}.example", port=9092) for i in range(3)],
        cluster_id="abcdefghijklmnopqrstuv",
        topics=[
            metadata.MetadataResponseTopic(
                name=f"topic-{topic}",
                topic_id=bytes([topic + 1]) * 16,
                partitions=[
                    metadata.MetadataResponsePartition(
                        partition_index=i, leader_id=i % 3, leader_epoch=5, replica_nodes=[0, 1, 2], isr_nodes=[0, 1, 2]
                    )
                    for i in range(10)
                ],
            )
            for topic in range(100)
        ],
    )


def produce_request() -> Message:
    """Four partitions of one topic, 1000 bytes of records each."""
    partitions = [produce.PartitionProduceData(index=i, records=bytes(1000)) for i in range(4)]
    topic = produce.TopicProduceData(name="topic-1", partition_data=partitions)
    return produce.ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[topic])


def fetch_request() -> Message:
    """Ten topics of ten partitions."""
    partitions = [fetch.FetchPartition(partition=i, fetch_offset=1000, partition_max_bytes=2**20) for i in range(10)]
    topics = [fetch.FetchTopic(topic=f"topic-{topic}", partitions=partitions) for topic in range(10)]
    return fetch.FetchRequest(max_wait_ms=500, min_bytes=1, topics=topics)


def microseconds(runs: Sequence[Callable[[], object]]) -> list[float]:
    """The best time of each, taken in turns so that a busy machine is unfair to all of them alike."""
    best = [float("inf")] * len(runs)
    deadline = time.perf_counter() + SECONDS * len(runs)
    while time.perf_counter() < deadline:
        for index, run in enumerate(runs):
            started = time.perf_counter()
            for _ in range(ROUNDS):
                run()
            best[index] = min(best[index], (time.perf_counter() - started) / ROUNDS)
    return [seconds * 1e6 for seconds in best]


def kio_pair(
    name: str, module: str, kind: str, data: bytes, version: int
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    entity = getattr(import_module(f"kio.schema.{module}.v{version}.{kind}"), name)
    read, write = entity_reader(entity), entity_writer(entity)
    value, _ = read(data, 0)

    def encode() -> bytes:
        buffer = io.BytesIO()
        write(buffer, value)
        return buffer.getvalue()

    return encode, lambda: read(data, 0)


def kafka_python_pair(
    name: str, package: str, data: bytes, version: int
) -> tuple[Callable[[], Any], Callable[[], Any]]:
    message = getattr(import_module(f"kafka.protocol.{package}"), name)
    value = message.decode(data, version=version)
    value._header = None  # decoded without one, which its encoder does not expect
    return lambda: value.encode(version=version), lambda: message.decode(data, version=version)


def main() -> None:
    cases = [
        ("metadata", "response", "metadata", metadata_response(), 12),
        ("metadata", "response", "metadata", metadata_response(), 8),
        ("produce", "request", "producer", produce_request(), 9),
        ("produce", "request", "producer", produce_request(), 8),
        ("fetch", "request", "consumer", fetch_request(), 12),
        ("fetch", "request", "consumer", fetch_request(), 11),
    ]
    heading = f"{'':24}{'bytes':>7}"
    for direction in ("encode", "decode"):
        heading += f"  {direction:>10} {'kio':>7} {'kafka-python':>13}"
    print(heading)
    for module, kind, package, message, version in cases:
        print(row(module, kind, package, message, version))


def row(module: str, kind: str, package: str, message: Message, version: int) -> str:
    name, data = type(message).__name__, message.encode(version)
    ours = (lambda: message.encode(version), lambda: type(message).decode(data, version))
    kio = kio_pair(name, module, kind, data, version)
    kafka_python = kafka_python_pair(name, package, data, version)
    assert kio[0]() == kafka_python[0]() == data
    text = f"{name + f' v{version}':24}{len(data):7}"
    for runs in zip(ours, kio, kafka_python, strict=True):
        taken, by_kio, by_kafka_python = microseconds(runs)
        text += f"  {taken:7.1f} us {by_kio / taken:6.1f}x {by_kafka_python / taken:12.1f}x"
    return text


if __name__ == "__main__":
    main()
