"""How a node starts and ends, seen from outside: the ready line, the signals, and what it still knows afterwards."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

import pytest
from node_process import MOLDAU, READY_SECONDS, StartNode
from raw_connection import RawConnection

from clients import EARLIEST, ConfluentKafka, Message


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it_in_order(start_node: StartNode, how: signal.Signals) -> None:
    node = start_node()
    with RawConnection(node.address) as connection:
        assert connection.is_served()
        assert node.stop(how) == (0, "")  # one line on standard output, `ready`, and nothing after it


def test_systemd_is_told(start_node: StartNode, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As deploy/systemd/moldau.service asks for it: that it is ready, that it lives, that it ends."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(READY_SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        node = start_node()
        heard = [systemd.recv(1000).decode() for _ in range(3)]
        assert heard == [f"READY=1\nSTATUS=clients are accepted at {node.bootstrap}", "WATCHDOG=1", "WATCHDOG=1"]
        node.process.send_signal(signal.SIGTERM)
        while (last := systemd.recv(1000)) == b"WATCHDOG=1":
            pass
        assert last == b"STOPPING=1"


def test_systemd_is_told_by_a_supervisor_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as systemd:
        systemd.bind(str(tmp_path / "notify"))
        systemd.settimeout(READY_SECONDS)
        monkeypatch.setenv("NOTIFY_SOCKET", systemd.getsockname())
        monkeypatch.setenv("WATCHDOG_USEC", "20000")
        command = [str(MOLDAU), "start", "--nodes", "1", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "data")]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as supervisor:
            try:
                heard = [systemd.recv(1000) for _ in range(3)]
                supervisor.terminate()
                while (last := systemd.recv(1000)) == b"WATCHDOG=1":
                    pass
            finally:
                supervisor.terminate()
                supervisor.wait(READY_SECONDS)
        assert heard == [b"READY=1", b"WATCHDOG=1", b"WATCHDOG=1"]
        assert last == b"STOPPING=1"
        systemd.setblocking(False)
        with pytest.raises(BlockingIOError):  # nor did its nodes say anything
            systemd.recv(1000)


def test_a_restart_keeps_topics_settings_and_records(start_node: StartNode) -> None:
    node = start_node()
    client = ConfluentKafka(node.bootstrap)
    client.create_topic("kept", partitions=2, configs={"retention.ms": "123456789"})
    sent = [Message(value=b"record %d" % number, key=b"k", partition=number % 2) for number in range(1000)]
    client.produce("kept", sent)
    client.delete_records("kept", 1, 10)
    cluster = client.cluster().id
    node.restart()

    client = ConfluentKafka(node.bootstrap)
    assert client.topics()["kept"] == 2
    assert client.topic_configs("kept")["retention.ms"] == "123456789"
    assert client.cluster().id == cluster
    received = client.consume("kept", EARLIEST, 500, partition=0)
    assert [record.value for record in received] == [b"record %d" % number for number in range(0, 1000, 2)]
    assert client.offsets("kept", 1) == (10, 500)
    client.produce("kept", [Message(value=b"after")])
    assert client.consume("kept", 500, 1)[0].value == b"after"


def test_ten_restarts(start_node: StartNode) -> None:
    """Each life adds a topic and a record to every topic before it."""
    node = start_node()
    for life in range(10):
        client = ConfluentKafka(node.bootstrap)
        client.create_topic(f"life-{life}")
        for topic in range(life + 1):
            client.produce(f"life-{topic}", [Message(value=b"%d" % life)])
        node.restart()
    client = ConfluentKafka(node.bootstrap)
    for topic in range(10):
        received = client.consume(f"life-{topic}", EARLIEST, 10 - topic)
        assert [record.value for record in received] == [b"%d" % life for life in range(topic, 10)]


def test_settings_reach_the_node(start_node: StartNode) -> None:
    node = start_node({"num.partitions": "7", "log.retention.hours": "5"})
    client = ConfluentKafka(node.bootstrap)
    client.produce("automatic", [Message(value=b"v")])
    assert client.topics()["automatic"] == 7
    assert client.topic_configs("automatic")["retention.ms"] == str(5 * 3_600_000)


def test_a_topic_does_not_appear_where_that_is_forbidden(start_node: StartNode) -> None:
    node = start_node({"auto.create.topics.enable": "false"})
    client = ConfluentKafka(node.bootstrap)
    client.create_topic("wanted")
    subprocess.run(
        [str(MOLDAU), "topics", "describe", "unwanted", "--bootstrap", node.bootstrap], capture_output=True, check=False
    )
    with RawConnection(node.address) as connection:
        assert connection.is_served()
    assert set(client.topics()) == {"wanted"}


def test_two_nodes_do_not_share_a_data_directory(start_node: StartNode) -> None:
    node = start_node()
    second = subprocess.run(
        [str(MOLDAU), "start", "--listen", "127.0.0.1:0", "--data", str(node.data)],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert second.returncode != 0
    assert second.stdout == ""
    with RawConnection(node.address) as connection:
        assert connection.is_served()


@pytest.mark.parametrize("setting", ["num.partitions=zero", "no.such.setting=1", "num.partitions=0"])
def test_a_bad_setting_is_named(tmp_path: Path, setting: str) -> None:
    done = subprocess.run(
        [
            str(MOLDAU),
            "start",
            "--listen",
            "127.0.0.1:0",
            "--data",
            str(tmp_path / "data"),
            "--set",
            setting,
        ],
        capture_output=True,
        text=True,
        timeout=30,
        check=False,
    )
    assert done.returncode != 0
    assert done.stdout == ""
    assert setting.split("=")[0] in done.stderr
    assert "Traceback" not in done.stderr
