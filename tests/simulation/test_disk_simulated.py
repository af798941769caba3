"""The simulated disk itself: what survives a power cut, what does not, and what it does on its bad days."""

from __future__ import annotations

import errno
from collections.abc import Callable

import pytest

from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import VirtualClock
from moldau.simulation.disk import SimulatedDisk
from moldau.simulation.inode import SECTOR
from moldau.simulation.loop import PowerCut

SEEDS = range(200)


def new_disk(seed: int = 0) -> SimulatedDisk:
    disk = SimulatedDisk(VirtualClock(), SeededRandom(seed))
    disk.make_directories("/d")
    disk.sync_directory("/")
    return disk


def put(disk: SimulatedDisk, path: str, content: bytes, *, sync: bool) -> None:
    file = disk.open(path, create=True)
    file.truncate(0)
    file.write(content, 0)
    if sync:
        file.sync()
    file.close()


def outcomes(act: Callable[[SimulatedDisk], None], look: Callable[[SimulatedDisk], object]) -> set[object]:
    """What can be found after a power cut, over many seeds."""
    found = set()
    for seed in SEEDS:
        disk = new_disk(seed)
        act(disk)
        disk.cut_power()
        disk.recover()
        found.add(look(disk))
    return found


def read_or_none(path: str) -> Callable[[SimulatedDisk], object]:
    return lambda disk: disk.read_file(path) if disk.exists(path) else None


def test_what_was_synced_survives_with_its_name():
    def act(disk: SimulatedDisk) -> None:
        put(disk, "/d/a", b"content", sync=True)
        disk.sync_directory("/d")

    assert outcomes(act, read_or_none("/d/a")) == {b"content"}


def test_a_synced_file_without_its_directory_may_be_gone():
    found = outcomes(lambda disk: put(disk, "/d/a", b"content", sync=True), read_or_none("/d/a"))
    assert found == {b"content", None}


def test_a_file_that_was_not_synced_may_be_anything_up_to_its_length():
    def act(disk: SimulatedDisk) -> None:
        put(disk, "/d/a", b"", sync=True)
        disk.sync_directory("/d")
        put(disk, "/d/a", b"0123456789", sync=False)

    found = outcomes(act, lambda disk: len(disk.read_file("/d/a")))
    assert {0, 10} < found <= set(range(11))


def test_sectors_reach_the_platter_in_any_order_but_whole():
    old, new = b"o" * SECTOR, b"n" * SECTOR

    def act(disk: SimulatedDisk) -> None:
        put(disk, "/d/a", old * 3, sync=True)
        disk.sync_directory("/d")
        disk.open("/d/a").write(new * 3, 0)

    found = outcomes(act, read_or_none("/d/a"))
    assert old + old + new in found, "the last sector alone"
    assert new + old + old in found, "the first sector alone"
    assert found <= {a + b + c for a in (old, new) for b in (old, new) for c in (old, new)}


def test_a_cut_that_was_not_synced_may_be_undone():
    def act(disk: SimulatedDisk) -> None:
        put(disk, "/d/a", b"long content", sync=True)
        disk.sync_directory("/d")
        disk.open("/d/a").truncate(4)

    assert {b"long", b"long content"} <= outcomes(act, read_or_none("/d/a"))


def test_a_rename_happens_to_both_names_or_to_none():
    def act(disk: SimulatedDisk) -> None:
        put(disk, "/d/a", b"old", sync=True)
        put(disk, "/d/a.tmp", b"new", sync=True)
        disk.sync_directory("/d")
        disk.rename("/d/a.tmp", "/d/a")

    found = outcomes(act, lambda disk: (read_or_none("/d/a")(disk), read_or_none("/d/a.tmp")(disk)))
    assert found == {(b"old", b"new"), (b"new", None)}


def test_changes_of_different_names_are_independent():
    def act(disk: SimulatedDisk) -> None:
        for name in ("a", "b"):
            put(disk, f"/d/{name}", b"", sync=True)

    assert outcomes(act, lambda disk: tuple(disk.list("/d"))) == {(), ("a",), ("b",), ("a", "b")}


def test_a_removal_may_be_undone_until_the_directory_is_synced():
    def act(disk: SimulatedDisk) -> None:
        put(disk, "/d/a", b"x", sync=True)
        disk.sync_directory("/d")
        disk.remove("/d/a")

    assert outcomes(act, lambda disk: disk.exists("/d/a")) == {True, False}


def test_stores_into_a_mapped_file_are_lost_unless_synced():
    def act(disk: SimulatedDisk) -> None:
        mapped = disk.map("/d/i", 2 * SECTOR)
        mapped.view[0] = 1
        mapped.sync()
        disk.sync_directory("/d")
        mapped.view[SECTOR] = 2

    found = outcomes(act, lambda disk: (disk.read_file("/d/i")[0], disk.read_file("/d/i")[SECTOR]))
    assert found == {(1, 0), (1, 2)}


def test_a_process_that_dies_loses_nothing():
    disk = new_disk()
    put(disk, "/d/a", b"content", sync=False)
    lock = disk.lock("/d/.lock")
    assert lock is not None
    assert disk.lock("/d/.lock") is None
    disk.process_died()
    assert disk.read_file("/d/a") == b"content"
    assert disk.lock("/d/.lock") is not None


def test_the_power_goes_in_the_middle_and_stays_away():
    disk = new_disk()
    file = disk.open("/d/a", create=True)
    disk.cut_power_after(2)
    file.write(b"1", 0)
    file.write(b"2", 1)
    for _ in range(2):
        with pytest.raises(PowerCut):
            file.write(b"3", 2)
    disk.recover()
    with pytest.raises(PowerCut):
        file.write(b"a handle from before", 0)
    put(disk, "/d/a", b"after", sync=True)
    assert disk.read_file("/d/a") == b"after"


def test_what_was_chosen_once_stays():
    """A second look, or a second cut without a write in between, finds the same."""
    for seed in SEEDS:
        disk = new_disk(seed)
        put(disk, "/d/a", b"x" * 3000, sync=False)
        disk.cut_power()
        disk.recover()
        first = read_or_none("/d/a")(disk)
        disk.cut_power()
        disk.recover()
        assert read_or_none("/d/a")(disk) == first


def test_errors_on_demand():
    disk = new_disk()
    put(disk, "/d/a", b"x", sync=True)
    disk.fail(errno.EIO, "sync", path="/d/a", times=1, skip=1)
    file = disk.open("/d/a")
    file.sync()
    with pytest.raises(OSError, match="Input/output error") as caught:
        file.sync()
    assert caught.value.errno == errno.EIO
    file.sync()


def test_a_full_disk_takes_what_fits_and_has_room_again_after_a_removal():
    disk = new_disk()
    disk.capacity = 2 * 4096
    put(disk, "/d/a", b"x" * 4096, sync=True)
    with pytest.raises(OSError, match="No space left") as caught:
        put(disk, "/d/b", b"x" * 8192, sync=False)
    assert caught.value.errno == errno.ENOSPC
    assert disk.size("/d/b") == 4096
    assert disk.free_bytes("/d") == 0
    disk.open("/d/a").write(b"y", 0)
    disk.remove("/d/a")
    put(disk, "/d/c", b"x" * 4096, sync=True)
