"""The commands against librdkafka's mock cluster: what works against a broker that is not ours."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest
from moldau_command import RunMoldau


def test_produce_and_consume(moldau: RunMoldau, mock_cluster: str) -> None:
    lines = b"".join(b"key %d=value %d\n" % (number % 7, number) for number in range(1000))
    produced = moldau("produce", "lines", "-b", mock_cluster, "-K", "=", "-z", "lz4", "--json", given=lines)
    assert produced.returncode == 0, produced.stderr
    assert json.loads(produced.stdout)["records"] == 1000
    assert b"1,000 records" in produced.stderr
    consumed = moldau("consume", "lines", "-b", mock_cluster, "--format", "{key}={value}", "--quiet")
    assert (consumed.returncode, consumed.stderr) == (0, b"")
    assert sorted(consumed.stdout.splitlines()) == sorted(lines.splitlines())


def test_json_through_both_commands(moldau: RunMoldau, mock_cluster: str) -> None:
    line = b'{"key_base64":"/w==","value":"v","headers":[{"name":"h","value":"1"}],"partition":1,"timestamp":123456}'
    moldau("produce", "json", "-b", mock_cluster, "--format", "json", given=line + b"\n\n")
    first = moldau("consume", "json", "-b", mock_cluster, "--json").stdout
    moldau("produce", "json", "-b", mock_cluster, "--format", "json", given=first)
    shown = [json.loads(line) for line in moldau("consume", "json", "-b", mock_cluster, "--json").stdout.splitlines()]
    assert [record.pop("offset") for record in shown] == [0, 1]
    assert shown[0] == shown[1]
    assert shown[0] == {
        "topic": "json",
        "partition": 1,
        "timestamp": 123456,
        "key_base64": "/w==",
        "value": "v",
        "headers": [{"name": "h", "value": "1"}],
    }


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["--max", "3"], [0, 1, 2]),
        (["--from", "7"], [7, 8, 9]),
        (["--from", "2", "--until", "4"], [2, 3]),
        (["--tail", "2"], [8, 9]),
        (["--from", "5", "--max", "0"], []),
        (["--from", "end", "--until", "end"], []),
        (["--from", "1000"], []),
    ],
)
def test_what_is_read(moldau: RunMoldau, mock_cluster: str, options: list[str], expected: list[int]) -> None:
    topic = f"extent-{abs(hash(tuple(options)))}"
    given = b"".join(b"%d\n" % number for number in range(10))
    moldau("produce", topic, "-b", mock_cluster, "-p", "2", given=given)
    result = moldau("consume", topic, "-b", mock_cluster, "-p", "2", *options)
    assert result.returncode == 0, result.stderr
    assert result.stdout.split() == [b"%d" % number for number in expected]


def test_whole_files(moldau: RunMoldau, mock_cluster: str, tmp_path: object) -> None:
    first, second = os.path.join(str(tmp_path), "a"), os.path.join(str(tmp_path), "b")
    contents = [bytes(range(256)) * 100, b"two\n\n"]
    for path, content in zip((first, second), contents, strict=True):
        with open(path, "wb") as file:
            file.write(content)
    options = ["--format", "raw", "--file", first, "--file", second, "-p", "0"]
    assert moldau("produce", "files", "-b", mock_cluster, *options).returncode == 0
    assert moldau("consume", "files", "-b", mock_cluster, "--format", "raw", "-q").stdout == b"".join(contents)
    missing = moldau("produce", "files", "-b", mock_cluster, "--file", "/no/such/file")
    assert (missing.returncode, missing.stderr) == (
        1,
        b"moldau: /no/such/file cannot be read: No such file or directory.\n",
    )


def test_input_that_is_damaged_half_way(moldau: RunMoldau, mock_cluster: str) -> None:
    result = moldau("produce", "damaged", "-b", mock_cluster, "--format", "hex", given=b"61\n62\nzz\n63\n")
    assert result.returncode == 1
    assert b"moldau: Record 3 of the input cannot be read" in result.stderr
    assert b"2 records" in result.stderr
    assert sorted(moldau("consume", "damaged", "-b", mock_cluster).stdout.split()) == [b"a", b"b"]


def test_follow_prints_what_comes_until_ctrl_c(moldau: RunMoldau, mock_cluster: str) -> None:
    moldau("produce", "followed", "-b", mock_cluster, given=b"before\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "moldau", "consume", "followed", "-b", mock_cluster, "-f", "-q"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == b"before\n"
    moldau("produce", "followed", "-b", mock_cluster, given=b"after\n")
    assert process.stdout.readline() == b"after\n"
    process.send_signal(signal.SIGINT)
    printed, said = process.communicate(timeout=60)
    assert (process.returncode, printed, said) == (130, b"", b"")


def test_a_slow_writer_is_sent_line_by_line(moldau: RunMoldau, mock_cluster: str) -> None:
    process = subprocess.Popen(
        [sys.executable, "-m", "moldau", "produce", "typed", "-b", mock_cluster, "--linger", "10ms", "-q"],
        stdin=subprocess.PIPE,
    )
    assert process.stdin is not None
    process.stdin.write(b"one\n")
    process.stdin.flush()
    moldau_reads = ["consume", "typed", "-b", mock_cluster, "-q"]
    for _ in range(100):
        # The input stays open all the time: only the pause makes the record leave.
        if moldau(*moldau_reads).stdout == b"one\n":
            break
    else:
        pytest.fail("the line was not sent while the input was open")
    process.stdin.close()
    assert process.wait(timeout=60) == 0


def test_topics(moldau: RunMoldau, mock_cluster: str) -> None:
    moldau("produce", "described", "-b", mock_cluster, "-p", "1", given=b"a\nb\n")
    topics = json.loads(moldau("topics", "list", "-b", mock_cluster, "--json").stdout)
    assert next(topic for topic in topics if topic["name"] == "described")["partition_count"] == 4
    (described,) = json.loads(moldau("topics", "describe", "described", "-b", mock_cluster, "--json").stdout)
    assert [partition["replicas"] for partition in described["partitions"]] == [[1, 2, 3]] * 4
    offsets = json.loads(moldau("topics", "offsets", "described", "-b", mock_cluster, "--json").stdout)
    assert [(entry["earliest"], entry["latest"]) for entry in offsets] == [(0, 0), (0, 2), (0, 0), (0, 0)]
    table = moldau("topics", "describe", "described", "-b", mock_cluster).stdout.decode()
    assert "PARTITION  LEADER  EPOCH  REPLICAS  IN SYNC  OFFLINE" in table


def test_what_the_broker_does_not_offer_is_said(moldau: RunMoldau, mock_cluster: str) -> None:
    result = moldau("topics", "create", "x", "-b", mock_cluster)
    assert (result.returncode, result.stderr) == (1, b"moldau: The broker does not offer CreateTopics.\n")


def test_topics_and_partitions_that_are_not_there(moldau: RunMoldau, mock_cluster: str) -> None:
    moldau("produce", "small", "-b", mock_cluster, given=b"x\n")
    for arguments, sentence in [
        (["consume", "nowhere"], b"moldau: There is no topic 'nowhere'.\n"),
        (["topics", "describe", "nowhere"], b"moldau: There is no topic 'nowhere'.\n"),
        (["consume", "small", "-p", "9"], b"moldau: Topic 'small' has no partition 9; it has 4.\n"),
        (["produce", "small", "-p", "9"], b"moldau: Topic 'small' has no partition 9; it has 4.\n"),
    ]:
        result = moldau(*arguments, "-b", mock_cluster, given=b"x\n")
        assert (result.returncode, result.stderr) == (1, sentence)


def test_cluster(moldau: RunMoldau, mock_cluster: str) -> None:
    described = json.loads(moldau("cluster", "describe", "-b", mock_cluster, "--json", "--apis").stdout)
    assert [broker["id"] for broker in described["brokers"]] == [1, 2, 3]
    assert {"key": 0, "name": "Produce", "min_version": 0, "max_version": 10} in described["apis"]
    assert "BROKER  HOST" in moldau("cluster", "describe", "-b", mock_cluster).stdout.decode()
