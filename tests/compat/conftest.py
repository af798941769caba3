"""Fixtures of the compatibility tests: a node in its own process, and the real clients pointed at it.

MOLDAU_COMPAT_BROKER=kafka starts an Apache Kafka instead (`make compat-kafka`), and MOLDAU_COMPAT_BOOTSTRAP=HOST:PORT
points the clients at a broker that runs already: what the tests say about clients must hold there too. A test that can
hold for our node only is marked `ours_only` with the reason.
"""

from __future__ import annotations

import gc
import os
import re
from collections.abc import Generator, Iterator, Mapping
from itertools import count
from pathlib import Path

import pytest
from java_tools import ApacheKafka, KafkaTools, find_libs
from node_process import NodeProcess, StartNode

from clients import CLIENTS, Client

ON_KAFKA = os.environ.get("MOLDAU_COMPAT_BROKER") == "kafka"
ELSEWHERE = os.environ.get("MOLDAU_COMPAT_BOOTSTRAP")

_running: list[NodeProcess] = []
_numbers = count(1)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed test shows what the nodes logged."""
    report = yield
    if report.failed:
        for node in _running:
            report.sections.append((f"log of the node at {node.bootstrap}", node.log_tail()))
    return report


# Many tests write records of 1970, which the first look for what is too old would take away, sooner or later.
NO_RETENTION = dict.fromkeys(("log.initial.task.delay.ms", "log.retention.check.interval.ms"), str(24 * 3_600_000))


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "ours_only(reason): holds for our own node alone")
    config.addinivalue_line("markers", "kafka: starts an Apache Kafka by itself; runs in `make compat-kafka`")


def pytest_runtest_setup(item: pytest.Item) -> None:
    marker = item.get_closest_marker("ours_only")
    if marker is not None and (ON_KAFKA or ELSEWHERE):
        pytest.skip(f"for our own node only: {marker.args[0]}")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Clients that were not written here may leave a socket to the collector; that is theirs to mend."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"))


@pytest.fixture(scope="module", autouse=True)
def collect_what_clients_left() -> Iterator[None]:
    """Within the tests of clients, so that no other test is blamed for it later."""
    yield
    gc.collect()


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[NodeProcess]:
    """One node for all tests that only add topics of their own."""
    node = NodeProcess(tmp_path_factory.mktemp("node") / "data", NO_RETENTION)
    _running.append(node)
    yield node
    _running.remove(node)
    node.kill()


@pytest.fixture
def start_node(tmp_path: Path) -> Iterator[StartNode]:
    """Starts nodes that a test may stop, kill and restart: start_node(settings)."""
    mine: list[NodeProcess] = []

    def start(settings: Mapping[str, str] | None = None) -> NodeProcess:
        node = NodeProcess(tmp_path / f"data{len(mine)}", settings)
        mine.append(node)
        _running.append(node)
        return node

    yield start
    for node in mine:
        _running.remove(node)
        node.kill()


@pytest.fixture(scope="session")
def apache_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApacheKafka]:
    """As our own test clusters are set: groups begin at once, and the broker's own topics are small."""
    libs = find_libs()
    if isinstance(libs, str):
        pytest.skip(libs)
    settings = {
        "group.initial.rebalance.delay.ms": "0",
        "offsets.topic.num.partitions": "4",
        "transaction.state.log.num.partitions": "4",
        **NO_RETENTION,
    }
    kafka = ApacheKafka(KafkaTools(libs), tmp_path_factory.mktemp("kafka") / "data", settings)
    kafka.format("compatibilitycompatibi")
    kafka.start()
    yield kafka
    kafka.kill()


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> str:
    if ELSEWHERE:
        return ELSEWHERE
    node: NodeProcess | ApacheKafka = request.getfixturevalue("apache_kafka" if ON_KAFKA else "broker")
    return node.bootstrap


# Share groups: locks that a test can wait for, and members that are missed soon.
SHARE_GROUPS = {
    "group.share.min.record.lock.duration.ms": "1000",
    "group.share.min.heartbeat.interval.ms": "200",
    "group.share.heartbeat.interval.ms": "500",
    "group.share.min.session.timeout.ms": "2000",
    "group.share.session.timeout.ms": "6000",
    "share.coordinator.state.topic.num.partitions": "3",
}


@pytest.fixture(scope="session")
def share_bootstrap(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker with share groups, for all tests of these."""
    if ELSEWHERE:
        yield ELSEWHERE
        return
    node: NodeProcess | ApacheKafka
    if ON_KAFKA:
        libs = find_libs()
        if isinstance(libs, str):
            pytest.skip(libs)
        one = dict.fromkeys(
            (f"share.coordinator.state.topic.{name}" for name in ("replication.factor", "min.isr")), "1"
        )
        settings = {"group.initial.rebalance.delay.ms": "0", "offsets.topic.num.partitions": "4"}
        settings |= {"transaction.state.log.num.partitions": "4", **NO_RETENTION, **SHARE_GROUPS, **one}
        node = ApacheKafka(KafkaTools(libs), tmp_path_factory.mktemp("kafka-share") / "data", settings)
        node.format("compatibilitycompatibi", alone=True)
        node.start()
        yield node.bootstrap
        node.kill()
        return
    settings = {"group.initial.rebalance.delay.ms": "0", **NO_RETENTION, **SHARE_GROUPS}
    node = NodeProcess(tmp_path_factory.mktemp("share") / "data", settings)
    _running.append(node)
    yield node.bootstrap
    _running.remove(node)
    node.kill()


@pytest.fixture(params=CLIENTS, ids=lambda kind: kind.name)
def client(request: pytest.FixtureRequest, bootstrap: str) -> Client:
    """Each client in turn. A test that needs more of it says so: see `offering` in clients."""
    kind: type[Client] = request.param
    missing = kind.unavailable()
    if missing:
        pytest.skip(missing)
    return kind(bootstrap)


@pytest.fixture
def topic(request: pytest.FixtureRequest) -> str:
    """A name nobody else uses."""
    readable = re.sub(r"[^A-Za-z0-9]+", "-", request.node.name.removeprefix("test_")).strip("-")
    return f"{readable[:80]}-{os.getpid()}-{next(_numbers)}"
