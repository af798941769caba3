"""Requests that ask for far more than any honest client: small on the wire or large, all of them expensive to serve."""

from __future__ import annotations

from collections.abc import Callable
from itertools import chain, repeat
from struct import pack
from typing import Any

from bench.conversation import frame
from moldau.protocol.api import ApiKey, request_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.list_offsets import ListOffsetsPartition, ListOffsetsRequest, ListOffsetsTopic
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from moldau.protocol.primitives import uvarint
from moldau.protocol.records import Compression, encode_batch

MILLION = 1_000_000
# Just below what a request may name: it is not refused but served.
MOST = 199_000
TOPIC_TYPE = 2
NOW_MS = 1_700_000_000_000
# Patterns that take a backtracking matcher a time that grows with a power of the text, or exponentially.
PATTERNS = ["(.?){900}", "([a-z0-9]{0,40}){20}x"]
# Versions that name topics by name, and several coordinators at once.
HIGHEST = {
    ApiKey.FETCH: 12,
    ApiKey.PRODUCE: 12,
    ApiKey.METADATA: 12,
    ApiKey.DELETE_TOPICS: 6,
}

Build = Callable[[list[Any]], Message]
Element = Callable[[str], Any]


def _fetch(name: str) -> FetchTopic:
    return FetchTopic(topic=name, partitions=[FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)])


def _produce(name: str) -> TopicProduceData:
    return TopicProduceData(name=name, partition_data=[PartitionProduceData(index=0, records=b"")])


def _list_offsets(name: str) -> ListOffsetsTopic:
    return ListOffsetsTopic(name=name, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])


# What names very many things: how the request is built of its elements, and how an element of a name.
MANY: dict[ApiKey, tuple[Build, Element]] = {
    ApiKey.FETCH: (lambda e: FetchRequest(max_wait_ms=100, min_bytes=1, session_epoch=-1, topics=e), _fetch),
    ApiKey.PRODUCE: (lambda e: ProduceRequest(acks=-1, timeout_ms=1000, topic_data=e), _produce),
    ApiKey.DESCRIBE_GROUPS: (lambda e: DescribeGroupsRequest(groups=e), str),
    ApiKey.DESCRIBE_TRANSACTIONS: (lambda e: DescribeTransactionsRequest(transactional_ids=e), str),
    ApiKey.METADATA: (
        lambda e: MetadataRequest(topics=e, allow_auto_topic_creation=False),
        lambda name: MetadataRequestTopic(name=name),
    ),
    ApiKey.LIST_OFFSETS: (lambda e: ListOffsetsRequest(replica_id=-1, topics=e), _list_offsets),
    ApiKey.FIND_COORDINATOR: (lambda e: FindCoordinatorRequest(key_type=0, coordinator_keys=e), str),
    ApiKey.DELETE_TOPICS: (
        lambda e: DeleteTopicsRequest(topics=e, timeout_ms=1000),
        lambda name: DeleteTopicState(name=name),
    ),
}


def names_many(build: Build, element: Element, count: int, version: int) -> bytes:
    """A request that names so many different things. Not built as objects: a million of them take a minute."""
    return many(build, element, map("{:07d}".format, range(count)), count, version)


def describes_often(topic: str, count: int, version: int) -> bytes:
    """The settings of one topic, again and again."""
    return many(
        lambda elements: DescribeConfigsRequest(resources=elements),
        lambda name: DescribeConfigsResource(resource_type=TOPIC_TYPE, resource_name=name, configuration_keys=None),
        repeat(topic, count),
        count,
        version,
    )


def many(build: Build, element: Element, names: Any, count: int, version: int) -> bytes:
    """The frame of a request whose one array has an element for each name; all names are of one length."""
    names = iter(names)
    first = next(names)
    other = "#" * len(first)
    none, one, two = (frame(build(some), version) for some in ([], [element(other)], [element(other)] * 2))
    flexible = request_header_version(build([]).API_KEY, version) >= 2
    size = len(two) - len(one)
    # Behind the length of the frame, which differs as well, the length of the array is the first difference.
    differs = next(at for at in range(4, len(none)) if none[at] != one[at])
    begin = differs + 1
    head, mould, tail = one[4 : begin - (1 if flexible else 4)], one[begin : begin + size], one[begin + size :]
    before, after = mould.split(other.encode())
    length = uvarint(count + 1) if flexible else pack(">i", count)
    elements = b"".join(before + name.encode() + after for name in chain([first], names))
    body = head + length + elements + tail
    return pack(">i", len(body)) + body


def heartbeat(group: str, pattern: str, version: int) -> bytes:
    return frame(_joining(group, subscribed_topic_regex=pattern), version)


def joins(group: str, topics: list[str], assignor: str, version: int) -> bytes:
    """A new member that subscribes to very many topics, for the broker to assign."""
    return frame(_joining(group, subscribed_topic_names=topics, server_assignor=assignor), version)


def _joining(group: str, **subscription: Any) -> ConsumerGroupHeartbeatRequest:
    return ConsumerGroupHeartbeatRequest(
        group_id=group,
        member_id="A" * 22,
        member_epoch=0,
        rebalance_timeout_ms=60_000,
        topic_partitions=[],
        **subscription,
    )


def commits(group: str, topic: str, version: int) -> bytes:
    """An offset of a group that nobody is in: the group comes into being with it."""
    rows = [OffsetCommitRequestPartition(partition_index=0, committed_offset=1)]
    topics = [OffsetCommitRequestTopic(name=topic, partitions=rows)]
    return frame(OffsetCommitRequest(group_id=group, topics=topics), version)


def lists_groups(version: int) -> bytes:
    return frame(ListGroupsRequest(), version)


def all_topics(version: int) -> bytes:
    return frame(MetadataRequest(topics=None), version)


def produces(topic: str, batch: bytes, version: int) -> bytes:
    data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])]
    return frame(ProduceRequest(acks=-1, timeout_ms=60_000, topic_data=data), version)


def bomb(codec: Compression, megabytes: int = 120) -> bytes:
    """One record of zeros: some kilobytes that become very many when they are unpacked."""
    return encode_batch([(NOW_MS, None, bytes(megabytes << 20), ())], compression=codec)


def keyless(count: int = 720_000) -> bytes:
    """So many records that a compacted topic must refuse every one of them."""
    return encode_batch([(NOW_MS, None, b"", ())] * count, compression=Compression.ZSTD)


def text(megabytes: int = 30) -> bytes:
    """A batch below the usual limit that is large once unpacked, and must be packed again for its topic."""
    line = b"the river flows on, and the town lies at the river; "
    value = line * (10_000 // len(line))
    return encode_batch(
        [(NOW_MS, b"%d" % n, value, ()) for n in range((megabytes << 20) // len(value))], compression=Compression.ZSTD
    )
