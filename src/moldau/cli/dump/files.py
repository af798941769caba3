"""What a path is, by Kafka's names, and the files of a directory in the order one wants to read them."""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from enum import Enum
from typing import NamedTuple

from moldau.cli.failure import Failure
from moldau.storage.file_names import CLEANED, DELETED, SWAP, offset_of, parse_directory


class Kind(Enum):
    LOG = "segment"
    OFFSET_INDEX = "offset index"
    TIME_INDEX = "time index"
    TRANSACTION_INDEX = "transaction index"
    PRODUCER_SNAPSHOT = "producer snapshot"
    METADATA_SNAPSHOT = "metadata snapshot"
    EPOCH_CHECKPOINT = "leader epoch checkpoint"
    OFFSET_CHECKPOINT = "offset checkpoint"
    PROPERTIES = "properties"
    QUORUM_STATE = "quorum state"


class DumpFile(NamedTuple):
    path: str
    kind: Kind
    base_offset: int = 0

    @property
    def topic(self) -> str | None:
        """The topic whose directory the file is in."""
        name = parse_directory(os.path.basename(os.path.dirname(os.path.abspath(self.path))))
        return name.topic_partition.topic if name else None

    def beside(self, suffix: str) -> str:
        """The file of the same segment with another suffix."""
        return os.path.join(os.path.dirname(self.path), f"{self.base_offset:020d}{suffix}")


_BY_SUFFIX = {
    ".log": Kind.LOG,
    ".index": Kind.OFFSET_INDEX,
    ".timeindex": Kind.TIME_INDEX,
    ".txnindex": Kind.TRANSACTION_INDEX,
    ".snapshot": Kind.PRODUCER_SNAPSHOT,
    ".checkpoint": Kind.METADATA_SNAPSHOT,
}
_BY_NAME = {
    "leader-epoch-checkpoint": Kind.EPOCH_CHECKPOINT,
    "partition.metadata": Kind.PROPERTIES,
    "meta.properties": Kind.PROPERTIES,
    "quorum-state": Kind.QUORUM_STATE,
}
_METADATA_SNAPSHOT = re.compile(r"(\d{20})-\d{10}\.checkpoint")


def recognize(path: str) -> DumpFile | None:
    """None for a file that is not part of a log directory."""
    name = os.path.basename(path)
    for mark in (DELETED, CLEANED, SWAP):
        name = name.removesuffix(mark)
    if name in _BY_NAME:
        return DumpFile(path, _BY_NAME[name])
    if name.endswith("-offset-checkpoint"):
        return DumpFile(path, Kind.OFFSET_CHECKPOINT)
    kind = _BY_SUFFIX.get(os.path.splitext(name)[1])
    if kind is Kind.METADATA_SNAPSHOT:
        # It begins with no particular offset: records in a snapshot count from zero.
        return DumpFile(path, kind) if name == "bootstrap.checkpoint" or _METADATA_SNAPSHOT.fullmatch(name) else None
    offset = offset_of(name)
    return None if kind is None or offset is None else DumpFile(path, kind, offset)


def find(path: str, *, recursive: bool) -> list[DumpFile]:
    """The file itself, or what is known in the directory; Failure when there is nothing to read."""
    if not os.path.isdir(path):
        if not os.path.exists(path):
            raise Failure(f"{path} does not exist.")
        file = recognize(path)
        if file is None:
            raise Failure(f"{path} is not a file of a log directory, by its name.")
        return [file]
    found: list[DumpFile] = []
    for directory, subdirectories, names in os.walk(path):
        subdirectories.sort()
        known = [recognize(os.path.join(directory, name)) for name in names]
        found += sorted((file for file in known if file is not None), key=_reading_order)
        if not recursive:
            break
    if not found:
        raise Failure(f"There is no file of a log in {path}." + ("" if recursive else " -r looks below it, too."))
    return found


def _reading_order(file: DumpFile) -> tuple[int, int, str]:
    return file.base_offset, list(Kind).index(file.kind), file.path


@contextmanager
def mapped(path: str) -> Iterator[memoryview]:
    """The content of a file without reading it into memory: segments are large.

    The mapping ends with the last view of it; batches are such views, and may outlive the block.
    """
    with open(path, "rb") as file:
        empty = os.fstat(file.fileno()).st_size == 0
        yield memoryview(b"" if empty else mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))
