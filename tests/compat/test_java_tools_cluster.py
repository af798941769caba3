"""Apache Kafka's own tools for clusters, on three nodes of ours and on their files.

Needs Java and Kafka's jars, hence run by `make compat-java`. See java_tools for where the jars are found.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from java_tools import KafkaTools, find_libs, read_as_group, write_records
from mixed_cluster import MixedCluster
from mixed_load import wait_for_equal_replicas
from patience import wait_until

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]


@pytest.fixture(scope="module")
def three_nodes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    """All of them ours, each broker and controller."""
    nodes = dict.fromkeys((1, 2, 3), ("moldau", "broker,controller"))
    settings = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
    assert isinstance(_libs, Path)
    cluster = MixedCluster(KafkaTools(_libs), tmp_path_factory.mktemp("three"), nodes, settings)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def test_the_quorum_and_its_features(three_nodes: MixedCluster) -> None:
    for at in (
        ("--bootstrap-server", three_nodes.bootstrap),
        ("--bootstrap-controller", three_nodes.controllers),
    ):
        status = three_nodes.tools.run("MetadataQuorumCommand", *at, "describe", "--status")
        assert re.search(r"LeaderId:\s+[123]\n", status)
        assert re.search(r"CurrentVoters:.*\"id\": 1,.*\"id\": 2,.*\"id\": 3,", status)
        rows = three_nodes.tools.run("MetadataQuorumCommand", *at, "describe", "--replication").splitlines()
        assert sorted(row.split()[-1] for row in rows if row[:1].isdigit()) == ["Follower", "Follower", "Leader"]
        features = three_nodes.tools.run("FeatureCommand", *at, "describe")
        assert re.search(
            r"metadata\.version.*SupportedMaxVersion: 4\.3-IV0\s+FinalizedVersionLevel: 4\.3-IV0", features
        )

    def eligible_leaders() -> str:
        (level,) = re.findall(
            r"eligible\S+ .*FinalizedVersionLevel: (\d)", three_nodes.tool("FeatureCommand", "describe")
        )
        return str(level)

    feature = "eligible.leader.replicas.version"
    assert eligible_leaders() == "1"
    assert "downgraded to 0" in three_nodes.tool("FeatureCommand", "downgrade", "--feature", f"{feature}=0")
    assert eligible_leaders() == "0"
    assert "upgraded to 1" in three_nodes.tool("FeatureCommand", "upgrade", "--feature", f"{feature}=1")
    assert eligible_leaders() == "1"
    at = ("--bootstrap-server", three_nodes.bootstrap)
    assert "FAILED" in three_nodes.tools.refused("FeatureCommand", *at, "upgrade", "--feature", f"{feature}=7").upper()


def test_the_voters_come_to_stand_in_the_log(three_nodes: MixedCluster) -> None:
    upgrade = ("FeatureCommand", "--bootstrap-server", three_nodes.bootstrap, "upgrade", "--feature", "kraft.version=1")
    wait_until(lambda: three_nodes.tools.tried(*upgrade)[0] == 0, "every voter has told the leader about itself")
    assert re.search(r"kraft\.version.*FinalizedVersionLevel: 1", three_nodes.tool("FeatureCommand", "describe"))
    at = ("MetadataQuorumCommand", "--bootstrap-server", three_nodes.bootstrap)
    (listed,) = re.findall(r"CurrentVoters:\s+(.*)", three_nodes.tools.run(*at, "describe", "--status"))
    voters = {row["id"]: row["directoryId"] for row in json.loads(listed)}
    assert sorted(voters) == [1, 2, 3]
    gone = ("--controller-id", "3", "--controller-directory-id", voters[3])
    assert "Removed" in three_nodes.tools.run(*at, "remove-controller", *gone)
    added = three_nodes.tools.run(*at, "--command-config", str(three_nodes[3].properties), "add-controller")
    assert "Added" in added
    at_downgrade = ("FeatureCommand", "--bootstrap-server", three_nodes.bootstrap, "downgrade")
    assert "FAILED" in three_nodes.tools.refused(*at_downgrade, "--feature", "kraft.version=0").upper()


def test_partitions_are_moved_and_led_as_kafkas_tools_say(three_nodes: MixedCluster, tmp_path: Path) -> None:
    cluster, named = three_nodes, ("--topic", "moves")
    cluster.tool("TopicCommand", "--create", *named, "--replica-assignment", "1:2,2:3,3:1")
    write_records(cluster.tools, cluster.bootstrap, "moves", 3000, "acks=all")
    topics, plan = tmp_path / "topics.json", tmp_path / "plan.json"
    topics.write_text(json.dumps({"version": 1, "topics": [{"topic": "moves"}]}))
    generated = cluster.tool(
        *("ReassignPartitionsCommand", "--topics-to-move-json-file", str(topics), "--broker-list", "2,3", "--generate")
    )
    plan.write_text(generated.splitlines()[-1])
    given = ("ReassignPartitionsCommand", "--reassignment-json-file", str(plan))
    assert "Successfully started" in cluster.tool(*given, "--execute", "--throttle", "100000000")
    wait_until(lambda: cluster.tool(*given, "--verify").count("is completed") == 3, "the partitions have moved")
    assert "No partition reassignments found" in cluster.tool("ReassignPartitionsCommand", "--list")
    described = cluster.tool("TopicCommand", "--describe", *named)
    assert set(re.findall(r"Replicas: (\S+)", described)) == {"2,3", "3,2"}
    assert "throttled" not in described
    wait_for_equal_replicas(cluster, "moves", 3, [2, 3])

    cluster.tool("TopicCommand", "--create", "--topic", "led", "--replica-assignment", "1:2")
    cluster[1].stop()
    wait_until(lambda: "Leader: 2" in cluster.tool("TopicCommand", "--describe", "--topic", "led"), "broker 2 leads")
    assert "led" in cluster.tool("TopicCommand", "--describe", "--under-replicated-partitions")
    cluster[1].start()
    wait_until(lambda: not cluster.tool("TopicCommand", "--describe", "--under-replicated-partitions").strip(), "ISR")
    elected = cluster.tool(
        *("LeaderElectionCommand", "--election-type", "preferred", "--topic", "led", "--partition", "0")
    )
    assert "Successfully completed leader election" in elected
    assert "Leader: 1" in cluster.tool("TopicCommand", "--describe", "--topic", "led")


def test_settings_and_groups_of_a_cluster(three_nodes: MixedCluster) -> None:
    cluster = three_nodes
    cluster.tool("TopicCommand", "--create", "--topic", "grouped", "--partitions", "3", "--replication-factor", "3")
    entity = ("--entity-type", "topics", "--entity-name", "grouped")
    cluster.tool("ConfigCommand", "--alter", *entity, "--add-config", "retention.ms=7654321")
    assert "retention.ms=7654321" in cluster.tool("ConfigCommand", "--describe", *entity)
    everyone = ("--entity-type", "brokers", "--entity-default")
    cluster.tool("ConfigCommand", "--alter", *everyone, "--add-config", "log.cleaner.threads=2")
    assert "log.cleaner.threads=2" in cluster.tool("ConfigCommand", "--describe", *everyone)
    write_records(cluster.tools, cluster.bootstrap, "grouped", 300, "acks=all")
    read_as_group(cluster.tools, cluster.bootstrap, "grouped", "readers", 300, "consumer")
    described = cluster.tool("ConsumerGroupCommand", "--describe", "--group", "readers")
    assert sum(int(offset) for offset in re.findall(r"^readers\s+grouped\s+\d\s+(\d+)", described, re.M)) == 300
    assert "readers" in cluster.tool("ConsumerGroupCommand", "--list")


def test_the_files_of_a_cluster(three_nodes: MixedCluster) -> None:
    for node in three_nodes.nodes.values():
        info = three_nodes.tools.run("StorageTool", "info", "-c", str(node.properties))
        assert f"node.id={node.number}" in info.replace(" ", "") or f"{node.number}" in info
        assert "Found problem" not in info
        metadata = node.data / "__cluster_metadata-0"
        snapshots = sorted(metadata.glob("*.checkpoint"))
        assert snapshots
        for path in (snapshots[-1], *sorted(metadata.glob("*.log"))):
            # A segment that was begun for a snapshot waits for its first record.
            is_begun = path.stat().st_size > 0
            said = three_nodes.tools.run("DumpLogSegments", "--cluster-metadata-decoder", "--files", str(path))
            assert not re.search(r"isvalid: false|[Mm]ismatch|Exception|Error|could not", said), said
            assert '"type":' in said or not is_begun
        assert '"type":"REGISTER_BROKER_RECORD"' in three_nodes.tools.run(
            "DumpLogSegments", "--cluster-metadata-decoder", "--files", str(snapshots[-1])
        )
