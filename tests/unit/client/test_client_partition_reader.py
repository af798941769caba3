"""FetchState from given offsets: positions move on, leaders move away, connections break."""

from __future__ import annotations

from typing import Any

import pytest
from scripted_peer import HANG_UP, Handler, ScriptedPeer, metadata

from moldau.client.backoff import Backoff
from moldau.client.cluster import Cluster
from moldau.client.consumer.partition_reader import PartitionReader
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from moldau.protocol.records import encode_batch
from moldau.types import TopicPartition

QUICK = Backoff(first=0.001, limit=0.002)
TOPIC_ID = b"0123456789abcdef"
RIVER, OTHER = TopicPartition("rivers", 0), TopicPartition("rivers", 1)


def serving(partitions: set[int], error: int = 0, end: int = 10) -> Handler:
    """One record per fetch and partition, its value its offset, until `end`."""

    def answer(version: int, request: FetchRequest) -> FetchResponse:
        parts: list[PartitionData] = []
        for wanted in request.topics[0].partitions:
            offset = wanted.fetch_offset
            refused = error if wanted.partition in partitions else ErrorCode.NOT_LEADER_OR_FOLLOWER
            record = encode_batch([(0, None, b"%d" % offset, ())], base_offset=offset)
            parts.append(
                PartitionData(
                    partition_index=wanted.partition,
                    error_code=refused,
                    high_watermark=end,
                    records=b"" if refused or offset >= end else record,
                )
            )
        return FetchResponse(responses=[FetchableTopicResponse(topic_id=TOPIC_ID, partitions=parts)])

    return answer


def view(brokers: dict[int, Address], *leaders: tuple[int, int]) -> Handler:
    return lambda version, request: metadata(brokers, {"rivers": dict(enumerate(leaders))}, ids={"rivers": TOPIC_ID})


def read(reader: PartitionReader, count: int) -> dict[TopicPartition, list[bytes | None]]:
    found: dict[TopicPartition, list[bytes | None]] = {}
    while sum(map(len, found.values())) < count:
        for part in reader.poll(60.0):
            found.setdefault(part.where, []).extend(record.value for record in part.take(1000))
    return found


def test_reads_on_from_its_position() -> None:
    brokers: dict[int, Address] = {}
    handlers = {ApiKey.METADATA: view(brokers, (1, 0)), ApiKey.FETCH: serving({0})}
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], backoff=QUICK) as cluster:
        brokers[1] = peer.address
        reader = PartitionReader(cluster, {RIVER: 3})
        assert read(reader, 7) == {RIVER: [b"%d" % offset for offset in range(3, 10)]}
        assert reader.positions == {RIVER: 10}


def test_two_leaders_at_once() -> None:
    brokers: dict[int, Address] = {}
    both = view(brokers, (1, 0), (2, 0))
    first = ScriptedPeer({ApiKey.METADATA: both, ApiKey.FETCH: serving({0})})
    second = ScriptedPeer({ApiKey.METADATA: both, ApiKey.FETCH: serving({1})})
    brokers.update({1: first.address, 2: second.address})
    with first, second, Cluster([first.address], backoff=QUICK) as cluster:
        values = [b"%d" % offset for offset in range(10)]
        assert read(PartitionReader(cluster, {RIVER: 0, OTHER: 0}), 20) == {RIVER: values, OTHER: values}


def test_follows_a_leader_that_moves() -> None:
    brokers: dict[int, Address] = {}
    before, after = view(brokers, (1, 0)), view(brokers, (2, 1))
    old = ScriptedPeer({ApiKey.METADATA: [before, after], ApiKey.FETCH: [serving({0}), serving(set())]})
    new = ScriptedPeer({ApiKey.METADATA: after, ApiKey.FETCH: serving({0})})
    brokers.update({1: old.address, 2: new.address})
    with old, new, Cluster([old.address], backoff=QUICK) as cluster:
        assert read(PartitionReader(cluster, {RIVER: 0}), 10) == {RIVER: [b"%d" % offset for offset in range(10)]}
        assert new.asked(ApiKey.FETCH)[0].topics[0].partitions[0].fetch_offset == 1


def test_a_broken_connection_is_made_again() -> None:
    brokers: dict[int, Address] = {}
    fetches: list[Handler] = [serving({0}), lambda version, request: HANG_UP, serving({0})]
    handlers: dict[ApiKey, Any] = {ApiKey.METADATA: view(brokers, (1, 0)), ApiKey.FETCH: fetches}
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], backoff=QUICK) as cluster:
        brokers[1] = peer.address
        assert read(PartitionReader(cluster, {RIVER: 0}), 10) == {RIVER: [b"%d" % offset for offset in range(10)]}


def test_a_dropped_partition_is_not_heard_of_again() -> None:
    brokers: dict[int, Address] = {}
    handlers = {ApiKey.METADATA: view(brokers, (1, 0), (1, 0)), ApiKey.FETCH: serving({0, 1}, end=1_000_000)}
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], backoff=QUICK) as cluster:
        brokers[1] = peer.address
        reader = PartitionReader(cluster, {RIVER: 0, OTHER: 0})
        assert {part.where for part in reader.poll(60.0)} == {RIVER, OTHER}
        # A fetch for both is on its way again by now.
        reader.drop(OTHER)
        assert set(read(reader, 5)) == {RIVER}


@pytest.mark.parametrize(
    ("error", "sentence"),
    [
        (ErrorCode.OFFSET_OUT_OF_RANGE, "rivers-0 has no offset 0"),
        (ErrorCode.TOPIC_AUTHORIZATION_FAILED, "rivers-0: Not authorized"),
    ],
)
def test_what_does_not_pass_is_raised_at_once(error: ErrorCode, sentence: str) -> None:
    brokers: dict[int, Address] = {}
    handlers = {ApiKey.METADATA: view(brokers, (1, 0)), ApiKey.FETCH: serving({0}, error)}
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], backoff=QUICK) as cluster:
        brokers[1] = peer.address
        with pytest.raises(KafkaError, match=sentence):
            PartitionReader(cluster, {RIVER: 0}).poll(60.0)


def test_gives_up_when_nothing_gets_better_for_as_long_as_the_time_out() -> None:
    brokers: dict[int, Address] = {}
    handlers = {ApiKey.METADATA: view(brokers, (1, 0)), ApiKey.FETCH: serving(set())}
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], timeout=3.0, backoff=QUICK) as cluster:
        brokers[1] = peer.address
        reader = PartitionReader(cluster, {RIVER: 0})
        with pytest.raises(KafkaError, match="neither leads nor follows"):
            read(reader, 1)


def test_a_partition_that_fails_takes_no_records_of_another_with_it() -> None:
    """They come in one answer; the positions of the good one have moved on when the bad one is noticed."""
    brokers: dict[int, Address] = {}

    def mixed(version: int, request: FetchRequest) -> FetchResponse:
        response = serving({0, 1})(version, request)
        for part in response.responses[0].partitions:
            if part.partition_index == 1:
                part.error_code, part.records = ErrorCode.OFFSET_OUT_OF_RANGE, b""
        return response

    handlers = {ApiKey.METADATA: view(brokers, (1, 0), (1, 0)), ApiKey.FETCH: mixed}
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], backoff=QUICK) as cluster:
        brokers[1] = peer.address
        reader = PartitionReader(cluster, {RIVER: 0, OTHER: 5})
        (part,) = reader.poll(60.0)
        assert [record.value for record in part.take(1000)] == [b"0"]
        with pytest.raises(KafkaError, match="rivers-1 has no offset 5"):
            reader.poll(60.0)


def test_a_partition_without_a_leader_does_not_hold_up_the_others() -> None:
    brokers: dict[int, Address] = {}
    handlers: dict[ApiKey, Any] = {
        ApiKey.METADATA: view(brokers, (1, 0), (-1, 0)),
        ApiKey.FETCH: serving({0, 1}, end=5),
    }
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], backoff=QUICK) as cluster:
        brokers[1] = peer.address
        reader = PartitionReader(cluster, {RIVER: 0, OTHER: 0})
        assert {part.where for part in reader.poll(60.0)} == {RIVER}
        peer.handlers[ApiKey.METADATA] = view(brokers, (1, 0), (1, 1))
        values = [b"%d" % offset for offset in range(5)]
        assert read(reader, 9) == {RIVER: values[1:], OTHER: values}
