"""Writes a metadata snapshot now and then, so that the log and the time to replay it do not grow for ever.

A publisher: it holds the image it was given and writes its records a few at a time between other work, which is safe
because an image never changes. A snapshot is due when the log since the last one is much larger than the state
itself; the setting `metadata.log.max.record.bytes.between.snapshots` is the upper limit.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from itertools import islice
from typing import Final, Protocol

from moldau.config.broker import BrokerConfig
from moldau.errors import KafkaError
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import MetadataImage
from moldau.metadata.records import Message, versioned
from moldau.metadata.snapshot_records import image_records
from moldau.raft.snapshot_file import SnapshotWriter
from moldau.runtime.ports import Loop

logger = logging.getLogger("moldau.raft")

# About two milliseconds of work.
_RECORDS_PER_TURN: Final = 200
# What a start replays in 20 ms. Every restart changes the leader of each partition twice, so a node of few topics that
# is often restarted would otherwise read those changes again and again.
_SMALLEST: Final = 256 << 10
_TIMES_STATE: Final = 4


class SnapshotTarget(Protocol):
    """What a quorum that keeps snapshots offers."""

    @property
    def bytes_since_snapshot(self) -> int:
        """The size of the log since the last snapshot was begun."""
        ...

    @property
    def snapshot_bytes(self) -> int:
        """The size of the last snapshot, 0 without one."""
        ...

    def begin_snapshot(self, last_offset: int, epoch: int, timestamp: int) -> SnapshotWriter | None: ...

    def finish_snapshot(self, writer: SnapshotWriter) -> None: ...


class SnapshotGenerator:
    def __init__(self, quorum: SnapshotTarget, config: BrokerConfig, loop: Loop) -> None:
        self._quorum = quorum
        self._limit = config.metadata_log_max_record_bytes_between_snapshots
        self._loop = loop
        self._writer: SnapshotWriter | None = None

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        due = min(self._limit, max(_SMALLEST, _TIMES_STATE * self._quorum.snapshot_bytes))
        if self._writer is None and self._quorum.bytes_since_snapshot >= due:
            self.generate(image)

    def generate(self, image: MetadataImage) -> None:
        """Starts a snapshot of `image`; it is finished some turns of the loop later."""
        try:
            writer = self._quorum.begin_snapshot(image.offset, image.epoch, image.timestamp)
        except (KafkaError, OSError) as error:
            # A full disk, most likely: the log is still complete, and the next image tries again.
            logger.error("a snapshot of the metadata could not be begun: %s", error)
            return
        except Exception:
            logger.exception("a snapshot of the metadata could not be begun")
            return
        if writer is not None:
            self._writer = writer
            self._continue(writer, image_records(image), image.metadata_version)

    def close(self) -> None:
        writer, self._writer = self._writer, None
        if writer is not None:
            writer.abandon()

    def _continue(self, writer: SnapshotWriter, records: Iterator[Message], metadata_version: int) -> None:
        if self._writer is not writer:
            return
        try:
            some = [versioned(record, metadata_version) for record in islice(records, _RECORDS_PER_TURN)]
            if some:
                writer.append(some)
                self._loop.call_later(0, lambda: self._continue(writer, records, metadata_version))
                return
            self._writer = None
            self._quorum.finish_snapshot(writer)
            logger.info("wrote the metadata snapshot %s (%d bytes)", writer.id.file_name, writer.size)
        except Exception as error:
            # The log is still complete: the next image tries again.
            if isinstance(error, KafkaError | OSError):
                logger.error("a snapshot of the metadata could not be written: %s", error)
            else:
                logger.exception("a snapshot of the metadata could not be written")
            self._writer = None
            writer.abandon()
