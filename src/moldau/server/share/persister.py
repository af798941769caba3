"""The state of share partitions, wherever its coordinator is: on this node, or on the one that leads the partition of
`__share_group_state` it belongs to.

    persister.initialize(request) -> Deferred[response]         so also read, write, delete and read_summary

A request may name any number of share partitions of one group; each goes to its own coordinator, and the answer has a
row for every one asked, in the same order. It never fails: why something could not be done stands in its row. What may
be better in a moment (the coordinator is being loaded, has moved, cannot be reached, its topic is being made) is tried
again, for ten seconds in all; after that the row says so. A write that ends that way may have been made or not: asked
again it does no harm, since the same state is written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, Literal, NamedTuple

from moldau.coordinator.partition_hash import partition_for
from moldau.coordinator.share.coordinator import ShareCoordinator
from moldau.coordinator.share.shard import Change
from moldau.coordinator.share.state import SHARE_STATE_TOPIC, SharePartitionKey
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError, error_code
from moldau.metadata.image import MetadataImage
from moldau.protocol.messages import delete_share_group_state as deletes
from moldau.protocol.messages import initialize_share_group_state as initializes
from moldau.protocol.messages import read_share_group_state as reads
from moldau.protocol.messages import read_share_group_state_summary as summaries
from moldau.protocol.messages import write_share_group_state as writes
from moldau.runtime.ports import Clock, Loop, TimerHandle
from moldau.server.other_brokers import OtherBrokers
from moldau.server.share.state_requests import StateErrand, StateRequests, results_of
from moldau.types import NO_LEADER, Uuid

# In all, over every try.
LIMIT_SECONDS: Final = 10.0
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0
_AGAIN: Final = frozenset(
    {
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.NETWORK_EXCEPTION,
        ErrorCode.BROKER_NOT_AVAILABLE,
        ErrorCode.REQUEST_TIMED_OUT,
    }
)


class Kind(NamedTuple):
    """One of the five requests: its classes, and what answers it here."""

    name: str
    request: Callable[..., Any]
    topic: Callable[..., Any]
    response: Callable[..., Any]
    topic_result: Callable[..., Any]
    result: Callable[..., Any]
    here: Callable[[ShareCoordinator, Any], Deferred[Any]]


_INITIALIZE: Final = Kind(
    "initialize",
    initializes.InitializeShareGroupStateRequest,
    initializes.InitializeStateData,
    initializes.InitializeShareGroupStateResponse,
    initializes.InitializeStateResult,
    initializes.PartitionResult,
    ShareCoordinator.initialize,
)
_READ: Final = Kind(
    "read",
    reads.ReadShareGroupStateRequest,
    reads.ReadStateData,
    reads.ReadShareGroupStateResponse,
    reads.ReadStateResult,
    reads.PartitionResult,
    ShareCoordinator.read,
)
_WRITE: Final = Kind(
    "write",
    writes.WriteShareGroupStateRequest,
    writes.WriteStateData,
    writes.WriteShareGroupStateResponse,
    writes.WriteStateResult,
    writes.PartitionResult,
    ShareCoordinator.write,
)
_DELETE: Final = Kind(
    "delete",
    deletes.DeleteShareGroupStateRequest,
    deletes.DeleteStateData,
    deletes.DeleteShareGroupStateResponse,
    deletes.DeleteStateResult,
    deletes.PartitionResult,
    ShareCoordinator.delete,
)
_READ_SUMMARY: Final = Kind(
    "read summary",
    summaries.ReadShareGroupStateSummaryRequest,
    summaries.ReadStateSummaryData,
    summaries.ReadShareGroupStateSummaryResponse,
    summaries.ReadStateSummaryResult,
    summaries.PartitionResult,
    ShareCoordinator.read_summary,
)


class SharePersister:
    """Without `brokers` this node keeps the state of all share partitions.

    `create_topic` asks for `__share_group_state`, and settles when it is there or cannot be made now.
    """

    def __init__(
        self,
        node_id: int,
        coordinator: ShareCoordinator,
        image: Callable[[], MetadataImage],
        create_topic: Callable[[], Deferred[None]],
        loop: Loop,
        clock: Clock,
        brokers: OtherBrokers | None = None,
    ) -> None:
        self.node_id = node_id
        self.coordinator = coordinator
        self.image = image
        self.create_topic = create_topic
        self.loop = loop
        self.clock = clock
        self.remote = None if brokers is None else StateRequests(brokers)
        self._asking: set[_Asking] = set()

    def initialize(
        self, request: initializes.InitializeShareGroupStateRequest
    ) -> Deferred[initializes.InitializeShareGroupStateResponse]:
        return self._ask(_INITIALIZE, request)

    def read(self, request: reads.ReadShareGroupStateRequest) -> Deferred[reads.ReadShareGroupStateResponse]:
        return self._ask(_READ, request)

    def write(self, request: writes.WriteShareGroupStateRequest) -> Deferred[writes.WriteShareGroupStateResponse]:
        return self._ask(_WRITE, request)

    def write_here(self, key: SharePartitionKey, change: Change) -> Deferred[None] | Literal[True] | None:
        """A short change of one share partition, if its coordinator is this one: True if it is written down, or what
        comes of it, which may be a failure that passes. None if it is to be asked for, and nothing has changed."""
        return self.coordinator.write_shortly(key, change)

    def delete(self, request: deletes.DeleteShareGroupStateRequest) -> Deferred[deletes.DeleteShareGroupStateResponse]:
        return self._ask(_DELETE, request)

    def read_summary(
        self, request: summaries.ReadShareGroupStateSummaryRequest
    ) -> Deferred[summaries.ReadShareGroupStateSummaryResponse]:
        return self._ask(_READ_SUMMARY, request)

    def close(self) -> None:
        """Whoever still waits is told that there is no coordinator; nothing is tried again."""
        for asking in list(self._asking):
            asking.give_up()

    def _ask(self, kind: Kind, request: Any) -> Deferred[Any]:
        asking = _Asking(self, kind, request)
        self._asking.add(asking)
        asking.answer.then(lambda _value, _error: self._asking.discard(asking))
        asking.try_once()
        return asking.answer

    def leader(self, key: SharePartitionKey) -> int | None:
        """Who leads the partition this share partition's state is in; None while the topic does not exist."""
        topic = self.image().topics.get(SHARE_STATE_TOPIC)
        if topic is None:
            return None
        state = topic.partitions.get(partition_for(str(key), len(topic.partitions)))
        return NO_LEADER if state is None else state.leader


class _Asking:
    """One request on its way: the rows without an answer, and those that have one."""

    def __init__(self, persister: SharePersister, kind: Kind, request: Any) -> None:
        self.answer: Deferred[Any] = Deferred()
        self._persister = persister
        self._kind = kind
        self._request = request
        self._group_id: str = request.group_id
        self._left = {(topic.topic_id, row.partition): row for topic in request.topics for row in topic.partitions}
        self._results: dict[tuple[Uuid, int], Any] = {}
        self._under_way = 0
        self._tries = 0
        self._until = persister.clock.monotonic() + LIMIT_SECONDS
        self._pause: TimerHandle | None = None

    def try_once(self) -> None:
        self._pause = None
        by_leader: dict[int, dict[tuple[Uuid, int], Any]] = {}
        homeless: dict[tuple[Uuid, int], Any] = {}
        for (topic_id, partition), row in self._left.items():
            leader = self._persister.leader(SharePartitionKey(self._group_id, topic_id, partition))
            rows = homeless if leader is None else by_leader.setdefault(leader, {})
            rows[topic_id, partition] = row
        # One more than are under way, until all of them are.
        self._under_way = 1
        if homeless:
            self._under_way += 1
            self._persister.create_topic().then(
                lambda _, error: self._arrived(homeless, {}, error or KafkaError(ErrorCode.NOT_COORDINATOR))
            )
        for leader, rows in by_leader.items():
            self._under_way += 1
            self._send(leader, rows)
        self._one_less()

    def _send(self, leader: int, rows: dict[tuple[Uuid, int], Any]) -> None:
        kind, remote = self._kind, self._persister.remote

        def arrived(found: Mapping[tuple[Uuid, int], Any], error: BaseException | None) -> None:
            self._arrived(rows, found, error)

        if leader == self._persister.node_id:
            here = kind.here(self._persister.coordinator, self._request_of(rows))
            here.then(lambda response, error: arrived(results_of(response), error))
        elif leader == NO_LEADER or remote is None:
            arrived({}, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE))
        else:
            remote.add(leader, StateErrand(kind.name, self._group_id, rows, self._request_of, arrived, self._wanted))

    def _request_of(self, rows: Mapping[tuple[Uuid, int], Any]) -> Any:
        by_topic: dict[Uuid, list[Any]] = {}
        for (topic_id, _), row in rows.items():
            by_topic.setdefault(topic_id, []).append(row)
        topics = [self._kind.topic(topic_id=topic_id, partitions=found) for topic_id, found in by_topic.items()]
        return self._kind.request(group_id=self._group_id, topics=topics)

    def _wanted(self) -> bool:
        return not self.answer.settled

    def _arrived(
        self, rows: Iterable[tuple[Uuid, int]], found: Mapping[tuple[Uuid, int], Any], error: BaseException | None
    ) -> None:
        for place in rows:
            result = found.get(place)
            if result is None:
                result = self._refused(place[1], error)
            self._results[place] = result
            if error_code(result.error_code) not in _AGAIN:
                self._left.pop(place, None)
        self._one_less()

    def _refused(self, partition: int, error: BaseException | None) -> Any:
        if isinstance(error, KafkaError):
            return self._kind.result(partition=partition, error_code=error.code, error_message=error.message)
        return self._kind.result(partition=partition, error_code=ErrorCode.UNKNOWN_SERVER_ERROR, error_message=None)

    def _one_less(self) -> None:
        self._under_way -= 1
        if self._under_way or self.answer.settled:
            return
        pause = min(_FIRST_PAUSE * 2**self._tries, _LONGEST_PAUSE)
        self._tries += 1
        if self._left and self._persister.clock.monotonic() + pause < self._until:
            self._pause = self._persister.loop.call_later(pause, self.try_once)
            return
        self._settle()

    def give_up(self) -> None:
        if self._pause is not None:
            self._pause.cancel()
        if not self.answer.settled:
            self._settle()

    def _settle(self) -> None:
        kind, none = self._kind, KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        topics = []
        for topic in self._request.topics:
            rows = [
                self._results.get((topic.topic_id, row.partition)) or self._refused(row.partition, none)
                for row in topic.partitions
            ]
            topics.append(kind.topic_result(topic_id=topic.topic_id, partitions=rows))
        self.answer.resolve(kind.response(results=topics))
