"""Real files: positioned reads and writes, mapped indexes, directories that survive a power cut, and locks."""

from __future__ import annotations

import errno
import fcntl
import mmap
import os
import sys
from collections.abc import Sequence

from moldau.types import Buffer

# On macOS fsync leaves what it forces in the cache of the drive; this goes through to the platter.
_FULL_SYNC: int = getattr(fcntl, "F_FULLFSYNC", 0)
# Python lengthens a mapping in place where the system has mremap.
_MAPS_RESIZE = sys.platform == "linux"


def force(fd: int, *, everything: bool = False) -> None:
    """What was written to `fd` is on the disk when this returns; with `everything` also what describes the file."""
    if _FULL_SYNC:
        try:
            fcntl.fcntl(fd, _FULL_SYNC)
            return
        except ValueError:
            raise OSError(errno.EBADF, os.strerror(errno.EBADF)) from None  # as fsync says it of a file that is closed
        except OSError as error:
            # Volumes of other systems (a network's, FAT) know only the weaker one.
            if error.errno not in (errno.ENOTSUP, errno.ENOTTY, errno.EINVAL):
                raise
    if everything or not hasattr(os, "fdatasync"):
        os.fsync(fd)
    else:
        os.fdatasync(fd)


class DiskFile:
    """One descriptor. Reads and writes carry their position, so nobody's seek disturbs anybody."""

    __slots__ = ("_fd", "path")

    def __init__(self, path: str, fd: int) -> None:
        self.path = path
        self._fd = fd

    def size(self) -> int:
        return os.fstat(self._fd).st_size

    def read(self, position: int, length: int) -> bytes:
        data = os.pread(self._fd, length, position)
        if len(data) == length or not data:
            return data
        # The kernel may return less than asked for, e.g. above 2 GiB; only an empty read means the end.
        parts = [data]
        have = len(data)
        while have < length and (data := os.pread(self._fd, length - have, position + have)):
            parts.append(data)
            have += len(data)
        return b"".join(parts)

    def write(self, data: Buffer, position: int) -> None:
        written = os.pwrite(self._fd, data, position)
        if written == len(data):
            return
        rest = memoryview(data).cast("B")
        while written < len(rest):
            count = os.pwrite(self._fd, rest[written:], position + written)
            if count == 0:
                raise OSError(errno.ENOSPC, "the disk took no more bytes", self.path)
            written += count

    def truncate(self, size: int) -> None:
        os.ftruncate(self._fd, size)

    def sync(self) -> None:
        force(self._fd)

    def fileno(self) -> int:
        return self._fd

    def close(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)

    def __del__(self) -> None:
        # Segments may be dropped while a slice of them still waits in a socket's queue: the last user closes.
        self.close()


class DiskMap:
    """A file mapped for writing. The mapping keeps one descriptor of its own, and this class none: a node with
    thousands of partitions has twice as many indexes. So `path` is told when the file is renamed.
    """

    __slots__ = ("_map", "_view", "path")

    def __init__(self, path: str, size: int) -> None:
        self.path = path
        self._map: mmap.mmap | None = None
        self._view = memoryview(b"")
        self._map_anew(os.O_CREAT, size)

    @property
    def view(self) -> memoryview:
        return self._view

    def resize(self, size: int) -> None:
        if self._map is None or not size:
            self._unmap()
            self._map_anew(0, size)
            return
        if not _MAPS_RESIZE:
            self._unmap()
            self._map_anew(0, size)
            return
        self._view.release()
        try:
            self._map.resize(size)
        finally:
            self._view = memoryview(self._map)

    def sync(self) -> None:
        if self._map is not None:
            self._map.flush()
            if not _FULL_SYNC:
                return  # for a shared mapping that was an fsync: the length of the file is safe, too
        fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
        try:
            force(fd)
        finally:
            os.close(fd)

    def close(self) -> None:
        self._unmap()

    def _map_anew(self, flags: int, size: int) -> None:
        fd = os.open(self.path, os.O_RDWR | os.O_CLOEXEC | flags, 0o644)
        try:
            if os.fstat(fd).st_size != size:
                os.ftruncate(fd, size)
            if size:  # an empty mapping is an error for the operating system; an empty view says the same
                self._map = mmap.mmap(fd, size, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
                self._view = memoryview(self._map)
        finally:
            os.close(fd)

    def _unmap(self) -> None:
        self._view.release()
        self._view = memoryview(b"")
        if self._map is not None:
            self._map.close()
            self._map = None


class FileLock:
    """An exclusive flock, given up by `release` or with the process."""

    __slots__ = ("_fd",)

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def release(self) -> None:
        fd, self._fd = self._fd, -1
        if fd >= 0:
            os.close(fd)


class RealDisk:
    __slots__ = ()

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        flags = os.O_RDWR | os.O_CLOEXEC | (os.O_CREAT if create else 0)
        return DiskFile(path, os.open(path, flags, 0o644))

    def map(self, path: str, size: int) -> DiskMap:
        return DiskMap(path, size)

    def read_file(self, path: str) -> bytes:
        # Python's own file objects ask six times about a file before they read it, and a start reads thousands.
        file = DiskFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))
        try:
            return file.read(0, file.size())
        finally:
            file.close()

    def exists(self, path: str) -> bool:
        return os.path.exists(path)

    def is_directory(self, path: str) -> bool:
        return os.path.isdir(path)

    def list(self, path: str) -> Sequence[str]:
        return sorted(os.listdir(path))

    def size(self, path: str) -> int:
        return os.stat(path).st_size

    def modified_ms(self, path: str) -> int:
        return os.stat(path).st_mtime_ns // 1_000_000

    def make_directories(self, path: str) -> None:
        os.makedirs(path, exist_ok=True)

    def rename(self, source: str, target: str) -> None:
        os.replace(source, target)

    def remove(self, path: str) -> None:
        os.unlink(path)

    def remove_tree(self, path: str) -> None:
        import shutil  # it knows archives of all kinds, and is needed when a topic is deleted

        shutil.rmtree(path)

    def sync_directory(self, path: str) -> None:
        fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        try:
            force(fd, everything=True)
        finally:
            os.close(fd)

    def free_bytes(self, path: str) -> int:
        usage = os.statvfs(path)
        return usage.f_bavail * usage.f_frsize

    def total_bytes(self, path: str) -> int:
        usage = os.statvfs(path)
        return usage.f_blocks * usage.f_frsize

    def lock(self, path: str) -> FileLock | None:
        fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        try:
            fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            os.close(fd)
            if error.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            raise
        return FileLock(fd)
