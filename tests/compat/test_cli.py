"""The `moldau` command against a running node (or, with MOLDAU_COMPAT_BOOTSTRAP, against any other Kafka)."""

from __future__ import annotations

import hashlib
import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from node_process import NodeProcess

from clients import EARLIEST, ConfluentKafka, Message

RunMoldau = Callable[..., "subprocess.CompletedProcess[bytes]"]
StartNode = Callable[..., NodeProcess]


def run(*arguments: str, given: bytes = b"", status: int | None = 0) -> subprocess.CompletedProcess[bytes]:
    result = subprocess.run([sys.executable, "-m", "moldau", *arguments], input=given, capture_output=True, timeout=120)
    assert status is None or result.returncode == status, result.stderr.decode()
    assert b"Traceback" not in result.stderr
    return result


@pytest.fixture
def moldau(bootstrap: str) -> RunMoldau:
    """A command that talks to the broker; a status other than the expected one fails the test."""
    return lambda *arguments, **more: run(*arguments, "--bootstrap", bootstrap, **more)


def told(result: subprocess.CompletedProcess[bytes]) -> Any:
    return json.loads(result.stdout)


# -------------------------------------------------------------------------------------------------------- topics


def test_the_life_of_a_topic(moldau: RunMoldau, topic: str) -> None:
    created = moldau("topics", "create", topic, "--partitions", "3", "--config", "retention.ms=123456")
    assert created.stdout == f"{topic} created (3 partitions, 1 replica each)\n".encode()
    again = moldau("topics", "create", topic, status=1)
    assert again.stderr == f"moldau: Topic {topic!r} exists already.\n".encode()
    moldau("topics", "create", topic, "--if-not-exists")

    assert topic in [entry["name"] for entry in told(moldau("topics", "list", "--json"))]
    (described,) = told(moldau("topics", "describe", topic, "--json"))
    assert described["configs"] == {"retention.ms": "123456"}
    assert [partition["partition"] for partition in described["partitions"]] == [0, 1, 2]
    assert all(partition["leader"] in partition["isr"] for partition in described["partitions"])

    moldau(
        "topics", "alter", topic, "--partitions", "5", "--config", "cleanup.policy=compact", "--unset", "retention.ms"
    )
    (altered,) = told(moldau("topics", "describe", topic, "--json"))
    assert (altered["partition_count"], altered["configs"]) == (5, {"cleanup.policy": "compact"})
    assert altered["id"] == described["id"]
    assert moldau("topics", "alter", topic, "--partitions", "2", status=1).stderr.startswith(b"moldau: ")

    assert moldau("topics", "delete", topic).stdout == f"{topic} deleted\n".encode()
    assert moldau("topics", "delete", topic, status=1).stderr == f"moldau: There is no topic {topic!r}.\n".encode()
    moldau("topics", "delete", topic, "--if-exists")
    assert topic not in [entry["name"] for entry in told(moldau("topics", "list", "--json"))]


def test_one_topic_that_fails_does_not_hide_the_others(moldau: RunMoldau, topic: str) -> None:
    result = moldau("topics", "create", topic, "not/valid", "--json", status=1)
    outcomes = {entry["name"]: entry["error"] for entry in told(result)}
    assert outcomes == {topic: None, "not/valid": "INVALID_TOPIC_EXCEPTION"}
    assert result.stderr.count(b"\n") == 1


def test_validate_only_creates_nothing(moldau: RunMoldau, topic: str) -> None:
    moldau("topics", "create", topic, "--validate-only")
    moldau("topics", "describe", topic, status=1)


# -------------------------------------------------------------------------------------------------------- configs


def test_settings_of_a_topic(moldau: RunMoldau, topic: str) -> None:
    moldau("topics", "create", topic)
    moldau("configs", "set", "--topic", topic, "retention.ms=1000", "cleanup.policy=compact")
    moldau("configs", "set", "--topic", topic, "cleanup.policy+=delete")
    configs = {
        entry["name"]: entry for entry in told(moldau("configs", "describe", "--topic", topic, "--all", "--json"))
    }
    assert configs["retention.ms"]["value"] == "1000"
    assert configs["retention.ms"]["source"] == "TOPIC"
    assert set(configs["cleanup.policy"]["value"].split(",")) == {"compact", "delete"}
    assert configs["segment.bytes"]["source"] == "DEFAULT"
    moldau("configs", "unset", "--topic", topic, "retention.ms", "cleanup.policy")
    # Not even what is stored for all brokers and is the default: min.insync.replicas.
    assert moldau("configs", "describe", "--topic", topic).stdout == b""
    assert b"min.insync.replicas" in moldau("configs", "describe", "--all-brokers").stdout
    assert moldau("configs", "describe", "--topic", topic, "retention.ms").stdout.split()[-3:-1] == [
        b"604800000",
        b"default",
    ]
    refused = moldau("configs", "set", "--topic", topic, "retention.ms=soon", status=1)
    assert b"retention.ms" in refused.stderr
    assert b"There is no topic 'nowhere'" in moldau("configs", "describe", "--topic", "nowhere", status=1).stderr


def test_settings_of_brokers(moldau: RunMoldau) -> None:
    broker = str(told(moldau("cluster", "describe", "--json"))["brokers"][0]["id"])
    moldau("configs", "set", "--all-brokers", "log.cleaner.threads=2")
    moldau("configs", "set", "--broker", broker, "log.cleaner.threads=3")
    for target, source in (["--broker", broker], "BROKER"), (["--all-brokers"], "ALL_BROKERS"):
        (config,) = told(moldau("configs", "describe", *target, "log.cleaner.threads", "--json"))
        assert config["source"] == source
    moldau("configs", "unset", "--broker", broker, "log.cleaner.threads")
    moldau("configs", "unset", "--all-brokers", "log.cleaner.threads")
    (config,) = told(moldau("configs", "describe", "--broker", broker, "log.cleaner.threads", "--json"))
    assert config["source"] in ("DEFAULT", "SERVER_PROPERTIES")


# --------------------------------------------------------------------------------------------- produce and consume


@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_hundred_thousand_lines_come_out_as_they_went_in(moldau: RunMoldau, topic: str, compression: str) -> None:
    lines = [b"%d:line number %d" % (number % 100, number) for number in range(100_000)]
    moldau("topics", "create", topic, "--partitions", "4")
    produced = moldau("produce", topic, "-K", ":", "-z", compression, "--json", given=b"\n".join(lines))
    assert told(produced)["records"] == 100_000
    consumed = moldau("consume", topic, "--format", "{key}:{value}").stdout
    # Per key in order; across partitions in any.
    assert _digest(sorted(lines, key=_key)) == _digest(sorted(consumed.splitlines(), key=_key))


def _key(line: bytes) -> bytes:
    return line.partition(b":")[0]


def _digest(lines: list[bytes]) -> str:
    return hashlib.sha256(b"\n".join(lines)).hexdigest()


@pytest.mark.parametrize("acks", ["0", "1", "all"])
def test_acknowledgements(moldau: RunMoldau, topic: str, acks: str) -> None:
    moldau("topics", "create", topic)
    moldau("produce", topic, "--acks", acks, given=b"a\nb\n")
    assert moldau("consume", topic, "--follow", "--max", "2").stdout == b"a\nb\n"


def test_where_reading_begins_and_ends(moldau: RunMoldau, topic: str) -> None:
    moldau("topics", "create", topic)
    entries = [json.dumps({"value": str(number), "timestamp": 1_000_000 + number}) for number in range(10)]
    moldau("produce", topic, "--format", "json", given="\n".join(entries).encode())
    for options, expected in [
        ([], "0123456789"),
        (["--from", "7"], "789"),
        (["--from", "@1000004", "--until", "@1000006"], "45"),
        (["--from", "1970-01-01T00:16:40.008Z"], "89"),
        (["--from", "@2000000"], ""),
        (["--tail", "3", "--max", "2"], "78"),
        (["--until", "2"], "01"),
    ]:
        read = moldau("consume", topic, "--delimiter", "", *options)
        assert read.stdout.decode() == expected, options


def test_everything_a_record_has(moldau: RunMoldau, bootstrap: str, topic: str) -> None:
    client = ConfluentKafka(bootstrap)
    client.create_topic(topic, partitions=2)
    client.produce(topic, [Message(value=None, key=b"\xff\x00", partition=1)])
    given = {"key": "k", "value": "v", "headers": {"h": "1", "n": None}, "partition": 0, "timestamp": 123456789}
    moldau("produce", topic, "--format", "json", "--header", "all=x", given=json.dumps(given).encode())
    records = {}
    for line in moldau("consume", topic, "--json").stdout.splitlines():
        record = json.loads(line)
        records[record["partition"]] = record
    assert (records[1]["key_base64"], records[1]["value"]) == ("/wA=", None)
    assert records[0] == {
        "topic": topic,
        "partition": 0,
        "offset": 0,
        "timestamp": 123456789,
        "key": "k",
        "value": "v",
        "headers": [{"name": "all", "value": "x"}, {"name": "h", "value": "1"}, {"name": "n", "value": None}],
    }
    (received,) = client.consume(topic, EARLIEST, 1, partition=0)
    assert (received.key, received.value) == (b"k", b"v")


def test_a_batch_that_is_too_large_says_what_helps(moldau: RunMoldau, topic: str) -> None:
    moldau("topics", "create", topic, "--config", "max.message.bytes=1000")
    result = moldau("produce", topic, given=b"x" * 5000, status=1)
    assert b"max.message.bytes" in result.stderr
    moldau("produce", topic, "--batch-size", "900", given=b"\n".join([b"x" * 100] * 50))
    assert len(moldau("consume", topic).stdout.split()) == 50


def test_records_are_deleted_up_to_an_offset(moldau: RunMoldau, topic: str) -> None:
    moldau("topics", "create", topic, "--partitions", "2")
    for partition in ("0", "1"):
        moldau("produce", topic, "-p", partition, given=b"a\nb\nc\n")
    moldau("topics", "delete-records", topic, "--partition", "1", "--before", "2")
    offsets = told(moldau("topics", "offsets", topic, "--json"))
    assert [(entry["earliest"], entry["latest"]) for entry in offsets] == [(0, 3), (2, 3)]
    moldau("topics", "delete-records", topic, "--before", "latest")
    assert moldau("consume", topic).stdout == b""
    assert b"lies outside" in moldau("topics", "delete-records", topic, "--before", "99", status=1).stderr


def test_the_cluster(moldau: RunMoldau) -> None:
    described = told(moldau("cluster", "describe", "--disks", "--apis", "--json"))
    assert described["cluster_id"]
    assert described["brokers"]
    assert described["log_directories"][0]["error"] is None
    assert {"Produce", "Fetch", "Metadata"} <= {api["name"] for api in described["apis"]}


# ------------------------------------------------------------------------------------------------------- our node


def test_the_log_of_a_running_node_can_be_looked_into(broker: NodeProcess, topic: str) -> None:
    bootstrap = ["--bootstrap", broker.bootstrap]
    run("topics", "create", topic, *bootstrap)
    run("produce", topic, "-z", "zstd", *bootstrap, given=b"".join(b"%d\n" % number for number in range(1000)))
    dumped = run("log", "dump", str(broker.data / f"{topic}-0"), "--records", "--verify", "--json").stdout
    values = [entry["value"] for entry in map(json.loads, dumped.splitlines()) if entry["kind"] == "record"]
    assert values == [str(number) for number in range(1000)]
    metadata = run("log", "dump", str(broker.data / "__cluster_metadata-0"), "--metadata", "--json").stdout
    topics = [entry for entry in map(json.loads, metadata.splitlines()) if entry.get("type") == "TopicRecord"]
    assert topic in [entry["data"]["name"] for entry in topics]


def test_everything_a_stopped_node_left_is_sound(start_node: StartNode) -> None:
    node = start_node({"log.segment.bytes": str(1 << 20), "log.index.interval.bytes": "1024"})
    bootstrap = ["--bootstrap", node.bootstrap]
    run("topics", "create", "one", "two", "--partitions", "2", *bootstrap)
    lines = b"".join(b"%d:%s\n" % (number, b"x" * 100) for number in range(30_000))
    run("produce", "one", "-K", ":", *bootstrap, given=lines)
    run("produce", "two", "--batch-size", "2k", *bootstrap, given=lines[:500_000])
    assert node.stop()[0] == 0
    checked = run("log", "dump", str(node.data), "-r", "--verify", "--quiet")
    assert b"no problem found" in checked.stdout


def test_one_data_directory_serves_one_node(start_node: StartNode) -> None:
    node = start_node()
    second = run("start", "--listen", "127.0.0.1:0", "--data", str(node.data), "--log-level", "error", status=1)
    assert second.stdout == b""
    assert second.stderr.startswith(b"moldau: ")
    assert second.stderr.count(b"\n") == 1
    assert str(node.data).encode() in second.stderr


def test_a_properties_file(tmp_path: Path) -> None:
    """Kafka's own names, roles and listeners, with the address of clients moved by --listen."""
    file = tmp_path / "server.properties"
    file.write_text(
        f"node.id=5\nlisteners=PLAINTEXT://:9092\nadvertised.listeners=PLAINTEXT://elsewhere:9092\n"
        f"log.dirs={tmp_path / 'data'}\nnum.partitions=4\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-m", "moldau", "start", str(file), "--listen", "127.0.0.1:0", "--set", "num.partitions=6"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    try:
        bootstrap = process.stdout.readline().decode().removeprefix("ready ").strip()
        run("topics", "create", "rivers", "--bootstrap", bootstrap)
        (described,) = told(run("topics", "describe", "rivers", "--json", "--bootstrap", bootstrap))
        assert described["partition_count"] == 6
        assert {partition["leader"] for partition in described["partitions"]} == {5}
    finally:
        process.send_signal(signal.SIGINT)
        printed, _ = process.communicate(timeout=60)
    assert (process.returncode, printed) == (0, b"")


def test_a_reader_follows_a_node_that_is_restarted(start_node: StartNode, tmp_path: Path) -> None:
    node = start_node()
    address = node.bootstrap
    run("produce", "rivers", "--bootstrap", address, given=b"before\n")
    reader = subprocess.Popen(
        [sys.executable, "-m", "moldau", "consume", "rivers", "--follow", "--max", "2", "--bootstrap", address],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == b"before\n"
    node.stop()
    # On the same port this time, as a node in service has it.
    again = subprocess.Popen(
        [sys.executable, "-m", "moldau", "start", "--listen", address, "--data", str(node.data)],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    assert again.stdout is not None
    try:
        assert again.stdout.readline() == f"ready {address}\n".encode()
        run("produce", "rivers", "--bootstrap", address, given=b"after\n")
        printed, said = reader.communicate(timeout=60)
        assert (reader.returncode, printed) == (0, b"after\n"), said.decode()
    finally:
        again.terminate()
        again.communicate(timeout=60)
