"""Ten things that go wrong with clusters, each really made to: `moldau doctor` finds it and names the remedy."""

from __future__ import annotations

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest
from node_process import MOLDAU, NodeProcess, StartNode
from patience import PATIENCE, wait_until
from transactional_clients import create_topic

import moldau as package
from moldau import KafkaProducer
from moldau.admin import KafkaAdminClient, NewTopic
from moldau.supervision.layout import hold_ports
from moldau.testing import Cluster, Node

pytestmark = pytest.mark.ours_only("nodes are started with faults")

# Whatever machine the tests run on has its own faults.
OF_THIS_MACHINE = ("memory", "kernels", "temporary-directory", "file-system", "full-disk", "inodes")


def examine(*words: str) -> tuple[int, list[dict[str, Any]]]:
    command = [str(MOLDAU), "doctor", "--json", "--timeout", "10s", *words]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert "Traceback" not in result.stderr, result.stderr
    return result.returncode, json.loads(result.stdout)["findings"]


def found(check: str, *words: str) -> str:
    """What is said about it; the exit status is that of what was found."""
    status, findings = examine(*words)
    assert status == int(any(each["severity"] == "problem" for each in findings))
    texts = [" ".join((each["fact"], each["meaning"], each["advice"])) for each in findings if each["check"] == check]
    assert texts, findings
    return "\n".join(texts)


def write(bootstrap: str, topic: str, count: int = 1, size: int = 10) -> None:
    with KafkaProducer(bootstrap_servers=bootstrap) as producer:
        for _ in range(count):
            producer.send(topic, b"x" * size)


def test_nothing_is_wrong_with_a_sound_node(start_node: StartNode, topic: str) -> None:
    node = start_node()
    create_topic(node.bootstrap, topic, 2)
    write(node.bootstrap, topic)
    _, findings = examine("-b", node.bootstrap, "--data", str(node.data))
    expected = (*OF_THIS_MACHINE, "descriptor-limit")
    assert [each for each in findings if each["check"] not in expected] == []


def test_nobody_can_be_asked(tmp_path: Path) -> None:
    status, findings = examine("-b", f"127.0.0.1:{hold_ports(1)[0]}", "--data", str(tmp_path))
    assert status == 2
    assert [each["check"] for each in findings if each["check"] == "meta-properties"]


# ---------------------------------------------------------------------------------------------------------- the disk


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", f"size={6 << 20}", "tmpfs", str(place)]
    mounted = subprocess.run(command, capture_output=True, text=True, check=False)
    if mounted.returncode != 0:
        pytest.skip(f"a small tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    yield place
    subprocess.run(["umount", "-l", str(place)], check=False)


def test_a_full_disk(small_disk: Path) -> None:
    node = NodeProcess(small_disk / "data", {"log.index.size.max.bytes": "8192"})
    try:
        with (small_disk / "filler").open("wb", buffering=0) as filler, suppress(OSError):
            while True:
                filler.write(bytes(65536))
        text = found("full-disk", "-b", node.bootstrap)
        assert f"{node.data} of broker 1 has" in text
        assert "retention.ms" in text
        # The machine itself says so as well, without a broker.
        assert "6.0 MiB" in found("full-disk", "--no-cluster", "--data", str(node.data))
        assert "that is in memory" in found("file-system", "--no-cluster", "--data", str(node.data))
    finally:
        node.kill()


def test_a_stray_directory(start_node: StartNode, topic: str) -> None:
    node = start_node()
    create_topic(node.bootstrap, topic, 1)
    write(node.bootstrap, topic)
    gone = node.data / f"{topic}.gone-0"
    shutil.copytree(node.data / f"{topic}-0", gone)
    text = found("stray-directory", "-b", node.bootstrap, "--data", str(node.data))
    assert f"{gone} is a stray" in text
    assert f"the cluster has no topic {topic}.gone" in text
    assert f"moldau log dump {gone}" in text
    # The node sets it aside when it starts; then the name alone says it.
    node.restart()
    assert "a node set it aside" in found("stray-directory", "--no-cluster", "--data", str(node.data))


def test_directories_that_are_damaged(start_node: StartNode) -> None:
    node = start_node()
    assert "unclean-stop" not in {each["check"] for each in examine("--no-cluster", "--data", str(node.data))[1]}
    node.kill()
    assert "not stopped in order" in found("unclean-stop", "--no-cluster", "--data", str(node.data))
    (node.data / "recovery-point-offset-checkpoint").write_text("0\n2\nlost 0 7\n")
    assert "announces 2 entries and holds 1" in found("checkpoint", "--no-cluster", "--data", str(node.data))
    (node.data / "recovery-point-offset-checkpoint").write_text("0\n1\nlost 0 7\n")
    assert "speaks of lost-0" in found("checkpoint", "--no-cluster", "--data", str(node.data))
    meta = node.data / "meta.properties"
    meta.write_text(meta.read_text().replace("node.id", "knot.id"))
    assert "lacks node.id" in found("meta-properties", "--no-cluster", "--data", str(node.data))


# -------------------------------------------------------------------------------------------------------- the machine


@pytest.fixture(scope="module")
def skewed_clock(tmp_path_factory: pytest.TempPathFactory) -> Path:
    library = tmp_path_factory.mktemp("clock") / "skewed_clock.so"
    source = Path(__file__).with_name("skewed_clock.c")
    subprocess.run(["cc", "-shared", "-fPIC", "-o", str(library), str(source), "-ldl"], check=True)
    return library


def test_a_clock_that_is_wrong(start_node: StartNode, skewed_clock: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_PRELOAD", str(skewed_clock))
    monkeypatch.setenv("SKEWED_BY", "3600")
    (port,) = hold_ports(1)
    wrong = start_node({"metrics.listener": f"127.0.0.1:{port}"})
    silent = start_node()
    monkeypatch.delenv("LD_PRELOAD")
    right = start_node({"metrics.listener": f"127.0.0.1:{hold_ports(1)[0]}"})
    # By what the leader of the quorum says, which Apache Kafka says too; and by the node's metrics.
    for node in (silent, wrong):
        text = found("clock-skew", "-b", node.bootstrap)
        # How long the answer was on its way is not known to it.
        assert re.search(r"The clock of broker 1 is 3,(59|60)\d\.\d s ahead", text), text
        assert "NTP" in text
    assert "clock-skew" not in {each["check"] for each in examine("-b", right.bootstrap)[1]}


def test_a_low_limit_of_descriptors(start_node: StartNode) -> None:
    (port,) = hold_ports(1)
    node = start_node({"metrics.listener": f"127.0.0.1:{port}"})
    resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (256, 256))
    for words in (["-b", node.bootstrap], ["--no-cluster", "--data", str(node.data)]):
        text = found("descriptor-limit", *words)
        assert "may have 256 descriptors, and uses" in text
        assert "LimitNOFILE=" in text
    used = len(os.listdir(f"/proc/{node.process.pid}/fd"))
    resource.prlimit(node.process.pid, resource.RLIMIT_NOFILE, (used + 1, used + 1))
    assert f"of {used + 1} descriptors" in found("descriptor-limit", "--no-cluster", "--data", str(node.data))


# ------------------------------------------------------------------------------------------------ groups, transactions


def test_a_group_that_lags(start_node: StartNode, topic: str) -> None:
    node = start_node()
    create_topic(node.bootstrap, topic, 1)
    settings = {"bootstrap.servers": node.bootstrap, "group.id": "slow", "enable.auto.commit": False}
    consumer = confluent_kafka.Consumer(settings)
    consumer.commit(offsets=[confluent_kafka.TopicPartition(topic, 0, 0)], asynchronous=False)
    assert "group-lag" not in {each["check"] for each in examine("-b", node.bootstrap, "--patience", "0s")[1]}
    write(node.bootstrap, topic, 100)
    text = found("group-lag", "-b", node.bootstrap, "--patience", "0s")
    assert "Group slow is 100 records behind" in text
    assert "Start its consumers" in text
    # Nothing is old enough yet.
    assert "group-lag" not in {each["check"] for each in examine("-b", node.bootstrap)[1]}
    consumer.subscribe([topic])
    consumer.poll(20.0)
    assert "moldau explain group slow" in found("group-lag", "-b", node.bootstrap, "--patience", "0s")
    consumer.close()


def test_a_transaction_that_is_stuck(start_node: StartNode, topic: str) -> None:
    node = start_node({"transaction.partition.verification.enable": "false"})
    create_topic(node.bootstrap, topic, 1)
    settings = {"bootstrap.servers": node.bootstrap, "transactional.id": "payments-7"}
    producer = confluent_kafka.Producer(settings)
    producer.init_transactions(20)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush(20)
    assert "long-transaction" not in {each["check"] for each in examine("-b", node.bootstrap)[1]}
    text = found("long-transaction", "-b", node.bootstrap, "--patience", "0s")
    assert "payments-7 is in the state Ongoing" in text
    assert "moldau transactions abort payments-7" in text
    producer.abort_transaction(20)
    assert "long-transaction" not in {each["check"] for each in examine("-b", node.bootstrap, "--patience", "0s")[1]}


def test_a_transaction_that_nobody_knows(start_node: StartNode, topic: str) -> None:
    """Written without its partition being added first, as producers before KIP-890 could."""
    from test_transactions_requests import Producer

    from moldau.client.cluster import Cluster as Client

    node = start_node({"transaction.partition.verification.enable": "false"})
    create_topic(node.bootstrap, topic, 1)
    with Client(node.bootstrap) as cluster:
        assert Producer(cluster, "forgetful").write(topic, 0, b"hangs", version=9) == 0
    text = found("hanging-transaction", "-b", node.bootstrap, "--patience", "0s")
    assert f"hangs in {topic}-0 from offset 0 on" in text
    command = f"moldau transactions abort --topic {topic} --partition 0 --start-offset 0"
    assert command in text
    # The remedy is one.
    subprocess.run([str(MOLDAU), *command.split()[1:], "-b", node.bootstrap], check=True, capture_output=True)
    assert "hanging-transaction" not in {each["check"] for each in examine("-b", node.bootstrap, "--patience", "0s")[1]}


# ---------------------------------------------------------------------------------------------------------- addresses


def test_a_listener_that_cannot_be_reached(start_node: StartNode) -> None:
    (port,) = hold_ports(1)
    node = start_node({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"})
    text = found("unreachable-listener", "-b", node.bootstrap)
    assert f"Broker 1 (127.0.0.1:{port}) sends heartbeats but does not answer" in text
    assert "advertised.listeners of broker 1" in text


def test_an_address_that_leads_to_somebody_else(start_node: StartNode) -> None:
    other = start_node()
    node = start_node({"advertised.listeners": f"PLAINTEXT://{other.bootstrap}"})
    text = found("wrong-address", "-b", node.bootstrap)
    assert f"Broker 1 ({other.bootstrap}) is not the broker that is found at this address" in text
    assert "Correct advertised.listeners of broker 1" in text


# ------------------------------------------------------------------------------------------------------- three nodes


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    with Cluster(nodes=3) as cluster:
        yield cluster


def test_fewer_in_sync_than_writes_need(cluster: Cluster, topic: str) -> None:
    with KafkaAdminClient(bootstrap_servers=cluster.bootstrap_servers) as admin:
        wanted = NewTopic(topic, replica_assignments={0: [2, 3]}, topic_configs={"min.insync.replicas": "2"})
        admin.create_topics([wanted], wait_for_metadata=True)
    cluster.node(3).kill()
    at = cluster.node(1).address
    wait_until(lambda: "fenced-broker" in {each["check"] for each in examine("-b", at)[1]})
    text = found("under-min-isr", "-b", at)
    assert f"{topic}-0" in text
    assert f"moldau explain isr {topic}" in text
    wait_until(lambda: "silent-voter" in {each["check"] for each in examine("-b", at)[1]})
    assert "Voter 3 of the quorum" in found("silent-voter", "-b", at)
    cluster.node(2).kill()
    # The last of three: nobody can decide anything.
    wait_until(lambda: "no-controller" in {each["check"] for each in examine("-b", at)[1]})
    cluster.start()
    wait_until(lambda: examine("-b", at)[1] == [] or not _broken(examine("-b", at)[1]))


def _broken(findings: list[dict[str, Any]]) -> list[str]:
    usual = (*OF_THIS_MACHINE, "descriptor-limit", "single-copy")
    return [each["check"] for each in findings if each["check"] not in usual]


def test_brokers_of_different_versions(cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """One of the nodes runs another copy of the program, which has another version and speaks less."""
    other = tmp_path / "other" / "moldau"
    shutil.copytree(Path(package.__file__).parent, other, ignore=shutil.ignore_patterns("__pycache__"))
    groups = other / "protocol" / "messages" / "list_groups.py"
    said = groups.read_text()
    assert "MAX_VERSION: ClassVar[int] = 5" in said
    groups.write_text(said.replace("MAX_VERSION: ClassVar[int] = 5", "MAX_VERSION: ClassVar[int] = 4"))
    face = other / "__init__.py"
    face.write_text(face.read_text().replace(f'__version__ = "{package.__version__}"', '__version__ = "0.0.7"'))
    assert "0.0.7" in face.read_text()
    _restarted_as(cluster.node(3), other.parent, monkeypatch)
    try:
        text = found("mixed-versions", "-b", cluster.bootstrap_servers)
        assert "do not offer the same APIs" in text
        assert "Finish the upgrade" in text
        # Those that tell their metrics say which versions.
        for node in cluster.nodes:
            _tell_metrics(node)
        cluster.node(1).restart()
        cluster.node(2).restart()
        _restarted_as(cluster.node(3), other.parent, monkeypatch)
        text = found("mixed-versions", "-b", cluster.bootstrap_servers)
        assert f"broker 1 has {package.__version__}" in text
        assert "broker 3 has 0.0.7" in text
    finally:
        cluster.node(3).restart()
    assert "mixed-versions" not in {each["check"] for each in examine("-b", cluster.bootstrap_servers)[1]}


def _restarted_as(node: Node, source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as changed:
        changed.setenv("PYTHONPATH", str(source))
        node.restart()


def _tell_metrics(node: Node) -> None:
    assert node._process is not None
    node._process.settings["metrics.listener"] = f"127.0.0.1:{hold_ports(1)[0]}"


def test_two_brokers_whose_addresses_were_swapped() -> None:
    """As by a wrong rule of a router: each answers where the other is looked for."""
    with Cluster(nodes=3, proxied=True) as swapped:
        one, two = swapped.node(1), swapped.node(2)
        assert one._wires is not None
        assert two._wires is not None
        one._wires.clients.lead_to("127.0.0.1", two.port)
        two._wires.clients.lead_to("127.0.0.1", one.port)
        text = found("wrong-address", "-b", swapped.node(3).address)
        assert "Broker 1" in text
        assert "Broker 2" in text
        assert "another broker answers" in text


# --------------------------------------------------------------------------------------------------------- for people


def test_what_people_read(start_node: StartNode) -> None:
    node = start_node({"advertised.listeners": f"PLAINTEXT://127.0.0.1:{hold_ports(1)[0]}"})
    command = [sys.executable, "-m", "moldau", "doctor", "-b", node.bootstrap]
    result = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert result.returncode == 1
    assert "problem unreachable-listener: Broker 1" in result.stdout
    assert "\x1b" not in result.stdout
    with subprocess.Popen(
        ["script", "-qec", " ".join(command), "/dev/null"], stdout=subprocess.PIPE, env=_terminal()
    ) as typed:
        assert b"\x1b[31mproblem\x1b[0m unreachable-listener" in typed.communicate(timeout=PATIENCE)[0]
    os.kill(node.process.pid, signal.SIGTERM)


def _terminal() -> dict[str, str]:
    return {**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, "TERM": "xterm"}
