"""ListOffsets by time where the record is in a batch that takes long to open: another thread does that."""

from __future__ import annotations

import threading

import pytest
from in_process_node import InProcessNode

from malformed_batches import batch_of, record, sized, varint
from moldau.errors import ErrorCode
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.records import Compression
from moldau.slicing import run_whole
from moldau.storage.timestamp_search import LargeBatch

NOW = 1_700_000_000_000


@pytest.fixture
def node(tmp_path):
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("wide", 3, **{"retention.ms": "-1"})
    yield node
    node.close()


def large(times, codec=Compression.ZSTD, size=100_000):
    body = b"".join(
        record(index, timestamp_delta=varint(at - NOW), value=sized(bytes(size))) for index, at in enumerate(times)
    )
    return memoryview(bytearray(batch_of(body, len(times), codec=codec, base_timestamp=NOW)))


def append(node, index, data):
    partition = node.node.replicas.get("wide", index)
    partition.append(data, 0, len(data), 1)
    return partition


def asked(node, *questions):
    partitions = [ListOffsetsPartition(partition_index=index, timestamp=at) for index, at in questions]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name="wide", partitions=partitions)])
    found = node.ask(request, 7, ListOffsetsResponse).topics[0].partitions
    return [(one.partition_index, one.error_code, one.timestamp, one.offset, one.leader_epoch) for one in found]


@pytest.fixture
def opened(monkeypatch):
    """Where each large batch was opened."""
    threads = []
    find = LargeBatch.find

    def noted(self):
        threads.append(threading.current_thread())
        return find(self)

    monkeypatch.setattr(LargeBatch, "find", noted)
    return threads


@pytest.mark.parametrize("codec", [Compression.NONE, Compression.ZSTD])
def test_large_batches_are_opened_off_the_loop_and_answered_in_their_places(node, opened, codec):
    append(node, 0, large([NOW, NOW + 5, NOW + 9], codec))
    append(node, 1, large([NOW + 1], size=10))
    append(node, 2, large([NOW + 3, NOW + 2], codec))
    answers = asked(node, (0, NOW + 4), (1, NOW), (2, -3), (2, NOW + 99), (0, -1))
    assert answers == [
        (0, ErrorCode.INVALID_REQUEST, -1, -1, -1),
        (1, 0, NOW + 1, 0, 0),
        (2, ErrorCode.INVALID_REQUEST, -1, -1, -1),
        (2, ErrorCode.INVALID_REQUEST, -1, -1, -1),
        (0, ErrorCode.INVALID_REQUEST, -1, -1, -1),
    ]
    assert opened == []
    assert asked(node, (0, NOW + 4), (1, NOW), (2, -3)) == [
        (0, 0, NOW + 5, 1, 0),
        (1, 0, NOW + 1, 0, 0),
        (2, 0, NOW + 3, 0, 0),
    ]
    assert len(opened) == 2
    assert threading.main_thread() not in opened


def test_many_small_records_are_too_much_for_the_loop_too(node, opened):
    append(node, 0, large([NOW + number for number in range(3000)], Compression.NONE, 1))
    assert asked(node, (0, NOW + 2500)) == [(0, 0, NOW + 2500, 2500, 0)]
    assert len(opened) == 1


def test_the_search_goes_on_behind_a_batch_whose_record_is_before_the_start(node, opened):
    partition = append(node, 0, large([NOW + 50, NOW + 1]))
    append(node, 0, large([NOW + 2, NOW + 60]))
    append(node, 0, large([NOW + 70], size=10))
    partition.log.local.advance_log_start(1)
    assert asked(node, (0, NOW + 40)) == [(0, 0, NOW + 60, 3, 0)]
    assert len(opened) == 2
    assert asked(node, (0, NOW + 65)) == [(0, 0, NOW + 70, 4, 0)]


def test_nobody_is_sent_to_a_record_it_may_not_read_yet(node):
    partition = append(node, 0, large([NOW, NOW + 5]))
    partition.log.local.high_watermark = 1
    assert asked(node, (0, NOW + 4)) == [(0, 0, -1, -1, -1)]
    assert asked(node, (0, -3)) == [(0, 0, -1, -1, -1)]


def test_a_file_that_cannot_be_read_is_an_error_of_the_storage(node, monkeypatch):
    append(node, 0, large([NOW, NOW + 5]))

    def fails(self):
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(LargeBatch, "find", fails)
    assert asked(node, (0, NOW + 4)) == [(0, ErrorCode.KAFKA_STORAGE_ERROR, -1, -1, -1)]


def test_the_search_pauses_between_headers(node):
    """One latest record in front of very many older ones: none of them may be passed over, all are looked at."""
    partition = append(node, 0, large([NOW + 1000], size=1))
    for _ in range(600):
        append(node, 0, large([NOW], size=1))
    append(node, 0, large([NOW + 2000], size=1))
    pauses = []
    found = run_whole(noting(partition.log.offset_for_timestamp(NOW + 1500), pauses))
    assert (found.offset, len(pauses)) == (601, 2)


def noting(work, pauses):
    while True:
        try:
            pauses.append(next(work))
        except StopIteration as done:
            return done.value
        yield
