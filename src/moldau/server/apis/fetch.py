"""Fetch (key 1): batches from an offset on, waiting for more if there is too little.

Versions: 5 adds the log start offset, 7 sessions, 9 leader epochs, 11 the reader's rack and a preferred replica, 12 is
flexible and tells a reader whose log diverged where, 13 names topics by id, 15 moves the replica id into a tagged
field, 16 names the address of a new leader, 17 and 18 are for the metadata quorum.

As with Produce, the compiled way and the generated classes meet in one place, `FetchCall`. Records stay in their file:
an answer is a list of chunks, bytes and file slices in turn, and the network sends the slices from the file.

A fetch that finds less than `min_bytes` waits in the purgatory and is read again when something was appended.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from moldau import _speed
from moldau.deferred import Deferred
from moldau.errors import KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
)
from moldau.replica.delayed_fetch import DelayedFetch, WaitingRead
from moldau.replica.partition import DivergingEpoch, Partition
from moldau.runtime.ports import Chunk, FileSlice
from moldau.server.dispatch import DECLINED, Api, RawAnswer, RawHandler
from moldau.server.fetch_sessions import FetchContext, FetchPartition, PartitionOutcome
from moldau.server.leader_hints import MOVED, leader_hint
from moldau.server.request_channel import encode_response
from moldau.storage.storage_error import StorageError
from moldau.types import NO_OFFSET, Uuid

if TYPE_CHECKING:
    from moldau.server.connection import Connection
    from moldau.server.context import RequestContext, Services

if _speed.COMPILED:
    from moldau._speed.frames import encode_fetch, parse_fetch

A = TypeVar("A")

CONSUMER: Final = -1
READ_COMMITTED: Final = 1
NO_REPLICA: Final = -1

# (topic, partition, error, high watermark, last stable offset, log start, aborted, preferred replica, records)
ReadResult: TypeAlias = tuple[str | Uuid, int, int, int, int, int, list[tuple[int, int]] | None, int, FileSlice | bytes]


class FetchCall:
    """One fetch while it is served."""

    __slots__ = (
        "_committed",
        "_context",
        "_diverging",
        "_failed",
        "_listener",
        "_max_bytes",
        "_min_bytes",
        "_replica_id",
        "_services",
        "_version",
        "error",
        "results",
        "session_id",
    )

    def __init__(
        self,
        services: Services,
        listener: str,
        version: int,
        context: FetchContext,
        *,
        min_bytes: int,
        max_bytes: int,
        committed: bool,
        replica_id: int = CONSUMER,
    ) -> None:
        self._services = services
        self._listener = listener
        self._version = version
        self._context = context
        self._replica_id = replica_id
        # A follower takes what it asks for; its limits are its own configuration.
        self._max_bytes = max_bytes if replica_id >= 0 else min(max_bytes, services.config.fetch_max_bytes)
        self._min_bytes = min(min_bytes, self._max_bytes)
        self._committed = committed
        self._diverging: dict[int, DivergingEpoch] = {}
        self._failed = False
        self.results: list[ReadResult] = []
        self.error = context.error
        self.session_id = 0

    @property
    def plain(self) -> bool:
        """Nothing to say that only the generated classes can: no hints, no diverging epoch."""
        return not self._failed and not self._diverging

    def run(self, max_wait_ms: int, answer: Callable[[], A]) -> A | Deferred[A]:
        """Reads and answers, or waits until there is enough or the time is over."""
        found = self._read()
        if (
            found >= self._min_bytes
            or max_wait_ms <= 0
            or self._failed
            or self._diverging
            or not self._context.partitions
        ):
            self._close()
            return answer()
        later: Deferred[A] = Deferred()

        def respond() -> None:
            self._read()
            self._close()
            later.resolve(answer())

        waiting = [
            WaitingRead(partition, asked[2], asked[3])
            for asked in self._context.partitions
            if (partition := self._find(asked[0], asked[1])) is not None
        ]
        operation = DelayedFetch(
            waiting, self._min_bytes, committed=self._committed, follower=self._replica_id >= 0, respond=respond
        )
        self._services.replicas.fetches.wait(operation, [read.partition for read in waiting], max_wait_ms)
        return later

    def _find(self, topic: str | Uuid, index: int) -> Partition | None:
        replicas = self._services.replicas
        hosted = (replicas.by_id if self._version >= 13 else replicas.by_name).get(topic)  # type: ignore[arg-type]
        return hosted.partitions.get(index) if hosted is not None else None

    def _read(self) -> int:
        """Reads every partition in the order asked for, each within what the ones before it left; bytes found."""
        results: list[ReadResult] = []
        self.results = results
        self._failed = False
        self._diverging.clear()
        committed, follower = self._committed, self._replica_id >= 0
        left = self._max_bytes
        total = 0
        for topic, index, offset, max_bytes, leader_epoch, _, fetched_epoch in self._context.partitions:
            try:
                partition = self._find(topic, index)
                if partition is None:
                    raise KafkaError(self._services.replicas.why_missing(topic, index))
                read = partition.read(
                    offset,
                    max_bytes if max_bytes < left else left,
                    leader_epoch,
                    fetched_epoch,
                    committed=committed,
                    follower=follower,
                    at_least_one=total == 0,
                )
            except KafkaError as error:
                self._refuse(topic, index, error)
                continue
            if isinstance(read, DivergingEpoch):
                self._diverging[len(results)] = read
                results.append((topic, index, 0, NO_OFFSET, NO_OFFSET, NO_OFFSET, None, NO_REPLICA, b""))
                continue
            records = read.records
            size = len(records)
            total += size
            left = left - size if left > size else 0
            results.append(
                (
                    topic,
                    index,
                    0,
                    read.high_watermark,
                    read.last_stable_offset,
                    read.log_start_offset,
                    read.aborted,
                    NO_REPLICA,
                    records,
                )
            )
        return total

    def _refuse(self, topic: str | Uuid, index: int, error: KafkaError) -> None:
        if isinstance(error, StorageError):
            self._services.replicas.storage_failed(error)
        self._failed = True
        self.results.append((topic, index, error.code, NO_OFFSET, NO_OFFSET, NO_OFFSET, None, NO_REPLICA, b""))

    def _close(self) -> None:
        """Leaves out what the session has told the reader before."""
        context = self._context
        if type(context) is FetchContext:
            return
        outcomes = [
            PartitionOutcome(r[0], r[1], r[2], r[3], r[5], len(r[8]), place in self._diverging)
            for place, r in enumerate(self.results)
        ]
        now_ms = int(self._services.runtime.clock.monotonic() * 1000)
        self.error, self.session_id, included = context.finish(outcomes, now_ms)
        if included is not None:
            self._diverging = {
                place: self._diverging[old] for place, old in enumerate(included) if old in self._diverging
            }
            self.results = [self.results[place] for place in included]
            self._failed = any(result[2] for result in self.results)

    def response(self) -> FetchResponse:
        response = FetchResponse(error_code=self.error, session_id=self.session_id)
        by_id = self._version >= 13
        current: FetchableTopicResponse | None = None
        for place, result in enumerate(self.results):
            topic, index, error, high_watermark, last_stable, log_start, aborted, preferred, records = result
            if current is None or (current.topic_id if by_id else current.topic) != topic:
                current = FetchableTopicResponse()
                if isinstance(topic, str):
                    current.topic = topic
                else:
                    current.topic_id = topic
                response.responses.append(current)
            answer = PartitionData(
                partition_index=index,
                error_code=error,
                high_watermark=high_watermark,
                last_stable_offset=last_stable,
                log_start_offset=log_start,
                preferred_read_replica=preferred,
                records=records,
                aborted_transactions=None
                if aborted is None
                else [AbortedTransaction(producer_id=p, first_offset=first) for p, first in aborted],
            )
            current.partitions.append(answer)
            if self._version >= 12:
                self._explain(response, answer, topic, place)
        return response

    def _explain(self, response: FetchResponse, answer: PartitionData, topic: str | Uuid, place: int) -> None:
        diverging = self._diverging.get(place)
        if diverging is not None:
            answer.diverging_epoch = EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.end_offset)
        if answer.error_code not in MOVED:
            return
        hint = leader_hint(self._services, self._listener, topic, answer.partition_index)
        if hint is None:
            return
        answer.current_leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
        known = any(node.node_id == hint.leader_id for node in response.node_endpoints)
        if self._version >= 16 and hint.endpoint is not None and not known:
            response.node_endpoints.append(
                NodeEndpoint(node_id=hint.leader_id, host=hint.endpoint.host, port=hint.endpoint.port, rack=hint.rack)
            )


def raw_fetch(services: Services) -> RawHandler:
    """The compiled way; it declines what it does not know, such as a follower's fetch."""

    def fetch_bytes(
        connection: Connection, data: memoryview, start: int, end: int, version: int, correlation_id: int
    ) -> RawAnswer:
        plan = parse_fetch(data, start, end, version)
        if plan is None:
            return DECLINED
        max_wait, min_bytes, max_bytes, isolation, session_id, session_epoch, partitions, forgotten, _ = plan
        context = services.fetch_sessions.begin(
            session_id,
            session_epoch,
            partitions,
            forgotten,
            uses_topic_ids=version >= 13,
            privileged=False,
            now_ms=int(services.runtime.clock.monotonic() * 1000),
        )
        call = FetchCall(
            services,
            connection.listener_name,
            version,
            context,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            committed=isolation == READ_COMMITTED,
        )

        def answer() -> list[Chunk]:
            if call.plain:
                return encode_fetch(version, correlation_id, 0, call.error, call.session_id, call.results)
            return encode_response(call.response(), version, correlation_id, b"\0" if version >= 12 else b"")

        return call.run(max_wait, answer)

    return fetch_bytes


def fetch(context: RequestContext, request: FetchRequest) -> FetchResponse | Deferred[FetchResponse]:
    """The same through the generated classes."""
    version = context.version
    replica_id = request.replica_state.replica_id if version >= 15 else request.replica_id
    partitions = [
        FetchPartition(
            topic.topic_id if version >= 13 else topic.topic,
            asked.partition,
            asked.fetch_offset,
            asked.partition_max_bytes,
            asked.current_leader_epoch,
            asked.log_start_offset,
            asked.last_fetched_epoch,
        )
        for topic in request.topics
        for asked in topic.partitions
    ]
    forgotten = [
        (topic.topic_id if version >= 13 else topic.topic, index)
        for topic in request.forgotten_topics_data
        for index in topic.partitions
    ]
    services = context.services
    session = services.fetch_sessions.begin(
        request.session_id,
        request.session_epoch,
        partitions,
        forgotten,
        uses_topic_ids=version >= 13,
        privileged=replica_id >= 0,
        now_ms=int(services.runtime.clock.monotonic() * 1000),
    )
    call = FetchCall(
        services,
        context.listener_name,
        version,
        session,
        min_bytes=request.min_bytes,
        max_bytes=request.max_bytes,
        committed=request.isolation_level == READ_COMMITTED,
        replica_id=replica_id,
    )
    return call.run(request.max_wait_ms, call.response)


FETCH: Final = Api(ApiKey.FETCH, FetchRequest, fetch, raw=raw_fetch if _speed.COMPILED else None)
