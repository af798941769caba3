"""The data directories of a node on this machine, as `moldau doctor --data` looks at them. Nothing is written."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from moldau.cli.failure import Failure
from moldau.cli.log_verify import ReadOnlyDisk
from moldau.diagnosis.checkup.found import Found, note, problem, warning
from moldau.diagnosis.checkup.limits import check_descriptors
from moldau.diagnosis.checkup.machine import check_place
from moldau.diagnosis.findings import some
from moldau.quantities import counted, format_size
from moldau.storage.checkpoint import CheckpointError, OffsetCheckpoint
from moldau.storage.file_names import METADATA_TOPIC, STRAY_DIRECTORY, parse_directory
from moldau.storage.log_dirs import (
    CLEAN_SHUTDOWN,
    CLEANER_OFFSETS,
    HIGH_WATERMARKS,
    LOCK,
    LOG_STARTS,
    META_PROPERTIES,
    RECOVERY_POINTS,
    LogDirError,
    MetaProperties,
    read_meta_properties,
)
from moldau.storage.partition_metadata import read_topic_id
from moldau.types import TopicPartition, uuid_to_text

if TYPE_CHECKING:
    from moldau.client.metadata import TopicView

_CHECKPOINTS = (RECOVERY_POINTS, LOG_STARTS, HIGH_WATERMARKS, CLEANER_OFFSETS)


class Told(NamedTuple):
    """What the cluster says that should be there."""

    cluster_id: str | None
    topics: Mapping[str, TopicView]


def data_directories(given: Sequence[str]) -> list[str]:
    """Those named; for one that `moldau cluster start` made, those of its nodes."""
    found: list[str] = []
    for path in given:
        if not os.path.isdir(path):
            raise Failure(f"{path}: there is no such directory.")
        nodes = sorted(Path(path).glob("node-*/data"))
        found += [str(each) for each in nodes] if nodes else [path]
    return found


def check_files(directories: Sequence[str], told: Told | None) -> Iterator[Found]:
    disk = ReadOnlyDisk()
    ids: dict[bytes, str] = {}
    for path in directories:
        yield from check_place(path)
        yield from _process(path)
        try:
            names = sorted(os.listdir(path))
            meta = read_meta_properties(disk, path)
        except (LogDirError, OSError) as error:
            yield problem(
                "meta-properties",
                f"{str(error).rstrip('.')}.",
                "The node does not start with this directory.",
                f"Put back {META_PROPERTIES} as it was, from a copy: it names cluster, node and directory.",
            )
            continue
        yield from _owner(path, names, meta, told)
        if meta is not None and meta.directory_id in ids:
            yield problem(
                "meta-properties",
                f"{path} and {ids[meta.directory_id]} have the same directory.id.",
                "One is a copy of the other; the node starts with neither.",
                "Remove the copy, or have it formatted anew.",
            )
        elif meta is not None:
            ids[meta.directory_id] = path
        yield from _checkpoints(disk, path, names)
        yield from _strays(disk, path, names, meta, told)


def _owner(path: str, names: Sequence[str], meta: MetaProperties | None, told: Told | None) -> Iterator[Found]:
    if meta is None:
        logs = [name for name in names if parse_directory(name) is not None]
        if logs:
            yield problem(
                "meta-properties",
                f"{path} holds {counted(len(logs), 'log')} and no {META_PROPERTIES}.",
                "Nobody knows whose they are, and no node starts with them.",
                f"Put back {META_PROPERTIES} as it was: it names cluster, node and directory.",
            )
        else:
            yield note(
                "meta-properties",
                f"{path} is not formatted.",
                "No node has used it yet.",
                "`moldau storage format` makes it part of a cluster; a node that is alone does that by itself.",
            )
    elif told is not None and told.cluster_id not in (None, meta.cluster_id):
        yield warning(
            "other-cluster",
            f"{path} belongs to the cluster {meta.cluster_id}, and the one that was asked is {told.cluster_id}.",
            "What lies there was compared with nothing.",
            "Name a broker of that cluster with --bootstrap.",
        )


def _checkpoints(disk: ReadOnlyDisk, path: str, names: Sequence[str]) -> Iterator[Found]:
    logs = {parsed.topic_partition for name in names if (parsed := parse_directory(name)) is not None}
    for name in _CHECKPOINTS:
        try:
            entries = OffsetCheckpoint(disk, os.path.join(path, name)).read()
        except (CheckpointError, OSError) as error:
            yield problem(
                "checkpoint",
                f"{str(error).rstrip('.')}.",
                "The node cannot use what it says: logs are recovered from their beginning, and high watermarks are "
                "found out anew.",
                "Move the file away and restart the node; `moldau log verify` tells whether the logs are sound.",
            )
            continue
        gone = sorted(str(where) for where in entries.keys() - logs if where.topic != METADATA_TOPIC)
        if gone and name == RECOVERY_POINTS:
            yield warning(
                "checkpoint",
                f"{name} in {path} speaks of {some(gone)}, of which there is no log here.",
                "Either the topic was deleted just now, or somebody took its directory away.",
                "If nobody deleted it, put the directory back; else the node mends the file by itself.",
            )
    formatted = META_PROPERTIES in names
    if formatted and CLEAN_SHUTDOWN not in names and _holder(path) is None:
        yield note(
            "unclean-stop",
            f"The node of {path} does not run, and was not stopped in order.",
            "The next start looks through what was written last, which takes longer.",
            "Start it; `moldau log verify` tells whether anything is damaged.",
        )


# -------------------------------------------------------------------------------------------------- stray directories


def _strays(
    disk: ReadOnlyDisk, path: str, names: Sequence[str], meta: MetaProperties | None, told: Told | None
) -> Iterator[Found]:
    for name in names:
        parsed = parse_directory(name)
        if parsed is None or not os.path.isdir(os.path.join(path, name)):
            continue
        place = os.path.join(path, name)
        why: str | None = None
        if parsed.mark == STRAY_DIRECTORY:
            why = "a node set it aside at its start: it belongs to no partition of its cluster"
        elif not parsed.mark and meta is not None and told is not None and told.cluster_id == meta.cluster_id:
            why = _unknown_to(disk, place, parsed.topic_partition, meta.node_id, told)
        if why is None:
            continue
        yield warning(
            "stray-directory",
            f"{place} is a stray ({format_size(_size(place))}): {why}.",
            "It takes up room, is served to nobody and is deleted by nobody.",
            f"Look at what it holds (`moldau log dump {place} --records`), then remove it, or keep it elsewhere.",
        )


def _unknown_to(disk: ReadOnlyDisk, place: str, where: TopicPartition, node_id: int, told: Told) -> str | None:
    """Why the cluster knows nothing of a log here; None if it does."""
    topic = where.topic
    if topic == METADATA_TOPIC:
        return None
    known = told.topics.get(topic)
    if known is None:
        return f"the cluster has no topic {topic}"
    try:
        topic_id = read_topic_id(disk, place)
    except (CheckpointError, OSError):
        topic_id = None
    if topic_id is not None and topic_id != known.id:
        return f"it is of an older topic {topic}, with the id {uuid_to_text(topic_id)}"
    partition = known.partitions.get(where.partition)
    if partition is None or node_id not in partition.replicas:
        return f"broker {node_id} has no replica of this partition"
    return None


def _size(place: str) -> int:
    total = 0
    for entry in os.scandir(place):
        if entry.is_file(follow_symlinks=False):
            total += entry.stat(follow_symlinks=False).st_blocks * 512
    return total


# ---------------------------------------------------------------------------------------------------------- processes


def _process(path: str) -> Iterator[Found]:
    """The node that runs with this directory."""
    pid = _holder(path)
    if pid is None:
        return
    try:
        limits = Path(f"/proc/{pid}/limits").read_text(encoding="ascii")
        used = len(os.listdir(f"/proc/{pid}/fd"))
    except OSError:
        return
    for line in limits.splitlines():
        if line.startswith("Max open files"):
            soft = line.split()[3]
            if soft.isdecimal():
                yield from check_descriptors(f"The node of {path} (process {pid})", used, int(soft))


def _holder(path: str) -> int | None:
    """The process that holds the lock of a directory; the kernel names it by device and inode."""
    try:
        state = os.stat(os.path.join(path, LOCK))
        lines = Path("/proc/locks").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    wanted = f"{os.major(state.st_dev):02x}:{os.minor(state.st_dev):02x}:{state.st_ino}"
    for line in lines:
        words = line.split()
        if len(words) > 5 and words[5] == wanted and words[4].isdecimal():
            return int(words[4])
    return None
