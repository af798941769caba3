"""The fetches of a follower in the few words in which nearly all of them are said and answered.

A follower asks and is answered thousands of times a second, and a producer waits for every time; so what is said in a
session, and a short answer in which nothing was refused, are written and read by a kernel (`_speed/following`). All
others are the generated classes' business, and so is all of it where nothing is compiled.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, Final, NamedTuple

from moldau import _speed
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic, ForgottenTopic, ReplicaState
from moldau.replica.source_session import Asked, PartitionKey
from moldau.types import Uuid

if _speed.COMPILED:
    from moldau._speed.following import encode_source_fetch, parse_source_answer

# How an answer begins: with the number of the request.
_CORRELATION_SIZE: Final = 4


class SourceLimits(NamedTuple):
    """What stands in each fetch of a follower."""

    cluster_id: str
    broker_id: int
    broker_epoch: int
    max_wait_ms: int
    min_bytes: int
    max_bytes: int


class ShortAnswer(NamedTuple):
    """What every partition got of which there is something to tell: (topic id, partition, high watermark, log start,
    where its records begin in `data`, where they end)."""

    session_id: int
    rows: Sequence[tuple[Uuid, int, int, int, int, int]]
    data: memoryview
    error_code: int = ErrorCode.NONE


class SourceFetch:
    """One request, as links take it."""

    __slots__ = ("_forgotten", "_limits", "_named", "_session_epoch", "_session_id", "go_on")

    API_KEY: ClassVar[int] = FetchRequest.API_KEY
    MIN_VERSION: ClassVar[int] = FetchRequest.MIN_VERSION
    MAX_VERSION: ClassVar[int] = FetchRequest.MAX_VERSION

    def __init__(
        self,
        limits: SourceLimits,
        session_id: int,
        session_epoch: int,
        named: Sequence[tuple[PartitionKey, Asked]],
        forgotten: Sequence[PartitionKey],
        go_on: Callable[[memoryview, int], SourceFetch | None] | None = None,
    ) -> None:
        """`go_on` takes an answer, or leaves it, and says what is asked next."""
        self.go_on = go_on
        self._limits = limits
        self._session_id = session_id
        self._session_epoch = session_epoch
        self._named = named
        self._forgotten = forgotten

    def encode(self, version: int) -> bytes:
        if _speed.COMPILED:
            limits = self._limits
            body = encode_source_fetch(
                version,
                limits.max_wait_ms,
                limits.min_bytes,
                limits.max_bytes,
                self._session_id,
                self._session_epoch,
                self._named,
                self._forgotten,
                limits.cluster_id,
                limits.broker_id,
                limits.broker_epoch,
            )
            if body is not None:
                return body
        return self.message().encode(version)

    def message(self) -> FetchRequest:
        """The same in the words of the protocol."""
        topics: dict[Uuid, FetchTopic] = {}
        for (topic_id, index), asked in self._named:
            topic = topics.get(topic_id)
            if topic is None:
                topic = topics[topic_id] = FetchTopic(topic_id=topic_id)
            topic.partitions.append(
                FetchPartition(
                    partition=index,
                    current_leader_epoch=asked.leader_epoch,
                    fetch_offset=asked.offset,
                    last_fetched_epoch=asked.fetched_epoch,
                    log_start_offset=asked.log_start_offset,
                    partition_max_bytes=asked.max_bytes,
                )
            )
        gone: dict[Uuid, ForgottenTopic] = {}
        for topic_id, index in self._forgotten:
            gone.setdefault(topic_id, ForgottenTopic(topic_id=topic_id)).partitions.append(index)
        limits = self._limits
        return FetchRequest(
            cluster_id=limits.cluster_id,
            replica_state=ReplicaState(replica_id=limits.broker_id, replica_epoch=limits.broker_epoch),
            max_wait_ms=limits.max_wait_ms,
            min_bytes=limits.min_bytes,
            max_bytes=limits.max_bytes,
            session_id=self._session_id,
            session_epoch=self._session_epoch,
            topics=list(topics.values()),
            forgotten_topics_data=list(gone.values()),
        )

    def read_answer(self, data: memoryview, version: int) -> ShortAnswer | None:
        return read_short(data, version)


def read_short(data: memoryview, version: int) -> ShortAnswer | None:
    """What a whole answer says, if it is short and plain."""
    if not _speed.COMPILED:
        return None
    found = parse_source_answer(data, _CORRELATION_SIZE, version)
    return None if found is None else ShortAnswer(found[0], found[1], data)
