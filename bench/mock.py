"""librdkafka's mock broker in a process of its own: C, memory only, no validation. The ceiling we compare with.

Prints `ready HOST:PORT` as our node does, and lives until it is killed or its parent goes.
"""

from __future__ import annotations

import sys

from confluent_kafka import Producer


def main() -> None:
    producer = Producer({"bootstrap.servers": "mock", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = producer.list_topics(timeout=10).brokers.values()
    print(f"ready {broker.host}:{broker.port}", flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main()
