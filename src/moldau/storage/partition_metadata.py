"""`partition.metadata`: the topic id a log belongs to, so that a topic created again under its old name is not taken
for the old one."""

from __future__ import annotations

import posixpath

from moldau.runtime.ports import Disk
from moldau.storage.checkpoint import CheckpointError
from moldau.storage.file_names import PARTITION_METADATA
from moldau.types import ZERO_UUID, Uuid, uuid_from_text, uuid_to_text


def write_topic_id(disk: Disk, directory: str, topic_id: Uuid, *, sync: bool = False) -> None:
    """Not forced to disk for a new log: a thousand partitions would take seconds. It is when records are, for the first
    time; an empty log whose file was lost in a power cut is simply given its id again, which the metadata log knows."""
    text = f"version: 0\ntopic_id: {uuid_to_text(topic_id)}"
    file = disk.open(posixpath.join(directory, PARTITION_METADATA), create=True)
    try:
        file.write(text.encode(), 0)
        file.truncate(len(text))
        if sync:
            file.sync()
    finally:
        file.close()


def read_topic_id(disk: Disk, directory: str) -> Uuid | None:
    """The id, or None where there is no file; CheckpointError if it says something else."""
    path = posixpath.join(directory, PARTITION_METADATA)
    if not disk.exists(path):
        return None
    words = disk.read_file(path).decode("utf-8", "replace").split()
    if len(words) != 4 or words[:3] != ["version:", "0", "topic_id:"]:
        raise CheckpointError(f"{path} does not hold a topic id.")
    try:
        topic_id = uuid_from_text(words[3])
    except ValueError as error:
        raise CheckpointError(f"{path} does not hold a topic id: {error}.") from error
    if topic_id == ZERO_UUID:
        raise CheckpointError(f"{path} holds the id that stands for none.")
    return topic_id
