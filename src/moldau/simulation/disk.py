"""The disk port in memory, with everything a real disk does on its bad days.

`cut_power` ends the machine's life at this moment or, with `cut_power_after(n)`, in the middle of what the node does
with its n-th change from now: PowerCut is raised there and from every call after it. `recover` then decides what the
platter holds (see inode) and the disk can be used again. A process that merely dies (`process_died`) loses nothing but
its locks: the operating system still has the rest.

Faults: `fail` makes operations return errors, `capacity` makes the disk small.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final
from zlib import crc32

from moldau.simulation.chance import SeededRandom
from moldau.simulation.clock import VirtualClock
from moldau.simulation.disk_handles import SimulatedFile, SimulatedLock, SimulatedMap
from moldau.simulation.inode import PAGE, DirectoryNode, FileNode, Node, survive
from moldau.simulation.loop import PowerCut

# How often a write makes the operating system write back something else on its own.
_WRITE_BACK: Final = 0.1
_LARGE: Final = 1 << 40


@dataclass(slots=True)
class Fault:
    """Operations that fail: `times` of those named, on paths that contain `path`, after letting `skip` pass."""

    error: int
    operations: frozenset[str]
    path: str = ""
    times: int = _LARGE
    skip: int = 0


class SimulatedDisk:
    def __init__(self, clock: VirtualClock, chance: SeededRandom) -> None:
        self._clock = clock
        self._chance = chance
        self._root = DirectoryNode()
        self._locks: dict[str, SimulatedLock] = {}
        self._faults: list[Fault] = []
        self._order = 0
        self._fuse: int | None = None
        self._without_power = False
        self.capacity = _LARGE
        # How many changes were made, and a checksum over all of them: two runs of one seed must agree.
        self.changes = 0
        self.digest = 0
        # Grows with every death: handles from before are of no use after it.
        self.life = 0

    # --------------------------------------------------------------------------------------------- faults and cuts

    def fail(self, error: int, *operations: str, path: str = "", times: int = _LARGE, skip: int = 0) -> Fault:
        """Makes operations (`write`, `sync`, `read`, `open`, `rename` ...) fail with an errno until `heal`."""
        fault = Fault(error, frozenset(operations), path, times, skip)
        self._faults.append(fault)
        return fault

    def heal(self) -> None:
        self._faults.clear()

    def cut_power_after(self, changes: int | None) -> None:
        """The power goes with the n-th change from now; None takes that back."""
        self._fuse = changes

    def cut_power(self) -> None:
        self._without_power = True

    @property
    def without_power(self) -> bool:
        return self._without_power

    def recover(self) -> None:
        """Power is back: what was not forced to disk is there in part, or not at all."""
        survive(self._root, self._chance)
        self._without_power = False
        self._fuse = None
        self.process_died()

    def process_died(self) -> None:
        self.life += 1
        self._locks.clear()
        for node in _files(self._root):
            node.detach()

    def step(self, operation: str, path: str, life: int | None = None) -> None:
        """Before every operation: is there power, and is there a fault? Changes are counted."""
        if self._without_power or (life is not None and life != self.life):
            raise PowerCut
        if operation != "read":
            self.changes += 1
            self.digest = crc32(f"{operation} {path}".encode(), self.digest)
            if self._fuse is not None:
                self._fuse -= 1
                if self._fuse < 0:
                    self._without_power = True
                    raise PowerCut
        for fault in self._faults:
            if operation in fault.operations and fault.path in path and fault.times > 0:
                if fault.skip > 0:
                    fault.skip -= 1
                else:
                    fault.times -= 1
                    raise OSError(fault.error, os.strerror(fault.error), path)

    # ------------------------------------------------------------------------------------------------- for handles

    def write(self, node: FileNode, path: str, data: memoryview, position: int) -> None:
        room = (self.capacity - self.used) // PAGE
        if len(node.new_pages(position, len(data))) > room:
            # As much as fits is written, as on a real disk.
            fits = max(0, min(len(data), (position // PAGE + room) * PAGE - position))
            if fits:
                node.write(data[:fits], position)
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        node.write(data, position)
        node.modified_ms = self._clock.now_ms()
        if self._chance.happens(_WRITE_BACK):
            node.write_back_some(self._chance)

    def torn_write(self, node: FileNode, data: memoryview, position: int) -> None:
        """The power went while this was being written."""
        node.write(data[: self._chance.between(0, len(data))], position)

    def release_lock(self, path: str, lock: SimulatedLock) -> None:
        if self._locks.get(path) is lock:
            del self._locks[path]

    # ---------------------------------------------------------------------------------------------- the Disk port

    def open(self, path: str, *, create: bool = False) -> SimulatedFile:
        self.step("read", path)
        node = self._find(path)
        if isinstance(node, DirectoryNode):
            raise _error(errno.EISDIR, path)
        if node is None:
            if not create:
                raise _error(errno.ENOENT, path)
            node = self._create(path)
        else:
            self.step("open", path)
        return SimulatedFile(self, node, path)

    def map(self, path: str, size: int) -> SimulatedMap:
        file = self.open(path, create=True)
        if file.node.size != size:
            file.truncate(size)
        return SimulatedMap(self, file.node, path)

    def read_file(self, path: str) -> bytes:
        return bytes(self.open(path).node.content)

    def exists(self, path: str) -> bool:
        return self._find(path) is not None

    def is_directory(self, path: str) -> bool:
        return isinstance(self._find(path), DirectoryNode)

    def list(self, path: str) -> Sequence[str]:
        self.step("read", path)
        return sorted(self._directory(path).entries)

    def size(self, path: str) -> int:
        node = self._existing(path)
        return node.size if isinstance(node, FileNode) else PAGE

    def modified_ms(self, path: str) -> int:
        node = self._existing(path)
        return node.modified_ms if isinstance(node, FileNode) else self._clock.now_ms()

    def make_directories(self, path: str) -> None:
        directory = self._root
        for name in _names(path):
            node = directory.entries.get(name)
            if node is None:
                self.step("mkdir", path)
                node = DirectoryNode()
                self._change(directory, {name: node})
            if not isinstance(node, DirectoryNode):
                raise _error(errno.ENOTDIR, path)
            directory = node

    def rename(self, source: str, target: str) -> None:
        self.step("rename", source)
        node = self._existing(source)
        (old, before), (new, after) = self._place(source), self._place(target)
        replaced = new.entries.get(after)
        if isinstance(replaced, DirectoryNode) and replaced.entries:
            raise _error(errno.ENOTEMPTY, target)
        if old is new:
            self._change(old, {before: None, after: node})
        else:
            self._change(new, {after: node})
            self._change(old, {before: None})

    def remove(self, path: str) -> None:
        self.step("remove", path)
        if isinstance(self._existing(path), DirectoryNode):
            raise _error(errno.EISDIR, path)
        directory, name = self._place(path)
        self._change(directory, {name: None})

    def remove_tree(self, path: str) -> None:
        directory = self._directory(path)
        for name, node in sorted(directory.entries.items()):
            below = f"{path}/{name}"
            if isinstance(node, DirectoryNode):
                self.remove_tree(below)
            else:
                self.remove(below)
        self.step("rmdir", path)
        parent, name = self._place(path)
        self._change(parent, {name: None})

    def sync_directory(self, path: str) -> None:
        self.step("sync", path)
        self._directory(path).sync()

    def free_bytes(self, path: str) -> int:
        return max(0, self.capacity - self.used)

    def total_bytes(self, path: str) -> int:
        return self.capacity

    def lock(self, path: str) -> SimulatedLock | None:
        self.open(path, create=True)
        if path in self._locks:
            return None
        lock = self._locks[path] = SimulatedLock(self, path)
        return lock

    # ----------------------------------------------------------------------------------------------------- details

    @property
    def used(self) -> int:
        if self.capacity == _LARGE:
            return 0
        return sum(len(node.pages) * PAGE for node in _files(self._root))

    def _create(self, path: str) -> FileNode:
        self.step("create", path)
        directory, name = self._place(path)
        node = FileNode(self._clock.now_ms())
        self._change(directory, {name: node})
        return node

    def _change(self, directory: DirectoryNode, names: dict[str, Node | None]) -> None:
        self._order += 1
        directory.change(self._order, names)

    def _find(self, path: str) -> Node | None:
        node: Node = self._root
        for name in _names(path):
            if not isinstance(node, DirectoryNode) or name not in node.entries:
                return None
            node = node.entries[name]
        return node

    def _existing(self, path: str) -> Node:
        node = self._find(path)
        if node is None:
            raise _error(errno.ENOENT, path)
        return node

    def _directory(self, path: str) -> DirectoryNode:
        node = self._existing(path)
        if not isinstance(node, DirectoryNode):
            raise _error(errno.ENOTDIR, path)
        return node

    def _place(self, path: str) -> tuple[DirectoryNode, str]:
        *parents, name = _names(path)
        return self._directory("/".join(parents)), name


def _names(path: str) -> list[str]:
    return [name for name in path.split("/") if name]


def _files(directory: DirectoryNode) -> Iterator[FileNode]:
    for node in directory.entries.values():
        if isinstance(node, FileNode):
            yield node
        else:
            yield from _files(node)


def _error(number: int, path: str) -> OSError:
    return OSError(number, os.strerror(number), path)
