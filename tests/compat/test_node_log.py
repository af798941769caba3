"""What a node's log says: at its start, about requests, to programs; and what clients cannot make it say."""

from __future__ import annotations

import json
import re
import struct
import subprocess
from pathlib import Path
from typing import Any

import pytest
from node_process import MOLDAU, StartNode
from patience import PATIENCE, wait_until
from raw_connection import RawConnection
from transactional_clients import create_topic

from moldau import KafkaConsumer, KafkaProducer, __version__
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.testing import Cluster

pytestmark = pytest.mark.ours_only("the log is our node's")

ENTRY = re.compile(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ moldau[.\w]*: ")
# Whoever read it line by line would believe it, and a terminal would be cleared.
FORGED = "x\n2026-01-01 00:00:00,000 ERROR moldau.storage: forged\r\x1b[2J\u2028\x85"


def moldau(*words: str) -> str:
    return subprocess.run([str(MOLDAU), *words], capture_output=True, text=True, timeout=PATIENCE, check=True).stdout


def request(client_id: str, key: int = 18, version: int = 0, body: bytes = b"") -> bytes:
    name = client_id.encode()
    head = struct.pack(">hhih", key, version, 7, len(name)) + name
    return struct.pack(">i", len(head) + len(body)) + head + body


def provoke(address: tuple[str, int], client_id: str) -> None:
    """A request that is understood, and one that is not: the node closes the connection, and says whose it was."""
    with RawConnection(address) as connection:
        connection.send(request(client_id))
        connection.receive()
        connection.send(request(client_id, key=3, version=1, body=b"\xff"))
        with pytest.raises((ConnectionError, EOFError)):
            connection.receive()


def test_the_start(start_node: StartNode) -> None:
    settings = {"num.partitions": "3", "log.retention.hours": "168", "ssl.keystore.password": "hunter2"}
    node = start_node(settings)
    said = node.log.read_text()
    assert f"moldau {__version__} on CPython" in said
    assert f"data directory {node.data}: new" in said
    assert "setting num.partitions=3" in said
    assert "setting ssl.keystore.password is set, and not shown" in said
    assert "hunter2" not in said
    # As it is by itself.
    assert "log.retention.hours" not in said
    node.restart()
    assert f"data directory {node.data}: the last stop was in order" in node.log.read_text()
    node.kill()
    node.restart()
    assert f"data directory {node.data}: the last stop was not in order" in node.log.read_text()


def test_a_client_cannot_write_the_log(start_node: StartNode) -> None:
    node = start_node()
    provoke(node.address, FORGED)
    wait_until(lambda: "closed the connection" in node.log.read_text())
    text = node.log.read_bytes().decode()
    assert r"(x\n2026-01-01 00:00:00,000 ERROR moldau.storage: forged\r\x1b[2J\u2028\x85)" in text
    assert [line for line in text.splitlines() if not ENTRY.match(line)] == []


def test_lines_of_json(tmp_path: Path) -> None:
    log = tmp_path / "node.log"
    command = [str(MOLDAU), "start", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "d"), "--log-format", "json"]
    with log.open("wb") as written, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=written) as process:
        try:
            assert process.stdout is not None
            host, _, port = process.stdout.readline().decode().removeprefix("ready ").strip().rpartition(":")
            provoke((host, int(port)), FORGED)
            wait_until(lambda: "closed the connection" in log.read_text())
        finally:
            process.terminate()
    entries: list[dict[str, Any]] = [json.loads(line) for line in log.read_bytes().decode().splitlines()]
    assert all(each.keys() >= {"time", "level", "logger", "message"} for each in entries)
    (closed,) = [each for each in entries if "closed the connection" in each["message"]]
    assert closed["client_id"] == FORGED
    assert re.fullmatch(r"127\.0\.0\.1:\d+", closed["connection"])
    assert (closed["listener"], closed["api"], closed["level"]) == ("PLAINTEXT", "METADATA", "WARNING")
    assert closed["principal"] == "User:ANONYMOUS"


def test_levels_while_it_runs(start_node: StartNode, topic: str) -> None:
    node = start_node()
    create_topic(node.bootstrap, topic, 1)
    at = ("--broker-logger", "1", "-b", node.bootstrap)
    assert "moldau.coordinator: " not in node.log.read_text()
    assert "moldau.coordinator = DEBUG" in moldau("configs", "set", *at, "moldau.coordinator=DEBUG")
    levels = {each["name"]: each["value"] for each in json.loads(moldau("configs", "describe", "--json", *at))}
    assert levels["moldau.coordinator"] == "DEBUG"
    assert levels["moldau.server"] == "INFO"
    with KafkaConsumer(topic, bootstrap_servers=node.bootstrap, group_id="g") as consumer:
        consumer.poll(timeout_ms=20_000)
    wait_until(lambda: "DEBUG moldau.coordinator: " in node.log.read_text())
    moldau("configs", "unset", *at, "moldau.coordinator")
    levels = {each["name"]: each["value"] for each in json.loads(moldau("configs", "describe", "--json", *at))}
    assert levels["moldau.coordinator"] == "INFO"
    wrong = subprocess.run(
        [str(MOLDAU), "configs", "set", *at, "moldau.coordinator=LOUD"], capture_output=True, text=True, check=False
    )
    assert wrong.returncode == 1
    assert "A logger's level is one of" in wrong.stderr


def test_a_request_that_took_long_is_told_with_what_it_waited_for(topic: str) -> None:
    settings = {"slow.request.log.ms": "300", "replica.lag.time.max.ms": "4000"}
    slow = re.compile(
        r"PRODUCE version \d+ from 127.0.0.1:\d+ \(patient\) was answered after \d{3,} ms: "
        "it waited for replicas in sync or for the disk\n"
    )
    with Cluster(nodes=3, settings=settings) as cluster:
        with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
            wanted = NewTopic(topic, replica_assignments={0: [1, 2]}, topic_configs={"min.insync.replicas": "1"})
            admin.create_topics([wanted], wait_for_metadata=True)
        leader = cluster.leader_of(topic)
        log = leader.directory / "node.log"
        other = next(node for node in cluster.nodes if node.id in (1, 2) and node is not leader)
        with KafkaProducer(
            bootstrap_servers=cluster.bootstrap_servers, acks="all", client_id="patient", request_timeout_ms=100_000
        ) as producer:
            other.pause()
            try:
                # Until the leader no longer counts on the other one.
                producer.send(topic, b"patience").get(PATIENCE)
            finally:
                other.resume()
        wait_until(lambda: slow.search(log.read_text()) is not None)
