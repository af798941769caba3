"""A disk that failed, with the name of the log directory it belongs to.

The name matters more than the sentence: the node takes that directory offline and goes on with the others.
"""

from __future__ import annotations

from moldau.errors import ErrorCode, KafkaError


class StorageError(KafkaError):
    """An operation on a log directory failed in the operating system."""

    def __init__(self, directory: str, doing: str, cause: OSError, *, lost: bool = False) -> None:
        reason = cause.strerror or str(cause)
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed in {directory}: {reason}.")
        self.directory = directory
        self.errno = cause.errno
        # A write that fails can be repeated. After an fsync that fails nobody knows what is on the disk, whatever the
        # reason was, and a second one would only pretend that all is well.
        self.lost = lost
