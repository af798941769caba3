"""Prometheus itself, from Debian's packages, scrapes a cluster, and answers what dashboards ask."""

from __future__ import annotations

import json
import shutil
import subprocess
import urllib.parse
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from dashboards import DASHBOARDS
from patience import wait_until
from scraping import get
from test_metrics_endpoint import metrics_address

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer
from moldau.admin import NewTopic
from moldau.supervision.layout import hold_ports
from moldau.testing import Cluster

pytestmark = [
    pytest.mark.long,
    pytest.mark.ours_only("Apache Kafka has no such endpoint"),
    pytest.mark.skipif(
        not (shutil.which("prometheus") and shutil.which("promtool")),
        reason="Prometheus is not installed: apt-get install prometheus",
    ),
]

CONFIGURATION = """
global:
  scrape_interval: 1s
  scrape_timeout: 1s
scrape_configs:
  - job_name: kafka
    static_configs:
      - targets: {targets}
"""
# What promtool has against names that are Kafka's, and not ours to choose.
KAFKAS_WAY = ("'camelCase'", '"_count" suffix', "abbreviated units")


class Prometheus:
    def __init__(self, address: str) -> None:
        self._address = address

    def ask(self, path: str, **parameters: str) -> Any:
        query = urllib.parse.urlencode(parameters)
        with urllib.request.urlopen(f"http://{self._address}/api/v1/{path}?{query}", timeout=30) as answer:
            said = json.load(answer)
        assert said["status"] == "success", said
        return said["data"]

    def query(self, expression: str) -> list[Any]:
        found: list[Any] = self.ask("query", query=expression)["result"]
        return found


@contextmanager
def prometheus(directory: Path, targets: list[str]) -> Iterator[Prometheus]:
    directory.mkdir()
    configuration = directory / "prometheus.yml"
    configuration.write_text(CONFIGURATION.format(targets=json.dumps(targets)))
    # Prometheus says nowhere which one it took for port 0.
    address = f"127.0.0.1:{hold_ports(1)[0]}"
    command = ["prometheus", f"--config.file={configuration}", f"--storage.tsdb.path={directory / 'data'}"]
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address={address}"], stdout=log, stderr=log)
    try:

        def is_ready() -> bool:
            assert process.poll() is None, (directory / "log").read_text()
            with suppress(OSError):
                return get(address, "/-/ready")[0] == 200
            return False

        wait_until(is_ready)
        yield Prometheus(address)
    finally:
        process.terminate()
        process.wait(timeout=30)


@pytest.fixture(scope="module")
def watched(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[list[str], Prometheus]]:
    """Addresses of the metrics of three nodes with something to do, and Prometheus, which has seen them for a while."""
    directory = tmp_path_factory.mktemp("watched")
    with Cluster(3, settings={"metrics.listener": "127.0.0.1:0"}, directory=directory) as cluster:
        addresses = [metrics_address(node.directory / "node.log") for node in cluster.nodes]
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("watched", 3, 3)])
        brokers = cluster.bootstrap_servers
        with prometheus(directory / "prometheus", addresses) as server:
            with (
                KafkaProducer(bootstrap_servers=brokers) as producer,
                KafkaConsumer(
                    "watched", bootstrap_servers=brokers, group_id="g", auto_offset_reset="earliest"
                ) as consumer,
            ):

                def has_seen_ten() -> bool:
                    """Scrapes, while records are written and read."""
                    producer.send("watched", b"x" * 100).get(timeout=30)
                    consumer.poll(timeout_ms=200)
                    seen = server.query('count_over_time(up{job="kafka"}[5m])')
                    return len(seen) == 3 and all(float(each["value"][1]) >= 10 for each in seen)

                wait_until(has_seen_ten)
            yield addresses, server


def test_no_scrape_fails(watched: tuple[list[str], Prometheus]):
    addresses, server = watched
    targets = server.ask("targets")["activeTargets"]
    assert sorted(target["discoveredLabels"]["__address__"] for target in targets) == sorted(addresses)
    assert {(target["health"], target["lastError"]) for target in targets} == {("up", "")}
    assert not server.query('min_over_time(up{job="kafka"}[5m]) == 0')
    refused = (
        "prometheus_target_scrapes_sample_duplicate_timestamp_total",
        "prometheus_target_scrapes_sample_out_of_order_total",
    )
    for name in refused:
        assert all(float(each["value"][1]) == 0 for each in server.query(name))


@pytest.mark.parametrize("dashboard", DASHBOARDS)
def test_every_query_of_a_dashboard_finds_a_series(watched: tuple[list[str], Prometheus], dashboard: str):
    _, server = watched
    for name, labels in DASHBOARDS[dashboard]:
        selected = ",".join(f'{label}="{value}"' for label, value in labels.items())
        assert server.query(f"{name}{{{selected}}}"), f"nothing for {name} with {labels}"


def test_rates_follow_what_goes_on(watched: tuple[list[str], Prometheus]):
    _, server = watched
    for name in ("messagesin", "bytesin", "bytesout", "totalproducerequests", "totalfetchrequests"):
        rate = f'sum(rate(kafka_server_brokertopicmetrics_{name}_total{{topic="watched"}}[5m]))'
        assert float(server.query(rate)[0]["value"][1]) > 0, name
    # It asks for OpenMetrics, where families of counters are named without their end.
    described = server.ask("metadata", metric="kafka_server_brokertopicmetrics_bytesin")
    assert next(iter(described.values()))[0]["type"] == "counter"


@pytest.mark.parametrize("accept", ["text/plain", "application/openmetrics-text; version=1.0.0"])
def test_promtool_has_nothing_against_it_but_names_that_are_kafkas(watched: tuple[list[str], Prometheus], accept: str):
    addresses, _ = watched
    for address in addresses:
        text = get(address, "/metrics", Accept=accept)[1].removesuffix("# EOF\n")
        done = subprocess.run(["promtool", "check", "metrics"], input=text, text=True, capture_output=True, check=False)
        # 3 stands for remarks, 1 for what is not understood.
        assert done.returncode in (0, 3), done.stderr
        remarks = [line for line in (done.stdout + done.stderr).splitlines() if line]
        if accept == "text/plain":
            strange = [line for line in remarks if not any(way in line for way in KAFKAS_WAY)]
            assert not strange
            assert not [line for line in remarks if line.startswith("moldau_")]
