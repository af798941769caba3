"""Apache Kafka's own tools and clients against a node, its dump tool on a node's files, and each on the other's data.

Needs Java and Kafka's jars, hence a target of its own: `make compat-java`. See java_tools for where the jars are found.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from java_tools import ApacheKafka, KafkaTools, find_libs, read_as_group, write_records
from node_process import MOLDAU, NodeProcess, StartNode
from scraping import metrics_address, scrape, value

CLUSTER_ID = "UJGknZGyd0ra95Lz8JamMg"
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
# So that a data directory has dozens of files, not hundreds.
FEW_PARTITIONS = {"offsets.topic.num.partitions": "3", "transaction.state.log.num.partitions": "3"}

_libs = find_libs()
pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(isinstance(_libs, str), reason=_libs if isinstance(_libs, str) else ""),
]


@pytest.fixture(scope="session")
def tools() -> KafkaTools:
    assert isinstance(_libs, Path)
    return KafkaTools(_libs)


@pytest.fixture
def at(bootstrap: str) -> tuple[str, str]:
    return "--bootstrap-server", bootstrap


def moldau(*words: str, given: str = "") -> str:
    done = subprocess.run([str(MOLDAU), *words], input=given, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"moldau {' '.join(words)} ended with {done.returncode}:\n{done.stdout}{done.stderr}"
    return done.stdout


def write_transactions(tools: KafkaTools, bootstrap: str, topic: str, count: int) -> str:
    return write_records(tools, bootstrap, topic, count, f"transactional.id=of-{topic}", "compression.type=lz4")


def test_topics_and_their_settings(tools: KafkaTools, at: tuple[str, str], topic: str) -> None:
    named = ("--topic", topic)
    tools.run("TopicCommand", *at, "--create", *named, "--partitions", "2", "--config", "retention.ms=123456789")
    assert topic in tools.run("TopicCommand", *at, "--list").splitlines()
    tools.run("TopicCommand", *at, "--alter", *named, "--partitions", "3")
    described = tools.run("TopicCommand", *at, "--describe", *named)
    assert "PartitionCount: 3" in described
    assert "retention.ms=123456789" in described
    assert described.count("Leader: 1\tReplicas: 1\tIsr: 1") == 3
    assert "exists" in tools.refused("TopicCommand", *at, "--create", *named)

    entity = ("--entity-type", "topics", "--entity-name", topic)
    tools.run("ConfigCommand", *at, "--alter", *entity, "--add-config", "cleanup.policy=[compact,delete]")
    shown = tools.run("ConfigCommand", *at, "--describe", *entity)
    assert "cleanup.policy=compact,delete" in shown
    assert "DEFAULT_CONFIG:log.cleanup.policy=delete" in shown
    tools.run("ConfigCommand", *at, "--alter", *entity, "--delete-config", "cleanup.policy")
    assert "cleanup.policy" not in tools.run("ConfigCommand", *at, "--describe", *entity)
    refusal = tools.refused("ConfigCommand", *at, "--alter", *entity, "--add-config", "segment.bytes=abc")
    assert "InvalidConfigurationException" in refusal
    assert "log.dirs=" in tools.run(
        "ConfigCommand", *at, "--describe", "--entity-type", "brokers", "--entity-name", "1", "--all"
    )

    tools.run("TopicCommand", *at, "--delete", *named)
    assert topic not in tools.run("TopicCommand", *at, "--list").splitlines()


def test_records_in_every_codec_and_the_offsets_of_a_topic(
    tools: KafkaTools, at: tuple[str, str], topic: str, tmp_path: Path
) -> None:
    tools.run("TopicCommand", *at, "--create", "--topic", topic, "--partitions", "1")
    for codec in CODECS:
        keyed = ("--property", "parse.key=true", "--property", "key.separator=:")
        words = ("--topic", topic, "--compression-codec", codec, *keyed)
        tools.run("ConsoleProducer", *at, *words, given=f"k:{codec} 1\nk:{codec} 2\n")
    words = ("--topic", topic, "--from-beginning", "--max-messages", "10", "--property", "print.key=true")
    read = tools.run("ConsoleConsumer", *at, *words).splitlines()
    assert [line for line in read if line.startswith("k\t")] == [f"k\t{codec} {n}" for codec in CODECS for n in (1, 2)]

    def offset(when: str) -> str:
        return tools.run("GetOffsetShell", *at, "--topic", topic, "--time", when).strip()

    offsets = [offset(when) for when in ("earliest", "latest", "max-timestamp")]
    assert [line.rsplit(":", 1)[0] for line in offsets] == [f"{topic}:0"] * 3
    assert offsets[:2] == [f"{topic}:0:0", f"{topic}:0:10"]
    deletion = tmp_path / "delete.json"
    deletion.write_text(json.dumps({"version": 1, "partitions": [{"topic": topic, "partition": 0, "offset": 4}]}))
    assert "low_watermark: 4" in tools.run("DeleteRecordsCommand", *at, "--offset-json-file", str(deletion))
    assert offset("earliest") == f"{topic}:0:4"


def test_the_tools_that_measure(tools: KafkaTools, at: tuple[str, str], bootstrap: str, topic: str) -> None:
    tools.run("TopicCommand", *at, "--create", "--topic", topic, "--partitions", "2")
    for codec in CODECS:
        assert "2000 records sent" in write_records(tools, bootstrap, topic, 2000, f"compression.type={codec}")
    assert "1000 records sent" in write_transactions(tools, bootstrap, topic, 1000)
    measured = tools.run("ConsumerPerformance", *at, "--topic", topic, "--messages", "11000", "--timeout", "20000")
    assert "WARNING" not in measured
    assert measured.splitlines()[-1].split(", ")[4] == "11000"


@pytest.mark.parametrize("protocol", ["classic", "consumer"])
def test_a_group_and_its_offsets(
    tools: KafkaTools, at: tuple[str, str], bootstrap: str, topic: str, protocol: str
) -> None:
    group = f"group-of-{topic}"
    tools.run("TopicCommand", *at, "--create", "--topic", topic, "--partitions", "1")
    sent = tools.run("VerifiableProducer", *at, "--topic", topic, "--max-messages", "20", "--throughput", "1000")
    assert sent.count("producer_send_success") == 20
    events = read_as_group(tools, bootstrap, topic, group, 20, protocol)
    assert "partitions_assigned" in events
    assert "partitions_revoked" in events

    def command(*words: str) -> str:
        return tools.run("ConsumerGroupCommand", *at, "--group", group, *words)

    def committed() -> list[str]:
        rows = [line.split() for line in command("--describe").splitlines()]
        return [" ".join(row[1:6]) for row in rows if row[:1] == [group]]

    listed = tools.run("GroupsCommand", *at, "--list")
    assert re.search(rf"{re.escape(group)}\s+{protocol.capitalize()}\s+consumer", listed)
    assert committed() == [f"{topic} 0 20 20 0"]
    assert "Empty" in command("--describe", "--state")
    for how, after in (("--to-earliest", 0), ("--to-offset=7", 7), ("--shift-by=2", 9), ("--to-latest", 20)):
        command("--reset-offsets", "--topic", topic, how, "--execute")
        assert committed() == [f"{topic} 0 {after} 20 {20 - after}"]
    exported = command("--reset-offsets", "--topic", topic, "--to-earliest", "--export", "--dry-run")
    assert exported.replace('"', "").strip() == f"{topic},0,0"
    assert "Successful" in command("--delete-offsets", "--topic", topic)
    assert "successful" in command("--delete")
    assert group not in tools.run("ConsumerGroupCommand", *at, "--list")


def test_the_tools_that_look_at_the_cluster(
    tools: KafkaTools, at: tuple[str, str], bootstrap: str, topic: str, broker: NodeProcess
) -> None:
    versions = tools.run("BrokerApiVersionsCommand", *at)
    assert f"{bootstrap} (id: 1" in versions
    assert re.search(r"Produce\(0\): 0 to \d+ \[usable: \d+\]", versions)
    assert "Cluster ID: " in tools.run("ClusterTool", "cluster-id", *at)
    assert re.search(r"metadata\.version\s.*FinalizedVersionLevel", tools.run("FeatureCommand", *at, "describe"))
    tools.run("TopicCommand", *at, "--create", "--topic", topic, "--partitions", "1")
    write_transactions(tools, bootstrap, topic, 10)
    (directories,) = re.findall(r"^{.*}$", tools.run("LogDirsCommand", *at, "--describe", "--topic-list", topic), re.M)
    (directory,) = json.loads(directories)["brokers"][0]["logDirs"]
    assert (directory["error"], directory["logDir"]) == (None, str(broker.data))
    assert [row["partition"] for row in directory["partitions"]] == [f"{topic}-0"]

    transaction = f"of-{topic}"
    assert re.search(rf"{transaction}\s+1\s+\d+\s+CompleteCommit", tools.run("TransactionsCommand", *at, "list"))
    described = tools.run("TransactionsCommand", *at, "describe", "--transactional-id", transaction)
    assert "CompleteCommit" in described
    producers = tools.run("TransactionsCommand", *at, "describe-producers", "--topic", topic, "--partition", "0")
    assert len(producers.strip().splitlines()) == 2
    hanging = tools.run("TransactionsCommand", *at, "find-hanging", "--broker-id", "1")
    assert transaction not in hanging


def test_the_java_clients_push_their_metrics(tools: KafkaTools, start_node: StartNode) -> None:
    node = start_node({"metrics.listener": "127.0.0.1:0"})
    at = ("--bootstrap-server", node.bootstrap)
    wanted = ("--metrics", "org.apache.kafka.", "--match", "client_software_name=apache-kafka-java")
    tools.run("ClientMetricsCommand", *at, "--alter", "--name", "java", "--interval", "100", *wanted)
    assert tools.run("ClientMetricsCommand", *at, "--list").split() == ["java"]
    described = tools.run("ClientMetricsCommand", *at, "--describe", "--name", "java")
    assert "interval.ms=100" in described
    assert "match=client_software_name=apache-kafka-java" in described
    refused = tools.refused("ClientMetricsCommand", *at, "--alter", "--name", "java", "--interval", "99")
    assert "interval.ms cannot be '99'" in refused

    write_records(tools, node.bootstrap, "rivers", 2000, "client.id=writer", "compression.type=lz4")
    for protocol in ("classic", "consumer"):
        read_as_group(tools, node.bootstrap, "rivers", protocol, 2000, protocol)
    samples = scrape(metrics_address(node.log))
    # They say good-bye with their last numbers, which may be from before they have finished.
    assert 0 <= value(samples, "kafka_client_producer_record_send_total", client_id="writer") <= 2000
    read = {
        labels["group_id"]: number
        for labels, number in samples["kafka_client_consumer_fetch_manager_records_consumed_total"]
        if "topic" not in labels
    }
    assert read.keys() == {"classic", "consumer"}
    assert all(0 <= number <= 2000 for number in read.values())
    assert value(samples, "kafka_server_client_metrics_plugin_error_count_total") == 0

    tools.run("ClientMetricsCommand", *at, "--delete", "--name", "java")
    assert tools.run("ClientMetricsCommand", *at, "--list").split() == []


def test_the_java_clients(tools: KafkaTools, bootstrap: str) -> None:
    status, said = tools.java(str(Path(__file__).parent / "java" / "Clients.java"), bootstrap)
    assert status == 0, said
    assert said.count("ok ") >= 12


@pytest.fixture
def used_node(tools: KafkaTools, start_node: StartNode) -> NodeProcess:
    """A node that has seen transactions, committed and aborted, and groups of both protocols; stopped cleanly."""
    node = start_node(FEW_PARTITIONS)
    at = ("--bootstrap-server", node.bootstrap)
    tools.run("TopicCommand", *at, "--create", "--topic", "rivers", "--partitions", "1")
    for codec in CODECS:
        write_records(tools, node.bootstrap, "rivers", 500, f"compression.type={codec}")
    write_transactions(tools, node.bootstrap, "rivers", 500)
    for protocol in ("classic", "consumer"):
        read_as_group(tools, node.bootstrap, "rivers", protocol, 3000, protocol)
    status, said = tools.java(str(Path(__file__).parent / "java" / "Clients.java"), node.bootstrap)
    assert status == 0, said
    assert node.stop()[0] == 0
    return node


def test_the_dump_tool_reads_every_file(tools: KafkaTools, used_node: NodeProcess) -> None:
    data = used_node.data

    def dump(pattern: str, *words: str) -> str:
        # A deleted topic waits for its removal with the indexes it had, not cut to their length.
        kept = [path for path in sorted(data.glob(pattern)) if not path.parent.name.endswith("-delete")]
        files = [str(path) for path in kept if path.stat().st_size]
        assert files, pattern
        said = tools.run("DumpLogSegments", *words, "--files", ",".join(files))
        assert not re.search(r"isvalid: false|[Mm]ismatch|Exception|out of order|Failed", said), said
        return said

    assert dump("*/*.log", "--deep-iteration").count("isvalid: true") > 20
    assert dump("rivers-0/*.log", "--deep-iteration").count("| offset:") == 3001
    for index in ("*/*.index", "*/*.timeindex"):
        assert "passed sanity check" in dump(index, "--index-sanity-check")
        assert re.search(r"^(offset|timestamp): \d+", dump(index), re.M)
    assert "lastStableOffset: " in dump("*/*.txnindex")
    assert "producerEpoch: " in dump("rivers-0/*.snapshot")
    groups = dump("__consumer_offsets-*/*.log", "--offsets-decoder")
    assert re.search(
        r'"group":"classic","topic":"rivers","partition":0}} payload: {"version":"\d+","data":{"offset":300[01],',
        groups,
    )
    assert '"groupId":"consumer"' in groups
    transactions = dump("__transaction_state-*/*.log", "--transaction-log-decoder")
    assert '"transactionalId":"of-rivers"' in transactions
    if tools.release >= (4, 3):  # an older tool does not know the newest metadata records
        metadata = dump("__cluster_metadata-0/*.log", "--cluster-metadata-decoder")
        assert '"type":"REGISTER_BROKER_RECORD"' in metadata
        assert '"type":"TOPIC_RECORD","version":0,"data":{"name":"rivers"' in metadata


@pytest.fixture
def apache_kafka(tools: KafkaTools, tmp_path: Path) -> Iterator[ApacheKafka]:
    kafka = ApacheKafka(tools, tmp_path / "kafka")
    kafka.format(CLUSTER_ID)
    kafka.start()
    yield kafka
    kafka.kill()


def test_apache_kafka_starts_on_the_data_of_a_node(tools: KafkaTools, used_node: NodeProcess) -> None:
    if tools.release < (4, 3):
        pytest.skip("a new data directory is at metadata.version 4.3, which this release of Kafka does not know")
    kafka = ApacheKafka(tools, used_node.data)
    kafka.start()
    try:
        at = ("--bootstrap-server", kafka.bootstrap)
        assert tools.run("GetOffsetShell", *at, "--topic", "rivers").strip() == "rivers:0:3001"
        for group in ("classic", "consumer"):
            described = tools.run("ConsumerGroupCommand", *at, "--describe", "--group", group)
            assert re.search(rf"{group}\s+rivers\s+0\s+300[01]\s+3001\s+[01]\s", described)
        assert "of-rivers" in tools.run("TransactionsCommand", *at, "list")
        read_as_group(tools, kafka.bootstrap, "rivers", "later", 3000, "consumer")
        kafka.stop()
        assert kafka.errors() == []
    finally:
        kafka.kill()
    used_node.restart()
    assert "later" in moldau("groups", "list", "-b", used_node.bootstrap)


def test_commands_work_on_apache_kafka_and_a_node_starts_on_its_data(
    tools: KafkaTools, apache_kafka: ApacheKafka
) -> None:
    there = ("-b", apache_kafka.bootstrap)
    moldau("topics", "create", "rivers", "--partitions", "1", *there)
    lines = "".join(f"{number}\n" for number in range(1000))
    for codec in CODECS:
        moldau("produce", "rivers", "-z", codec, *there, given=lines)
    assert moldau("consume", "rivers", "-q", *there) == lines * len(CODECS)
    write_transactions(tools, apache_kafka.bootstrap, "rivers", 100)
    for protocol in ("classic", "consumer"):
        read_as_group(tools, apache_kafka.bootstrap, "rivers", protocol, 5100, protocol)
    assert {row["group_id"] for row in json.loads(moldau("groups", "list", "--json", *there))} == {
        "classic",
        "consumer",
    }
    moldau("groups", "reset-offsets", "classic", "--to", "10", "--topic", "rivers", *there)
    assert "of-rivers" in moldau("transactions", "list", *there)
    apache_kafka.stop()
    assert "no problem found" in moldau("log", "verify", str(apache_kafka.data))
    for directory in ("rivers-0", "__cluster_metadata-0"):
        assert "no problem found" in moldau("log", "dump", str(apache_kafka.data / directory), "--verify")

    node = NodeProcess(apache_kafka.data)
    try:
        here = ("-b", node.bootstrap)
        assert moldau("consume", "rivers", "-q", "--max", "5000", *here) == lines * len(CODECS)
        (described,) = json.loads(moldau("groups", "describe", "classic", "--json", *here))
        assert [row["committed"] for row in described["partitions"]] == [10]
        read_as_group(tools, node.bootstrap, "rivers", "later", 5100, "consumer")
        assert node.stop()[0] == 0
    finally:
        node.kill()
