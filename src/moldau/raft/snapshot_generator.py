"""Writes a metadata snapshot now and then, so that the log and the time to replay it do not grow for ever.

A publisher: it holds the image it was given and writes its records a few at a time between other work, which is safe
because an image never changes. A snapshot is due when the log since the last one is much larger than the state
itself; the setting `metadata.log.max.record.bytes.between.snapshots` is the upper limit. A worker forces it to disk and
gives it its name: it may be many megabytes.
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
from moldau.runtime.ports import Loop, Workers

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

    def take_snapshot(self, writer: SnapshotWriter) -> None: ...


class SnapshotGenerator:
    """Without `workers` the disk is waited for in the loop."""

    def __init__(
        self, quorum: SnapshotTarget, config: BrokerConfig, loop: Loop, workers: Workers | None = None
    ) -> None:
        self._quorum = quorum
        self._limit = config.metadata_log_max_record_bytes_between_snapshots
        self._loop = loop
        self._workers = workers
        # The one that is being written, and whether that is a worker's business by now.
        self._writer: SnapshotWriter | None = None
        self._is_finishing = False

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
        # What a worker has in hand it finishes, or the next start finds half of it and drops that.
        if writer is not None and not self._is_finishing:
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
            if self._workers is None:
                writer.finish()
        except Exception as error:
            self._failed(writer, error)
            return
        if self._workers is None:
            self._finished(writer, None)
        else:
            self._is_finishing = True
            self._workers.submit(writer.finish, lambda _, error: self._finished(writer, error))

    def _finished(self, writer: SnapshotWriter, error: BaseException | None) -> None:
        self._is_finishing = False
        if self._writer is not writer:
            return  # closed meanwhile; a snapshot that has its name counts from the next start on
        try:
            if error is not None:
                raise error
            self._quorum.take_snapshot(writer)
        except Exception as failure:
            self._failed(writer, failure)
            return
        self._writer = None
        logger.info("wrote the metadata snapshot %s (%d bytes)", writer.id.file_name, writer.size)

    def _failed(self, writer: SnapshotWriter, error: Exception) -> None:
        """The log is still complete: the next image tries again."""
        is_ours = not isinstance(error, KafkaError | OSError)
        logger.error("a snapshot of the metadata could not be written: %s", error, exc_info=error if is_ours else None)
        self._writer = None
        writer.abandon()
