"""The nodes of one machine, from the file of one node."""

from __future__ import annotations

from pathlib import Path

import pytest

from moldau.cli.failure import Failure
from moldau.cli.siblings import check_kept, siblings

FILE = {
    "process.roles": "broker,controller",
    "node.id": "4",
    "broker.rack": "north",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093,INNER://10.0.0.4:9095",
    "advertised.listeners": "PLAINTEXT://gate:19092,INNER://10.0.0.4:9095",
    "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,INNER:PLAINTEXT",
    "inter.broker.listener.name": "INNER",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "4@10.0.0.4:9093,14@10.0.0.14:9093,24@10.0.0.24:9093",
    "log.dirs": "/one,/two",
    "metadata.log.dir": "/fast",
    "metrics.listener": "127.0.0.1:9404",
}


def test_the_first_is_that_of_the_file_and_the_others_are_brokers_beside_it() -> None:
    first, second, third = siblings(FILE, 3).values()
    assert first == {
        "node.id": "4",
        "broker.rack": "north",
        "log.dirs": "/one/node-4/data,/two/node-4/data",
        "metadata.log.dir": "/fast/node-4/data",
    }
    assert second == {
        "node.id": "5",
        "broker.rack": "north",
        "log.dirs": "/one/node-5/data,/two/node-5/data",
        "metadata.log.dir": "/fast/node-5/data",
        "process.roles": "broker",
        "listeners": "PLAINTEXT://:9094,INNER://10.0.0.4:9096",
        "advertised.listeners": "PLAINTEXT://gate:19094,INNER://10.0.0.4:9096",
        "metrics.listener": "127.0.0.1:9405",
    }
    assert third["listeners"] == "PLAINTEXT://:9097,INNER://10.0.0.4:9098"
    assert siblings(FILE, 2)[5] == second, "more nodes change nothing for those before them"


def test_what_says_nothing_of_a_larger_cluster_is_refused() -> None:
    for settings in ({"node.id": "1"}, {**FILE, "process.roles": "controller", "listeners": "CONTROLLER://:9093"}):
        settings.pop("advertised.listeners", None), settings.pop("inter.broker.listener.name", None)
        with pytest.raises(Failure, match=r"it should have process\.roles with broker"):
            siblings(settings, 2)


def test_ports_end() -> None:
    with pytest.raises(Failure, match="not enough ports for 3 nodes above 65534"):
        siblings({**FILE, "listeners": "INNER://:65534,CONTROLLER://:9093", "advertised.listeners": "INNER://x:1"}, 3)


def test_a_free_port_is_one_for_each() -> None:
    settings = {**FILE, "listeners": "INNER://:0,CONTROLLER://:9093", "advertised.listeners": "INNER://x:9000"}
    assert siblings(settings, 2)[5]["listeners"] == "INNER://:0"


def _formatted(directory: Path, *numbers: int) -> None:
    for number in numbers:
        data = directory / f"node-{number}" / "data"
        data.mkdir(parents=True)
        (data / "meta.properties").touch()


def test_nodes_are_not_left_out(tmp_path: Path) -> None:
    _formatted(tmp_path, 4, 5)
    check_kept(tmp_path, [4, 5, 6], makes_cluster=False)
    with pytest.raises(Failure, match="holds the data of node 5, too"):
        check_kept(tmp_path, [4], makes_cluster=False)
    with pytest.raises(Failure, match="of node 4, 5 of another cluster; start them with the file"):
        check_kept(tmp_path, [], makes_cluster=True)
    (tmp_path / "cluster.json").touch()
    check_kept(tmp_path, [], makes_cluster=True)
    with pytest.raises(Failure, match="of node 4, 5 of another cluster; start them without a file"):
        check_kept(tmp_path, [4, 5], makes_cluster=False)
