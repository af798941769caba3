"""Where the nodes of a cluster on one machine are, and that it stays so."""

from __future__ import annotations

import socket
from pathlib import Path

import pytest

from moldau.config.broker import BrokerConfig
from moldau.supervision import layout
from moldau.supervision.layout import (
    FILE,
    Layout,
    LayoutError,
    Place,
    hold_ports,
    plan,
    read,
    remembered,
    reserve,
    voters_among,
)


def test_how_many_vote() -> None:
    assert [voters_among(nodes) for nodes in range(1, 8)] == [1, 1, 3, 3, 5, 5, 5]


def test_the_settings_of_a_node_are_ones_it_takes() -> None:
    layout = plan(4, [1001, 1002, 1003, 1004], [2001, 2002, 2003], "AAAAAAAAAAAAAAAAAAAAAQ")
    assert layout.voters == "1@127.0.0.1:2001,2@127.0.0.1:2002,3@127.0.0.1:2003"
    configs = [BrokerConfig.parse({**layout.settings(place), "log.dirs": "/d"}) for place in layout.places]
    assert [config.is_controller for config in configs] == [True, True, True, False]
    assert all(config.is_broker for config in configs)
    assert [endpoint.port for endpoint in configs[0].controller_endpoints] == [2001]
    assert configs[3].controller_endpoints == ()
    assert [endpoint.port for endpoint in configs[3].broker_endpoints] == [1004]


def test_replicas_are_as_many_as_there_are_nodes_for() -> None:
    settings = {nodes: plan(nodes, range(10), range(10)).settings(Place(1, 1, 2)) for nodes in (1, 2, 3, 9)}
    factors = {nodes: each["default.replication.factor"] for nodes, each in settings.items()}
    assert factors == {1: "1", 2: "2", 3: "3", 9: "3"}
    assert {nodes: each["min.insync.replicas"] for nodes, each in settings.items()} == {1: "1", 2: "1", 3: "2", 9: "2"}


def test_a_layout_is_remembered(tmp_path: Path) -> None:
    first = remembered(tmp_path / "new", 3, 0)
    assert remembered(tmp_path / "new", None, None) == first == read(tmp_path / "new")
    assert remembered(tmp_path / "new", 3, 0) == first
    assert len({place.port for place in first.places} | {place.controller_port for place in first.places}) == 6


def test_ports_follow_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_is_free", lambda port: True)
    assert [place.address for place in remembered(tmp_path, None, None).places] == [
        "127.0.0.1:9092",
        "127.0.0.1:9093",
        "127.0.0.1:9094",
    ]
    assert remembered(tmp_path, None, None).voters.startswith("1@127.0.0.1:19092,")
    high = remembered(tmp_path / "high", 1, 65_000).places[0]
    assert (high.port, high.controller_port) == (65_000, 55_000)
    assert remembered(tmp_path / "highest", 1, 65_535).places[0].port == 65_535
    with pytest.raises(LayoutError, match="no 2 ports from 65535 on; the highest is 65535"):
        remembered(tmp_path / "too high", 2, 65_535)


def test_a_cluster_stays_at_its_port(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(layout, "_is_free", lambda port: True)
    made = remembered(tmp_path, 2, 20_000)
    for port in (None, 0, 20_000):
        assert remembered(tmp_path, None, port) == made
    with pytest.raises(LayoutError, match="holds a cluster at port 20000; its nodes know each other by that"):
        remembered(tmp_path, None, 20_001)


def test_ports_that_are_taken_are_not_written_down(tmp_path: Path) -> None:
    (port,) = hold_ports(1)
    with reserve(port) as taken:
        taken.listen()
        with pytest.raises(LayoutError, match=f"Something listens already at 127.0.0.1:{port}, which node 1 needs"):
            remembered(tmp_path, 1, port)
    assert read(tmp_path) is None


def test_a_cluster_grows_by_brokers_and_does_not_shrink(tmp_path: Path) -> None:
    first = remembered(tmp_path, 3, 0)
    grown = remembered(tmp_path, 5, None)
    assert grown.places[:3] == first.places
    assert [(place.id, place.controller_port) for place in grown.places[3:]] == [(4, None), (5, None)]
    assert grown.voters == first.voters
    with pytest.raises(LayoutError, match="holds a cluster of 5 nodes; it can grow, but not shrink to 2"):
        remembered(tmp_path, 2, None)
    with pytest.raises(LayoutError, match="holds a cluster at port"):
        remembered(tmp_path, 5, 1234)


def test_a_file_that_is_not_one(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("{}")
    with pytest.raises(LayoutError, match="cannot be understood"):
        remembered(tmp_path, 3, 0)


def test_held_ports_are_all_different_and_given_to_nobody_else() -> None:
    held = hold_ports(50)
    assert len(set(held)) == 50
    for port in held:
        with socket.socket() as other, pytest.raises(OSError, match="in use"):
            other.bind(("127.0.0.1", port))
        # And the node they are held for can listen there.
        with reserve(port) as node:
            node.listen()


def test_new_clusters_have_ids_of_their_own() -> None:
    ids = {plan(1, [1], [2]).cluster_id for _ in range(50)}
    assert len(ids) == 50
    assert all(len(id) == 22 and not id.startswith("-") for id in ids)
    assert isinstance(plan(1, [1], [2]), Layout)
