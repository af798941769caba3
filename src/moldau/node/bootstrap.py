"""The first records of a new cluster, as its directories were formatted with them: Kafka's `bootstrap.checkpoint`."""

from __future__ import annotations

import posixpath
from typing import Final

from moldau.protocol.message import Message
from moldau.raft.batches import decode_batches
from moldau.runtime.ports import Disk

BOOTSTRAP: Final = "bootstrap.checkpoint"


def read_bootstrap(disk: Disk, directory: str) -> list[Message]:
    """None if the directory was not formatted with any: then a new cluster begins as is usual."""
    path = posixpath.join(directory, BOOTSTRAP)
    if not disk.exists(path):
        return []
    return [record for batch in decode_batches(disk.read_file(path)) for record in batch.records]
