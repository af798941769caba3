"""Open files of the simulated disk: by position, as memory, and as a lock."""

from __future__ import annotations

import errno
from typing import TYPE_CHECKING

from moldau.simulation.inode import FileNode
from moldau.simulation.loop import PowerCut
from moldau.types import Buffer

if TYPE_CHECKING:
    from moldau.simulation.disk import SimulatedDisk


class SimulatedFile:
    """Stays readable after the name is gone, as a descriptor does."""

    __slots__ = ("_disk", "_life", "_open", "node", "path")

    def __init__(self, disk: SimulatedDisk, node: FileNode, path: str) -> None:
        self._disk = disk
        self._life = disk.life
        self._open = True
        self.node = node
        self.path = path

    def size(self) -> int:
        self._check()
        return self.node.size

    def read(self, position: int, length: int) -> bytes:
        self._check()
        self._disk.step("read", self.path, self._life)
        return bytes(self.node.content[position : position + length])

    def write(self, data: Buffer, position: int) -> None:
        self._check()
        view = memoryview(data).cast("B") if len(data) else memoryview(b"")
        powered = not self._disk.without_power
        try:
            self._disk.step("write", self.path, self._life)
        except PowerCut:
            if powered and self._life == self._disk.life:
                self._disk.torn_write(self.node, view, position)
            raise
        self._disk.write(self.node, self.path, view, position)

    def truncate(self, size: int) -> None:
        self._check()
        self._disk.step("truncate", self.path, self._life)
        self.node.truncate(size)

    def sync(self) -> None:
        self._check()
        self._disk.step("sync", self.path, self._life)
        self.node.sync()

    def fileno(self) -> int:
        return -1

    def close(self) -> None:
        self._open = False

    def _check(self) -> None:
        if not self._open:
            raise OSError(errno.EBADF, "the file is closed", self.path)


class SimulatedMap:
    """A view of the file's own bytes: stores are seen by everybody at once, and by the platter only after `sync`."""

    __slots__ = ("_disk", "_life", "_node", "_view", "path")

    def __init__(self, disk: SimulatedDisk, node: FileNode, path: str) -> None:
        self._disk = disk
        self._life = disk.life
        self._node = node
        self.path = path
        node.mapped = True
        self._view = memoryview(node.content)

    @property
    def view(self) -> memoryview:
        return self._view

    def resize(self, size: int) -> None:
        self._view.release()
        self._disk.step("resize", self.path, self._life)
        self._node.truncate(size)
        self._view = memoryview(self._node.content)

    def sync(self) -> None:
        self._disk.step("sync", self.path, self._life)
        self._node.sync()

    def close(self) -> None:
        self._view.release()


class SimulatedLock:
    __slots__ = ("_disk", "_path")

    def __init__(self, disk: SimulatedDisk, path: str) -> None:
        self._disk = disk
        self._path = path

    def release(self) -> None:
        self._disk.release_lock(self._path, self)
