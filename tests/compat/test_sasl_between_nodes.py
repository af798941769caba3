"""Three nodes that let nobody in without a login, not even each other: PLAIN at controllers, SCRAM at brokers."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from node_process import MOLDAU
from secured_node import MODULES, kafka_python
from secured_trio import CLUSTER, PATIENCE, SESSION_MS, Trio

from moldau import KafkaAdminClient, KafkaConsumer, KafkaProducer
from moldau.admin import NewTopic
from moldau.supervision.layout import hold_ports

pytestmark = pytest.mark.ours_only("nodes of ours among themselves")


@pytest.fixture(scope="module")
def trio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trio]:
    trio = Trio(tmp_path_factory.mktemp("trio"))
    yield trio
    trio.close()


def test_records_are_replicated_while_logins_are_renewed(trio: Trio) -> None:
    settings = kafka_python(trio.bootstrap, "SCRAM-SHA-512", "jan", "secret")
    with KafkaAdminClient(**settings) as admin:
        admin.create_topics([NewTopic("rivers", 3, 3)])
    sent = 0
    # All replicas have to have each record, so all nodes have to follow all the while.
    with KafkaProducer(**settings, acks="all") as producer:
        end = time.monotonic() + 3 * SESSION_MS / 1000
        while time.monotonic() < end:
            producer.send("rivers", str(sent).encode(), partition=sent % 3).get(PATIENCE)
            sent += 1
            time.sleep(0.02)
    with KafkaConsumer("rivers", **settings, group_id="readers", auto_offset_reset="earliest") as consumer:
        seen = {next(consumer).value for _ in range(sent)}
    assert seen == {str(number).encode() for number in range(sent)}
    with KafkaAdminClient(**settings) as admin:
        (topic,) = admin.describe_topics(["rivers"])
    assert all(len(partition["isr_nodes"]) == 3 for partition in topic["partitions"])
    log = trio.tail()
    assert not any(word in log for word in ("Traceback", "of-nodes", "of-controllers", "did not log in"))


def test_nobody_else_comes_in_where_controllers_meet(trio: Trio, tmp_path: Path) -> None:
    """A node with a wrong password never gets to know the cluster, and says why."""
    ports = hold_ports(1)
    wrong = {
        "process.roles": "broker",
        "node.id": "9",
        "listeners": f"SASL://127.0.0.1:{ports[0]}",
        "listener.security.protocol.map": "SASL:SASL_PLAINTEXT,CONTROLLER:SASL_PLAINTEXT",
        "inter.broker.listener.name": "SASL",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": trio.voters,
        "sasl.enabled.mechanisms": "SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "SCRAM-SHA-512",
        "listener.name.sasl.scram-sha-512.sasl.jaas.config": (
            f'{MODULES}.scram.ScramLoginModule required username="node" password="of-nodes";'
        ),
        "sasl.mechanism.controller.protocol": "PLAIN",
        "listener.name.controller.plain.sasl.jaas.config": (
            f'{MODULES}.plain.PlainLoginModule required username="node" password="guessed";'
        ),
        "initial.broker.registration.timeout.ms": "3000",
    }
    given = [word for name, value in wrong.items() for word in ("--set", f"{name}={value}")]
    done = subprocess.run(
        [str(MOLDAU), "start", "--data", str(tmp_path / "d"), "--cluster-id", CLUSTER, *given],
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 1
    assert "Authentication failed: Invalid username or password" in done.stderr
    assert "could not register" in done.stderr
    assert "guessed" not in done.stderr
