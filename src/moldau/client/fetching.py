"""Fetch requests and what comes back, without IO: positions in, records out.

A broker sends whole batches as they lie on disk. So the first one may begin before the position asked for, the last
one may be cut off (old brokers fill up to the limit), control batches are in between, and with read_committed the
records of aborted transactions are there too, with a list that tells which ones they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from struct import Struct

from moldau.client.admin.offsets import IsolationLevel
from moldau.client.conversation import Ask
from moldau.client.leaders import by_topic
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, ProtocolError, error_code
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from moldau.protocol.records import BatchHeader, ControlType, Record, control_type, decode_batch, read_header
from moldau.types import ZERO_UUID, TopicPartition

# From the next version on Fetch names topics by id only.
_LAST_BY_NAME = 12

_PREFIX = Struct(">qi")
_MAGIC_AT = 16


@dataclass(slots=True, frozen=True)
class FetchLimits:
    """Kafka's defaults (`fetch.max.wait.ms`, `fetch.min.bytes`, `fetch.max.bytes`, `max.partition.fetch.bytes`)."""

    max_wait_ms: int = 500
    min_bytes: int = 1
    max_bytes: int = 50 * 1024 * 1024
    partition_bytes: int = 1024 * 1024


@dataclass(slots=True)
class Fetched:
    """What one answer said about one partition. `records` are decoded when asked for."""

    partition: TopicPartition
    position: int
    error: ErrorCode
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    next_position: int = -1
    batches: list[memoryview] = field(default_factory=list)
    aborted: list[tuple[int, int]] = field(default_factory=list)
    committed_only: bool = False

    def records(self, *, control: bool = False) -> Iterator[Record]:
        """The records at or after the position; control records only if asked for."""
        hidden = AbortedFilter(self.aborted) if self.committed_only else None
        for batch in self.batches:
            if batch[_MAGIC_AT] == 2:
                header = read_header(batch)
                decoded = decode_batch(batch) if not header.is_control or control or hidden else []
                if hidden is not None and not hidden.shows(header, decoded):
                    continue
                if header.is_control and not control:
                    continue
            else:
                decoded = decode_batch(batch)
            for record in decoded:
                if record.offset >= self.position:
                    yield record


class AbortedFilter:
    """Leaves out what aborted transactions wrote: from a transaction's first offset to its abort marker."""

    __slots__ = ("_aborting", "_coming")

    def __init__(self, aborted: Iterable[tuple[int, int]]) -> None:
        """`aborted` are (producer id, first offset) as the broker lists them."""
        self._coming = sorted(aborted, key=lambda entry: entry[1])
        self._aborting: set[int] = set()

    def shows(self, header: BatchHeader, records: list[Record]) -> bool:
        """Whether the batch is to be seen; batches must be offered in the order of the log."""
        while self._coming and self._coming[0][1] <= header.last_offset:
            self._aborting.add(self._coming.pop(0)[0])
        if header.is_control:
            if records and control_type(records[0]) == ControlType.ABORT:
                self._aborting.discard(header.producer_id)
            return True
        return not (header.is_transactional and header.producer_id in self._aborting)


def fetch_request(
    view: ClusterView,
    positions: Mapping[TopicPartition, int],
    limits: FetchLimits,
    isolation: IsolationLevel,
    node: int,
) -> Ask:
    """A fetch outside of any session: everything wanted is named each time."""
    ids = {name: view.topic(name).id for name in {where.topic for where in positions}}
    request = FetchRequest(
        max_wait_ms=limits.max_wait_ms,
        min_bytes=limits.min_bytes,
        max_bytes=limits.max_bytes,
        isolation_level=isolation,
        topics=[
            FetchTopic(
                topic=topic,
                topic_id=ids[topic],
                partitions=[
                    FetchPartition(
                        partition=where.partition,
                        current_leader_epoch=view.partition(where).leader_epoch,
                        fetch_offset=positions[where],
                        partition_max_bytes=limits.partition_bytes,
                    )
                    for where in partitions
                ],
            )
            for topic, partitions in by_topic(positions).items()
        ],
    )
    return Ask(request, to=node, at_most=_LAST_BY_NAME if ZERO_UUID in ids.values() else None)


def read_fetch(
    view: ClusterView, positions: Mapping[TopicPartition, int], response: FetchResponse, isolation: IsolationLevel
) -> list[Fetched]:
    """The answer by partition, as far as it was asked for."""
    fetched: list[Fetched] = []
    for topic in response.responses:
        known = None if topic.topic else view.topic_by_id(topic.topic_id)
        name = topic.topic or (known.name if known else "")
        for data in topic.partitions:
            where = TopicPartition(name, data.partition_index)
            if where in positions:
                fetched.append(_fetched(where, positions[where], data, isolation))
    return fetched


def _fetched(where: TopicPartition, position: int, data: PartitionData, isolation: IsolationLevel) -> Fetched:
    batches = split_batches(data.records) if isinstance(data.records, memoryview) else []
    return Fetched(
        partition=where,
        position=position,
        error=error_code(data.error_code),
        high_watermark=data.high_watermark,
        last_stable_offset=data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        next_position=max(position, _next_offset(batches[-1])) if batches else position,
        batches=batches,
        aborted=[(entry.producer_id, entry.first_offset) for entry in data.aborted_transactions or ()],
        committed_only=isolation is IsolationLevel.READ_COMMITTED,
    )


def split_batches(data: memoryview) -> list[memoryview]:
    """The whole batches in a range of a log; a last one that is cut off is left out."""
    batches: list[memoryview] = []
    position = 0
    while len(data) - position > _MAGIC_AT:
        _, length = _PREFIX.unpack_from(data, position)
        if length <= 0:
            raise ProtocolError(f"a batch of {length} bytes was sent")
        end = position + _PREFIX.size + length
        if end > len(data):
            break
        batches.append(data[position:end])
        position = end
    if not batches and len(data) > 0:
        raise ProtocolError("a fetch brought less than one batch")
    return batches


def _next_offset(batch: memoryview) -> int:
    if batch[_MAGIC_AT] == 2:
        return read_header(batch).next_offset
    # Before format 2 the number is that of the last message inside.
    (offset, _) = _PREFIX.unpack_from(batch)
    return int(offset) + 1
