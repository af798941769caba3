"""How Kafka names what it keeps: segment files by their first offset, directories by topic and partition.

The suffixes are a language of their own. `.deleted`, `.cleaned` and `.swap` say how far an operation had come when
the process died; `-delete`, `-future` and `-stray` say the same of a whole directory.
"""

from __future__ import annotations

import re
from typing import Final, NamedTuple

from moldau.types import TopicPartition

LOG: Final = ".log"
OFFSET_INDEX: Final = ".index"
TIME_INDEX: Final = ".timeindex"
TRANSACTION_INDEX: Final = ".txnindex"
SNAPSHOT: Final = ".snapshot"

DELETED: Final = ".deleted"
CLEANED: Final = ".cleaned"
SWAP: Final = ".swap"

DELETE_DIRECTORY: Final = "-delete"
FUTURE_DIRECTORY: Final = "-future"
STRAY_DIRECTORY: Final = "-stray"

EPOCH_CHECKPOINT: Final = "leader-epoch-checkpoint"
PARTITION_METADATA: Final = "partition.metadata"
# In a future log: the name that is its own if nobody has it (`future_logs`).
HEIR: Final = "heir"

# The metadata log lives in a directory of the same form but belongs to the quorum, not to the log manager.
METADATA_TOPIC: Final = "__cluster_metadata"

_LONGEST_NAME: Final = 255
_OFFSET = re.compile(r"(\d{20})\.")
_LOG_DIRECTORY = re.compile(r"(.+)-(\d+)")
_MARKED_DIRECTORY = re.compile(r"(\S+)-(\d+)\.(\S+)(-delete|-future|-stray)")


def file_name(offset: int, kind: str, suffix: str = "") -> str:
    return f"{offset:020d}{kind}{suffix}"


def offset_of(name: str) -> int | None:
    """The offset a file is named by, or None for files with other names."""
    match = _OFFSET.match(name)
    return int(match.group(1)) if match else None


class LogDirectoryName(NamedTuple):
    topic_partition: TopicPartition
    mark: str  # "" for a log in use, else one of the directory suffixes


def parse_directory(name: str) -> LogDirectoryName | None:
    """What a directory name says, or None if it does not name a log."""
    marked = _MARKED_DIRECTORY.fullmatch(name)
    if marked:
        return LogDirectoryName(TopicPartition(marked.group(1), int(marked.group(2))), marked.group(4))
    plain = _LOG_DIRECTORY.fullmatch(name)
    if plain and not name.endswith((DELETE_DIRECTORY, FUTURE_DIRECTORY, STRAY_DIRECTORY)):
        return LogDirectoryName(TopicPartition(plain.group(1), int(plain.group(2))), "")
    return None


def marked_directory(topic_partition: TopicPartition, unique: str, mark: str) -> str:
    """`topic-3.<unique>-delete`; a very long topic name is cut so that the file system accepts the whole."""
    tail = f"-{topic_partition.partition}.{unique}{mark}"
    return topic_partition.topic[: _LONGEST_NAME - len(tail)] + tail
