"""The commands that look after a cluster, against three nodes; with `MOLDAU_COMPAT_BROKER=kafka` of Apache Kafka."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from patience import PATIENCE, wait_until

from moldau import KafkaProducer
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.testing import Cluster, Node


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    if os.environ.get("MOLDAU_COMPAT_BROKER") == "kafka":
        sys.path.insert(0, str(Path(__file__).parents[1] / "chaos"))
        from apache_cluster import KafkaCluster as Kind
    else:
        Kind = Cluster  # type: ignore[misc, assignment]
    with Kind(nodes=3) as cluster:
        yield cluster


@pytest.fixture
def whole(cluster: Cluster) -> Iterator[Cluster]:
    """For tests that kill: everybody is there again afterwards."""
    yield cluster
    cluster.start()
    wait_until(lambda: not any(row["fenced"] or row["not_in_sync"] for row in told(run(cluster, "brokers", "list"))))


def run(
    cluster: Cluster, *words: str, status: int | None = 0, given: bytes = b""
) -> subprocess.CompletedProcess[bytes]:
    command = [sys.executable, "-m", "moldau", *words, "--json", "-b", cluster.bootstrap_servers]
    result = subprocess.run(command, input=given, capture_output=True, timeout=PATIENCE)
    assert status is None or result.returncode == status, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    return result


@pytest.fixture(autouse=True)
def gone_afterwards(cluster: Cluster, topic: str) -> Iterator[None]:
    """No plan of another test should have to find a place for this one's replicas."""
    yield
    run(cluster, "topics", "delete", topic, "--if-exists")


def told(result: subprocess.CompletedProcess[bytes]) -> Any:
    return json.loads(result.stdout)


def create(cluster: Cluster, topic: str, assignments: dict[int, list[int]], **settings: str) -> None:
    configs = {name.replace("_", "."): value for name, value in settings.items()}
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        admin.create_topics(
            [NewTopic(topic, replica_assignments=assignments, topic_configs=configs)], wait_for_metadata=True
        )


def placed(cluster: Cluster, topic: str) -> dict[int, list[int]]:
    (described,) = told(run(cluster, "topics", "describe", topic))
    return {row["partition"]: row["replicas"] for row in described["partitions"]}


def moved(cluster: Cluster, topic: str) -> bool:
    return run(cluster, "topics", "reassign", topic, "--verify", status=None).returncode == 0


def findings(cluster: Cluster, *words: str) -> str:
    rows = told(run(cluster, "explain", *words))["findings"]
    return "\n".join(f"{row['fact']} {row['advice'] or ''}" for row in rows)


def a_node(cluster: Cluster, id: int) -> Node:
    return cluster.node(id)


def test_the_quorum(cluster: Cluster) -> None:
    described = told(run(cluster, "quorum", "describe"))
    assert [each["id"] for each in described["voters"]] == [1, 2, 3]
    assert described["leader"] == cluster.controller.id
    assert described["epoch"] >= 1
    assert all(each["lag"] is not None for each in described["voters"])
    assert "3 of 3 voters are there, and 2 are needed: one loss can be survived." in findings(cluster, "quorum")
    fixed = run(cluster, "quorum", "remove", "3", status=1)
    assert b"fixed by controller.quorum.voters" in fixed.stderr


def test_the_brokers(cluster: Cluster, topic: str) -> None:
    create(cluster, topic, {0: [1, 2], 1: [2, 1]})
    rows = {row["id"]: row for row in told(run(cluster, "brokers", "list"))}
    assert sorted(rows) == [1, 2, 3]
    assert not any(row["fenced"] for row in rows.values())
    (one,) = told(run(cluster, "brokers", "describe", "1"))["log_directories"]
    assert one["error"] is None
    described = told(run(cluster, "cluster", "describe"))
    assert described["controller"] == cluster.controller.id
    assert (described["under_replicated"], described["without_leader"]) == (0, 0)
    assert (
        b"There is no broker with id 9; there are 1, 2, 3." in run(cluster, "brokers", "describe", "9", status=1).stderr
    )
    assert b"is running; stop it first" in run(cluster, "brokers", "unregister", "1", status=1).stderr


def test_a_plan_is_shown_and_then_carried_out(cluster: Cluster, topic: str, tmp_path: Path) -> None:
    create(cluster, topic, {0: [1, 2], 1: [2, 1]})
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        for number in range(200):
            producer.send(topic, b"x" * 1000, partition=number % 2)
    shown = run(cluster, "topics", "reassign", topic, "--replicas", "3")
    assert placed(cluster, topic) == {0: [1, 2], 1: [2, 1]}
    plan = tmp_path / "plan.json"
    plan.write_bytes(shown.stdout)
    run(cluster, "topics", "reassign", "--plan", str(plan), "--throttle", "50M", "--execute")
    wait_until(lambda: moved(cluster, topic))
    assert placed(cluster, topic) == {0: [1, 2, 3], 1: [2, 1, 3]}
    (described,) = told(run(cluster, "topics", "describe", topic))
    assert not [name for name in described["configs"] if "throttled" in name]
    run(cluster, "topics", "reassign", topic, "--brokers", "3", "--replicas", "1", "--execute")
    run(cluster, "topics", "reassign", topic, "--verify", "--wait", "60s")
    wait_until(lambda: placed(cluster, topic) == {0: [3], 1: [3]})


def test_a_move_is_given_up(whole: Cluster, topic: str) -> None:
    create(whole, topic, {0: [1, 2]})
    a_node(whole, 3).kill()
    run(whole, "topics", "reassign", "--plan", "-", "--execute", given=_plan(topic, [1, 3]))
    assert run(whole, "topics", "reassign", topic, "--verify", status=1)
    assert run(whole, "topics", "reassign", topic, "--verify", "--wait", "1s", status=1)
    wait_until(lambda: "cannot end while broker 3 is away" in findings(whole, "isr", topic))
    run(whole, "topics", "reassign", topic, "--cancel", "--execute")
    assert moved(whole, topic)
    assert placed(whole, topic) == {0: [1, 2]}


def _plan(topic: str, replicas: list[int]) -> bytes:
    return json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "replicas": replicas}]}).encode()


def test_the_preferred_leader_leads_again(whole: Cluster, topic: str) -> None:
    create(whole, topic, {0: [3, 1, 2]})
    a_node(whole, 3).stop()
    wait_until(lambda: whole.leader_of(topic).id != 3)
    a_node(whole, 3).start()
    wait_until(lambda: _isr(whole, topic) == [1, 2, 3])
    if whole.leader_of(topic).id != 3:
        (row,) = told(run(whole, "topics", "elect-leaders", topic))
        assert (row["leader"], row["error"]) == (3, None)
    wait_until(lambda: whole.leader_of(topic).id == 3)
    (again,) = told(run(whole, "topics", "elect-leaders", topic))
    assert (again["elected"], again["error"]) == (False, None)


def _isr(cluster: Cluster, topic: str) -> list[int]:
    (described,) = told(run(cluster, "topics", "describe", topic))
    return sorted(described["partitions"][0]["isr"])


def _may_lead(cluster: Cluster, topic: str) -> tuple[list[int], list[int]]:
    """Who may lead without being in sync, and who led last."""
    (described,) = told(run(cluster, "topics", "describe", topic))
    (partition,) = described["partitions"]
    return partition["eligible_leader_replicas"], partition["last_known_elr"]


def test_a_broker_is_emptied(cluster: Cluster, topic: str) -> None:
    create(cluster, topic, {0: [3, 1], 1: [1, 3], 2: [1, 2]})
    plan = told(run(cluster, "brokers", "drain", "3"))["partitions"]
    ours = {row["partition"]: row["replicas"] for row in plan if row["topic"] == topic}
    assert {index: sorted(replicas) for index, replicas in ours.items()} == {0: [1, 2], 1: [1, 2]}
    assert placed(cluster, topic)[0] == [3, 1]
    given = json.dumps({"version": 1, "partitions": [row for row in plan if row["topic"] == topic]}).encode()
    run(cluster, "topics", "reassign", "--plan", "-", "--execute", given=given)
    wait_until(lambda: moved(cluster, topic) and not any(3 in has for has in placed(cluster, topic).values()))


def test_why_a_replica_is_not_in_sync(whole: Cluster, topic: str) -> None:
    create(whole, topic, {0: [1, 2, 3]}, min_insync_replicas="3")
    assert findings(whole, "isr", topic) == "Every partition has a leader, and every replica is in sync. "
    a_node(whole, 3).kill()
    wait_until(lambda: "does not send heartbeats" in findings(whole, "isr", topic))
    text = findings(whole, "isr", topic)
    assert "Broker 3 (127.0.0.1:" in text
    assert "producers with acks=all are refused" in text
    # Nothing has been committed since it left.
    assert _may_lead(whole, topic) == ([3], [])
    wait_until(lambda: "Voter 3" in findings(whole, "quorum"))
    assert "one more loss, and nothing in the cluster can change" in findings(whole, "quorum")
    assert run(whole, "explain", "isr", "nowhere", status=1).stderr == b"moldau: There is no topic 'nowhere'.\n"


def test_why_there_is_no_leader(whole: Cluster, topic: str) -> None:
    create(whole, topic, {0: [3]})
    a_node(whole, 3).kill()
    wait_until(lambda: "has no leader" in findings(whole, "isr", topic))
    assert "Start broker 3 again: whichever comes back leads." in findings(whole, "isr", topic)
    assert _may_lead(whole, topic) == ([3], [3])
    shown = [sys.executable, "-m", "moldau", "topics", "describe", topic, "-b", whole.bootstrap_servers]
    heading, row = subprocess.run(shown, capture_output=True, timeout=PATIENCE).stdout.decode().splitlines()[-2:]
    assert heading.split()[-3:] == ["ELIGIBLE", "LED", "LAST"]
    assert row.split()[-2:] == ["3", "3"]


def test_why_nothing_can_be_decided(whole: Cluster) -> None:
    for id in (2, 3):
        a_node(whole, id).kill()
    # The leader steps down when it has not heard from the others for a while.
    wait_until(lambda: "1 of 3 voters answer, and 2 are needed to elect a leader" in findings(whole, "quorum"))
    assert "Voter 2 (127.0.0.1:" in findings(whole, "quorum")


def test_a_broker_is_forgotten(topic: str) -> None:
    with Cluster(nodes=4) as four:
        create(four, topic, {0: [4, 1]})
        four.node(4).stop()
        wait_until(lambda: [row["fenced"] for row in told(run(four, "brokers", "list"))] == [False] * 3 + [True])
        assert b"would have a replica on nobody" in run(four, "brokers", "unregister", "4", status=1).stderr
        run(four, "brokers", "drain", "4", "--execute")
        wait_until(lambda: moved(four, topic))
        run(four, "brokers", "unregister", "4")
        assert [row["id"] for row in told(run(four, "brokers", "list"))] == [1, 2, 3]
