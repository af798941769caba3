"""One cluster of three nodes, one console and one browser for all tests of this directory."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from chromium import Browser
from console_process import ConsoleProcess
from program import Program

from chaos.apache_cluster import KafkaCluster
from moldau import KafkaAdminClient, KafkaProducer
from moldau.testing import Cluster

SETTINGS = {
    # Without verification a write can be made that no coordinator knows of: a transaction that hangs.
    "transaction.partition.verification.enable": "false",
    # Rules are kept, and do not concern those who ask here.
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS;User:root",
}


class Elsewhere(NamedTuple):
    """A cluster that was there before: MOLDAU_COMPAT_BOOTSTRAP=HOST:PORT points at it."""

    bootstrap_servers: str


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster | Elsewhere]:
    if "MOLDAU_COMPAT_BOOTSTRAP" in os.environ:
        yield Elsewhere(os.environ["MOLDAU_COMPAT_BOOTSTRAP"])
        return
    # MOLDAU_COMPAT_BROKER=kafka starts three nodes of Apache Kafka instead (`make compat-console`).
    kind = KafkaCluster if os.environ.get("MOLDAU_COMPAT_BROKER") == "kafka" else Cluster
    with kind(nodes=3, settings=SETTINGS) as cluster:
        yield cluster


@pytest.fixture(scope="session")
def admin(cluster: Cluster) -> Iterator[KafkaAdminClient]:
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        yield admin


@pytest.fixture(scope="session")
def producer(cluster: Cluster) -> Iterator[KafkaProducer]:
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        yield producer


@pytest.fixture(scope="session")
def console(cluster: Cluster) -> Iterator[ConsoleProcess]:
    with ConsoleProcess(cluster.bootstrap_servers) as console:
        yield console


@pytest.fixture(scope="session")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    browser = Browser(Path(tmp_path_factory.mktemp("chromium")))
    yield browser
    browser.close()


@pytest.fixture
def browser(chromium: Browser, console: ConsoleProcess) -> Iterator[Browser]:
    """At the console; afterwards the browser must have had nothing to complain about."""
    chromium.base = console.address
    yield chromium
    chromium.size(1280, 900)
    assert chromium.complaints() == []


@pytest.fixture
def program(console: ConsoleProcess) -> Program:
    return Program(console.address)
