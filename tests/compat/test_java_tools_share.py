"""Apache Kafka's share consumers and their tools against a node: records shared out, acknowledged, and groups moved.

Needs Java and Kafka's jars of 4.2 or newer; runs in `make compat-java`.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from java_tools import KafkaTools, find_libs

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]


@pytest.fixture(scope="session")
def tools() -> KafkaTools:
    assert isinstance(_libs, Path)
    tools = KafkaTools(_libs)
    if tools.release < (4, 2):
        pytest.skip("share groups came with Kafka 4.2")
    return tools


@pytest.fixture
def at(share_bootstrap: str) -> tuple[str, str]:
    return "--bootstrap-server", share_bootstrap


@pytest.fixture
def filled(tools: KafkaTools, at: tuple[str, str], topic: str) -> str:
    """A topic of three partitions with 300 records, and a share group of its name that begins with the oldest."""
    tools.run("TopicCommand", *at, "--create", "--topic", topic, "--partitions", "3")
    sent = tools.run("VerifiableProducer", *at, "--topic", topic, "--max-messages", "300", "--throughput", "-1")
    assert sent.count("producer_send_success") == 300
    entity = ("--entity-type", "groups", "--entity-name", topic)
    tools.run("ConfigCommand", *at, "--alter", *entity, "--add-config", "share.auto.offset.reset=earliest")
    return topic


@pytest.mark.parametrize("mode", ["auto", "sync", "async"])
def test_the_verifiable_share_consumer(tools: KafkaTools, at: tuple[str, str], filled: str, mode: str) -> None:
    words = ("--topic", filled, "--group-id", filled, "--max-messages", "300", "--acknowledgement-mode", mode)
    said = tools.run("VerifiableShareConsumer", *at, *words).splitlines()
    events = [json.loads(line) for line in said if line.startswith("{")]
    assert sum(event["count"] for event in events if event["name"] == "records_consumed") == 300
    told = [event for event in events if event["name"] == "offsets_acknowledged"]
    assert all(event["success"] for event in told)
    assert sum(event["count"] for event in told) == 300


def test_a_group_from_its_first_record_to_its_deletion(tools: KafkaTools, at: tuple[str, str], filled: str) -> None:
    words = ("--topic", filled, "--group", filled, "--max-messages", "100", "--timeout-ms", "30000")
    printed = tools.run("ConsoleShareConsumer", *at, *words)
    assert len([line for line in printed.splitlines() if line.isdigit()]) == 100

    def command(*more: str) -> str:
        return tools.run("ShareGroupCommand", *at, *more)

    assert re.search(rf"{re.escape(filled)}\s+Empty", command("--list", "--state"))
    assert "Share" in tools.run("GroupsCommand", *at, "--list")
    rows = [line.split() for line in command("--describe", "--group", filled).splitlines()]
    lags = [int(row[4]) for row in rows if row[:2] == [filled, filled]]
    assert sum(lags) == 200
    reset = ("--reset-offsets", "--group", filled, "--topic", filled, "--to-earliest", "--execute")
    command(*reset)
    words = ("--topic", filled, "--group", filled, "--max-messages", "300", "--timeout-ms", "30000")
    printed = tools.run("ConsoleShareConsumer", *at, *words, "--reject")
    assert len([line for line in printed.splitlines() if line.isdigit()]) == 300
    command("--delete-offsets", "--group", filled, "--topic", filled)
    command("--delete", "--group", filled)
    assert filled not in command("--list")


def test_the_one_that_measures(tools: KafkaTools, at: tuple[str, str], filled: str) -> None:
    words = ("--topic", filled, "--group", filled, "--num-records", "300", "--timeout", "30000")
    measured = tools.run("ShareConsumerPerformance", *at, *words)
    assert re.search(r"\b300\b", measured.splitlines()[-1])
