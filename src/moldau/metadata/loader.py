"""Follows the metadata log and keeps the current image of this node.

Every committed batch becomes a delta on the image; when no further batch is at hand, the new image is set and handed
to the publishers. So a start with a long log publishes once, and a burst of changes publishes as seldom as it can.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Protocol

from moldau.metadata.committed import CommittedBatch, MetadataSnapshot, MetadataTransaction
from moldau.metadata.delta import MetadataDelta
from moldau.metadata.image import EMPTY_IMAGE, MetadataImage
from moldau.metadata.records import AbortTransactionRecord, BeginTransactionRecord, Message
from moldau.slicing import Work

logger = logging.getLogger("moldau.metadata")


class Publisher(Protocol):
    """A part of the node that follows the metadata: the replica manager opens and closes partitions, the dynamic
    configuration takes over settings, a coordinator loads its shards.

    Publishers are called in the order they were added, so one may rely on what an earlier one has done.
    """

    def on_image(self, delta: MetadataDelta, image: MetadataImage) -> None:
        """`image` holds from now on; `delta` says what is different from the one before. An exception is a fault of
        the node, not of the metadata: it is reported and the other publishers are still called."""
        ...


class MetadataLoader:
    """The current image is `image`; it satisfies what the quorum asks of a listener."""

    def __init__(self, on_fault: Callable[[BaseException], None] | None = None) -> None:
        self.image: MetadataImage = EMPTY_IMAGE
        self._publishers: list[Publisher] = []
        self._on_fault = on_fault
        # What was replayed since `image`.
        self._delta = MetadataDelta(EMPTY_IMAGE)
        self._transaction: MetadataTransaction[Message] = MetadataTransaction()
        self._offset = self._epoch = self._timestamp = -1

    def add_publisher(self, publisher: Publisher) -> None:
        """A publisher that joins late is told the whole image as one delta."""
        self._publishers.append(publisher)
        if self.image.offset >= 0:
            self._tell(publisher, MetadataDelta.whole(self.image), self.image)

    # ------------------------------------------------------------------------------------------ from the quorum

    def on_commit(self, batch: CommittedBatch, *, more: bool) -> None:
        records = batch.records
        if records and isinstance(records[0], BeginTransactionRecord) and not self._transaction.is_open:
            # What came before has an image of its own, so that the delta holds nothing but the transaction: it can be
            # applied as it comes, and dropped if it is aborted.
            self._publish()
            self._transaction = MetadataTransaction(held_back=False)
        for record in records:
            if isinstance(record, AbortTransactionRecord) and not self._transaction.holds_back:
                self._delta = MetadataDelta(self.image)
            for due in self._transaction.admit(record, record):
                self._delta.replay(due)
            if not self._transaction.is_open:
                self._transaction.holds_back = True
        self._offset, self._epoch, self._timestamp = batch.last_offset, batch.epoch, batch.timestamp
        if not more:
            self._publish()

    def on_snapshot(self, snapshot: MetadataSnapshot, *, more: bool) -> Work[None]:
        delta = self._delta = MetadataDelta(self.image, is_snapshot=True)
        self._transaction = MetadataTransaction()
        for records in snapshot:
            for record in records:
                delta.replay(record)
            yield
        yield from delta.finish_snapshot()
        self._offset, self._epoch, self._timestamp = snapshot.last_offset, snapshot.epoch, snapshot.timestamp
        if not more:
            self._publish()

    def on_leader(self, leader_id: int, epoch: int) -> None:
        """Who leads the quorum does not change what the metadata says."""

    # ------------------------------------------------------------------------------------------------- internals

    def _publish(self) -> None:
        # No image is taken inside a transaction: it would stand at an offset whose records it lacks.
        if self._transaction.is_open:
            return
        delta = self._delta
        if delta.is_empty and self._offset == self.image.offset:
            return
        image = delta.apply(self._offset, self._epoch, self._timestamp)
        self._delta = MetadataDelta(image)
        self.image = image
        for publisher in self._publishers:
            self._tell(publisher, delta, image)

    def _tell(self, publisher: Publisher, delta: MetadataDelta, image: MetadataImage) -> None:
        try:
            publisher.on_image(delta, image)
        except Exception as error:
            logger.exception("%s could not take over the metadata at offset %d", type(publisher).__name__, image.offset)
            if self._on_fault is not None:
                self._on_fault(error)
