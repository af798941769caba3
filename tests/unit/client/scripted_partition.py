"""A topic of scripted brokers: its log, its leader and its leader epoch are whatever the test says at the moment.

For what one node cannot show: a new leader with a shorter log, a follower that is nearer. The brokers are
`ScriptedPeer`s on real sockets; they know one topic, "moldau", with one partition.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple

from scripted_peer import ScriptedPeer, metadata

from moldau.errors import ErrorCode
from moldau.protocol.api import ApiKey
from moldau.protocol.messages import fetch
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderTopicResult,
)
from moldau.protocol.records import encode_batch
from moldau.types import TopicPartition

WHERE = TopicPartition("moldau", 0)
ID = bytes([7]) * 16


class Entry(NamedTuple):
    epoch: int
    value: bytes


class Asked(NamedTuple):
    """One fetch of the partition, as a broker saw it."""

    node: int
    offset: int
    leader_epoch: int
    max_wait_ms: int
    rack: str


class ScriptedPartition:
    """`log` is the leader's; `preferred` is the replica it recommends to those with a rack, -1 for none."""

    def __init__(self, peers: dict[int, ScriptedPeer]) -> None:
        self.peers = peers
        self.leader = 1
        self.epoch = 1
        # What metadata say instead, where those are behind or ahead of the brokers.
        self.announced: int | None = None
        self.log: list[Entry] = []
        self.preferred = -1
        self.away: set[int] = set()
        self.fetches: list[Asked] = []
        self.refuse_with: dict[int, ErrorCode] = {}
        self.waiting = threading.Event()
        self.over = threading.Event()

    @property
    def bootstrap(self) -> str:
        return str(self.peers[1].address)

    def append(self, count: int, epoch: int | None = None) -> None:
        epoch = self.epoch if epoch is None else epoch
        self.log += [Entry(epoch, b"%d of epoch %d" % (len(self.log) + at, epoch)) for at in range(count)]

    def lead_anew(self, node: int, keep: int, append: int = 0) -> None:
        """Another leader takes over, with only the first records of the log, and goes on from there."""
        self.leader, self.epoch = node, self.epoch + 1
        del self.log[keep:]
        self.append(append)

    # -------------------------------------------------------------------------------------------------- the brokers

    def metadata(self, _version: int, _request: Any) -> Any:
        addresses = {node: peer.address for node, peer in self.peers.items()}
        epoch = self.epoch if self.announced is None else self.announced
        return metadata(addresses, {"moldau": {0: (self.leader, epoch)}}, ids={"moldau": ID})

    def list_offsets(self, _version: int, request: Any) -> Any:
        (row,) = request.topics[0].partitions
        offset = 0 if row.timestamp == -2 else len(self.log)
        found = ListOffsetsPartitionResponse(partition_index=0, offset=offset, leader_epoch=self.epoch)
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="moldau", partitions=[found])])

    def offset_for_leader_epoch(self, _version: int, request: Any) -> Any:
        (row,) = request.topics[0].partitions
        code = self._check(row.current_leader_epoch)
        known = [entry.epoch for entry in self.log if entry.epoch <= row.leader_epoch]
        end = len(known) if known else -1
        answer = EpochEndOffset(
            partition=0, error_code=code, leader_epoch=known[-1] if known else -1, end_offset=-1 if code else end
        )
        return OffsetForLeaderEpochResponse(topics=[OffsetForLeaderTopicResult(topic="moldau", partitions=[answer])])

    def fetch(self, node: int, request: Any) -> Any:
        asked = [row for topic in request.topics for row in topic.partitions]
        if not asked:
            return fetch.FetchResponse()
        (row,) = asked
        offset = row.fetch_offset
        self.fetches.append(Asked(node, offset, row.current_leader_epoch, request.max_wait_ms, request.rack_id))
        code = self.refuse_with.get(node) or self._check(row.current_leader_epoch)
        if node in self.refuse_with:
            self.preferred = -1  # the leader hears of it
        data = fetch.PartitionData(partition_index=0, error_code=code, high_watermark=len(self.log), records=b"")
        if not code and node == self.leader and request.rack_id and self.preferred >= 0:
            data.preferred_read_replica = self.preferred
        elif not code and offset > len(self.log):
            data.error_code = ErrorCode.OFFSET_OUT_OF_RANGE
        elif not code:
            data.records = b"".join(self._batches(offset))
            if not data.records:
                self.waiting.set()
                self.over.wait(request.max_wait_ms / 1000)
        answer = fetch.FetchableTopicResponse(topic_id=ID, topic="moldau", partitions=[data])
        return fetch.FetchResponse(responses=[answer])

    def _check(self, current_leader_epoch: int) -> ErrorCode:
        if 0 <= current_leader_epoch < self.epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH if current_leader_epoch > self.epoch else ErrorCode.NONE

    def _batches(self, offset: int) -> Iterator[bytes]:
        for at, entry in enumerate(self.log[offset:], offset):
            records = [(1000 + at, None, entry.value, [])]
            yield encode_batch(records, base_offset=at, partition_leader_epoch=entry.epoch)


@contextmanager
def scripted_partition(nodes: int = 1, fetch_versions: tuple[int, int] = (4, 11)) -> Iterator[ScriptedPartition]:
    """Up to version 11 a fetch does not say itself that the log was cut back, so the client has to ask."""
    with ExitStack() as stack:
        peers: dict[int, ScriptedPeer] = {}
        script = ScriptedPartition(peers)
        for node in range(1, nodes + 1):
            handlers: Any = {
                ApiKey.METADATA: script.metadata,
                ApiKey.LIST_OFFSETS: script.list_offsets,
                ApiKey.OFFSET_FOR_LEADER_EPOCH: script.offset_for_leader_epoch,
                ApiKey.FETCH: lambda _version, request, node=node: script.fetch(node, request),
            }
            peers[node] = stack.enter_context(ScriptedPeer(handlers, ranges={ApiKey.FETCH: fetch_versions}))
        try:
            yield script
        finally:
            script.over.set()
