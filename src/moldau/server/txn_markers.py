"""Ending transactions in the partitions: the markers a coordinator sends, and those another broker asks for.

A marker on a partition of records is a control batch, appended like any other batch and answered when the in-sync
replicas have it. A marker on `__consumer_offsets` goes through the group coordinator, because the offsets that were
pending count or are dropped with it.

Partitions led by other brokers get theirs by WriteTxnMarkers requests (`marker_requests`). Who leads a partition is
looked up each time a marker is sent, so that one that was refused finds the new leader when it is sent again.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Final, Protocol

from moldau.coordinator.marker import Marker
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.metadata.image import MetadataImage
from moldau.protocol.records import EndTransaction, encode_batch, end_transaction_record
from moldau.replica.delayed_outcomes import DelayedOutcomes, PendingAppend
from moldau.replica.manager import ReplicaManager
from moldau.runtime.ports import Clock
from moldau.server.coordinator_log import check_marker
from moldau.server.marker_requests import MarkerErrand, Results, marker_requests
from moldau.server.other_brokers import OtherBrokers
from moldau.slicing import Work, pieces
from moldau.storage.origin import Origin
from moldau.types import NO_LEADER, TopicPartition

__all__ = ["OffsetMarkers", "Results", "TransactionMarkers"]

logger = logging.getLogger("moldau.server.transactions")

OFFSETS_TOPIC: Final = "__consumer_offsets"
# How long a marker may take to be replicated before the answer says so; the coordinator then sends it again.
_TIMEOUT_MS: Final = 30_000
_ALL: Final = -1
# Partitions that get their marker before others have their turn.
_AT_ONCE: Final = 10

# What the coordinator of a partition says, in the words of a partition's leader.
_AS_LEADER: Final = {
    ErrorCode.NOT_COORDINATOR: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS: ErrorCode.NOT_LEADER_OR_FOLLOWER,
    ErrorCode.COORDINATOR_NOT_AVAILABLE: ErrorCode.REQUEST_TIMED_OUT,
}


class OffsetMarkers(Protocol):
    """The group coordinator, as far as transactions end in its partitions."""

    def complete_transaction(self, partition: int, marker: Marker) -> Deferred[None]: ...


class TransactionMarkers:
    """The coordinator's MarkerSender, and what WriteTxnMarkers is answered from.

    Without `brokers` there is nobody else: a node that stands alone.
    """

    def __init__(
        self,
        broker_id: int,
        replicas: ReplicaManager,
        offsets: OffsetMarkers,
        clock: Clock,
        brokers: OtherBrokers | None = None,
    ) -> None:
        self._broker_id = broker_id
        self._replicas = replicas
        self._offsets = offsets
        self._clock = clock
        self._remote = None if brokers is None else marker_requests(brokers)

    def send(
        self,
        marker: Marker,
        partitions: Sequence[TopicPartition],
        done: Callable[[Results], None],
        wanted: Callable[[], bool],
    ) -> None:
        """`done` is told of the partitions of each leader when that one has answered."""
        by_leader: dict[int, list[TopicPartition]] = {}
        for place in partitions:
            by_leader.setdefault(_leader(self._replicas.image, place), []).append(place)
        for leader, places in by_leader.items():
            if leader == self._broker_id:
                self._in_turns(marker, places, done, wanted)
            elif leader == NO_LEADER or self._remote is None:
                done(dict.fromkeys(places, ErrorCode.LEADER_NOT_AVAILABLE))
            else:
                self._remote.add(leader, MarkerErrand(marker, places, done, wanted))

    def _in_turns(
        self,
        marker: Marker,
        places: Sequence[TopicPartition],
        done: Callable[[Results], None],
        wanted: Callable[[], bool],
    ) -> None:
        """A transaction may have written to thousands of partitions, each of which may have to be opened first."""

        def write() -> Work[None]:
            for some in pieces(places, _AT_ONCE):
                if not wanted():
                    return
                self.write(marker, some, done)
                yield

        def written(_: None, error: BaseException | None) -> None:
            if error is not None:
                logger.error("markers of producer %d were not written", marker.producer_id, exc_info=error)

        rest = self._replicas.slicer.run(write())
        if isinstance(rest, Deferred):
            rest.then(written)

    def write(self, marker: Marker, partitions: Sequence[TopicPartition], done: Callable[[Results], None]) -> None:
        """Ends the transaction in partitions this broker leads; `done` is called once, when all are replicated."""
        results: dict[TopicPartition, ErrorCode] = {}
        pending: list[tuple[TopicPartition, PendingAppend]] = []
        offsets = [place for place in partitions if place.topic == OFFSETS_TOPIC]
        waiting = len(offsets) + 1

        def arrived() -> None:
            nonlocal waiting
            waiting -= 1
            if not waiting:
                done(results)

        def replicated() -> None:
            for place, append in pending:
                results[place] = append.error
            arrived()

        for place in partitions:
            if place.topic != OFFSETS_TOPIC:
                try:
                    pending.append((place, self._append(marker, place)))
                except KafkaError as error:
                    results[place] = error.code
        for place in offsets:
            self._end_offsets(marker, place, results, arrived)
        appends = [append for _, append in pending]
        watched = [append.partition for append in appends]
        self._replicas.produces.wait(DelayedOutcomes(appends, replicated), watched, _TIMEOUT_MS)

    def _append(self, marker: Marker, place: TopicPartition) -> PendingAppend:
        partition = self._replicas.get(*place)
        check_marker(partition.log, marker.producer_id, marker.producer_epoch, marker.transaction_version)
        batch = bytearray(
            encode_batch(
                [
                    end_transaction_record(
                        EndTransaction(marker.committed, marker.coordinator_epoch), self._clock.now_ms()
                    )
                ],
                is_control=True,
                is_transactional=True,
                producer_id=marker.producer_id,
                producer_epoch=marker.producer_epoch,
            )
        )
        info = partition.append(memoryview(batch), 0, len(batch), _ALL, Origin.COORDINATOR)
        # The last stable offset may have moved with the marker: readers of committed records wait for that.
        self._replicas.moved(partition)
        return PendingAppend(partition, info.last_offset + 1)

    def _end_offsets(
        self,
        marker: Marker,
        place: TopicPartition,
        results: dict[TopicPartition, ErrorCode],
        arrived: Callable[[], None],
    ) -> None:
        def settled(_: None, error: BaseException | None) -> None:
            code = ErrorCode.NONE
            if isinstance(error, KafkaError):
                code = _AS_LEADER.get(error.code, error.code)
            elif error is not None:
                code = ErrorCode.UNKNOWN_SERVER_ERROR
            results[place] = code
            arrived()

        self._offsets.complete_transaction(place.partition, marker).then(settled)


def _leader(image: MetadataImage, place: TopicPartition) -> int:
    topic = image.topics.get(place.topic)
    registration = None if topic is None else topic.partitions.get(place.partition)
    return NO_LEADER if registration is None else registration.leader
