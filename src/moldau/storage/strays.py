"""Logs that belong to no partition of the cluster: which of two counts, and what becomes of the other.

A log names its topic by the id beside it. One whose topic is known to have been deleted is deleted as well; any other
is kept under another name. Nothing that holds records is deleted on the word of one small file, nor because metadata
were brought back from an old copy.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Container

from moldau.storage.file_names import DELETE_DIRECTORY, STRAY_DIRECTORY
from moldau.storage.log import Log
from moldau.storage.log_dirs import LogDirError
from moldau.types import Uuid

logger = logging.getLogger("moldau.storage")


class Strays:
    """Without being told otherwise it knows of no topic: every stray is kept."""

    __slots__ = ("deleted_topics", "topic_id")

    def __init__(self) -> None:
        # The ids of topics that are known to have been deleted, and the id a topic of a name has now.
        self.deleted_topics: Container[Uuid | None] = ()
        self.topic_id: Callable[[str], Uuid | None] = lambda topic: None

    def mark(self, log: Log) -> str:
        """How the directory of a stray is marked."""
        if log.topic_id in self.deleted_topics:
            logger.info("%s is deleted: its topic was, before the last stop", log.directory.path)
            return DELETE_DIRECTORY
        logger.warning("%s belongs to no partition of this cluster and is set aside", log.directory.path)
        return STRAY_DIRECTORY

    def told_apart(self, one: Log, other: Log) -> tuple[Log, Log]:
        """The log that counts, and the stray: its topic was deleted and created again while a directory was offline.

        Should that one be deleted too by now, either is as good. So it is if the topic was created again without a
        replica here, or is yet another one by now: then neither counts, and whoever asks for the topic's own log will
        find it out. LogDirError if nobody can tell which of the two it is.
        """
        if other.topic_id in self.deleted_topics:
            return one, other
        if one.topic_id in self.deleted_topics:
            return other, one
        wanted = self.topic_id(one.topic_partition.topic)
        ids = {one.topic_id, other.topic_id}
        if len(ids) == 1 or (None in ids and wanted not in ids - {None}):
            raise LogDirError(
                f"{one.topic_partition} has a log in {other.directory.path} and another in {one.directory.path}; "
                "remove the older one."
            )
        return (one, other) if other.topic_id != wanted else (other, one)
