"""Batches that take long to unpack: judged off the loop, appended in order, answered as if they had just come."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from held_workers import HeldWorkers
from in_process_node import InProcessNode, Wire, request_frame

from malformed_batches import batch_of, record, sized, varint
from moldau import _speed
from moldau.errors import ErrorCode
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchTopic
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.protocol.records import Compression, scan_batches
from moldau.runtime.real import RealRuntime

VERSION = 9
LARGE = 2 << 20


class Served:
    """A node whose batches are prepared by the workers of the test, everything else by real ones."""

    def __init__(self, data: Path, *, compiled: bool) -> None:
        self.node = InProcessNode(data, compiled=compiled, runtime=RealRuntime())
        self.workers = HeldWorkers()
        preparation = self.node.node.replicas.preparation
        assert preparation is not None
        preparation._workers = self.workers
        self.topic_id = self.node.create_topic("t", 2)

    def send(self, *batches: bytes, acks: int = -1, wire: Wire | None = None) -> Wire:
        """One request with a batch for each partition."""
        wire = wire or Wire()
        rows = [PartitionProduceData(index=index, records=records) for index, records in enumerate(batches)]
        request = ProduceRequest(
            acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=rows)]
        )
        self.node.send(wire, request_frame(request, VERSION))
        return wire

    def stored(self, index: int = 0) -> list[int]:
        """How many records the batches of a partition have."""
        log = self.log(index)
        return [header.count for header in scan_batches(log.segments.active.open_file().read(0, log.segments.size))]

    def log(self, index: int = 0) -> Any:
        return self.node.node.replicas.get("t", index).log


@pytest.fixture(params=["compiled", "generated"] if _speed.COMPILED else ["generated"])
def served(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Served]:
    served = Served(tmp_path / "data", compiled=request.param == "compiled")
    yield served
    served.node.close()


def large(records: int = 1, *, codec: int = Compression.ZSTD, **fields: int) -> bytes:
    body = record(0, value=sized(bytes(LARGE))) + b"".join(record(index) for index in range(1, records))
    return batch_of(body, records, codec=codec, **fields)


def small(records: int = 1, **fields: int) -> bytes:
    return batch_of(b"".join(record(index) for index in range(records)), records, **fields)


def answers(wire: Wire) -> list[Any]:
    """What each partition was told."""
    (answer,) = wire.sent
    return list(ProduceResponse.decode(answer[9:], VERSION).responses[0].partition_responses)


def test_the_loop_goes_on_and_the_batch_is_appended_when_it_was_judged(served: Served) -> None:
    wire = served.send(large(3), small(2))
    assert (wire.sent, wire.paused) == ([], True)
    assert (served.stored(0), served.stored(1)) == ([], [2])
    beside = served.send(small(5))
    assert [one.error_code for one in answers(beside)] == [0]
    served.workers.run_one()
    assert not wire.paused
    assert [(one.error_code, one.base_offset) for one in answers(wire)] == [(0, 5), (0, 0)]
    assert served.stored(0) == [5, 3]


def test_the_memory_of_the_request_may_be_used_again(served: Served) -> None:
    rows = [PartitionProduceData(index=0, records=large(3))]
    request = ProduceRequest(acks=1, timeout_ms=1000, topic_data=[TopicProduceData(name="t", partition_data=rows)])
    frame, wire = request_frame(request, VERSION), Wire()
    served.node.send(wire, frame)
    frame[:] = bytes(len(frame))
    served.workers.run_one()
    assert [one.error_code for one in answers(wire)] == [0]


def test_several_large_ones_in_a_request_come_back_in_any_order(served: Served) -> None:
    wire = served.send(large(3), large(4))
    served.workers.jobs.reverse()
    served.workers.run_one()
    assert wire.sent == []
    served.workers.run_one()
    assert [(one.index, one.error_code, one.base_offset) for one in answers(wire)] == [(0, 0, 0), (1, 0, 0)]
    assert (served.stored(0), served.stored(1)) == ([3], [4])


def test_what_is_refused_after_all_is_refused_with_its_code(served: Served) -> None:
    broken = batch_of(record(0, value=sized(bytes(LARGE))) + record(7), 2, codec=Compression.ZSTD)
    wire = served.send(broken, small())
    served.workers.run_one()
    first, second = answers(wire)
    assert (first.error_code, second.error_code) == (ErrorCode.INVALID_RECORD, 0)
    assert "offset" in first.error_message
    assert served.stored(0) == []


def test_sequences_are_those_of_the_moment_of_the_append(served: Served) -> None:
    """The producer's retry on another connection, while the first try is still unpacked, is the same batch."""
    producer = {"producer_id": 7, "producer_epoch": 0}
    first = served.send(large(3, **producer, base_sequence=0))
    again = served.send(large(3, **producer, base_sequence=0))
    early = served.send(small(2, **producer, base_sequence=5))
    assert [one.error_code for one in answers(early)] == [0]  # a producer nobody knows may begin anywhere
    served.workers.run_one()
    served.workers.run_one()
    assert [one.error_code for one in answers(first)] == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    assert [one.error_code for one in answers(again)] == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
    then = served.send(large(3, **producer, base_sequence=7))
    twice = served.send(large(3, **producer, base_sequence=7))
    served.workers.run_one()
    served.workers.run_one()
    assert [(one.error_code, one.base_offset) for one in answers(then)] == [(0, 2)]
    assert [(one.error_code, one.base_offset) for one in answers(twice)] == [(0, 2)]
    assert served.stored() == [2, 3]


def test_who_leads_is_asked_again_at_the_append(served: Served) -> None:
    wire = served.send(large(3))
    served.node.node.replicas.get("t", 0).is_leader = False
    served.workers.run_one()
    assert [one.error_code for one in answers(wire)] == [ErrorCode.NOT_LEADER_OR_FOLLOWER]
    assert served.stored() == []


def test_without_acknowledgement_the_connection_waits_all_the_same(served: Served) -> None:
    wire = served.send(large(3), acks=0)
    assert wire.paused
    served.workers.run_one()
    assert (wire.paused, wire.sent, wire.closed) == (False, [], None)
    assert served.stored() == [3]
    refused = served.send(batch_of(record(0, value=sized(bytes(LARGE))) + record(7), 2, codec=4), acks=0)
    served.workers.run_one()
    assert "acks=0 was refused" in (refused.closed or "")


def test_the_brokers_time_is_that_of_the_append(served: Served) -> None:
    served.node.create_topic("stamped", **{"message.timestamp.type": "LogAppendTime"})
    clock = served.node.runtime.clock
    log = served.node.node.replicas.get("stamped", 0).log
    rows = [PartitionProduceData(index=0, records=large(1))]
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="stamped", partition_data=rows)])
    wire = Wire()
    served.node.send(wire, request_frame(request, VERSION))
    before = clock.now_ms()
    served.node.turn_until(lambda: clock.now_ms() > before)
    later = clock.now_ms()
    served.workers.run_one()
    (answer,) = answers(wire)
    assert answer.log_append_time_ms >= later
    (header,) = scan_batches(log.segments.active.open_file().read(0, log.segments.size))
    assert (header.timestamp_type, header.max_timestamp) == (1, answer.log_append_time_ms)


def test_a_batch_in_another_codec_than_the_topics(served: Served) -> None:
    served.node.create_topic("packed", **{"compression.type": "gzip"})
    rows = [PartitionProduceData(index=0, records=batch_of(record(0, value=sized(bytes(100_000))), 1))]
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="packed", partition_data=rows)])
    wire = Wire()
    served.node.send(wire, request_frame(request, VERSION))
    served.workers.run_one()
    assert [one.error_code for one in answers(wire)] == [0]
    log = served.node.node.replicas.get("packed", 0).log
    assert log.segments.size < 1000


def test_waiting_readers_are_woken_and_those_that_wait_for_followers_wait(served: Served) -> None:
    reader = Wire()
    asked = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 24)
    topics = [FetchTopic(topic="t", partitions=[asked])]
    fetch = FetchRequest(max_wait_ms=60_000, min_bytes=1, max_bytes=1 << 24, session_epoch=-1, topics=topics)
    served.node.send(reader, request_frame(fetch, 11))
    served.send(large(3))
    assert reader.paused
    served.workers.run_one()
    served.node.turn_until(lambda: bool(reader.sent))


def test_a_fault_of_ours_is_an_answer_too(served: Served, caplog: pytest.LogCaptureFixture) -> None:
    wire = served.send(large(3))
    _, done = served.workers.jobs.pop()
    done(None, RuntimeError("on purpose"))
    assert [one.error_code for one in answers(wire)] == [ErrorCode.UNKNOWN_SERVER_ERROR]
    assert "could not be judged" in caplog.text


def transactional(served: Served, version: int) -> tuple[int, int]:
    """The id and epoch of a producer whose transaction may write to the topic."""
    coordinator = FindCoordinatorRequest(key_type=1, coordinator_keys=["one"])
    asking = InitProducerIdRequest(transactional_id="one", transaction_timeout_ms=60_000)
    given = None
    while given is None or given.error_code != 0:
        served.node.ask(coordinator, 4, FindCoordinatorResponse)
        given = served.node.ask(asking, 4, InitProducerIdResponse)
        # Loading goes on in the turns of the loop, and an answer that is there at once takes none.
        served.node.turn()
    if version < 12:
        adding = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="one",
            v3_and_below_producer_id=given.producer_id,
            v3_and_below_producer_epoch=given.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="t", partitions=[0])],
        )
        added = served.node.ask(adding, 3, AddPartitionsToTxnResponse)
        assert added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code == 0
    return given.producer_id, given.producer_epoch


@pytest.mark.parametrize("first_is_small", [False, True])
@pytest.mark.parametrize("version", [11, 12])
def test_a_transaction_that_was_ended_meanwhile_stays_so(served: Served, version: int, first_is_small: bool) -> None:
    producer_id, epoch = transactional(served, version)
    fields = {"attributes": 16, "producer_id": producer_id, "producer_epoch": epoch}

    def write(batch: bytes) -> Wire:
        rows = [PartitionProduceData(index=0, records=batch)]
        topics = [TopicProduceData(name="t", partition_data=rows)]
        request = ProduceRequest(transactional_id="one", acks=1, timeout_ms=1000, topic_data=topics)
        wire = Wire()
        served.node.send(wire, request_frame(request, version))
        return wire

    if first_is_small:
        first = write(small(1, **fields, base_sequence=0))
        served.node.turn_until(lambda: bool(first.sent))
    wire = write(large(2, **fields, base_sequence=1 if first_is_small else 0))
    served.node.turn_until(lambda: bool(served.workers.jobs))
    ending = EndTxnRequest(transactional_id="one", producer_id=producer_id, producer_epoch=epoch, committed=False)
    ended = served.node.ask(ending, 5 if version >= 12 else 4, EndTxnResponse)
    assert ended.error_code == 0
    served.node.turn_until(lambda: served.log().log_end_offset == (2 if first_is_small else 1))
    served.workers.run_one()
    served.node.turn_until(lambda: bool(wire.sent))
    answer = ProduceResponse.decode(wire.sent[0][9:], version).responses[0].partition_responses[0]
    assert answer.error_code == ErrorCode.INVALID_TXN_STATE
    assert served.log().producers.open_transactions == {}


def test_a_stop_meanwhile_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    served = Served(tmp_path / "data", compiled=False)
    wire = served.send(large(3))
    _, done = served.workers.jobs.pop()
    closed: list[bool] = []
    served.node.node._close(lambda: closed.append(True))
    served.node.turn_until(lambda: bool(closed))
    done(None, None)
    assert wire.sent == []
    served.node.runtime.close()


def test_of_very_many_refused_records_the_answer_names_some(served: Served) -> None:
    """A hundred of a batch, and a thousand of a request."""
    served.node.create_topic("compacted", 12, **{"cleanup.policy": "compact"})
    body = b"".join(record(index, key=varint(-1)) for index in range(20_000))
    rows = [PartitionProduceData(index=index, records=batch_of(body, 20_000, codec=index % 5)) for index in range(12)]
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="compacted", partition_data=rows)])
    wire = Wire()
    served.node.send(wire, request_frame(request, VERSION))
    while served.workers.jobs:
        served.workers.run_one()
    served.node.turn_until(lambda: bool(wire.sent))  # a long answer is written in slices
    told = answers(wire)
    assert {answer.error_code for answer in told} == {ErrorCode.INVALID_RECORD}
    assert {answer.error_message for answer in told} == {"20000 records have no key."}
    assert [len(answer.record_errors) for answer in told] == [100] * 10 + [0, 0]


def test_a_request_with_many_compressed_batches_is_opened_in_parts(served: Served) -> None:
    served.node.create_topic("wide", 12)
    served.node.turn_until(lambda: not served.node.node.replicas.arrivals)
    half = batch_of(record(0, value=sized(bytes(900_000))), 1, codec=Compression.GZIP)
    rows = [PartitionProduceData(index=index, records=half) for index in range(12)]
    request = ProduceRequest(acks=1, topic_data=[TopicProduceData(name="wide", partition_data=rows)])
    wire = Wire()
    served.node.send(wire, request_frame(request, VERSION))
    assert (wire.sent, len(served.workers.jobs)) == ([], 2)
    count = 0
    while served.workers.jobs:
        served.workers.run_one()
        count += 1
    assert count == 7
    assert [answer.error_code for answer in answers(wire)] == [0] * 12
