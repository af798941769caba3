"""Fetch (key 1): batches from an offset on, waiting for more if there is too little.

Versions: 5 adds the log start offset, 7 sessions, 9 leader epochs, 11 the reader's rack and a preferred replica, 12 is
flexible and tells a reader whose log diverged where, 13 names topics by id, 15 moves the replica id into a tagged
field, 16 names the address of a new leader, 17 and 18 are for the metadata quorum.

As with Produce, there is a compiled way and one through the generated classes; both only translate. What is read, and
waited for, is the business of `replica/reads`; a fetch that waits is answered with what there is, if anything, when
another request comes behind it on its connection. Many records stay in their file: an answer is a list of chunks, bytes
and file slices in turn, and the network sends the slices from the file.

The plainest fetches, without a session and with records at hand, are served by `_speed/plain_read` from end to end, and
answered by it when they had to wait; followers who waited are by `_speed/followed`. Whatever these leave goes the ways
above, which say what they have to do.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import TYPE_CHECKING, Final

from moldau import _speed
from moldau.deferred import Deferred
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
from moldau.replica.partition import NO_REPLICA
from moldau.replica.reads import Reads, wait_at_end
from moldau.runtime.ports import Chunk, FileSlice
from moldau.security.acl import Operation
from moldau.server.answers import encode_in_slices
from moldau.server.authorization import TOPIC, DeniedTopics, EveryTopic, cluster_allowed, names_of
from moldau.server.context import RequestContext
from moldau.server.dispatch import DECLINED, Api, RawAnswer, RawHandler
from moldau.server.fetch_sessions import FetchContext, FetchPartition, IncrementalFetchContext, PartitionOutcome
from moldau.server.leader_hints import MOVED, LeaderHint, leader_hint
from moldau.slicing import Work, pieces
from moldau.types import Uuid

if TYPE_CHECKING:
    from moldau.server.connection import Connection
    from moldau.server.context import Services

if _speed.COMPILED:
    from moldau._speed.followed import answer_follower
    from moldau._speed.frames import encode_fetch, parse_fetch
    from moldau._speed.plain_read import read_plain

CONSUMER: Final = -1
NO_BROKER_EPOCH: Final = -1
# From this version on a reader knows that it may be sent to a follower, and may read there.
_READS_FOLLOWERS: Final = 11
READ_COMMITTED: Final = 1
# Bytes up to which an answer leaves in one piece, and its records are not sent from the file.
_SHORT: Final = 64 << 10


class FetchCall:
    """One fetch while it is served: what it reads, in view of its session."""

    __slots__ = ("_context", "_services", "error", "reads", "session_id")

    def __init__(
        self,
        services: Services,
        version: int,
        context: FetchContext,
        *,
        min_bytes: int,
        max_bytes: int,
        committed: bool,
        replica_id: int = CONSUMER,
        broker_epoch: int = NO_BROKER_EPOCH,
        rack: str = "",
        denied: Container[str | Uuid] | None = None,
        briefly: bool = False,
        told: bool = False,
    ) -> None:
        follower = replica_id >= 0
        self._services = services
        self._context = context
        self.error = context.error
        self.session_id = 0
        self.reads = Reads(
            services.replicas,
            context.partitions,
            by_id=version >= 13,
            min_bytes=min_bytes,
            # A follower takes what it asks for; its limits are its own configuration.
            max_bytes=max_bytes if follower else min(max_bytes, services.config.fetch_max_bytes),
            committed=committed,
            follower=replica_id if follower else NO_REPLICA,
            broker_epoch=broker_epoch,
            leader_only=follower or version < _READS_FOLLOWERS,
            rack="" if follower else rack,
            denied=denied,
            briefly=briefly,
            told=told,
        )

    def close(self) -> None:
        """All is read: leaves out what the session has told the reader before."""
        context, reads = self._context, self.reads
        if type(context) is FetchContext:
            return
        outcomes = [
            PartitionOutcome(r[0], r[1], r[2], r[3], r[5], len(r[8]), place in reads.diverging or r[7] != NO_REPLICA)
            for place, r in enumerate(reads.results)
        ]
        now_ms = int(self._services.runtime.clock.monotonic() * 1000)
        self.error, self.session_id, included = context.finish(outcomes, now_ms)
        if included is not None:
            reads.keep(included)

    def response(self, listener: str, version: int) -> Work[FetchResponse]:
        response = FetchResponse(error_code=self.error, session_id=self.session_id)
        by_id = version >= 13
        current: FetchableTopicResponse | None = None
        for place, result in enumerate(self.reads.results):
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
            if version >= 12:
                diverging = self.reads.diverging.get(place)
                if diverging is not None:
                    answer.diverging_epoch = EpochEndOffset(epoch=diverging.epoch, end_offset=diverging.end_offset)
                if error in MOVED:
                    hint = leader_hint(self._services, listener, topic, index)
                    _name_leader(response, answer, hint, version)
            yield
        return response


def _name_leader(response: FetchResponse, answer: PartitionData, hint: LeaderHint | None, version: int) -> None:
    if hint is None:
        return
    answer.current_leader = LeaderIdAndEpoch(leader_id=hint.leader_id, leader_epoch=hint.leader_epoch)
    known = any(node.node_id == hint.leader_id for node in response.node_endpoints)
    if version >= 16 and hint.endpoint is not None and not known:
        response.node_endpoints.append(
            NodeEndpoint(node_id=hint.leader_id, host=hint.endpoint.host, port=hint.endpoint.port, rack=hint.rack)
        )


def _joined(chunks: list[Chunk]) -> list[Chunk]:
    """A short answer in one piece: to read and copy its records costs less than two more system calls."""
    if len(chunks) == 1:
        return chunks
    size = 0
    for chunk in chunks:
        size += chunk.length if isinstance(chunk, FileSlice) else len(chunk)
    if size > _SHORT:
        return chunks
    try:
        joined = b"".join([chunk.read() if isinstance(chunk, FileSlice) else chunk for chunk in chunks])
    except OSError:
        return chunks  # whoever sends them meets it again
    return [joined] if len(joined) == size else chunks


def raw_fetch(services: Services) -> RawHandler:
    """The compiled way, of consumers and of followers; it declines what it does not know."""

    def fetch_bytes(
        connection: Connection, data: memoryview, start: int, end: int, version: int, correlation_id: int
    ) -> RawAnswer:
        replicas = services.replicas
        # Where readers may be sent to another replica each has to be looked at.
        authorization = services.authorization
        plan = denied = asked_plainly = None
        if authorization is not None:
            plan = parse_fetch(data, start, end, version)
            if plan is None:
                return DECLINED
            names = names_of(services, (asked[0] for asked in plan[6]))
            if plan[9] >= 0 or plan[4] or not authorization.allows_plain(connection, Operation.READ, TOPIC, names):
                # It may be denied in part, or reads what its session remembers.
                key = ApiKey.FETCH
                asking = RequestContext(connection, services, key, version, correlation_id, connection.client_id)
                denied = _denied(asking, plan[9])
        limited = services.client_quotas.active
        if limited:
            plan = plan or parse_fetch(data, start, end, version)
            if plan is None or plan[9] < 0:
                return DECLINED
        elif connection.is_follower:
            pass  # who fetched as one reads in a session
        elif denied is None and (replicas.replication is None or replicas.replication.selector is None):
            most = services.config.fetch_max_bytes
            plain = read_plain(replicas, FileSlice, data, start, end, version, correlation_id, most)
            if plain is not None:
                return plain
            asked_plainly = bytes(data[start:end])
        if plan is None:
            plan = parse_fetch(data, start, end, version)
        if plan is None:
            return DECLINED
        max_wait, min_bytes, max_bytes, isolation, session_id, session_epoch, partitions, forgotten, *reader = plan
        rack, replica_id, broker_epoch = reader
        # Who only says to be a broker takes nobody's place.
        is_follower = connection.is_follower = replica_id >= 0 and denied is None
        context = services.fetch_sessions.begin(
            session_id,
            session_epoch,
            partitions,
            forgotten,
            uses_topic_ids=version >= 13,
            privileged=is_follower,
            now_ms=int(services.runtime.clock.monotonic() * 1000),
        )

        def begun(*, told: bool) -> tuple[Reads, Callable[[], list[Chunk] | Work[list[Chunk]]]]:
            """What is read, and how it is answered."""
            call = FetchCall(
                services,
                version,
                context,
                min_bytes=min_bytes,
                max_bytes=max_bytes,
                committed=isolation == READ_COMMITTED,
                replica_id=replica_id,
                broker_epoch=broker_epoch,
                rack=rack,
                denied=denied,
                briefly=is_follower,
                told=told,
            )
            reads = call.reads

            def answer() -> list[Chunk] | Work[list[Chunk]]:
                call.close()
                if not reads.failed and not reads.diverging:
                    return _joined(encode_fetch(version, correlation_id, 0, call.error, call.session_id, reads.results))
                return encoded()

            def encoded() -> Work[list[Chunk]]:
                response = yield from call.response(connection.listener_name, version)
                return (yield from encode_in_slices(response, version, correlation_id, b"\0" if version >= 12 else b""))

            return reads, answer

        def once_there() -> list[Chunk] | None:
            """The same of what was waited for, where it is plain."""
            if is_follower:
                if type(context) is not IncrementalFetchContext:
                    return None
                return answer_follower(
                    replicas,
                    context.session,
                    context.epoch,
                    context.partitions,
                    replica_id,
                    version,
                    correlation_id,
                    max_bytes,
                )
            if asked_plainly is None:
                return None
            most = services.config.fetch_max_bytes
            size = len(asked_plainly)
            return read_plain(replicas, FileSlice, asked_plainly, 0, size, version, correlation_id, most)

        def found() -> list[Chunk] | Deferred[list[Chunk]]:
            short = once_there()
            if short is not None:
                return short
            reads, answer = begun(told=True)
            return reads.run(0, answer)

        if is_follower and isolation != READ_COMMITTED and type(context) is IncrementalFetchContext:
            least = min(min_bytes, max_bytes)
            waits = wait_at_end(replicas, context.partitions, replica_id, broker_epoch, least, max_wait, found)
            if waits is not None:
                operation, later = waits
                connection.gives_way(lambda: replicas.fetches.hurry(operation))
                return later
        reads, answer = begun(told=False)
        result = reads.run(max_wait, answer, once_there)
        if isinstance(result, Deferred):
            connection.gives_way(reads.give_way)
        return result

    return fetch_bytes


def _denied(context: RequestContext, replica_id: int) -> Container[str | Uuid] | None:
    """The topics that this reader may not read. Who says to be a broker must be let in as one, and reads everything."""
    if context.services.authorization is None:
        return None
    if replica_id < 0:
        return DeniedTopics(context, Operation.READ)
    return None if cluster_allowed(context, Operation.CLUSTER_ACTION) else EveryTopic()


def fetch(context: RequestContext, request: FetchRequest) -> Work[FetchResponse | Deferred[FetchResponse]]:
    """The same through the generated classes."""
    version = context.version
    state = request.replica_state
    replica_id, broker_epoch = (
        (state.replica_id, state.replica_epoch) if version >= 15 else (request.replica_id, NO_BROKER_EPOCH)
    )
    partitions: list[FetchPartition] = []
    for topic in request.topics:
        yield
        for asked in topic.partitions:
            partitions.append(
                FetchPartition(
                    topic.topic_id if version >= 13 else topic.topic,
                    asked.partition,
                    asked.fetch_offset,
                    asked.partition_max_bytes,
                    asked.current_leader_epoch,
                    asked.log_start_offset,
                    asked.last_fetched_epoch,
                )
            )
            yield
    # A partition named twice counts once, with what was said last.
    asked_for: dict[tuple[str | Uuid, int], FetchPartition] = {}
    for some in pieces(partitions):
        asked_for.update({(partition[0], partition[1]): partition for partition in some})
        yield
    if len(asked_for) < len(partitions):
        partitions = list(asked_for.values())
    forgotten = []
    for absent in request.forgotten_topics_data:
        forgotten += [(absent.topic_id if version >= 13 else absent.topic, index) for index in absent.partitions]
        yield
    services = context.services
    denied = _denied(context, replica_id)
    is_follower = context.connection.is_follower = replica_id >= 0 and denied is None
    session = services.fetch_sessions.begin(
        request.session_id,
        request.session_epoch,
        partitions,
        forgotten,
        uses_topic_ids=version >= 13,
        privileged=is_follower,
        now_ms=int(services.runtime.clock.monotonic() * 1000),
        distinct=True,
    )
    call = FetchCall(
        services,
        version,
        session,
        min_bytes=request.min_bytes,
        max_bytes=services.client_quotas.most_fetched(context.connection, request.max_bytes),
        committed=request.isolation_level == READ_COMMITTED,
        replica_id=replica_id,
        broker_epoch=broker_epoch,
        rack=request.rack_id,
        denied=denied,
    )

    def answer() -> Work[FetchResponse | Deferred[FetchResponse]]:
        call.close()
        return call.response(context.listener_name, version)

    result: FetchResponse | Deferred[FetchResponse] = call.reads.run(request.max_wait_ms, answer)
    if isinstance(result, Deferred):
        context.connection.gives_way(call.reads.give_way)
    return result


FETCH: Final = Api(
    ApiKey.FETCH,
    FetchRequest,
    fetch,
    raw=raw_fetch if _speed.COMPILED else None,
    most_elements=100_000,  # a broker leads far fewer partitions; what is known of all of them is one dictionary
)
