"""Small text files that are replaced whole: a version, a count, one line per entry.

Written to a temporary file, forced to disk, renamed over the old one, and the directory forced as well: after a
crash at any moment there is either the old content or the new one, never a mixture.
"""

from __future__ import annotations

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence

from moldau.errors import MoldauError
from moldau.runtime.ports import Disk
from moldau.types import TopicPartition


class CheckpointError(MoldauError):
    """A checkpoint file that does not say what it should."""


def replace_file(disk: Disk, path: str, content: bytes, *, sync_directory: bool = True) -> None:
    """Puts `content` at `path`, atomically and durably; without `sync_directory` durably once the caller does that."""
    temporary = path + ".tmp"
    file = disk.open(temporary, create=True)
    try:
        file.truncate(0)
        file.write(content, 0)
        file.sync()
    finally:
        file.close()
    disk.rename(temporary, path)
    if sync_directory:
        disk.sync_directory(posixpath.dirname(path))


def sync_file(disk: Disk, path: str) -> None:
    """Forces a file to disk that nobody has open; one that is not there needs nothing."""
    if disk.exists(path):
        file = disk.open(path)
        try:
            file.sync()
        finally:
            file.close()


def write_checkpoint(
    disk: Disk, path: str, lines: Sequence[str], *, version: int = 0, sync_directory: bool = True
) -> None:
    text = "\n".join([str(version), str(len(lines)), *lines, ""])
    replace_file(disk, path, text.encode(), sync_directory=sync_directory)


def read_checkpoint(disk: Disk, path: str, *, version: int = 0) -> list[str]:
    """The lines of a checkpoint; none if there is no file or it is still empty, as Kafka creates them."""
    if not disk.exists(path):
        return []
    try:
        lines = disk.read_file(path).decode().splitlines()
    except UnicodeDecodeError as error:
        raise CheckpointError(f"{path} is not text.") from error
    if len(lines) < 2:
        return []
    found, count = _number(path, lines[0]), _number(path, lines[1])
    if found != version:
        raise CheckpointError(f"{path} has version {found}; only version {version} is understood.")
    entries = lines[2:]
    if len(entries) != count:
        raise CheckpointError(f"{path} announces {count} entries and holds {len(entries)}.")
    return entries


class OffsetCheckpoint:
    """One offset per partition: recovery points, high watermarks, log start offsets.

    `entries` is what the file says as far as this process knows: what it read there, or wrote there last.
    """

    __slots__ = ("_disk", "entries", "path")

    def __init__(self, disk: Disk, path: str) -> None:
        self._disk = disk
        self.path = path
        self.entries: Mapping[TopicPartition, int] = {}

    def read(self) -> dict[TopicPartition, int]:
        offsets: dict[TopicPartition, int] = {}
        for line in read_checkpoint(self._disk, self.path):
            words = line.split()
            if len(words) != 3:
                raise CheckpointError(f"{self.path} has a line that is not 'topic partition offset': {line!r}.")
            partition = TopicPartition(words[0], _number(self.path, words[1]))
            offsets[partition] = _number(self.path, words[2])
        self.entries = offsets
        return offsets

    def write(self, offsets: Mapping[TopicPartition, int]) -> None:
        write_checkpoint(self._disk, self.path, list(_lines(offsets)))
        self.entries = offsets

    def keep(self, belongs: Callable[[TopicPartition], bool]) -> None:
        """Drops the entries that belong to no log any more; writes only if there are such."""
        left = {partition: offset for partition, offset in self.entries.items() if belongs(partition)}
        if len(left) < len(self.entries):
            self.write(left)


def _lines(offsets: Mapping[TopicPartition, int]) -> Iterable[str]:
    for (topic, partition), offset in sorted(offsets.items()):
        yield f"{topic} {partition} {offset}"


def _number(path: str, text: str) -> int:
    try:
        return int(text)
    except ValueError as error:
        raise CheckpointError(f"{path} has {text!r} where a number belongs.") from error
