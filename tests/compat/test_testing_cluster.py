"""`moldau.testing`: a cluster for tests that is really there, really breaks, and is really gone afterwards."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from moldau import KafkaProducer
from moldau.errors import KafkaTimeoutError
from moldau.testing import Cluster, NodeFailed
from moldau.testing.plugin import moldau, moldau_cluster  # noqa: F401  fixtures


def directory_of(cluster: Cluster) -> Path:
    return cluster.nodes[0].directory.parent


def alive(pid: int) -> bool:
    return Path(f"/proc/{pid}").exists() and "Z" not in Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1][:3]


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


def test_a_killed_test_run_takes_its_nodes_along(tmp_path: Path) -> None:
    script = (
        "import sys, time\n"
        "from moldau.testing import Cluster\n"
        "c = Cluster()\n"
        "print(c.nodes[0].pid, c.nodes[0].directory, flush=True)\n"
        "time.sleep(60)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True)
    assert run.stdout is not None
    with run.stdout:
        pid, directory = run.stdout.readline().split()
    os.kill(run.pid, signal.SIGKILL)
    run.wait()
    gone = threading.Event()
    for _ in range(200):
        if not alive(int(pid)) and not Path(directory).parent.exists():
            gone.set()
            break
        gone.wait(0.05)
    assert gone.is_set()


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
        for stop, go_on in ((node.pause, node.resume), (node.cut_off, node.reconnect)):
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
    with pytest.raises(NodeFailed, match="one node"):
        Cluster(nodes=3)


def test_a_node_that_cannot_start_shows_its_log() -> None:
    with pytest.raises(NodeFailed, match=r"no\.such\.setting"):
        Cluster(settings={"no.such.setting": "1"})
