"""What a test waits for: a cluster is asked for, a client connects, one record is acknowledged, everything goes away.

Each time in a Python of its own, which is started before the clock is. Ours is `with Cluster()`; for librdkafka's mock
it is the client's own setting, and for Apache Kafka a node and confluent-kafka.

    python -m bench.cluster_start moldau           prints the seconds
"""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

from bench.contenders import Contender, fresh

DIRECTORY = Path("build/bench/cluster")


def with_moldau() -> float:
    from moldau import KafkaProducer
    from moldau.testing import Cluster

    began = time.perf_counter()
    with Cluster() as cluster, KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        producer.send("first", b"record").get(30)
        return time.perf_counter() - began


def with_mock() -> float:
    from confluent_kafka import Producer

    began = time.perf_counter()
    producer = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    producer.produce("first", b"record")
    if producer.flush(30):
        raise TimeoutError("the record was not acknowledged")
    return time.perf_counter() - began


def with_broker(contender: Contender) -> float:
    from confluent_kafka import Producer

    with contender.run(fresh(DIRECTORY)) as broker:
        producer = Producer({"bootstrap.servers": broker.bootstrap, "log_level": 0})
        producer.produce("first", b"record")
        if producer.flush(60):
            raise TimeoutError("the record was not acknowledged")
        return time.perf_counter() - broker.started


def seconds(contender: Contender) -> float:
    if contender.name not in ("moldau", "mock"):
        return with_broker(contender)
    command = [sys.executable, "-m", "bench.cluster_start", contender.name]
    return float(subprocess.run(command, capture_output=True, text=True, check=True, timeout=120).stdout)


if __name__ == "__main__":
    print(with_moldau() if sys.argv[1] == "moldau" else with_mock())
