"""Nodes of Apache Kafka's and ours in one cluster, under load and with failures.

Needs Java and Kafka's jars, hence run by `make compat-java`. The one that must work is a broker of ours among Kafka's
under Kafka's controllers: it lets a team replace a cluster node by node.
"""

from __future__ import annotations

import json
import re
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, NewTopic
from java_tools import KafkaTools, find_libs
from mixed_cluster import MixedCluster
from mixed_load import Writer, check, read_all, wait_for_equal_replicas, write_transactions
from node_process import MOLDAU
from patience import wait_until

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]


# So that whoever comes late has to begin with a snapshot of the metadata.
OFTEN_SNAPSHOTS = {"metadata.log.max.record.bytes.between.snapshots": "2000"}
STOPPED_JAVA = 143  # what Java's machine says of a SIGTERM it obeyed


def running(
    directory: Path,
    nodes: Mapping[int, tuple[str, str]],
    settings: Mapping[str, str] | None = None,
    *,
    dynamic: bool = False,
) -> Iterator[MixedCluster]:
    assert isinstance(_libs, Path)
    cluster = MixedCluster(KafkaTools(_libs), directory, nodes, settings, dynamic=dynamic)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.close()


def replicas(cluster: MixedCluster, topic: str) -> dict[int, tuple[int, list[int], list[int]]]:
    """Of every partition the leader, the replicas and those in sync."""
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    found = admin.list_topics(topic, timeout=30).topics[topic].partitions
    return {number: (row.leader, sorted(row.replicas), sorted(row.isrs)) for number, row in found.items()}


def wait_in_sync(cluster: MixedCluster, topic: str, brokers: list[int]) -> None:
    wait_until(
        lambda: all(row[2] == brokers for row in replicas(cluster, topic).values()), f"{topic} is in sync on {brokers}"
    )


def wait_led_by(cluster: MixedCluster, topic: str, brokers: set[int]) -> None:
    wait_until(lambda: {row[0] for row in replicas(cluster, topic).values()} == brokers, f"{topic} is led by {brokers}")


def create(cluster: MixedCluster, topic: str, assignment: str) -> int:
    """By Kafka's tool; the number of its partitions."""
    cluster.tool(
        *("TopicCommand", "--create", "--topic", topic, "--replica-assignment", assignment),
        *("--config", "min.insync.replicas=1"),
    )
    brokers = sorted(int(broker) for broker in assignment.split(",")[0].split(":"))
    wait_in_sync(cluster, topic, brokers)
    return assignment.count(",") + 1


def preferred_election(cluster: MixedCluster, topic: str, leaders: set[int]) -> None:
    # Of this topic only: others may still wait for a replica.
    rows = [{"topic": topic, "partition": number} for number in replicas(cluster, topic)]
    named = cluster.directory / f"{topic}-elections.json"
    named.write_text(json.dumps({"partitions": rows}))
    cluster.tool("LeaderElectionCommand", "--election-type", "preferred", "--path-to-json-file", str(named))
    wait_led_by(cluster, topic, leaders)


# ------------------------------------------------------------------- a broker of ours in a cluster of Apache Kafka's

OURS = 3


@pytest.fixture(scope="module")
def among_kafkas(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    nodes = {1: ("kafka", "controller"), 2: ("kafka", "broker"), OURS: ("moldau", "broker"), 4: ("kafka", "broker")}
    yield from running(tmp_path_factory.mktemp("among"), nodes)


def test_a_broker_among_kafkas_survives_and_lets_survive(among_kafkas: MixedCluster) -> None:
    cluster = among_kafkas
    partitions = create(cluster, "load", "3:2:4,2:3:4,4:3:2")
    with Writer(cluster, "load", partitions) as writer:
        for victim in (OURS, 2):
            cluster[victim].kill()
            wait_in_sync(cluster, "load", sorted({2, OURS, 4} - {victim}))
            writer.progress()
            cluster[victim].start()
            wait_in_sync(cluster, "load", [2, OURS, 4])
            preferred_election(cluster, "load", {2, OURS, 4})
            writer.progress()
        for leaving in (OURS, 4):
            assert cluster[leaving].stop() in (0, STOPPED_JAVA)
            wait_in_sync(cluster, "load", sorted({2, OURS, 4} - {leaving}))
            writer.progress()
            cluster[leaving].start()
            wait_in_sync(cluster, "load", [2, OURS, 4])
            preferred_election(cluster, "load", {2, OURS, 4})
            writer.progress()
    check(cluster, "load", writer)
    wait_for_equal_replicas(cluster, "load", partitions, [2, OURS, 4])


def test_transactions_whose_coordinator_moves(among_kafkas: MixedCluster) -> None:
    cluster = among_kafkas
    partitions = create(cluster, "transactions", "3:2,2:3,3:2")
    names = [f"copier-{number}" for number in range(6)]  # on all partitions of __transaction_state
    for name in names:
        write_transactions(cluster, name, "transactions", range(3))
        write_transactions(cluster, name, "transactions", range(100, 102), commit=False)
    for victim, after in ((OURS, range(3, 6)), (2, range(6, 9))):
        cluster[victim].kill()
        for name in names:
            write_transactions(cluster, name, "transactions", after)
        cluster[victim].start()
        wait_in_sync(cluster, "transactions", [2, OURS])
    found = sorted(value for values in read_all(cluster, "transactions", partitions).values() for value in values)
    assert found == sorted(f"{name} {number}".encode() for name in names for number in range(9))
    wait_for_equal_replicas(cluster, "transactions", partitions, [2, OURS])


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_groups_whose_coordinator_moves(among_kafkas: MixedCluster, protocol: str) -> None:
    cluster = among_kafkas
    topic = f"groups-{protocol}"
    create(cluster, topic, "2:3")
    with Writer(cluster, topic, 1) as writer:
        groups = [f"{protocol}-{number}" for number in range(6)]
        members = {group: member_of(cluster, group, protocol, topic) for group in groups}
        try:
            for victim in (None, OURS, 2):
                if victim is not None:
                    cluster[victim].kill()
                writer.progress()
                for consumer in members.values():
                    read_and_commit(consumer)
                if victim is not None:
                    cluster[victim].start()
                    wait_in_sync(cluster, topic, [2, OURS])
        finally:
            positions = {group: consumer.position([TopicPartition(topic, 0)]) for group, consumer in members.items()}
            for consumer in members.values():
                consumer.close()
    described = cluster.tool("ConsumerGroupCommand", "--describe", "--all-groups")
    for group in groups:
        (row,) = re.findall(rf"^{group}\s+{topic}\s+0\s+(\d+)\s", described, re.M)
        assert int(row) == positions[group][0].offset


def member_of(cluster: MixedCluster, group: str, protocol: str, topic: str) -> Consumer:
    settings = {"bootstrap.servers": cluster.bootstrap, "group.id": group, "group.protocol": protocol, "log_level": 2}
    consumer = Consumer({**settings, "auto.offset.reset": "earliest", "enable.auto.commit": False})
    consumer.subscribe([topic])
    return consumer


def read_and_commit(consumer: Consumer) -> None:
    def once() -> bool:
        message = consumer.poll(1.0)
        if message is None or message.error() is not None:
            return False
        try:
            consumer.commit(message, asynchronous=False)
        except KafkaException as error:
            # The group's coordinator has just moved, perhaps: the record is read and committed once more.
            print(error)
            return False
        return True

    wait_until(once, "a record is read and its offset committed")


def test_topics_come_and_go(among_kafkas: MixedCluster) -> None:
    cluster = among_kafkas
    for _ in range(2):
        partitions = create(cluster, "again", "3:2:4,2:3:4")
        with Writer(cluster, "again", partitions) as writer:
            writer.progress()
        check(cluster, "again", writer)
        wait_for_equal_replicas(cluster, "again", partitions, [2, OURS, 4])
        cluster.tool("TopicCommand", "--delete", "--topic", "again")
        wait_until(
            lambda: not any(list(cluster[broker].data.glob("again-*")) for broker in (2, OURS, 4)), "its files are gone"
        )


def reassign(cluster: MixedCluster, topic: str, replicas: list[list[int]]) -> None:
    plan = cluster.directory / f"{topic}.json"
    rows = [{"topic": topic, "partition": number, "replicas": brokers} for number, brokers in enumerate(replicas)]
    plan.write_text(json.dumps({"version": 1, "partitions": rows}))
    named = ("ReassignPartitionsCommand", "--reassignment-json-file", str(plan))
    cluster.tool(*named, "--execute")
    wait_until(lambda: "still in progress" not in cluster.tool(*named, "--verify"), "the reassignment is done")


def test_partitions_move_to_and_from_the_broker(among_kafkas: MixedCluster) -> None:
    cluster = among_kafkas
    partitions = create(cluster, "moves", "2:4,2:4,2:4")
    with Writer(cluster, "moves", partitions) as writer:
        reassign(cluster, "moves", [[OURS, 4]] * partitions)
        wait_led_by(cluster, "moves", {OURS})
        wait_in_sync(cluster, "moves", [OURS, 4])
        writer.progress()
        wait_until(lambda: not list(cluster[2].data.glob("moves-*")), "the files are gone from broker 2")
        reassign(cluster, "moves", [[2, 4]] * partitions)
        wait_in_sync(cluster, "moves", [2, 4])
        writer.progress()
        wait_until(lambda: not list(cluster[OURS].data.glob("moves-*")), "the files are gone from our broker")
    check(cluster, "moves", writer)


@pytest.fixture
def with_a_dynamic_quorum(tmp_path: Path) -> Iterator[MixedCluster]:
    nodes = {1: ("kafka", "controller"), 2: ("kafka", "broker"), OURS: ("moldau", "broker")}
    # The oldest snapshots and the log before them are removed, once a minute.
    settings = {**OFTEN_SNAPSHOTS, "metadata.max.retention.bytes": "1"}
    yield from running(tmp_path, nodes, settings, dynamic=True)


def test_a_broker_that_begins_with_a_snapshot(with_a_dynamic_quorum: MixedCluster) -> None:
    """It finds the controllers by their bootstrap servers, loses its disk, and knows quotas and users all the same."""
    cluster = with_a_dynamic_quorum
    quota = ("--entity-type", "clients", "--entity-name", "slow")
    user = ("--entity-type", "users", "--entity-name", "vltava")
    at_kafka = ("ConfigCommand", "--bootstrap-server", cluster[2].address("PLAINTEXT"))
    cluster.tools.run(*at_kafka, "--alter", *quota, "--add-config", "producer_byte_rate=1000000")
    cluster.tools.run(*at_kafka, "--alter", *user, "--add-config", "SCRAM-SHA-256=[password=moldau]")
    partitions = create(cluster, "load", "3:2,2:3")
    with Writer(cluster, "load", partitions) as writer:
        for number in range(12):
            create_by_client(cluster, f"more-{number}")
        metadata = cluster[1].data / "__cluster_metadata-0"
        wait_until(
            lambda: (found := sorted(metadata.glob("*.checkpoint"))) and not found[0].name.startswith("0" * 20),
            "the first snapshot has been removed",
        )
        cluster[OURS].kill()
        shutil.rmtree(cluster[OURS].data)
        cluster[OURS].format()
        cluster[OURS].start()
        wait_in_sync(cluster, "load", [2, OURS])
        preferred_election(cluster, "load", {2, OURS})
        writer.progress()
    at_ours = ("ConfigCommand", "--bootstrap-server", cluster[OURS].address("PLAINTEXT"), "--describe")
    assert "producer_byte_rate=1000000" in cluster.tools.run(*at_ours, *quota)
    assert "SCRAM-SHA-256=iterations=" in cluster.tools.run(*at_ours, *user)
    assert list((cluster[OURS].data / "__cluster_metadata-0").glob("*.checkpoint"))
    check(cluster, "load", writer)
    wait_for_equal_replicas(cluster, "load", partitions, [2, OURS])


def create_by_client(cluster: MixedCluster, topic: str) -> None:
    admin = AdminClient({"bootstrap.servers": cluster.bootstrap, "log_level": 2})
    for outcome in admin.create_topics([NewTopic(topic, 2, 2)]).values():
        outcome.result(60)


# ---------------------------------------------------------------------- brokers of Kafka's under a controller of ours


@pytest.fixture(scope="module")
def under_ours(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    nodes = {1: ("moldau", "controller"), 2: ("kafka", "broker"), 4: ("kafka", "broker")}
    yield from running(tmp_path_factory.mktemp("under"), nodes, OFTEN_SNAPSHOTS)


def test_brokers_of_kafkas_live_under_a_controller_of_ours(under_ours: MixedCluster) -> None:
    cluster = under_ours
    partitions = create(cluster, "load", "2:4,4:2")
    with Writer(cluster, "load", partitions) as writer:
        cluster[2].kill()
        wait_in_sync(cluster, "load", [4])
        writer.progress()
        cluster[2].start()
        wait_in_sync(cluster, "load", [2, 4])
        preferred_election(cluster, "load", {2, 4})
        cluster[1].kill()
        writer.progress()
        cluster[1].start()
        assert cluster[4].stop() == STOPPED_JAVA
        wait_in_sync(cluster, "load", [2])
        writer.progress()
        # Nothing of it is left, so it begins with a snapshot of the metadata and copies everything.
        shutil.rmtree(cluster[4].data)
        cluster[4].format()
        cluster[4].start()
        wait_in_sync(cluster, "load", [2, 4])
        reassign(cluster, "load", [[4], [4]])
        writer.progress()
        reassign(cluster, "load", [[2, 4], [4, 2]])
        wait_in_sync(cluster, "load", [2, 4])
        writer.progress()
    check(cluster, "load", writer)
    wait_for_equal_replicas(cluster, "load", partitions, [2, 4])
    fetched = [path.name for path in (cluster[4].data / "__cluster_metadata-0").glob("*.checkpoint")]
    assert [name for name in fetched if not name.startswith("0" * 20)]


def test_what_kafkas_brokers_ask_of_a_controller_of_ours(under_ours: MixedCluster) -> None:
    cluster = under_ours
    partitions = create(cluster, "asked", "2:4,4:2,2:4")
    write_transactions(cluster, "asking", "asked", range(6))
    assert sum(map(len, read_all(cluster, "asked", partitions).values())) == 6
    for protocol in ("classic", "consumer"):
        consumer = member_of(cluster, f"asking-{protocol}", protocol, "asked")
        read_and_commit(consumer)
        consumer.close()
    entity = ("--entity-type", "topics", "--entity-name", "asked")
    cluster.tool("ConfigCommand", "--alter", *entity, "--add-config", "retention.ms=1234567")
    assert "retention.ms=1234567" in cluster.tool("ConfigCommand", "--describe", *entity)
    cluster.tool("TopicCommand", "--alter", "--topic", "asked", "--partitions", "5")
    wait_until(lambda: len(replicas(cluster, "asked")) == 5, "there are five partitions")
    cluster.tool("TopicCommand", "--delete", "--topic", "asked")
    wait_until(lambda: not any(list(cluster[broker].data.glob("asked-*")) for broker in (2, 4)), "its files are gone")


# ------------------------------------------------------------------------------------------------------ a mixed quorum


@pytest.fixture(scope="module")
def mixed_quorum(tmp_path_factory: pytest.TempPathFactory) -> Iterator[MixedCluster]:
    nodes = {
        1: ("kafka", "controller"),
        2: ("kafka", "controller"),
        3: ("moldau", "controller"),
        4: ("kafka", "broker"),
        5: ("moldau", "broker"),
    }
    yield from running(tmp_path_factory.mktemp("quorum"), nodes, OFTEN_SNAPSHOTS)


def leader_of(cluster: MixedCluster) -> int:
    command = [str(MOLDAU), "quorum", "describe", "--json", "-b", cluster.bootstrap]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    leader = json.loads(done.stdout)["leader"] if done.returncode == 0 else None
    return -1 if leader is None else int(leader)


def wait_for_leader(cluster: MixedCluster, among: set[int]) -> int:
    found = [-1]

    def is_there() -> bool:
        found[0] = leader_of(cluster)
        return found[0] in among

    wait_until(is_there, f"the quorum is led by one of {among}")
    return found[0]


def test_everybody_leads_a_mixed_quorum(mixed_quorum: MixedCluster) -> None:
    cluster = mixed_quorum
    partitions = create(cluster, "load", "4:5,5:4")
    voters = {1, 2, 3}
    have_led: list[int] = []
    with Writer(cluster, "load", partitions) as writer:
        while set(have_led) != voters:
            assert len(have_led) < 15, f"not everybody has led: {have_led}"
            leader = wait_for_leader(cluster, voters)
            have_led.append(leader)
            # Something to decide for each of them, and something to remember for the next.
            create(cluster, f"by-{leader}-{len(have_led)}", "5:4")
            # Killed the first time; then only paused until there is another, which takes less long.
            process = cluster[leader].process
            assert process is not None
            if have_led.count(leader) == 1:
                cluster[leader].kill()
                wait_for_leader(cluster, voters - {leader})
                cluster[leader].start()
            else:
                process.send_signal(signal.SIGSTOP)
                try:
                    wait_for_leader(cluster, voters - {leader})
                finally:
                    process.send_signal(signal.SIGCONT)
            writer.progress()
        for broker in (4, 5):
            cluster[broker].kill()
            wait_in_sync(cluster, "load", sorted({4, 5} - {broker}))
            cluster[broker].start()
            wait_in_sync(cluster, "load", [4, 5])
            writer.progress()
    check(cluster, "load", writer)
    wait_for_equal_replicas(cluster, "load", partitions, [4, 5])
    listed = cluster.tool("TopicCommand", "--list").split()
    assert {name for name in listed if name.startswith("by-")} == {
        f"by-{leader}-{number}" for number, leader in enumerate(have_led, 1)
    }
    # The logs of all voters agree where they overlap; snapshots have taken the place of what is missing.
    status = cluster.tools.run("MetadataQuorumCommand", "--bootstrap-server", cluster.bootstrap, "describe", "--status")
    assert re.search(r"CurrentVoters:.*\"id\": 1,.*\"id\": 2,.*\"id\": 3,", status)


def test_a_mixed_quorum_is_upgraded(mixed_quorum: MixedCluster) -> None:
    """Whoever leads has to hear from voters of both kinds first, and both kinds have to read what it writes."""
    cluster = mixed_quorum
    upgrade = ("FeatureCommand", "--bootstrap-server", cluster.bootstrap, "upgrade", "--feature", "kraft.version=1")
    wait_until(lambda: cluster.tools.tried(*upgrade)[0] == 0, "every voter has told the leader about itself")
    assert re.search(r"kraft\.version.*FinalizedVersionLevel: 1", cluster.tool("FeatureCommand", "describe"))
    voters = {1, 2, 3}
    for number in range(3):
        status = cluster.tools.run(
            "MetadataQuorumCommand", "--bootstrap-server", cluster.bootstrap, "describe", "--status"
        )
        (listed,) = re.findall(r"CurrentVoters:\s+(.*)", status)
        rows = json.loads(listed)
        assert {row["id"] for row in rows} == voters
        assert len({row["directoryId"] for row in rows}) == len(voters)
        leader = wait_for_leader(cluster, voters)
        cluster[leader].kill()
        wait_for_leader(cluster, voters - {leader})
        create(cluster, f"upgraded-{number}", "5:4")
        cluster[leader].start()
