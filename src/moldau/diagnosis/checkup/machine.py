"""The machine this runs on: where a node would run or runs, and what it would find too little of."""

from __future__ import annotations

import os
import platform
import resource
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from moldau.diagnosis.checkup.found import Found, note, problem, warning
from moldau.diagnosis.checkup.limits import check_descriptors, check_room
from moldau.quantities import format_size

_LITTLE_MEMORY: Final = 0.05
_IN_MEMORY: Final = ("tmpfs", "ramfs")
_OVER_THE_NETWORK: Final = ("nfs", "nfs4", "cifs", "smb3", "fuse.sshfs", "9p")


class Machine(NamedTuple):
    """`descriptors` is the limit a node started from here would have: it raises its own as far as it may."""

    descriptors: int
    memory_total: int
    memory_available: int
    python: str
    compiled: bool


def look_at_machine(*, compiled: bool) -> Machine:
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    memory = _memory()
    return Machine(
        sys.maxsize if hard == resource.RLIM_INFINITY else hard,
        memory.get("MemTotal", 0),
        memory.get("MemAvailable", 0),
        platform.python_version(),
        compiled,
    )


def _memory() -> dict[str, int]:
    """Bytes by name; nothing where there is no /proc."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return {}
    words = [line.replace(":", " ").split() for line in lines]
    return {each[0]: int(each[1]) * 1024 for each in words if len(each) == 3 and each[1].isdecimal()}


def check_machine(machine: Machine) -> Iterator[Found]:
    yield from check_descriptors("A node started from here", None, machine.descriptors)
    if machine.memory_total and machine.memory_available < machine.memory_total * _LITTLE_MEMORY:
        yield warning(
            "memory",
            f"{format_size(machine.memory_available)} of {format_size(machine.memory_total)} of memory are available.",
            "There is nothing left for the page cache, from which reads are served, and the kernel may end a node.",
            "Give the machine more memory, or have something else run elsewhere.",
        )
    if not machine.compiled:
        yield warning(
            "kernels",
            f"The compiled kernels are not in use (Python {machine.python}).",
            "Everything works, several times slower.",
            "Install a wheel, or a C compiler and the headers of Python before installing from source.",
        )


def check_place(path: str) -> Iterator[Found]:
    """The file system a data directory lies on."""
    try:
        room = os.statvfs(path)
    except OSError:
        return
    total = room.f_frsize * room.f_blocks
    if total:
        yield from check_room(path, room.f_frsize * room.f_bavail, total)
    if room.f_files and room.f_favail / room.f_files < _LITTLE_MEMORY:
        yield problem(
            "inodes",
            f"The file system of {path} has {room.f_favail:,} of {room.f_files:,} inodes left.",
            "With the last one no segment can be made: writes are refused.",
            "Remove files, or lower the number of segments (larger segment.bytes, shorter retention.ms).",
        )
    kind = file_system(path, _mounts())
    if kind in _IN_MEMORY:
        yield warning(
            "file-system",
            f"{path} lies on {kind}, that is in memory.",
            "It is gone when the machine restarts, whatever was acknowledged.",
            "Name a directory on a disk, unless this is a trial.",
        )
    elif kind in _OVER_THE_NETWORK:
        yield warning(
            "file-system",
            f"{path} lies on {kind}, that is on another machine.",
            "Locks, renames and forced writes may not hold what they promise there, and each waits for a network.",
            "Name a directory on a disk of this machine.",
        )
    elif kind == "overlay":
        yield note(
            "file-system",
            f"{path} lies on an overlay, that is in a container's own layer.",
            "It is gone when the container is removed.",
            "Mount a volume there.",
        )


def _mounts() -> Sequence[tuple[str, str]]:
    """Where file systems are mounted, and their kinds; the latest last."""
    try:
        lines = Path("/proc/self/mounts").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ()
    return [(words[1], words[2]) for line in lines if len(words := line.split()) > 2]


def file_system(path: str, mounts: Sequence[tuple[str, str]]) -> str | None:
    """The kind of the one mounted nearest above; the later of two at the same place lies on top."""
    place = os.path.realpath(path)
    best, kind = "", None
    for where, each in mounts:
        above = where.rstrip("/")
        if (place == above or place.startswith(above + "/")) and len(where) >= len(best):
            best, kind = where, each
    return kind
