"""The exactly-once sink against Apache Kafka itself: the same orders of events, the same results.

Needs Java and Kafka's jars; see tests/compat/java_tools.py for where they are looked for.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator
from inspect import signature
from pathlib import Path
from typing import Any

import pytest

sys.path.append(str(Path(__file__).parent.parent / "compat"))

import test_spark_sink_decisions as decisions
from java_tools import ApacheKafka, KafkaTools, find_libs

from moldau import KafkaAdminClient
from moldau.admin import NewTopic

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]

# Those that are given a node; the others start one of their own.
CASES = [
    case
    for name in dir(decisions)
    if name.startswith("test_") and "desk" in signature(case := getattr(decisions, name)).parameters
]
_numbers = itertools.count()


class Address:
    """All that the cases know of a node."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap_servers = bootstrap


@pytest.fixture(scope="module", params=[1, 2], ids=["version-1", "version-2"])
def kafka(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """A broker with each of the two ways Kafka has of beginning and ending transactions."""
    assert isinstance(_libs, Path)
    tools = KafkaTools(_libs)
    broker = ApacheKafka(tools, tmp_path_factory.mktemp("kafka") / "data")
    words = ("--feature", f"transaction.version={request.param}")
    tools.run("StorageTool", "format", "-t", "UJGknZGyd0ra95Lz8JamMg", "-c", str(broker.properties), *words)
    broker.start()
    yield Address(broker.bootstrap)
    broker.kill()


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_against_apache_kafka(kafka: Any, case: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    topic = f"sink-{next(_numbers)}"
    with KafkaAdminClient(bootstrap_servers=kafka.bootstrap_servers) as admin:
        admin.create_topics([NewTopic(topic, 1, 1)])
    desk = decisions.Desk(kafka, topic)
    wanted = {"desk": desk, "monkeypatch": monkeypatch, "tmp_path": tmp_path}
    case(**{name: wanted[name] for name in signature(case).parameters})
