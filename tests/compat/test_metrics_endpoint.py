"""`/metrics`, `/live` and `/ready` of nodes in processes of their own."""

from __future__ import annotations

import gzip
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from dashboards import DASHBOARDS
from node_process import StartNode
from patience import wait_until
from scraping import get, metrics_address, parse, scrape, value

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer, KafkaShareConsumer, TopicPartition
from moldau.admin import NewTopic
from moldau.errors import KafkaError
from moldau.testing import Cluster

pytestmark = pytest.mark.ours_only("Apache Kafka has no such endpoint")


def test_a_node_tells_of_itself(start_node: StartNode):
    node = start_node({"metrics.listener": "127.0.0.1:0"})
    address = metrics_address(node.log)
    assert get(address, "/live")[:2] == (200, "The node is alive.\n")
    assert get(address, "/ready")[:2] == (200, "The node is ready.\n")
    assert get(address, "/")[0] == 404
    with KafkaProducer(bootstrap_servers=node.bootstrap) as producer:
        for _ in range(10):
            producer.send("counted", b"x", partition=0).get(timeout=30)
        samples = scrape(address)
    assert value(samples, "kafka_server_kafkaserver_brokerstate") == 3
    assert value(samples, "kafka_log_log_logendoffset", topic="counted", partition="0") == 10
    assert value(samples, "kafka_log_log_size", topic="counted") > 0
    assert value(samples, "kafka_server_replicamanager_leadercount") == 1
    assert value(samples, "kafka_controller_kafkacontroller_activecontrollercount") == 1
    assert value(samples, "kafka_server_raftmetrics_current_state", current_state="leader") == 1
    assert value(samples, "kafka_server_socket_server_metrics_connection_count") >= 1
    assert value(samples, "process_open_fds") > 5


def test_openmetrics_and_packed_answers_say_the_same(start_node: StartNode):
    node = start_node({"metrics.listener": "127.0.0.1:0"})
    address = metrics_address(node.log)
    _, plain, headers = get(address, "/metrics")
    assert headers["Content-Type"].startswith("text/plain; version=0.0.4")
    _, other, headers = get(address, "/metrics", Accept="application/openmetrics-text;version=1.0.0,text/plain;q=0.5")
    assert headers["Content-Type"].startswith("application/openmetrics-text; version=1.0.0")
    assert other.endswith("# EOF\n")
    assert parse(other).keys() == parse(plain).keys()
    host, port = address.split(":")
    with socket.create_connection((host, int(port))) as client:
        client.sendall(b"GET /metrics HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n")
        packed = b"".join(iter(lambda: client.recv(1 << 16), b""))
    assert parse(gzip.decompress(packed.partition(b"\r\n\r\n")[2]).decode()).keys() == parse(plain).keys()


def test_a_node_that_finds_no_controllers_is_alive_and_not_ready(tmp_path: Path):
    with Cluster(3, settings={"metrics.listener": "127.0.0.1:0"}, directory=tmp_path) as cluster:
        first = cluster.nodes[0]
        address = metrics_address(first.directory / "node.log")
        assert get(address, "/ready")[0] == 200
        for other in first.others:
            other.kill()

        def is_not_ready() -> bool:
            status, said, _ = get(address, "/ready")
            return status == 503 and "No controller has answered" in said

        wait_until(is_not_ready)
        assert get(address, "/live")[0] == 200


def test_replicas_that_are_missing_show(tmp_path: Path):
    with Cluster(3, settings={"metrics.listener": "127.0.0.1:0"}, directory=tmp_path) as cluster:
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("watched", 6, 3)])
        logs = [node.directory / "node.log" for node in cluster.nodes]

        def led() -> float:
            return sum(value(scrape(metrics_address(log)), "kafka_server_replicamanager_leadercount") for log in logs)

        wait_until(lambda: led() == 6)
        lost = next(node for node in cluster.nodes if node is not cluster.controller)
        lost.kill()
        logs.remove(lost.directory / "node.log")

        def missing(name: str) -> float:
            return sum(value(scrape(metrics_address(log)), name) for log in logs)

        wait_until(lambda: missing("kafka_server_replicamanager_underreplicatedpartitions") == 6)
        assert missing("kafka_cluster_partition_underreplicated") == 6
        assert missing("kafka_server_replicamanager_atminisrpartitioncount") == 6
        assert missing("kafka_controller_kafkacontroller_activecontrollercount") == 1
        controllers = [scrape(metrics_address(log)) for log in logs]
        assert max(value(each, "kafka_controller_kafkacontroller_fencedbrokercount") for each in controllers) == 1


def test_what_clients_do_is_counted_and_timed(start_node: StartNode):
    node = start_node({"metrics.listener": "127.0.0.1:0", "message.max.bytes": "5000"})
    address = metrics_address(node.log)
    topic = "kafka_server_brokertopicmetrics_"
    with KafkaProducer(bootstrap_servers=node.bootstrap, linger_ms=0, enable_idempotence=False) as producer:
        for _ in range(100):
            producer.send("counted", b"x" * 100, partition=0).get(timeout=30)
        with pytest.raises(KafkaError):
            producer.send("counted", b"x" * 6000, partition=0).get(timeout=30)
        samples = scrape(address)
        assert value(samples, topic + "messagesin_total", topic="counted") == 100
        assert value(samples, topic + "totalproducerequests_total", topic="counted") == 101
        assert value(samples, topic + "failedproducerequests_total", topic="counted") == 1
        assert value(samples, topic + "bytesin_total", topic="counted") == value(samples, "kafka_log_log_size")
        assert value(samples, topic + "bytesout_total", topic="counted") == 0
        assert value(samples, "kafka_network_requestmetrics_requests_total", request="Produce") == 101
    with KafkaConsumer(bootstrap_servers=node.bootstrap, group_id="readers", auto_offset_reset="earliest") as consumer:
        consumer.assign([TopicPartition("counted", 0)])
        found = 0
        while found < 100:
            found += sum(map(len, consumer.poll(timeout_ms=1000).values()))
        consumer.commit()
        before = samples
        samples = scrape(address)
    assert value(samples, topic + "bytesout_total", topic="counted") == value(
        before, "kafka_log_log_size", topic="counted"
    )
    assert value(samples, topic + "totalfetchrequests_total", topic="counted") >= 1
    requests = "kafka_network_requestmetrics_requests_total"
    assert value(samples, requests, request="FetchConsumer") == value(samples, requests, request="Fetch") >= 1
    assert value(samples, requests, request="OffsetCommit") == 1
    for part in ("requestqueue", "local", "remote", "responsequeue", "responsesend", "total"):
        name = f"kafka_network_requestmetrics_{part}timems"
        assert value(samples, name + "_count", request="Produce") == 101
    spent = "kafka_network_requestmetrics_totaltimems"
    assert 0 < value(samples, spent, request="Produce", quantile="0.50") < 30_000
    assert 0 < value(samples, spent, request="Metadata", quantile="0.999") < 30_000
    sockets = "kafka_server_socket_server_metrics_connection_"
    open_now = value(samples, sockets + "creation_total") - value(samples, sockets + "close_total")
    assert open_now == value(samples, sockets + "count")


def test_a_consumer_that_waits_is_seen_to(start_node: StartNode):
    """The time of a fetch that finds nothing is the time for which it waits, and none of it is work."""
    node = start_node({"metrics.listener": "127.0.0.1:0"})
    address = metrics_address(node.log)
    with KafkaProducer(bootstrap_servers=node.bootstrap) as producer:
        producer.send("silent", b"x", partition=0).get(timeout=30)
    waits = {"fetch_max_wait_ms": 300, "auto_offset_reset": "latest"}
    with KafkaConsumer(bootstrap_servers=node.bootstrap, **waits) as consumer:
        consumer.assign([TopicPartition("silent", 0)])

        def has_waited() -> bool:
            assert not consumer.poll(timeout_ms=100)
            samples = scrape(address)
            names = ("kafka_network_requestmetrics_remotetimems", "kafka_network_requestmetrics_totaltimems")
            return all(value(samples, name, request="FetchConsumer", quantile="0.999") >= 300 for name in names)

        wait_until(has_waited)
        worked = value(scrape(address), "kafka_network_requestmetrics_localtimems", request="Fetch", quantile="0.50")
        assert worked < 300


def test_public_dashboards_find_their_series(tmp_path: Path):
    with Cluster(3, settings={"metrics.listener": "127.0.0.1:0"}, directory=tmp_path) as cluster:
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
            admin.create_topics([NewTopic("watched", 3, 3)])
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            producer.send("watched", b"x", partition=0).get(timeout=30)
        nodes = [scrape(metrics_address(node.directory / "node.log")) for node in cluster.nodes]
    for dashboard, queries in DASHBOARDS.items():
        missing = [
            (name, labels)
            for name, labels in queries
            if not any(labels.items() <= found.items() for samples in nodes for found, _ in samples[name])
        ]
        assert not missing, f"{dashboard} finds nothing for {missing}"


def test_share_groups_and_quotas_show(start_node: StartNode):
    node = start_node({"metrics.listener": "127.0.0.1:0"})
    address = metrics_address(node.log)
    quota = ["quotas", "set", "--client-id", "limited", "producer_byte_rate=50000000", "-b", node.bootstrap]
    subprocess.run([sys.executable, "-m", "moldau", *quota], check=True, capture_output=True)
    with (
        KafkaProducer(bootstrap_servers=node.bootstrap, client_id="limited") as producer,
        KafkaShareConsumer("shared", bootstrap_servers=node.bootstrap, group_id="packers") as consumer,
    ):
        producer.send("shared", b"x", partition=0).get(timeout=30)

        def has_read() -> bool:
            producer.send("shared", b"x", partition=0).get(timeout=30)
            return bool(consumer.poll(timeout_ms=200))

        wait_until(has_read)
        samples = scrape(address)
        place = {"group": "packers", "topic": "shared", "partition": "0"}
        assert value(samples, "kafka_server_sharepartitionmetrics_inflightmessagecount", **place) >= 1
        assert value(samples, "kafka_server_sharepartitionmetrics_inflightbatchcount", **place) >= 1
        assert value(samples, "kafka_server_sharesessioncache_sharesessionscount") == 1
        assert value(samples, "kafka_server_group_coordinator_metrics_share_group_count", state="Stable") == 1
        limited = {"resource": "Produce", "user": "", "clientId": "limited"}
        assert value(samples, "moldau_quota_bound", **limited) == 50_000_000
        assert value(samples, "kafka_server_quota_byte_rate", **limited) > 0
