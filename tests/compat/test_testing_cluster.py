"""`moldau.testing`: a cluster for tests that is really there, really breaks, and is really gone afterwards."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from patience import PATIENCE, alive, wait_until

from moldau import KafkaProducer
from moldau.errors import KafkaTimeoutError
from moldau.testing import Cluster, NodeFailed
from moldau.testing.plugin import moldau, moldau_cluster  # noqa: F401  fixtures


def directory_of(cluster: Cluster) -> Path:
    return cluster.nodes[0].directory.parent


def test_takes_records_and_leaves_no_trace() -> None:
    before = set(threading.enumerate())
    with Cluster() as cluster:
        pid, directory = cluster.nodes[0].pid, directory_of(cluster)
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            assert producer.send("rivers", b"vltava").get(10).offset == 0
        assert directory.exists()
        assert pid is not None
    assert not alive(pid)
    assert not directory.exists()
    assert set(threading.enumerate()) == before


@pytest.mark.parametrize("state", ["running", "paused", "killed"])
def test_a_killed_test_run_takes_its_nodes_along(state: str) -> None:
    change = {"running": "", "paused": "node.pause()", "killed": "node.kill()"}[state]
    script = f"""
import time
from moldau.testing import Cluster
node = Cluster().nodes[0]
pid = node.pid
{change}
print(pid, node.directory, flush=True)
time.sleep(60)
"""
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    with run.stdout:
        pid, directory = run.stdout.readline().split()
    assert Path(directory).exists()
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    wait_until(lambda: not alive(int(pid)) and not Path(directory).parent.exists())


TESTED = """
import pathlib, time
from moldau import KafkaProducer

def test_application(moldau, moldau_cluster):
    mine = moldau_cluster()
    for cluster in (moldau, mine):
        with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
            assert producer.send("rivers", b"vltava").get(20).offset == 0
    mine.nodes[0].restart()
    report = pathlib.Path({report!r})
    lines = [f"{{node.pid}} {{node.directory.parent}}" for node in (moldau.nodes[0], mine.nodes[0])]
    report.write_text("\\n".join(lines))
    time.sleep({seconds})
"""


def pytest_run(directory: Path, seconds: float) -> tuple[subprocess.Popen[str], Path]:
    """A test run of an application of its own, as its author would start it."""
    directory.mkdir()
    report = directory / "report"
    (directory / "test_application.py").write_text(TESTED.format(report=str(report), seconds=seconds))
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_application.py"]
    run = subprocess.Popen(
        command, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, start_new_session=True
    )
    return run, report


def left_behind(report: Path) -> list[str]:
    lines = [line.split() for line in report.read_text().splitlines()]
    return [line for pid, directory in lines for line in (pid, directory) if alive_or_there(line)]


def alive_or_there(what: str) -> bool:
    return alive(int(what)) if what.isdigit() else Path(what).exists()


def test_ctrl_c_in_a_test_run_leaves_nothing_behind(tmp_path: Path) -> None:
    run, report = pytest_run(tmp_path / "run", 60)
    wait_until(lambda: report.exists() and len(report.read_text().splitlines()) == 2)
    assert len(left_behind(report)) == 4
    # As a terminal does it: to everybody in the group of the foreground.
    os.killpg(run.pid, signal.SIGINT)
    output, _ = run.communicate(timeout=PATIENCE)
    assert "KeyboardInterrupt" in output
    assert run.returncode == 2
    assert left_behind(report) == []


def test_several_test_runs_at_once_do_not_disturb_each_other(tmp_path: Path) -> None:
    runs = [pytest_run(tmp_path / f"run{number}", 0.1) for number in range(3)]
    for run, report in runs:
        output, _ = run.communicate(timeout=PATIENCE)
        assert run.returncode == 0, output
        assert left_behind(report) == []
    pids = [line.split()[0] for _, report in runs for line in report.read_text().splitlines()]
    assert len(set(pids)) == 6


def test_the_port_of_a_node_that_is_down_stays_its_own(moldau_cluster: Callable[..., Cluster]) -> None:  # noqa: F811
    cluster = moldau_cluster()
    node = cluster.nodes[0]
    port = int(node.address.rsplit(":", 1)[1])
    node.kill()
    with pytest.raises(ConnectionRefusedError):
        socket.create_connection(("127.0.0.1", port)).close()
    with socket.socket() as greedy, pytest.raises(OSError, match="in use"):
        greedy.bind(("127.0.0.1", port))
    node.start()
    socket.create_connection(("127.0.0.1", port)).close()


def test_comes_back_at_the_same_address_with_its_records(moldau_cluster: Callable[..., Cluster]) -> None:  # noqa: F811
    cluster = moldau_cluster()
    node, address = cluster.nodes[0], cluster.bootstrap_servers
    with KafkaProducer(bootstrap_servers=address) as producer:
        producer.send("rivers", b"one").get(10)
        node.restart()
        assert cluster.bootstrap_servers == address
        assert producer.send("rivers", b"two").get(10).offset == 1
        node.kill()
        assert not node.running
        node.start()
        assert producer.send("rivers", b"three").get(10).offset == 2


def test_can_be_paused_and_cut_off(moldau_cluster: Callable[..., Cluster]) -> None:  # noqa: F811
    cluster = moldau_cluster(proxied=True)
    node = cluster.nodes[0]
    with KafkaProducer(bootstrap_servers=cluster.bootstrap_servers) as producer:
        producer.send("rivers", b"first").get(10)
        for stop, go_on in ((node.pause, node.resume), (node.cut_off, node.heal)):
            stop()
            late = producer.send("rivers", b"late")
            with pytest.raises(KafkaTimeoutError):
                late.get(0.2)
            go_on()
            late.get(10)
        node.disconnect()
        assert producer.send("rivers", b"last").get(10).offset == 3


def test_says_what_it_cannot_do(moldau: Cluster) -> None:  # noqa: F811
    with pytest.raises(NodeFailed, match="proxied=True"):
        moldau.nodes[0].cut_off()
    with pytest.raises(ValueError, match="at least one node"):
        Cluster(nodes=0)


def test_a_node_that_cannot_start_shows_its_log() -> None:
    with pytest.raises(NodeFailed, match=r"no\.such\.setting"):
        Cluster(settings={"no.such.setting": "1"})
