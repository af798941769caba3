"""A real broker to talk to that is not ours: librdkafka's mock cluster, in C, in this process."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer


@pytest.fixture(scope="module")
def mock_cluster() -> Iterator[str]:
    """The bootstrap addresses of three brokers. Topics appear when they are first written, with four partitions."""
    owner = Producer({"test.mock.num.brokers": 3, "bootstrap.servers": "none", "log_level": 0})
    brokers = owner.list_topics(timeout=10).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    owner.flush(1)
