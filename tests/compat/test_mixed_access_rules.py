"""Access rules in clusters of Apache Kafka's nodes and ours: whoever wrote them, they hold at every broker.

Everybody is ANONYMOUS here and may do what no rule is about, so the first rule about a topic closes it.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from java_tools import KafkaTools, find_libs
from mixed_cluster import MixedCluster
from node_process import MOLDAU
from patience import wait_until
from raw_requests import ask

from moldau.errors import ErrorCode, error_code
from moldau.protocol.messages.describe_acls import DescribeAclsRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]

SETTINGS = {
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "allow.everyone.if.no.acl.found": "true",
    # So that whoever starts again has to begin with a snapshot of the metadata.
    "metadata.log.max.record.bytes.between.snapshots": "2000",
}
KAFKAS, OURS = 2, 3


def running(directory: Path, nodes: Mapping[int, tuple[str, str]]) -> Iterator[MixedCluster]:
    assert isinstance(_libs, Path)
    cluster = MixedCluster(KafkaTools(_libs), directory, nodes, SETTINGS)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


@pytest.fixture
def under_kafkas(tmp_path: Path) -> Iterator[MixedCluster]:
    yield from running(tmp_path, {1: ("kafka", "controller"), 2: ("kafka", "broker"), 3: ("moldau", "broker")})


@pytest.fixture
def under_ours(tmp_path: Path) -> Iterator[MixedCluster]:
    yield from running(tmp_path, {1: ("moldau", "controller"), 2: ("kafka", "broker"), 3: ("moldau", "broker")})


def may_describe(cluster: MixedCluster, broker: int, topic: str) -> bool:
    request = MetadataRequest(topics=[MetadataRequestTopic(name=topic)], allow_auto_topic_creation=False)
    answer = ask(cluster[broker].address("PLAINTEXT"), request, 12)
    return error_code(answer.topics[0].error_code) is not ErrorCode.TOPIC_AUTHORIZATION_FAILED


def rules(cluster: MixedCluster, broker: int) -> set[tuple[Any, ...]]:
    every = DescribeAclsRequest(
        resource_type_filter=1,
        resource_name_filter=None,
        pattern_type_filter=1,
        principal_filter=None,
        host_filter=None,
        operation=1,
        permission_type=1,
    )
    answer = ask(cluster[broker].address("PLAINTEXT"), every, 3)
    assert answer.error_code == 0
    return {
        (at.resource_type, at.resource_name, at.pattern_type, rule.principal, rule.host, rule.operation)
        for at in answer.resources
        for rule in at.acls
    }


def wait_closed(cluster: MixedCluster, topic: str, *, closed: bool) -> None:
    for broker in (KAFKAS, OURS):
        wait_until(
            lambda broker=broker: may_describe(cluster, broker, topic) is not closed,  # type: ignore[misc]
            f"{topic} is {'closed' if closed else 'open'} at broker {broker}",
        )


def by_us(cluster: MixedCluster, broker: int, *words: str) -> Any:
    command = [str(MOLDAU), "acls", *words, "--json", "--bootstrap", cluster[broker].address("PLAINTEXT")]
    done = subprocess.run(command, capture_output=True, timeout=120, check=True)
    return json.loads(done.stdout)


def by_kafka(cluster: MixedCluster, broker: int, *words: str) -> str:
    at = cluster[broker].address("PLAINTEXT")
    return str(cluster.tools.run("AclCommand", "--bootstrap-server", at, *words))


def check_both_ways(cluster: MixedCluster) -> None:
    for number, broker in enumerate((KAFKAS, OURS)):
        closed, begins = f"closed{number}", f"begins{number}-"
        by_us(cluster, broker, "add", "--user", "jan", "--topic", closed, "--operation", "read")
        by_kafka(
            *(cluster, broker, "--add", "--allow-principal", "User:jan", "--operation", "Read", "--force"),
            *("--topic", begins, "--resource-pattern-type", "prefixed"),
        )
        wait_closed(cluster, closed, closed=True)
        wait_closed(cluster, begins + "x", closed=True)
        assert may_describe(cluster, KAFKAS, "open")
        assert may_describe(cluster, OURS, "open")
    assert rules(cluster, KAFKAS) == rules(cluster, OURS)
    assert len(rules(cluster, OURS)) == 4
    assert "User:jan" in by_kafka(cluster, OURS, "--list", "--topic", "closed0")


def check_after_a_restart(cluster: MixedCluster) -> None:
    for broker in (KAFKAS, OURS):
        cluster[broker].stop()
        cluster[broker].start()
        assert not may_describe(cluster, broker, "closed0")
        assert not may_describe(cluster, broker, "begins1-y")
    read = ("--operation", "Read", "--force")
    by_kafka(cluster, OURS, "--remove", "--allow-principal", "User:jan", "--topic", "closed0", *read)
    by_us(cluster, KAFKAS, "remove", "--topic", "begins1-", "--prefixed")
    wait_closed(cluster, "closed0", closed=False)
    wait_closed(cluster, "begins1-y", closed=False)
    wait_closed(cluster, "closed1", closed=True)
    assert rules(cluster, KAFKAS) == rules(cluster, OURS)


def test_under_a_controller_of_kafkas(under_kafkas: MixedCluster) -> None:
    check_both_ways(under_kafkas)
    check_after_a_restart(under_kafkas)


def test_under_a_controller_of_ours(under_ours: MixedCluster) -> None:
    check_both_ways(under_ours)
    check_after_a_restart(under_ours)
