"""The data directory of a node that is stopped, and held so that nobody starts one meanwhile.

Only after a clean stop: then every segment is complete, its indexes are cut to size and its last one differs from the
others in nothing. After a crash the node must first repair its logs, which it alone can do rightly because it knows
the settings of its topics.
"""

from __future__ import annotations

import os
import posixpath
from collections.abc import Iterator
from contextlib import contextmanager

from moldau.config.topic import LogConfig
from moldau.runtime.disk import RealDisk
from moldau.spark.history.report import JobError
from moldau.spark.segments.data_directory import LogFiles, list_log, list_partitions
from moldau.spark.segments.read_only_disk import is_in_use
from moldau.storage.leftovers import resolve_leftovers
from moldau.storage.log_dirs import CLEAN_SHUTDOWN, LOCK, META_PROPERTIES
from moldau.types import TopicPartition


def check_stopped(directory: str) -> str:
    """The directory's full path; JobError if it is none, or a node runs on it or did not stop in order."""
    path = os.path.abspath(directory)
    if not os.path.exists(posixpath.join(path, META_PROPERTIES)):
        raise JobError(f"{directory} is not the data directory of a node: it has no {META_PROPERTIES}.")
    if is_in_use(path):
        raise JobError(f"A node is running on {directory}: stop it first (Ctrl-C or SIGTERM), then run this again.")
    if not os.path.exists(posixpath.join(path, CLEAN_SHUTDOWN)):
        raise JobError(
            f"The last stop of the node on {directory} was not clean: start it with `moldau start --data {directory}`, "
            "stop it with Ctrl-C, then run this again."
        )
    return path


@contextmanager
def held(directory: str) -> Iterator[str]:
    """The directory, locked as a node locks it."""
    path = check_stopped(directory)
    lock = RealDisk().lock(posixpath.join(path, LOCK))
    if lock is None:
        raise JobError(f"A node is running on {directory}: stop it first (Ctrl-C or SIGTERM), then run this again.")
    try:
        # Once more: a node may have come and gone between the look and the lock.
        if not os.path.exists(posixpath.join(path, CLEAN_SHUTDOWN)):
            raise JobError(f"A node was started on {directory} meanwhile: stop it in order, then run this again.")
        yield path
    finally:
        lock.release()


def finish_interrupted(path: str, partitions: list[TopicPartition], disk: RealDisk | None = None) -> None:
    """Completes or gives up what an earlier job was replacing when it was killed, as a node does at its start."""
    for partition in partitions:
        resolve_leftovers(disk or RealDisk(), posixpath.join(path, str(partition)), LogConfig())


def partitions_of(path: str, topic: str) -> list[TopicPartition]:
    """The partitions of a topic in a data directory; JobError for topics that are not there or not to be touched."""
    if topic.startswith("__"):
        raise JobError(f"{topic} belongs to the node itself and is not rewritten.")
    found = [partition for partition in list_partitions(path) if partition.topic == topic]
    if not found:
        raise JobError(f"There is no log of the topic {topic} in {path}.")
    return found


def logs_of(path: str, topic: str) -> list[LogFiles]:
    return [list_log(path, partition) for partition in partitions_of(path, topic)]
