"""`moldau start`: which settings a node gets, and the ways it can fail to start."""

from __future__ import annotations

import gc
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from moldau_command import RunMoldau

from moldau.cli.start import collect_from_now_on, node_properties
from moldau.supervision.layout import hold_ports, reserve

FILE = {
    "process.roles": "broker,controller",
    "node.id": "7",
    "listeners": "CONTROLLER://:9093,PLAINTEXT://:9092,INSIDE://:9094",
    "advertised.listeners": "PLAINTEXT://public:9092,INSIDE://private:9094",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/var/kafka",
}


def test_without_anything_it_is_private_and_here() -> None:
    assert node_properties({}, None, None, []) == {"log.dirs": "data", "listeners": "PLAINTEXT://127.0.0.1:9092"}


def test_options_without_a_file() -> None:
    properties = node_properties({}, "/d", "0.0.0.0:0", [("num.partitions", "3")])
    assert properties == {"log.dirs": "/d", "listeners": "PLAINTEXT://0.0.0.0:0", "num.partitions": "3"}


def test_a_file_is_taken_as_it_is() -> None:
    assert node_properties(FILE, None, None, []) == FILE
    assert node_properties({"log.dir": "/d", "node.id": "2"}, None, None, []) == {"log.dir": "/d", "node.id": "2"}


def test_listen_moves_the_listener_of_clients_and_what_is_advertised_for_it() -> None:
    properties = node_properties(FILE, None, "127.0.0.1:1", [])
    assert properties["listeners"] == "CONTROLLER://:9093,PLAINTEXT://127.0.0.1:1,INSIDE://:9094"
    assert properties["advertised.listeners"] == "PLAINTEXT://127.0.0.1:1,INSIDE://private:9094"


def test_listen_beside_a_controller_only() -> None:
    given = {"listeners": "CONTROLLER://:9093", "controller.listener.names": "CONTROLLER"}
    assert node_properties(given, None, "h:1", [])["listeners"] == "PLAINTEXT://h:1,CONTROLLER://:9093"


def test_set_stands_above_all() -> None:
    properties = node_properties(FILE, "/other", None, [("log.dirs", "/mine"), ("node.id", "9")])
    assert (properties["log.dirs"], properties["node.id"]) == ("/mine", "9")
    assert node_properties({"log.dir": "/d"}, "/other", None, []) == {"log.dirs": "/other"}


def test_a_setting_that_does_not_exist(moldau: RunMoldau, tmp_path: Path) -> None:
    result = moldau("start", "--data", str(tmp_path), "--set", "num.partitons=3")
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"num.partitons" in result.stderr
    assert b"num.partitions" in result.stderr
    assert result.stderr.count(b"\n") == 1


def test_a_value_that_is_not_allowed(moldau: RunMoldau, tmp_path: Path) -> None:
    file = tmp_path / "server.properties"
    file.write_text("num.partitions=0\n")
    result = moldau("start", str(file), "--data", str(tmp_path / "data"))
    assert result.returncode == 1
    assert b"num.partitions cannot be '0'" in result.stderr
    assert b"Traceback" not in result.stderr


def test_a_file_that_is_not_there(moldau: RunMoldau, tmp_path: Path) -> None:
    result = moldau("start", str(tmp_path / "nothing.properties"))
    assert result.returncode == 1
    assert b"nothing.properties cannot be read: No such file or directory." in result.stderr


@pytest.mark.parametrize("address", ["127.0.0.1:70000", ":1", "host:"])
def test_an_address_that_is_none(moldau: RunMoldau, tmp_path: Path, address: str) -> None:
    result = moldau("start", "--listen", address, "--data", str(tmp_path))
    assert result.returncode == 2
    assert b"is not an address" in result.stderr
    assert result.stderr.count(b"\n") == 1


@pytest.mark.parametrize("host", ["no-such-host.invalid"])
def test_an_address_this_machine_does_not_have(moldau: RunMoldau, tmp_path: Path, host: str) -> None:
    result = moldau("start", "--listen", f"{host}:0", "--data", str(tmp_path), "--log-level", "error")
    assert (result.returncode, result.stdout) == (1, b"")
    assert host.encode() in result.stderr
    assert result.stderr.count(b"\n") == 1


def test_a_port_that_is_taken(moldau: RunMoldau, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        result = moldau("start", "--listen", address, "--data", str(tmp_path), "--log-level", "error")
    assert (result.returncode, result.stdout) == (1, b"")
    assert address.encode() in result.stderr
    assert result.stderr.count(b"\n") == 1


def test_the_one_port_of_several_that_is_taken(moldau: RunMoldau, tmp_path: Path) -> None:
    clients, metrics = hold_ports(2)
    for taken in (clients, metrics):
        with reserve(taken) as listening:
            listening.listen()
            result = moldau(
                *("start", "--data", str(tmp_path), "--log-level", "error", "--listen", f"127.0.0.1:{clients}"),
                *("--set", f"metrics.listener=127.0.0.1:{metrics}"),
            )
        assert result.returncode == 1
        (sentence,) = result.stderr.decode().splitlines()
        assert f"127.0.0.1:{taken}" in sentence
        assert all(str(port) not in sentence for port in {clients, metrics} - {taken})


def test_a_broker_that_finds_no_controller(moldau: RunMoldau, tmp_path: Path) -> None:
    settings = {
        "process.roles": "broker",
        "node.id": "2",
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": "1@127.0.0.1:1",
        "initial.broker.registration.timeout.ms": "1",
        "log.dirs": str(tmp_path / "data"),
    }
    file = tmp_path / "server.properties"
    file.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
    result = moldau("start", str(file), "--cluster-id", "UJGknZGyd0ra95Lz8JamMg")
    assert (result.returncode, result.stdout) == (1, b"")
    assert result.stderr.decode().splitlines()[-1] == (
        "moldau: The broker could not register within 1 ms (initial.broker.registration.timeout.ms): "
        "no leader of the controllers is known."
    )


def test_a_data_directory_that_cannot_be_made(moldau: RunMoldau, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    result = moldau(
        "start", "--listen", "127.0.0.1:0", "--data", str(tmp_path / "file" / "data"), "--log-level", "error"
    )
    assert (result.returncode, result.stdout) == (1, b"")
    assert b"Traceback" not in result.stderr
    assert str(tmp_path / "file").encode() in result.stderr


def test_what_was_loaded_is_left_alone_by_the_collector_and_what_comes_is_not() -> None:
    thresholds, frozen, callbacks = gc.get_threshold(), gc.get_freeze_count(), list(gc.callbacks)
    gc.disable()
    try:
        collect_from_now_on()
        assert gc.isenabled()
        assert gc.get_freeze_count() > frozen
        # However many objects come, few of them are gone through at once: a million takes the loop 50 ms.
        youngest, times, _ = gc.get_threshold()
        assert youngest * (times + 1) <= 20_000
        together = []
        stays: list[list[object]] = []
        while len(stays) < 300_000:
            stays.append([])
            if not len(stays) % 1_000:
                together.append(sum(len(gc.get_objects(generation=number)) for number in range(3)))
        assert max(together) < 100_000, "what stays is not gone through again and again"
    finally:
        gc.callbacks[:] = callbacks
        gc.unfreeze()
        gc.set_threshold(*thresholds)


def test_a_start_does_not_load_what_few_nodes_ever_need() -> None:
    """Each of them costs a start milliseconds, and some an idle node megabytes."""
    heavy = ("asyncio", "concurrent.futures", "email", "hashlib", "http", "importlib.metadata", "re2", "shutil", "ssl")
    program = "import sys, moldau.cli.start, moldau.node, moldau.runtime.real; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True).stdout.split()
    assert set(heavy).isdisjoint(loaded)
