"""The log directories as DescribeLogDirs tells of them."""

from __future__ import annotations

from collections.abc import Mapping

from moldau.dataclass import dataclass, field
from moldau.slicing import Work
from moldau.storage.log_dirs import LogDirectory
from moldau.storage.log_manager import LogManager
from moldau.types import TopicPartition, Uuid


@dataclass(slots=True, frozen=True)
class DirectoryDescription:
    """What DescribeLogDirs says of one directory."""

    path: str
    id: Uuid
    is_online: bool
    total_bytes: int = -1
    usable_bytes: int = -1
    sizes: Mapping[TopicPartition, int] = field(default_factory=dict)
    futures: Mapping[TopicPartition, int] = field(default_factory=dict)  # logs that are being moved here


def describe_directory(logs: LogManager, directory: LogDirectory) -> Work[DirectoryDescription]:
    if not directory.is_online:
        return DirectoryDescription(directory.path, directory.id, False)
    sizes = {}
    for partition, log in logs.logs_in(directory.path).items():
        sizes[partition] = log.segments.size
        yield
    futures = {
        partition: log.segments.size
        for partition, log in logs.futures.logs.items()
        if log.directory.parent == directory.path
    }
    try:
        total, usable = logs.disk.total_bytes(directory.path), logs.disk.free_bytes(directory.path)
    except OSError:
        return DirectoryDescription(directory.path, directory.id, False)
    return DirectoryDescription(directory.path, directory.id, True, total, usable, sizes, futures)
