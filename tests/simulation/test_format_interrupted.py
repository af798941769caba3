"""`moldau storage format` that is killed, or loses the power, between any two steps: said again, it is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from moldau.config.broker import BrokerConfig
from moldau.node.formatting import FIRST_SNAPSHOT, FormatError, InitialController, Wanted, format_storage
from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import VirtualClock
from moldau.simulation.disk import SimulatedDisk
from moldau.simulation.loop import PowerCut
from moldau.storage.log_dirs import LogDirError, read_meta_properties

CLUSTER_ID = "UJGknZGyd0ra95Lz8JamMg"
CONTROLLER = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093",
    "controller.listener.names": "CONTROLLER",
    "log.dirs": "/d/one,/d/two",
    "metadata.log.dir": "/d/metadata",
}
FIXED = {**CONTROLLER, "controller.quorum.voters": "1@127.0.0.1:9093"}
CHANGING = {**CONTROLLER, "controller.quorum.bootstrap.servers": "127.0.0.1:9093"}
WAYS: Mapping[str, tuple[dict[str, str], dict[str, Any]]] = {
    "fixed voters": (FIXED, {}),
    "alone": (CHANGING, {"standalone": True}),
    "together": (CHANGING, {"initial_controllers": [InitialController(1, "127.0.0.1", 9093, b"\1" * 16)]}),
    "later": (CHANGING, {"no_initial_controllers": True}),
}
_MOST_STEPS = 200


class Killed(BaseException):
    pass


class KilledAfter:
    """A disk whose process ends before its n-th operation; what was written is there."""

    def __init__(self, disk: SimulatedDisk, operations: int) -> None:
        self._disk = disk
        self._left = operations

    def __getattr__(self, name: str) -> Any:
        operation = getattr(self._disk, name)

        def perform(*arguments: Any, **options: Any) -> Any:
            self._left -= 1
            if self._left < 0:
                raise Killed
            return operation(*arguments, **options)

        return perform


def new_disk(seed: int) -> SimulatedDisk:
    disk = SimulatedDisk(VirtualClock(), SeededRandom(seed))
    disk.make_directories("/d")
    disk.sync_directory("/")
    return disk


def format(way: str, disk: Any) -> list[str]:
    settings, asked = WAYS[way]
    wanted = Wanted(CLUSTER_ID, ignore_formatted=True, **asked)
    return format_storage(BrokerConfig.parse(settings), wanted, disk, SeededRandom(7), 0)


def check(way: str, disk: SimulatedDisk) -> None:
    for path in ("/d/one", "/d/two", "/d/metadata"):
        meta = read_meta_properties(disk, path)
        assert meta is not None
        assert (meta.cluster_id, meta.node_id) == (CLUSTER_ID, 1)
    assert disk.exists("/d/metadata/bootstrap.checkpoint")
    has_voters = disk.exists(f"/d/metadata/__cluster_metadata-0/{FIRST_SNAPSHOT}")
    assert has_voters == (way in ("alone", "together"))


@pytest.mark.parametrize("way", WAYS)
def test_killed_before_any_operation(way: str) -> None:
    for operations in range(_MOST_STEPS):
        disk = new_disk(operations)
        try:
            format(way, KilledAfter(disk, operations))
        except Killed:
            disk.process_died()
            format(way, disk)
            check(way, disk)
        else:
            check(way, disk)
            return
    raise AssertionError("it takes more steps than were tried")


@pytest.mark.parametrize("way", WAYS)
def test_killed_and_asked_for_something_else(way: str) -> None:
    """Nothing of the first voters is left."""
    for operations in range(_MOST_STEPS):
        disk = new_disk(operations)
        try:
            format("alone", KilledAfter(disk, operations))
        except Killed:
            disk.process_died()
            if read_meta_properties(disk, "/d/metadata") is None:
                format(way, disk)
                check(way, disk)
        else:
            return


@pytest.mark.parametrize("way", WAYS)
def test_without_power_after_any_change(way: str) -> None:
    for changes in range(_MOST_STEPS):
        disk = new_disk(changes)
        disk.cut_power_after(changes)
        try:
            format(way, disk)
        except PowerCut:
            disk.recover()
            format(way, disk)
            check(way, disk)
        else:
            disk.cut_power()
            disk.recover()
            check(way, disk)
            return
    raise AssertionError("it takes more steps than were tried")


@pytest.mark.parametrize(
    "file", ["00000000000000000000.log", "quorum-state", "00000000000000000007-0000000001.checkpoint"]
)
def test_a_metadata_log_that_was_used_is_not_made_anew(file: str) -> None:
    disk = new_disk(0)
    disk.make_directories("/d/metadata/__cluster_metadata-0")
    disk.open(f"/d/metadata/__cluster_metadata-0/{file}", create=True).close()
    with pytest.raises((FormatError, LogDirError), match="holds logs"):
        format("alone", disk)
