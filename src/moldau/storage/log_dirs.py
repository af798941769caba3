"""The directories a node keeps its logs in: whose they are, and that nobody else uses them.

`meta.properties` says to which cluster and node a directory belongs; a node refuses one that is not its own, because
the data of two clusters in one directory cannot be told apart again. `.lock` keeps a second process out.
`.kafka_cleanshutdown` is written last at a clean stop and removed first at the next start.
"""

from __future__ import annotations

import errno
import json
import posixpath
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Final

from moldau.config.definition import ConfigError
from moldau.config.properties import decode_properties
from moldau.dataclass import dataclass
from moldau.errors import MoldauError
from moldau.runtime.ports import Disk, Lock, Random
from moldau.storage.checkpoint import OffsetCheckpoint, replace_file
from moldau.storage.file_names import parse_directory
from moldau.types import TopicPartition, Uuid, uuid_from_text, uuid_to_text

META_PROPERTIES: Final = "meta.properties"
LOCK: Final = ".lock"
CLEAN_SHUTDOWN: Final = ".kafka_cleanshutdown"
RECOVERY_POINTS: Final = "recovery-point-offset-checkpoint"
LOG_STARTS: Final = "log-start-offset-checkpoint"
HIGH_WATERMARKS: Final = "replication-offset-checkpoint"
CLEANER_OFFSETS: Final = "cleaner-offset-checkpoint"

# Kafka keeps the first hundred ids for itself: lost, unassigned, migrating.
_RESERVED: Final = 100
_NOT_OURS: Final = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EINVAL)


class LogDirError(MoldauError):
    """The node cannot use a directory, and must not start with it."""


@dataclass(slots=True, frozen=True)
class MetaProperties:
    cluster_id: str
    node_id: int
    directory_id: Uuid


class LogDirectory:
    """One directory of `log.dirs`, locked and known to be ours; or offline, with the reason."""

    __slots__ = (
        "_disk",
        "_lock",
        "cleaner_offsets",
        "failure",
        "high_watermarks",
        "id",
        "log_starts",
        "path",
        "recovery_points",
    )

    def __init__(
        self, disk: Disk, path: str, directory_id: Uuid, lock: Lock | None, failure: str | None = None
    ) -> None:
        self._disk = disk
        self._lock = lock
        self.path = path
        self.id = directory_id
        self.failure = failure
        self.recovery_points = OffsetCheckpoint(disk, posixpath.join(path, RECOVERY_POINTS))
        self.log_starts = OffsetCheckpoint(disk, posixpath.join(path, LOG_STARTS))
        self.high_watermarks = OffsetCheckpoint(disk, posixpath.join(path, HIGH_WATERMARKS))
        self.cleaner_offsets = OffsetCheckpoint(disk, posixpath.join(path, CLEANER_OFFSETS))

    @property
    def is_online(self) -> bool:
        return self.failure is None

    @property
    def checkpoints(self) -> tuple[OffsetCheckpoint, ...]:
        return self.recovery_points, self.log_starts, self.high_watermarks, self.cleaner_offsets

    def keep_entries(self, belongs: Callable[[TopicPartition], bool]) -> None:
        """Drops from all checkpoints what belongs to no log any more, durably.

        The files are Kafka's and name a topic, not its id. So what they say of a log must be gone before another of
        the same name can be there: it would begin where the old one had been cut, or count as compacted.
        """
        for checkpoint in self.checkpoints:
            checkpoint.keep(belongs)

    def take_clean_shutdown(self) -> bool:
        """Whether the last stop was clean. The mark is gone afterwards: a crash from now on counts as one."""
        path = posixpath.join(self.path, CLEAN_SHUTDOWN)
        if not self._disk.exists(path):
            return False
        self._disk.remove(path)
        self._disk.sync_directory(self.path)
        return True

    def mark_clean_shutdown(self, broker_epoch: int) -> None:
        content = json.dumps({"version": 0, "brokerEpoch": broker_epoch}, separators=(",", ":"))
        replace_file(self._disk, posixpath.join(self.path, CLEAN_SHUTDOWN), content.encode())

    def release(self) -> None:
        lock, self._lock = self._lock, None
        if lock is not None:
            lock.release()


def read_meta_properties(disk: Disk, directory: str) -> MetaProperties | None:
    """What the directory says of itself, or None if it says nothing yet; LogDirError if it cannot be understood."""
    path = posixpath.join(directory, META_PROPERTIES)
    if not disk.exists(path):
        return None
    try:
        values = decode_properties(disk.read_file(path))
        version = values.get("version", "0")
        if version != "1":
            raise LogDirError(f"{path} has version {version}; only version 1 (KRaft) is understood.")
        return MetaProperties(values["cluster.id"], int(values["node.id"]), uuid_from_text(values["directory.id"]))
    except KeyError as error:
        raise LogDirError(f"{path} lacks {error.args[0]}.") from error
    except (ValueError, ConfigError) as error:
        raise LogDirError(f"{path} cannot be understood: {error}.") from error


def write_meta_properties(disk: Disk, directory: str, meta: MetaProperties) -> None:
    lines = (
        "#",
        f"cluster.id={meta.cluster_id}",
        f"directory.id={uuid_to_text(meta.directory_id)}",
        f"node.id={meta.node_id}",
        "version=1",
        "",
    )
    replace_file(disk, posixpath.join(directory, META_PROPERTIES), "\n".join(lines).encode())


def known_cluster_id(disk: Disk, directories: Sequence[str]) -> str | None:
    """The cluster the directories belong to, None if they are all new; LogDirError if they disagree."""
    found: dict[str, str] = {}
    for directory in directories:
        try:
            meta = read_meta_properties(disk, directory)
        except OSError:
            continue  # it will be offline; the others say the same, or nothing
        if meta is not None:
            found.setdefault(meta.cluster_id, directory)
    if len(found) > 1:
        places = ", ".join(f"{directory} to {cluster_id}" for cluster_id, directory in found.items())
        raise LogDirError(f"The log directories belong to different clusters: {places}.")
    return next(iter(found), None)


def clean_shutdown_epoch(disk: Disk, directories: Sequence[str]) -> int:
    """The broker's epoch when it last stopped in order, by what every directory says; -1 if one says nothing or
    something else. To be asked before the marks are taken."""
    epochs: set[int] = set()
    for directory in directories:
        try:
            marked = json.loads(disk.read_file(posixpath.join(directory, CLEAN_SHUTDOWN)))
            epochs.add(int(marked["brokerEpoch"]))
        except (OSError, ValueError, TypeError, KeyError):
            # There is none, or it was written before marks held an epoch.
            return -1
    return epochs.pop() if len(epochs) == 1 else -1


def random_id(random: Random) -> Uuid:
    """An id as Kafka makes them: none of the reserved ones, and none whose text looks like an option."""
    while True:
        value = random.bytes(16)
        if int.from_bytes(value, "big") >= _RESERVED and not uuid_to_text(value).startswith("-"):
            return value


def open_directories(
    disk: Disk, paths: Sequence[str], *, cluster_id: str, node_id: int, random: Random
) -> list[LogDirectory]:
    """Creates, locks and checks the directories. One whose disk fails is offline; if all do, LogDirError."""
    paths = [posixpath.normpath(path) for path in paths]
    if len(set(paths)) != len(paths):
        raise LogDirError(f"A log directory is named twice: {', '.join(paths)}.")
    opened: list[LogDirectory] = []
    try:
        for path in paths:
            # One by one: those opened before a refusal must be released again.
            opened.append(_open_directory(disk, path, cluster_id, node_id, random))  # noqa: PERF401
        _check_together(opened)
    except BaseException:
        for directory in opened:
            directory.release()
        raise
    return opened


def _open_directory(disk: Disk, path: str, cluster_id: str, node_id: int, random: Random) -> LogDirectory:
    lock: Lock | None = None
    try:
        disk.make_directories(path)
        lock = disk.lock(posixpath.join(path, LOCK))
        if lock is None:
            raise LogDirError(f"{path} is in use by another process, which holds its {LOCK} file.")
        meta = read_meta_properties(disk, path)
        if meta is None:
            refuse_logs(disk, path)
            sync_place(disk, path)
            meta = MetaProperties(cluster_id, node_id, random_id(random))
            write_meta_properties(disk, path, meta)
        _check_owner(path, meta, cluster_id, node_id)
        return LogDirectory(disk, path, meta.directory_id, lock)
    except OSError as error:
        if lock is not None:
            lock.release()
        return LogDirectory(disk, path, bytes(16), None, error.strerror or str(error))
    except BaseException:
        if lock is not None:
            lock.release()
        raise


def sync_place(disk: Disk, path: str) -> None:
    """A directory that was just made survives a power cut only once those above it know its name. Those that were
    there before may be somebody else's, or lie on a file system that cannot be forced; then that ends it."""
    while (parent := posixpath.dirname(path) or ".") != path:
        try:
            disk.sync_directory(parent)
        except OSError as error:
            if error.errno in _NOT_OURS:
                return
            raise
        path = parent


def refuse_logs(disk: Disk, path: str, ours: Mapping[str, Collection[str]] | None = None) -> None:
    """A directory is made ours only while it holds no logs: those could be anybody's. `ours` are directories that may
    be there as long as they hold nothing but these files."""
    for name in disk.list(path):
        directory = posixpath.join(path, name)
        if parse_directory(name) is not None and disk.is_directory(directory):
            if ours is not None and name in ours and set(disk.list(directory)) <= set(ours[name]):
                continue
            raise LogDirError(
                f"{path} holds logs (such as {name}) but no {META_PROPERTIES}, so nobody knows whose they are."
            )


def _check_owner(path: str, meta: MetaProperties, cluster_id: str, node_id: int) -> None:
    if meta.cluster_id != cluster_id:
        raise LogDirError(f"{path} belongs to the cluster {meta.cluster_id}, but this node to {cluster_id}.")
    if meta.node_id != node_id:
        raise LogDirError(f"{path} belongs to node {meta.node_id}, but this is node {node_id}.")


def _check_together(directories: Sequence[LogDirectory]) -> None:
    online = [directory for directory in directories if directory.is_online]
    if not online:
        reasons = "; ".join(f"{directory.path}: {directory.failure}" for directory in directories)
        raise LogDirError(f"None of the log directories can be used: {reasons}.")
    if len({directory.id for directory in online}) != len(online):
        raise LogDirError("Two log directories have the same directory.id: one must be a copy of the other.")
