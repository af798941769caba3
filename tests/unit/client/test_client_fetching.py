"""From the bytes of a fetch to the records that are to be seen."""

from __future__ import annotations

import pytest

from moldau.client.admin import IsolationLevel
from moldau.client.fetching import Fetched, FetchLimits, fetch_request, read_fetch, split_batches
from moldau.client.metadata import BrokerView, ClusterView, PartitionView, TopicView
from moldau.errors import ErrorCode, ProtocolError
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from moldau.protocol.records import EndTransaction, encode_batch, end_transaction_record
from moldau.types import TopicPartition

RIVER = TopicPartition("rivers", 0)
TOPIC_ID = b"0123456789abcdef"
VIEW = ClusterView(
    brokers={1: BrokerView(1, "host", 9092)},
    topics={"rivers": TopicView("rivers", TOPIC_ID, partitions={0: PartitionView(0, leader=1, leader_epoch=4)})},
)


def batch(base_offset: int, *values: bytes, producer: int = -1, transactional: bool = False) -> bytes:
    return encode_batch(
        [(1000, None, value, ()) for value in values],
        base_offset=base_offset,
        producer_id=producer,
        producer_epoch=0 if producer >= 0 else -1,
        base_sequence=base_offset if producer >= 0 else -1,
        is_transactional=transactional,
    )


def marker(offset: int, producer: int, *, committed: bool) -> bytes:
    return encode_batch(
        [end_transaction_record(EndTransaction(committed, 0), 1000)],
        base_offset=offset,
        producer_id=producer,
        producer_epoch=0,
        is_transactional=True,
        is_control=True,
    )


def fetched(
    records: bytes,
    position: int = 0,
    *,
    isolation: IsolationLevel = IsolationLevel.READ_UNCOMMITTED,
    aborted: list[tuple[int, int]] | None = None,
) -> Fetched:
    """Through a response as it comes from the wire."""
    data = PartitionData(
        partition_index=0,
        high_watermark=100,
        records=records,
        aborted_transactions=[AbortedTransaction(producer_id=id, first_offset=first) for id, first in aborted or ()],
    )
    topic = FetchableTopicResponse(topic_id=TOPIC_ID, partitions=[data])
    response = FetchResponse.decode(FetchResponse(responses=[topic]).encode(16), 16)
    (part,) = read_fetch(VIEW, {RIVER: position}, response, isolation)
    return part


def values(part: Fetched) -> list[bytes | None]:
    return [record.value for record in part.records()]


def test_records_in_order_and_the_next_position() -> None:
    part = fetched(batch(0, b"a", b"b") + batch(2, b"c"))
    assert values(part) == [b"a", b"b", b"c"]
    assert (part.next_position, part.high_watermark, part.error) == (3, 100, ErrorCode.NONE)


def test_a_position_inside_a_batch() -> None:
    part = fetched(batch(0, b"a", b"b", b"c"), position=1)
    assert values(part) == [b"b", b"c"]


def test_a_last_batch_that_is_cut_off_comes_with_the_next_fetch() -> None:
    part = fetched(batch(0, b"a") + batch(1, b"b", b"c")[:-3])
    assert values(part) == [b"a"]
    assert part.next_position == 1


def test_nothing_leaves_the_position_where_it_is() -> None:
    part = fetched(b"", position=7)
    assert values(part) == []
    assert part.next_position == 7


@pytest.mark.parametrize("damaged", [batch(0, b"a")[:40], bytes(8) + b"\xff" * 4 + bytes(50)])
def test_damage_is_a_protocol_error(damaged: bytes) -> None:
    with pytest.raises(ProtocolError):
        split_batches(memoryview(damaged))


def test_markers_are_not_records_but_count_for_the_position() -> None:
    log = batch(0, b"a", producer=5, transactional=True) + marker(1, 5, committed=True)
    part = fetched(log)
    assert values(part) == [b"a"]
    assert part.next_position == 2
    assert [record.offset for record in part.records(control=True)] == [0, 1]


def test_aborted_transactions_are_left_out_when_only_committed_records_are_wanted() -> None:
    log = (
        batch(0, b"plain")
        + batch(1, b"aborted 1", producer=5, transactional=True)
        + batch(2, b"committed", producer=6, transactional=True)
        + batch(3, b"aborted 2", producer=5, transactional=True)
        + marker(4, 5, committed=False)
        + marker(5, 6, committed=True)
        + batch(6, b"next", producer=5, transactional=True)
        + marker(7, 5, committed=True)
    )
    everything = [b"plain", b"aborted 1", b"committed", b"aborted 2", b"next"]
    assert values(fetched(log, aborted=[(5, 1)])) == everything
    committed = fetched(log, isolation=IsolationLevel.READ_COMMITTED, aborted=[(5, 1)])
    assert values(committed) == [b"plain", b"committed", b"next"]
    assert committed.next_position == 8


def test_a_producer_that_aborts_twice_with_a_commit_in_between() -> None:
    log = (
        batch(0, b"a", producer=5, transactional=True)
        + marker(1, 5, committed=False)
        + batch(2, b"b", producer=5, transactional=True)
        + marker(3, 5, committed=True)
        + batch(4, b"c", producer=5, transactional=True)
        + marker(5, 5, committed=False)
    )
    part = fetched(log, isolation=IsolationLevel.READ_COMMITTED, aborted=[(5, 4), (5, 0)])
    assert values(part) == [b"b"]


def test_an_abort_that_began_before_the_fetch() -> None:
    log = batch(10, b"a", producer=5, transactional=True) + marker(11, 5, committed=False) + batch(12, b"b")
    part = fetched(log, position=10, isolation=IsolationLevel.READ_COMMITTED, aborted=[(5, 3)])
    assert values(part) == [b"b"]


def test_a_request_names_topics_by_id_and_carries_the_leader_epoch() -> None:
    ask = fetch_request(VIEW, {RIVER: 12}, FetchLimits(partition_bytes=99), IsolationLevel.READ_COMMITTED, node=1)
    request = ask.request
    assert isinstance(request, FetchRequest)
    assert (ask.to, ask.at_most, request.isolation_level) == (1, None, 1)
    (topic,) = request.topics
    (partition,) = topic.partitions
    assert (topic.topic, topic.topic_id) == ("rivers", TOPIC_ID)
    assert (partition.fetch_offset, partition.current_leader_epoch, partition.partition_max_bytes) == (12, 4, 99)


def test_without_a_topic_id_the_last_version_with_names_is_spoken() -> None:
    view = ClusterView(topics={"rivers": TopicView("rivers", partitions={0: PartitionView(0, leader=1)})})
    ask = fetch_request(view, {RIVER: 0}, FetchLimits(), IsolationLevel.READ_UNCOMMITTED, node=1)
    assert ask.at_most == 12
