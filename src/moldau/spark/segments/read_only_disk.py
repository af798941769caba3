"""Files as a guest sees them: opened for reading, indexes as copies, nothing ever written.

The directory may belong to a node that is running. A mapped file that the node cuts would kill the process that reads
behind its new end, so indexes are read into memory and segments by positioned reads.
"""

from __future__ import annotations

import fcntl
import os
import posixpath

from moldau.runtime.disk import DiskFile, RealDisk
from moldau.storage.log_dirs import LOCK


class IndexCopy:
    """What an index held when it was asked for."""

    __slots__ = ("path", "view")

    def __init__(self, path: str, content: bytes) -> None:
        self.path = path
        self.view = memoryview(content)

    def resize(self, size: int) -> None:
        raise OSError(f"{self.path} was opened for reading only")

    def sync(self) -> None:
        pass

    def close(self) -> None:
        self.view = memoryview(b"")


class ReadOnlyDisk(RealDisk):
    """The disk of `storage` for those who must not change it."""

    __slots__ = ()

    def open(self, path: str, *, create: bool = False) -> DiskFile:
        return DiskFile(path, os.open(path, os.O_RDONLY | os.O_CLOEXEC))

    def map(self, path: str, size: int) -> IndexCopy:  # type: ignore[override]
        content = self.read_file(path) if size else b""
        # It may have been replaced or cut since its size was asked for; a short copy would be read beyond its end.
        return IndexCopy(path, content[:size].ljust(size, b"\0"))


def is_in_use(directory: str) -> bool:
    """Whether a node, or a job that rewrites segments, holds the lock of a data directory."""
    try:
        fd = os.open(posixpath.join(directory, LOCK), os.O_RDONLY | os.O_CLOEXEC)
    except FileNotFoundError:
        return False
    try:
        # Shared, so that two guests who ask at the same moment do not take each other for the owner.
        fcntl.flock(fd, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:
        return True
    finally:
        os.close(fd)
    return False
