"""The directory of one log: its name, whether a crash would leave it to be found, and the one way its failures take."""

from __future__ import annotations

import errno
import posixpath
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.runtime.ports import Disk
from moldau.storage.checkpoint import sync_file
from moldau.storage.file_names import PARTITION_METADATA
from moldau.storage.storage_error import StorageError
from moldau.types import TopicPartition


class PartitionDirectory:
    __slots__ = ("disk", "name", "parent", "path", "placed", "report", "topic_partition")

    def __init__(self, disk: Disk, path: str, topic_partition: TopicPartition) -> None:
        self.disk = disk
        self.path = path
        self.name = posixpath.basename(path)
        # The log directory it lies in: what goes offline with its disk.
        self.parent = posixpath.dirname(path)
        self.topic_partition = topic_partition
        # Whether its own name and the topic id in it are known to be on disk.
        self.placed = False
        # Who is told when the disk fails under this log; set by whoever keeps it.
        self.report: Callable[[StorageError], None] | None = None

    # ---------------------------------------------------------------------------------------------------- on disk

    def sync(self) -> None:
        """Forces the names in it to disk."""
        self.disk.sync_directory(self.path)

    def place(self) -> None:
        """Makes a new log one that will be found again: what is forced to disk in it is worth nothing without that."""
        for job in self.placing():
            job()
        self.placed = True

    def placing(self) -> list[Callable[[], None]]:
        """The work of that, for whoever does it off the loop."""
        if self.placed:
            return []
        disk, path, parent = self.disk, self.path, self.parent
        return [
            lambda: sync_file(disk, posixpath.join(path, PARTITION_METADATA)),
            lambda: disk.sync_directory(parent),
        ]

    # ------------------------------------------------------------------------------------------------------ names

    def rename(self, name: str) -> None:
        """Gives it another name, in the same place."""
        try:
            self.disk.rename(self.path, posixpath.join(self.parent, name))
            self.disk.sync_directory(self.parent)
        except OSError as error:
            raise self.failed("Renaming", error) from error
        self.placed = False
        self.moved_to(name)

    def moved_to(self, name: str) -> None:
        self.name = name
        self.path = posixpath.join(self.parent, name)

    # --------------------------------------------------------------------------------------------------- failures

    def failed(self, doing: str, error: OSError, *, lost: bool = False) -> StorageError:
        """The one way a failure of the disk takes, whoever was using the log: it is reported here, and only here.

        The error returned is for whoever asked; with `lost` nobody knows any more what is on the disk.
        """
        failure = StorageError(self.parent, f"{doing} {self.topic_partition}", error, lost=lost)
        if self.report is not None:
            self.report(failure)
        return failure

    @contextmanager
    def reading(self, offset: int) -> Iterator[None]:
        """Puts what goes wrong while somebody reads at or after `offset` into words."""
        try:
            yield
        except OSError as error:
            raise self.failed("Reading", error) from error
        except ProtocolError as error:
            raise self.damaged(offset, error) from error

    def unopened(self, error: BaseException) -> KafkaError:
        """Why a batch could not be opened elsewhere, where nobody looked out for failures (`timestamp_search`)."""
        if isinstance(error, OSError) and error.errno != errno.EBADF:
            return self.failed("Reading", error)
        # Its file was closed meanwhile.
        return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR)

    def damaged(self, offset: int, error: ProtocolError) -> KafkaError:
        """What a reader is told who met bytes that are no batch."""
        return KafkaError(
            ErrorCode.CORRUPT_MESSAGE, f"{self.topic_partition} is damaged at or after offset {offset}: {error}."
        )
