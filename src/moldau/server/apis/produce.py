"""Produce (key 0): appends batches to the partitions this broker leads.

Versions: 5 adds the log start offset to the answer, 7 allows zstd, 8 adds messages for refused records, 9 is flexible,
10 names the current leader when it is elsewhere, 12 adds partitions to a transaction by writing to them, 13 names
topics by id. Versions 0 to 2 are gone, but advertised (see `api_versions`).

Two ways lead here. The compiled one reads the request where it was received and writes the answer in one pass; it is
taken for all but the rare shapes. The other goes through the generated classes and is the specification of the first.
Both only translate: what is written, and what has to be waited for, is the business of `replica/appends`.

acks=0 is never answered; since the producer cannot be told of an error, its connection is closed instead, so that it
looks for the leader again.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from struct import Struct
from typing import TYPE_CHECKING, Final, TypeAlias

from moldau import _speed
from moldau._speed.layout import (
    COMPRESSION,
    FLAGS_AT,
    HEADER_SIZE,
    LENGTH_AT,
    MAGIC,
    MAGIC_AT,
    PREFIX_SIZE,
    TRANSACTIONAL,
)
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from moldau.protocol.records import Compression
from moldau.replica.appends import Appends
from moldau.runtime.ports import Chunk
from moldau.security.acl import Operation
from moldau.server.answers import encode_response
from moldau.server.apis.transactional_produce import ADDS_PARTITIONS, Questions, Write, ask, is_transactional
from moldau.server.authorization import TOPIC, TRANSACTIONAL_ID, DeniedTopics, allowed, names_of, refusal
from moldau.server.dispatch import DECLINED, Api, RawAnswer, RawHandler
from moldau.server.leader_hints import MOVED, LeaderHint, leader_hint
from moldau.slicing import Work, run_whole
from moldau.storage.append_info import RefusedRecords
from moldau.types import TopicPartition, Uuid

if TYPE_CHECKING:
    from moldau.server.connection import Connection
    from moldau.server.context import RequestContext, Services

if _speed.COMPILED:
    from moldau._speed.frames import encode_produce, parse_produce

_length = Struct(">i").unpack_from

# Of so many refused records an answer says what is wrong with them; of all the others that they are refused.
_RECORDS_EXPLAINED: Final = 1000

# Results of batches that are freed before others have their turn.
_FREED_AT_ONCE: Final = 256

# None: acks=0 is not answered.
Answer: TypeAlias = ProduceResponse | None


class RecordsCheck:
    """What the protocol asks of the records in a request: exactly one batch, of magic 2, in an allowed codec."""

    __slots__ = ("_transactional", "_version")

    def __init__(self, version: int, transactional: bool) -> None:
        self._version = version
        # Whether the request names a transactional id: only then may its batches be part of a transaction.
        self._transactional = transactional

    def __call__(self, data: memoryview, start: int, end: int) -> None:
        if end - start < HEADER_SIZE:
            raise KafkaError(ErrorCode.INVALID_RECORD, "A partition in the request carries no record batch.")
        magic = data[start + MAGIC_AT]
        if magic != MAGIC:
            raise KafkaError(ErrorCode.INVALID_RECORD, f"Record batches must have magic 2, this one has {magic}.")
        if _length(data, start + LENGTH_AT)[0] + PREFIX_SIZE != end - start:
            raise KafkaError(ErrorCode.INVALID_RECORD, "A partition in the request must carry exactly one batch.")
        attributes = data[start + FLAGS_AT]
        if attributes & TRANSACTIONAL and not self._transactional:
            raise KafkaError(
                ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED, "Transactional records need a transactional id."
            )
        if self._version < 7 and attributes & COMPRESSION == Compression.ZSTD:
            raise KafkaError(ErrorCode.UNSUPPORTED_COMPRESSION_TYPE, "zstd needs Produce version 7 or later.")


def raw_produce(services: Services) -> RawHandler:
    """The compiled way; it declines what it does not know."""

    def produce_bytes(
        connection: Connection, data: memoryview, start: int, end: int, version: int, correlation_id: int
    ) -> RawAnswer:
        if services.client_quotas.active:
            return DECLINED
        plan = parse_produce(data, start, end, version, True)
        if plan is None or plan[0] is not None or not -1 <= plan[1] <= 1:
            return DECLINED
        _, acks, timeout_ms, batches = plan
        authorization = services.authorization
        if authorization is not None and not authorization.allows_plain(
            connection, Operation.WRITE, TOPIC, names_of(services, (batch[0] for batch in batches))
        ):
            return DECLINED
        if len(batches) > 1 and services.replicas.arrivals:
            return DECLINED  # each of them may have to be opened first, so it is done in slices
        appends = Appends(services.replicas, acks, by_id=version >= 13)
        for topic, index, first, last in batches:
            appends.append(topic, index, data, first, last)

        def answer() -> list[Chunk] | None:
            if acks == 0:
                _unanswered(connection, appends)
                return None
            if not appends.refusals:
                return [encode_produce(version, correlation_id, appends.results, 0)]
            response = run_whole(_response(services, connection.listener_name, version, appends))
            return encode_response(response, version, correlation_id, b"\0" if version >= 9 else b"")

        return appends.finish(timeout_ms, answer)

    return produce_bytes


def produce(context: RequestContext, request: ProduceRequest) -> Work[Answer | Deferred[Answer]]:
    """The same through the generated classes."""
    appends = Appends(context.services.replicas, request.acks, by_id=context.version >= 13)
    if not -1 <= request.acks <= 1:
        unknown = KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}; it must be -1, 0 or 1.")
        return (yield from _refuse_all(context, request, unknown))
    if request.transactional_id is not None:
        if not (yield from _may_be_in_transaction(context, request)):
            return (yield from _refuse_all(context, request, refusal(TRANSACTIONAL_ID)))
        return (yield from _produce_in_transaction(context, request, appends))
    check = RecordsCheck(context.version, transactional=False)
    denied = DeniedTopics(context, Operation.WRITE)
    for topic, row in _rows(request, context.version):
        if topic in denied:
            appends.refuse(topic, row.index, refusal(TOPIC))
            yield
            continue
        records = writable(row.records)
        appends.append(topic, row.index, records, 0, len(records), check)
        yield
    return _finish(context, request, appends)


def _refuse_all(context: RequestContext, request: ProduceRequest, error: KafkaError) -> Work[Answer | Deferred[Answer]]:
    appends = Appends(context.services.replicas, request.acks, by_id=context.version >= 13)
    for topic, row in _rows(request, context.version):
        appends.refuse(topic, row.index, error)
        yield
    return _finish(context, request, appends)


def _may_be_in_transaction(context: RequestContext, request: ProduceRequest) -> Work[bool]:
    """Whoever only names a transactional id, and writes nothing in its name, need not be allowed to."""
    if context.services.authorization is None:
        return True
    for _, row in _rows(request, context.version):
        if is_transactional(writable(row.records)):
            return allowed(context, Operation.WRITE, TRANSACTIONAL_ID, request.transactional_id or "")
        yield
    return True


def _rows(request: ProduceRequest, version: int) -> Iterator[tuple[str | Uuid, PartitionProduceData]]:
    for topic in request.topic_data:
        name = topic.topic_id if version >= 13 else topic.name
        for row in topic.partition_data:
            yield name, row


def _produce_in_transaction(
    context: RequestContext, request: ProduceRequest, appends: Appends
) -> Work[Answer | Deferred[Answer]]:
    """Asks first, where the log does not know the transaction yet; then writes what may be written."""
    replicas = context.services.replicas
    check = RecordsCheck(context.version, transactional=True)
    writes = []
    denied = DeniedTopics(context, Operation.WRITE)
    for topic, row in _rows(request, context.version):
        if topic in denied:
            appends.refuse(topic, row.index, refusal(TOPIC))
            yield
            continue
        # One that was opened only by the write itself would have been written without a question.
        partition = replicas.find_or_open(topic, row.index)
        writes.append(Write(topic, row.index, writable(row.records), partition))
        yield

    def write(refusals: Mapping[TopicPartition, KafkaError]) -> Work[Answer | Deferred[Answer]]:
        for topic, index, records, partition in writes:
            # Nor one that is not the one asked for: its topic may have been made anew meanwhile.
            if partition is None or replicas.find(topic, index) is not partition:
                refused: KafkaError | None = KafkaError(replicas.why_missing(topic, index))
            else:
                refused = refusals.get(partition.topic_partition)
            if refused is not None:
                appends.refuse(topic, index, refused)
            else:
                appends.append(topic, index, records, 0, len(records), check, questions.guard(partition))
            yield
        return _finish(context, request, appends)

    asking = context.services.transaction_partitions
    adds = context.version >= ADDS_PARTITIONS
    questions = Questions(writes if asking.required or adds else [], adds_partition=adds)
    told: list[Mapping[TopicPartition, KafkaError]] = [] if questions.asked else [{}]
    later: Deferred[Answer] = Deferred()

    def told_of(refusals: Mapping[TopicPartition, KafkaError]) -> None:
        if waits:
            context.services.slicer.run_into(write(refusals), later)
        else:
            told.append(refusals)

    waits = False
    if questions.asked:
        ask(asking, request.transactional_id or "", questions.asked, context.version, told_of)
    if told:
        return (yield from write(told[0]))
    # The request lies in the receive buffer, which is used again once this returns.
    writes = [one._replace(records=memoryview(bytearray(one.records))) for one in writes]
    waits = True
    return later


# ------------------------------------------------------------------------------------------------------- answers


def _finish(context: RequestContext, request: ProduceRequest, appends: Appends) -> Answer | Deferred[Answer]:
    def answer() -> Answer | Work[Answer | Deferred[Answer]]:
        if request.acks == 0:
            _unanswered(context.connection, appends)
            return _let_go(appends)
        return _response(context.services, context.listener_name, context.version, appends)

    return appends.finish(request.timeout_ms, answer)


def _unanswered(connection: Connection, appends: Appends) -> None:
    if appends.refusals:
        first = appends.refusals[min(appends.refusals)]
        connection.close(f"a produce request with acks=0 was refused: {first}")


def _let_go(appends: Appends) -> Work[None]:
    """Of what became of very many batches, some at a time: the last to hold it would free all of it at once."""
    while appends.refusals:
        appends.refusals.popitem()
        yield
    while appends.results:
        del appends.results[-_FREED_AT_ONCE:]
        yield


def _response(services: Services, listener: str, version: int, appends: Appends) -> Work[ProduceResponse]:
    response = ProduceResponse()
    by_id = version >= 13
    room = _RECORDS_EXPLAINED
    current: TopicProduceResponse | None = None
    for place, (topic, index, error, base_offset, append_time, log_start) in enumerate(appends.results):
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
        refusal = appends.refusals.get(place)
        if refusal is not None:
            if version >= 8:
                room -= _explain(answer, refusal, room)
            if version >= 10 and refusal.code in MOVED:
                _name_leader(response, answer, leader_hint(services, listener, topic, index))
        yield
    if len(appends.results) > _FREED_AT_ONCE:
        yield from _let_go(appends)
    return response


def _explain(answer: PartitionProduceResponse, refusal: KafkaError, room: int) -> int:
    """Says why, and of up to `room` records what is wrong with them; returns of how many that was said."""
    answer.error_message = refusal.message
    if isinstance(refusal, RefusedRecords) and room > 0:
        answer.record_errors = [
            BatchIndexAndErrorMessage(batch_index=record, batch_index_error_message=message)
            for record, message in refusal.record_errors[:room]
        ]
    return len(answer.record_errors)


def _name_leader(response: ProduceResponse, answer: PartitionProduceResponse, hint: LeaderHint | None) -> None:
    if hint is None:
        return
    answer.current_leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
    if hint.endpoint is not None and all(node.node_id != hint.leader_id for node in response.node_endpoints):
        response.node_endpoints.append(
            NodeEndpoint(node_id=hint.leader_id, host=hint.endpoint.host, port=hint.endpoint.port, rack=hint.rack)
        )


def writable(records: object) -> memoryview:
    """Offsets are written into the records in place, so read-only ones are copied first."""
    if records is None:
        return memoryview(b"")
    view = memoryview(records)  # type: ignore[arg-type]
    return memoryview(bytearray(view)) if view.readonly else view


PRODUCE: Final = Api(ApiKey.PRODUCE, ProduceRequest, produce, raw=raw_produce if _speed.COMPILED else None)
