"""Quotas as clients meet them that are not ours: told to wait, and served again; others are not slowed."""

from __future__ import annotations

import socket
from collections.abc import Callable

from confluent_kafka import Consumer, Producer, TopicPartition
from node_process import StartNode

from moldau.client.admin.quotas import QuotaChange, alter_client_quotas
from moldau.client.cluster import Cluster

VALUE = bytes(10_000)


def limit(bootstrap: str, entity: dict[str, str | None], **values: float) -> None:
    with Cluster(bootstrap) as cluster:
        assert cluster.run(alter_client_quotas([QuotaChange(entity, values)])) == [None]


def produced(bootstrap: str, client_id: str, records: int, told: Callable[[object], None]) -> int:
    """How many were acknowledged; what the broker says of waiting is told."""
    acknowledged = 0

    def delivered(error: object, _message: object) -> None:
        nonlocal acknowledged
        acknowledged += error is None

    producer = Producer({"bootstrap.servers": bootstrap, "client.id": client_id, "linger.ms": 0, "throttle_cb": told})
    for _ in range(records):
        producer.produce("rivers", VALUE, partition=0, on_delivery=delivered)
        producer.flush(30)
    producer.poll(0)
    return acknowledged


def test_a_producer_is_told_to_wait_and_another_one_is_not(start_node: StartNode) -> None:
    bootstrap = start_node({}).bootstrap
    limit(bootstrap, {"client-id": "slow"}, producer_byte_rate=20_000)
    told: dict[str, list[object]] = {"slow": [], "fast": []}
    for client_id, events in told.items():
        assert produced(bootstrap, client_id, 8, events.append) == 8
    assert told["slow"]
    assert not told["fast"]


def test_a_consumer_is_told_to_wait_and_reads_everything(start_node: StartNode) -> None:
    bootstrap = start_node({}).bootstrap
    produced(bootstrap, "any", 10, lambda event: None)
    limit(bootstrap, {"user": None, "client-id": "slow"}, consumer_byte_rate=30_000)
    for client_id, waits in (("slow", True), ("fast", False)):
        told: list[object] = []
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "client.id": client_id,
                "group.id": client_id,
                "throttle_cb": told.append,
            }
        )
        consumer.assign([TopicPartition("rivers", 0, 0)])
        found = 0
        while found < 10:
            found += len(consumer.consume(10, 1.0))
        consumer.close()
        assert bool(told) is waits


def test_an_address_above_its_rate_is_turned_away_and_comes_back(start_node: StartNode) -> None:
    bootstrap = start_node({}).bootstrap
    limit(bootstrap, {"ip": "127.0.0.2"}, connection_creation_rate=1)
    host, port = bootstrap.split(":")

    def is_taken() -> bool:
        with socket.create_connection((host, int(port)), source_address=("127.0.0.2", 0)) as connected:
            connected.settimeout(30)
            # ApiVersions, version 0.
            connected.sendall(b"\0\0\0\x0a\0\x12\0\0\0\0\0\x01\xff\xff")
            return connected.recv(4) != b""

    answers = [is_taken() for _ in range(3)]
    assert answers[0]
    assert not all(answers)
    # Whoever was turned away was kept until his turn would have come.
    assert is_taken() or is_taken()
    assert produced(bootstrap, "elsewhere", 1, lambda event: None) == 1
