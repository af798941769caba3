"""What a disk is sound without: room, or a descriptor to open a file with. Both may be there again the next moment.

So nothing goes offline for them. They are told once, with what is to be done about it, and again when they have passed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from moldau.runtime.ports import Disk
from moldau.storage.storage_error import FULL, SHORT_OF_DESCRIPTORS, StorageError

logger = logging.getLogger("moldau.replica")

# A disk counts as full until so many bytes of it are free, lest every freed block be news.
ROOM_AGAIN = 16 << 20


class Shortages:
    def __init__(self, failed: Callable[[StorageError], None]) -> None:
        self._failed = failed
        # Log directories that had no room when something was to be written.
        self.full: set[str] = set()
        self._without_descriptors = False

    def tell(self, error: StorageError) -> None:
        if error.errno in FULL:
            if error.directory not in self.full:
                logger.error("%s The partitions there can be read but not written until there is room.", error)
            self.full.add(error.directory)
        elif not self._without_descriptors:
            self._without_descriptors = True
            logger.error("%s %s", error, SHORT_OF_DESCRIPTORS)

    def forget(self, directory: str) -> None:
        """It is offline, which is worse."""
        self.full.discard(directory)

    def look_again(self, disk: Disk) -> None:
        """Full disks that have room again. Nobody waits for this: a write is tried whenever one comes."""
        self._without_descriptors = False  # should it still be so, it is worth saying again
        for directory in list(self.full):
            try:
                if disk.free_bytes(directory) < ROOM_AGAIN:
                    continue
            except OSError as error:
                self._failed(StorageError(directory, "Looking for room", error))
                continue
            self.full.discard(directory)
            logger.warning("There is room again in %s.", directory)
