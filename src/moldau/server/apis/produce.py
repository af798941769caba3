"""Produce (key 0): appends batches to the partitions this broker leads.

Versions: 5 adds the log start offset to the answer, 7 allows zstd, 8 adds messages for refused records, 9 is flexible,
10 names the current leader when it is elsewhere, 12 adds partitions to a transaction by writing to them, 13 names
topics by id. Versions 0 to 2 are gone, but advertised (see `api_versions`).

Two ways lead here. The compiled one reads the request where it was received and writes the answer in one pass; it is
taken for all but the rare shapes. The other goes through the generated classes and is the specification of the first.
Both append through `ProduceCall`.

acks=0 is never answered; since the producer cannot be told of an error, its connection is closed instead, so that it
looks for the leader again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias, TypeVar

from moldau import _speed
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.protocol.records import Compression
from moldau.replica.delayed_outcomes import DelayedOutcomes, PendingAppend, PendingForce, PendingPartition
from moldau.replica.partition import Partition
from moldau.runtime.ports import Chunk
from moldau.server.apis.transactional_produce import ADDS_PARTITIONS, TRANSACTIONAL, Write, ask, held, unverified
from moldau.server.dispatch import DECLINED, Api, RawAnswer, RawHandler
from moldau.server.leader_hints import MOVED, leader_hint
from moldau.server.request_channel import encode_response
from moldau.storage.append_info import RefusedRecords
from moldau.storage.storage_error import StorageError
from moldau.types import NO_OFFSET, NO_TIMESTAMP, TopicPartition, Uuid

if TYPE_CHECKING:
    from moldau.server.connection import Connection
    from moldau.server.context import RequestContext, Services

if _speed.COMPILED:
    from moldau._speed.frames import encode_produce, parse_produce

A = TypeVar("A")

# Length (after the first twelve bytes), leader epoch and magic of a batch, from its ninth byte on.
_BATCH = Struct(">iib")
_BATCH_HEADER_BYTES: Final = 61
_ATTRIBUTES_LOW_BYTE: Final = 22
_CODEC_MASK: Final = 0x07

# (topic name or id, partition, error, base offset, log append time, log start offset)
AppendResult: TypeAlias = tuple[str | Uuid, int, int, int, int, int]


class ProduceCall:
    """One request while it is served: what was appended, what was refused, what still waits for followers."""

    __slots__ = (
        "_acks",
        "_appended",
        "_connection",
        "_pending",
        "_refusals",
        "_services",
        "_version",
        "results",
        "transactional",
    )

    def __init__(self, services: Services, connection: Connection, version: int, acks: int) -> None:
        # Whether the request names a transactional id: only then may its batches be part of a transaction.
        self.transactional = False
        self._services = services
        self._connection = connection
        self._version = version
        self._acks = acks
        self.results: list[AppendResult] = []
        self._refusals: dict[int, KafkaError] = {}
        self._pending: list[tuple[int, PendingPartition]] = []
        self._appended: list[Partition] = []

    @property
    def plain(self) -> bool:
        """Nothing to say beyond numbers."""
        return not self._refusals

    def append(
        self, topic: str | Uuid, index: int, data: memoryview, start: int, end: int, checked: bool = False
    ) -> None:
        """Appends the batch for one partition; `checked` if the form of the records has been looked at before."""
        replicas = self._services.replicas
        hosted = (replicas.by_id if self._version >= 13 else replicas.by_name).get(topic)  # type: ignore[arg-type]
        try:
            partition = hosted.partitions.get(index) if hosted is not None else None
            if partition is None:
                raise KafkaError(replicas.why_missing(topic, index))
            if hosted is not None and hosted.internal:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{hosted.name} is written by the broker alone.")
            if not checked:
                self._check(data, start, end)
            info = partition.append(data, start, end, self._acks)
        except KafkaError as error:
            if isinstance(error, StorageError):
                replicas.storage_failed(error)
            self.refuse(topic, index, error)
            return
        self.results.append((topic, index, 0, info.base_offset, info.log_append_time, info.log_start_offset))
        self._appended.append(partition)
        if self._acks == -1 and partition.log.high_watermark <= info.last_offset:
            self._pending.append((len(self.results) - 1, PendingAppend(partition, info.last_offset + 1)))
        elif partition.durable and self._acks == 1 and partition.log.durable_offset <= info.last_offset:
            self._pending.append((len(self.results) - 1, PendingForce(partition, info.last_offset + 1)))

    def _check(self, data: memoryview, start: int, end: int) -> None:
        """What the protocol asks of the records in a request: exactly one batch, of magic 2, in an allowed codec."""
        if end - start < _BATCH_HEADER_BYTES:
            raise KafkaError(ErrorCode.INVALID_RECORD, "A partition in the request carries no record batch.")
        length, _, magic = _BATCH.unpack_from(data, start + 8)
        if magic != 2:
            raise KafkaError(ErrorCode.INVALID_RECORD, f"Record batches must have magic 2, this one has {magic}.")
        if length + 12 != end - start:
            raise KafkaError(ErrorCode.INVALID_RECORD, "A partition in the request must carry exactly one batch.")
        attributes = data[start + _ATTRIBUTES_LOW_BYTE]
        if attributes & TRANSACTIONAL and not self.transactional:
            raise KafkaError(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional records need a transactional id."
            )
        if self._version < 7 and attributes & _CODEC_MASK == Compression.ZSTD:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or later.")

    def refuse(self, topic: str | Uuid, index: int, error: KafkaError) -> None:
        self._refusals[len(self.results)] = error
        self.results.append((topic, index, error.code, NO_OFFSET, NO_TIMESTAMP, NO_OFFSET))

    def finish(self, timeout_ms: int, answer: Callable[[], A]) -> A | Deferred[A] | None:
        """Wakes the readers, then answers: now, when the followers have the records, or not at all (acks=0)."""
        replicas = self._services.replicas
        for partition in self._appended:
            if partition in replicas.fetches.watched:
                replicas.fetches.check(partition)
        if self._acks == 0:
            if self._refusals:
                first = next(iter(self._refusals.values()))
                self._connection.close(f"a produce request with acks=0 was refused: {first}")
            return None
        if not self._pending:
            return answer()
        later: Deferred[A] = Deferred()

        def replicated() -> None:
            for place, pending in self._pending:
                if pending.error != ErrorCode.NONE:
                    topic, index, *_ = self.results[place]
                    self._refusals[place] = KafkaError(pending.error)
                    self.results[place] = (topic, index, pending.error, NO_OFFSET, NO_TIMESTAMP, NO_OFFSET)
            later.resolve(answer())

        appends = [pending for _, pending in self._pending]
        partitions = [pending.partition for pending in appends]
        replicas.produces.wait(DelayedOutcomes(appends, replicated), partitions, max(0, timeout_ms))
        return later

    def response(self) -> ProduceResponse:
        response = ProduceResponse()
        by_id = self._version >= 13
        current: TopicProduceResponse | None = None
        for place, (topic, index, error, base_offset, append_time, log_start) in enumerate(self.results):
            if current is None or (current.topic_id if by_id else current.name) != topic:
                current = TopicProduceResponse()
                if isinstance(topic, str):
                    current.name = topic
                else:
                    current.topic_id = topic
                response.responses.append(current)
            answer = PartitionProduceResponse(
                index=index,
                error_code=error,
                base_offset=base_offset,
                log_append_time_ms=append_time,
                log_start_offset=log_start,
            )
            current.partition_responses.append(answer)
            refusal = self._refusals.get(place)
            if refusal is not None:
                self._explain(response, answer, topic, refusal)
        return response

    def _explain(
        self, response: ProduceResponse, answer: PartitionProduceResponse, topic: str | Uuid, refusal: KafkaError
    ) -> None:
        if self._version >= 8:
            answer.error_message = refusal.message
            if isinstance(refusal, RefusedRecords):
                answer.record_errors = [
                    BatchIndexAndErrorMessage(batch_index=record, batch_index_error_message=message)
                    for record, message in refusal.record_errors
                ]
        if self._version >= 10 and refusal.code in MOVED:
            hint = leader_hint(self._services, self._connection.listener_name, topic, answer.index)
            if hint is not None:
                answer.current_leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
                if hint.endpoint is not None and all(n.node_id != hint.leader_id for n in response.node_endpoints):
                    response.node_endpoints.append(
                        NodeEndpoint(
                            node_id=hint.leader_id, host=hint.endpoint.host, port=hint.endpoint.port, rack=hint.rack
                        )
                    )


def raw_produce(services: Services) -> RawHandler:
    """The compiled way; it declines what it does not know."""

    def produce_bytes(
        connection: Connection, data: memoryview, start: int, end: int, version: int, correlation_id: int
    ) -> RawAnswer:
        plan = parse_produce(data, start, end, version, True)
        if plan is None or plan[0] is not None or not -1 <= plan[1] <= 1:
            return DECLINED
        _, acks, timeout_ms, appends = plan
        call = ProduceCall(services, connection, version, acks)
        for topic, index, first, last in appends:
            call.append(topic, index, data, first, last, True)

        def answer() -> list[Chunk]:
            if call.plain:
                return [encode_produce(version, correlation_id, call.results, 0)]
            return encode_response(call.response(), version, correlation_id, b"\0" if version >= 9 else b"")

        return call.finish(timeout_ms, answer)

    return produce_bytes


def produce(context: RequestContext, request: ProduceRequest) -> ProduceResponse | Deferred[ProduceResponse] | None:
    """The same through the generated classes."""
    call = ProduceCall(context.services, context.connection, context.version, request.acks)
    if not -1 <= request.acks <= 1:
        refusal = KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}; it must be -1, 0 or 1.")
        for topic in request.topic_data:
            for partition in topic.partition_data:
                call.refuse(topic.topic_id if context.version >= 13 else topic.name, partition.index, refusal)
        return call.finish(request.timeout_ms, call.response)
    if request.transactional_id is not None:
        return _produce_in_transaction(context, request, call)
    for topic in request.topic_data:
        name = topic.topic_id if context.version >= 13 else topic.name
        for partition in topic.partition_data:
            records = writable(partition.records)
            call.append(name, partition.index, records, 0, len(records))
    return call.finish(request.timeout_ms, call.response)


def _produce_in_transaction(
    context: RequestContext, request: ProduceRequest, call: ProduceCall
) -> Deferred[ProduceResponse]:
    """Asks first, where the log does not know the transaction yet; then writes what may be written."""
    call.transactional = True
    answer: Deferred[ProduceResponse] = Deferred()
    writes = []
    for topic in request.topic_data:
        name = topic.topic_id if context.version >= 13 else topic.name
        for row in topic.partition_data:
            partition = held(context.services.replicas, name, row.index)
            writes.append(Write(name, row.index, writable(row.records), partition))

    def write(refusals: Mapping[TopicPartition, KafkaError]) -> None:
        for topic, index, records, partition in writes:
            refusal = None if partition is None else refusals.get(partition.topic_partition)
            if refusal is not None:
                call.refuse(topic, index, refusal)
            else:
                call.append(topic, index, records, 0, len(records))
        _pass_on(call.finish(request.timeout_ms, call.response), answer)

    asking = context.services.transaction_partitions
    asked = unverified(writes) if asking.required or context.version >= ADDS_PARTITIONS else {}
    if not asked:
        write({})
    elif not ask(asking, request.transactional_id or "", asked, context.version, write):
        # The request lies in the receive buffer, which is used again once this returns.
        writes = [one._replace(records=memoryview(bytearray(one.records))) for one in writes]
    return answer


def _pass_on(result: A | Deferred[A] | None, answer: Deferred[A]) -> None:
    if isinstance(result, Deferred):
        result.then(lambda value, error: answer.fail(error) if error is not None else answer.resolve(value))  # type: ignore[arg-type]
    else:
        # None is no answer at all: acks=0.
        answer.resolve(result)  # type: ignore[arg-type]


def writable(records: object) -> memoryview:
    """Offsets are written into the records in place, so read-only ones are copied first."""
    if records is None:
        return memoryview(b"")
    view = memoryview(records)  # type: ignore[arg-type]
    return memoryview(bytearray(view)) if view.readonly else view


PRODUCE: Final = Api(ApiKey.PRODUCE, ProduceRequest, produce, raw=raw_produce if _speed.COMPILED else None)
