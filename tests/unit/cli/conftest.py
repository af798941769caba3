"""The command, and a broker that is not ours to run it against."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from confluent_kafka import Producer
from moldau_command import RunMoldau, run_moldau


@pytest.fixture
def moldau() -> RunMoldau:
    return run_moldau


@pytest.fixture(scope="module")
def mock_cluster() -> Iterator[str]:
    """librdkafka's mock cluster of three brokers, as bootstrap addresses. Topics appear when they are first written."""
    owner = Producer({"test.mock.num.brokers": 3, "bootstrap.servers": "none", "log_level": 0})
    brokers = owner.list_topics(timeout=10).brokers.values()
    yield ",".join(f"{broker.host}:{broker.port}" for broker in brokers)
    owner.flush(1)
