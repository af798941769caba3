"""A disk that failed, with the name of the log directory it belongs to.

The name matters more than the sentence: the node takes that directory offline and goes on with the others.
"""

from __future__ import annotations

import errno
from typing import Final

from moldau.errors import ErrorCode, KafkaError

# A full disk, or a full quota on it.
FULL: Final = (errno.ENOSPC, errno.EDQUOT)
# The process, or the machine, has as many files open as it may: no fault of any disk.
OUT_OF_DESCRIPTORS: Final = (errno.EMFILE, errno.ENFILE)
SHORT_OF_DESCRIPTORS: Final = (
    "As many files are open as may be: raise the limit of the process (ulimit -n, or LimitNOFILE in a systemd unit) or "
    "of the machine (fs.file-max)."
)


class StorageError(KafkaError):
    """An operation on a log directory failed in the operating system."""

    def __init__(self, directory: str, doing: str, cause: OSError, *, lost: bool = False) -> None:
        reason = cause.strerror or str(cause)
        super().__init__(ErrorCode.KAFKA_STORAGE_ERROR, f"{doing} failed in {directory}: {reason}.")
        self.directory = directory
        self.errno = cause.errno
        # A write that fails can be repeated. After an fsync that fails nobody knows what is on the disk, whatever the
        # reason was, and a second one would only pretend that all is well. For want of a descriptor none was tried.
        self.lost = lost and cause.errno not in OUT_OF_DESCRIPTORS

    @property
    def is_passing(self) -> bool:
        """Whether the disk is sound, and the operation may succeed when there is room or a descriptor again."""
        return not self.lost and self.errno in (*FULL, *OUT_OF_DESCRIPTORS)
