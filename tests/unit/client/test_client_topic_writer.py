"""Records become batches, batches reach their leaders once and in order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from scripted_peer import ScriptedPeer, metadata
from written_broker import Broker

from moldau.client.backoff import Backoff
from moldau.client.cluster import Cluster
from moldau.client.partitioner import partition_for_key
from moldau.client.producer.topic_writer import TopicWriter
from moldau.client.producing import ALL
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.protocol.api import ApiKey
from moldau.protocol.records import Compression, read_header

QUICK = Backoff(first=0.001, limit=0.002)


@pytest.fixture
def broker() -> Iterator[Broker]:
    broker = Broker()
    yield broker
    broker.peer.close()


@contextmanager
def sending(broker: Broker, timeout: float = 10.0, **options: Any) -> Iterator[TopicWriter]:
    with Cluster([broker.peer.address], timeout=timeout, backoff=QUICK) as cluster:
        yield TopicWriter(cluster, "rivers", **options)


def test_keys_choose_the_partition(broker: Broker) -> None:
    keys = [b"key %d" % number for number in range(50)]
    with sending(broker) as writer:
        for key in keys:
            writer.append(b"value", key, [("h", b"1"), ("n", None)], timestamp=5)
        writer.flush()
        assert writer.records == 50
    for partition in (0, 1):
        expected = [key for key in keys if partition_for_key(key, 2) == partition]
        assert [record.key for record in broker.records(partition)] == expected
    record = broker.records(0)[0]
    assert (record.value, record.timestamp, record.headers) == (b"value", 5, [("h", b"1"), ("n", None)])


def test_records_without_key_fill_one_batch_after_the_other(broker: Broker) -> None:
    with sending(broker, batch_bytes=1000) as writer:
        for number in range(200):
            writer.append(b"%04d" % number)
        writer.flush()
    written = sorted(record.value or b"" for partition in (0, 1) for record in broker.records(partition))
    assert written == [b"%04d" % number for number in range(200)]
    # Whole batches, wherever each of them was drawn to; not a record here and a record there.
    assert 3 <= len(broker.batches[0]) + len(broker.batches[1]) <= 10
    assert all(len(batch) <= 1000 for partition in (0, 1) for batch in broker.batches[partition])


def test_sequences_count_the_records_of_each_partition(broker: Broker) -> None:
    with sending(broker, acks=ALL) as writer:
        for count in (3, 1, 2):
            for number in range(count):
                writer.append(b"%d" % number, partition=1)
            writer.flush()
    headers = [read_header(batch) for batch in broker.batches[1]]
    assert [(header.producer_id, header.producer_epoch) for header in headers] == [(77, 1)] * 3
    assert [header.base_sequence for header in headers] == [0, 3, 4]
    assert writer.written[1].first_offset == 0
    assert writer.written[1].last_offset == 5


def test_without_all_acknowledgements_there_is_no_producer_id(broker: Broker) -> None:
    with sending(broker, acks=1) as writer:
        writer.append(b"x", partition=0)
        writer.flush()
    header = read_header(broker.batches[0][0])
    assert (header.producer_id, header.base_sequence) == (-1, -1)
    assert broker.peer.asked(ApiKey.PRODUCE)[0].acks == 1


def test_acks_0_does_not_wait(broker: Broker) -> None:
    with sending(broker, acks=0) as writer:
        writer.append(b"x", partition=0)
        writer.flush()
        assert (writer.records, writer.written[0].last_offset) == (1, -1)


@pytest.mark.parametrize(
    "error", [ErrorCode.NOT_LEADER_OR_FOLLOWER, ErrorCode.NOT_ENOUGH_REPLICAS, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
)
def test_what_may_pass_is_sent_again_as_it_was(broker: Broker, error: ErrorCode) -> None:
    broker.errors = [error, error]
    with sending(broker) as writer:
        writer.append(b"x", partition=0)
        writer.flush()
    requests = broker.peer.asked(ApiKey.PRODUCE)
    assert len({bytes(request.topic_data[0].partition_data[0].records) for request in requests}) == 1
    assert len(requests) == 3
    assert [record.value for record in broker.records(0)] == [b"x"]


def test_an_answer_that_got_lost_is_no_error(broker: Broker) -> None:
    """Written, then the connection breaks; the second time the broker knows the sequence number."""
    broker.hang_up_after_writing = 1
    broker.errors = [0, ErrorCode.DUPLICATE_SEQUENCE_NUMBER]
    with sending(broker) as writer:
        writer.append(b"x", partition=0)
        writer.flush()
        assert writer.records == 1


def test_what_is_refused_is_said_with_the_partition(broker: Broker) -> None:
    broker.errors = [ErrorCode.MESSAGE_TOO_LARGE]
    with sending(broker) as writer:
        writer.append(b"x", partition=1)
        with pytest.raises(KafkaError, match="rivers-1 refused the records: A batch is larger") as caught:
            writer.flush()
    assert caught.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_partition_that_is_not_there(broker: Broker) -> None:
    with sending(broker) as writer, pytest.raises(KafkaError, match="no partition 7; it has 2"):
        writer.append(b"x", partition=7)


def test_without_topic_ids_an_older_version_is_spoken() -> None:
    broker = Broker(topic_id=bytes(16))
    try:
        with sending(broker) as writer:
            writer.append(b"x", partition=0)
            writer.flush()
        assert broker.peer.versions_asked(ApiKey.PRODUCE) == [12]
    finally:
        broker.peer.close()


@pytest.mark.parametrize("compression", list(Compression))
def test_codecs(broker: Broker, compression: Compression) -> None:
    with sending(broker, compression=compression) as writer:
        for number in range(100):
            writer.append(b"the same again %d" % number, partition=0)
        writer.flush()
    assert read_header(broker.batches[0][0]).compression == compression
    assert [record.value for record in broker.records(0)] == [b"the same again %d" % number for number in range(100)]


def test_a_topic_that_appears_late_is_waited_for() -> None:
    address: dict[int, Address] = {}
    missing = [lambda version, request: metadata(address, errors={"rivers": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})] * 2
    there = [lambda version, request: metadata(address, {"rivers": {0: (1, 0)}})]
    with ScriptedPeer({ApiKey.METADATA: missing + there}) as peer, Cluster([peer.address], backoff=QUICK) as cluster:
        address[1] = peer.address
        TopicWriter(cluster, "rivers", acks=1)
        assert all(request.allow_auto_topic_creation for request in peer.asked(ApiKey.METADATA))


def test_a_topic_that_never_appears() -> None:
    handlers = {ApiKey.METADATA: lambda version, request: metadata({1: peer.address}, errors={"rivers": 3})}
    complaint = pytest.raises(KafkaError, match="There is no topic 'rivers'")
    with ScriptedPeer(handlers) as peer, Cluster([peer.address], backoff=QUICK) as cluster, complaint:
        TopicWriter(cluster, "rivers", acks=1)
