"""The compiled Produce and Fetch frames are held to the generated classes, on good bytes and on damaged ones."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau import _speed
from moldau.errors import ProtocolError
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    ForgottenTopic,
    PartitionData,
    ReplicaState,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from moldau.runtime.framing import walk_frames
from moldau.server.request_channel import encode_response

if not _speed.COMPILED:
    pytest.skip("the kernels are not compiled here: there is nothing to hold equal", allow_module_level=True)

from moldau._speed import frames

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
names = st.text(max_size=12)
letters = st.text("abcXYZ059_-", max_size=22)
brokers = st.integers(0, 2**31 - 1)
ids = st.binary(min_size=16, max_size=16)
records = st.none() | st.binary(max_size=40)


@st.composite
def produce_requests(draw: st.DrawFn) -> tuple[ProduceRequest, int]:
    version = draw(st.integers(3, 13))
    topics = [
        TopicProduceData(
            name=draw(names) if version < 13 else "",
            topic_id=draw(ids) if version >= 13 else bytes(16),
            partition_data=[
                PartitionProduceData(index=draw(int32), records=draw(records)) for _ in range(draw(st.integers(0, 3)))
            ],
        )
        for _ in range(draw(st.integers(0, 3)))
    ]
    request = ProduceRequest(
        transactional_id=draw(st.none() | names), acks=draw(int16), timeout_ms=draw(int32), topic_data=topics
    )
    return request, version


@st.composite
def fetch_requests(draw: st.DrawFn) -> tuple[FetchRequest, int]:
    version = draw(st.integers(4, 18))
    by_id = version >= 13

    def partition() -> FetchPartition:
        return FetchPartition(
            partition=draw(int32),
            current_leader_epoch=draw(int32) if version >= 9 else -1,
            fetch_offset=draw(int64),
            last_fetched_epoch=draw(int32) if version >= 12 else -1,
            log_start_offset=draw(int64) if version >= 5 else -1,
            partition_max_bytes=draw(int32),
        )

    request = FetchRequest(
        max_wait_ms=draw(int32),
        min_bytes=draw(int32),
        max_bytes=draw(int32),
        isolation_level=draw(st.integers(-128, 127)),
        session_id=draw(int32) if version >= 7 else 0,
        session_epoch=draw(int32) if version >= 7 else -1,
        topics=[
            FetchTopic(
                topic="" if by_id else draw(names),
                topic_id=draw(ids) if by_id else bytes(16),
                partitions=[partition() for _ in range(draw(st.integers(0, 3)))],
            )
            for _ in range(draw(st.integers(0, 3)))
        ],
        forgotten_topics_data=[
            ForgottenTopic(
                topic="" if by_id else draw(names),
                topic_id=draw(ids) if by_id else bytes(16),
                partitions=draw(st.lists(int32, max_size=3)),
            )
            for _ in range(draw(st.integers(0, 2)) if version >= 7 else 0)
        ],
        rack_id=draw(names) if version >= 11 else "",
    )
    if draw(st.booleans()):
        # A follower's.
        request.cluster_id = draw(st.none() | letters) if version >= 12 else None
        if version >= 15:
            request.replica_state = ReplicaState(replica_id=draw(brokers), replica_epoch=draw(int64))
        else:
            request.replica_id = draw(brokers)
    return request, version


def produce_plan(request: ProduceRequest, version: int) -> Any:
    """What the kernel must find, with records by content instead of by place."""
    return (
        request.transactional_id,
        request.acks,
        request.timeout_ms,
        [
            (
                topic.topic_id if version >= 13 else topic.name,
                part.index,
                None if part.records is None else bytes(part.records),  # type: ignore[arg-type]
            )
            for topic in request.topic_data
            for part in topic.partition_data
        ],
    )


def kernel_produce_plan(data: bytes, version: int) -> Any:
    # Set into a larger buffer: a kernel that looks past its range would find something there.
    framed = memoryview(bytearray(b"\x01" * 7 + data + b"\x01" * 7))
    plan = frames.parse_produce(framed, 7, 7 + len(data), version)
    if plan is None:
        return None
    transactional_id, acks, timeout, appends = plan
    return (
        transactional_id,
        acks,
        timeout,
        [(topic, index, None if first < 0 else bytes(framed[first:last])) for topic, index, first, last in appends],
    )


def fetch_plan(request: FetchRequest, version: int) -> Any:
    def topic(named: FetchTopic | ForgottenTopic) -> str | bytes:
        return named.topic_id if version >= 13 else named.topic

    return (
        request.max_wait_ms,
        request.min_bytes,
        request.max_bytes,
        request.isolation_level,
        request.session_id,
        request.session_epoch,
        [
            (
                topic(named),
                part.partition,
                part.fetch_offset,
                part.partition_max_bytes,
                part.current_leader_epoch,
                part.log_start_offset,
                part.last_fetched_epoch,
            )
            for named in request.topics
            for part in named.partitions
        ],
        [(topic(named), index) for named in request.forgotten_topics_data for index in named.partitions],
        request.rack_id,
        request.replica_state.replica_id if version >= 15 else request.replica_id,
        request.replica_state.replica_epoch,
    )


@given(produce_requests())
@settings(max_examples=300, deadline=None)
def test_a_produce_request_is_read_as_the_generated_class_reads_it(case: tuple[ProduceRequest, int]) -> None:
    request, version = case
    assert kernel_produce_plan(request.encode(version), version) == produce_plan(request, version)


@given(fetch_requests())
@settings(max_examples=300, deadline=None)
def test_a_fetch_request_is_read_as_the_generated_class_reads_it(case: tuple[FetchRequest, int]) -> None:
    request, version = case
    data = request.encode(version)
    assert frames.parse_fetch(memoryview(bytearray(data)), 0, len(data), version) == fetch_plan(request, version)


@st.composite
def damage(draw: st.DrawFn, data: bytes) -> bytes:
    broken = bytearray(data)
    for _ in range(draw(st.integers(1, 3))):
        how = draw(st.sampled_from(("flip", "cut", "insert")))
        place = draw(st.integers(0, max(0, len(broken) - 1)))
        if how == "flip" and broken:
            broken[place] = draw(st.integers(0, 255))
        elif how == "cut":
            del broken[place:]
        else:
            broken[place:place] = draw(st.binary(min_size=1, max_size=5))
    return bytes(broken)


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_what_the_kernel_takes_from_damaged_produce_bytes_the_generated_class_takes_too(data: st.DataObject) -> None:
    request, version = data.draw(produce_requests())
    broken = data.draw(damage(request.encode(version)))
    plan = kernel_produce_plan(broken, version)
    if plan is not None:
        assert plan == produce_plan(ProduceRequest.decode(broken, version), version)


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_what_the_kernel_takes_from_damaged_fetch_bytes_the_generated_class_takes_too(data: st.DataObject) -> None:
    request, version = data.draw(fetch_requests())
    broken = data.draw(damage(request.encode(version)))
    plan = frames.parse_fetch(memoryview(bytearray(broken)), 0, len(broken), version)
    if plan is not None:
        assert plan == fetch_plan(FetchRequest.decode(broken, version), version)


@given(st.binary(max_size=200), st.integers(-1, 20))
@settings(max_examples=500, deadline=None)
def test_random_bytes_are_declined_or_read_like_the_generated_class(data: bytes, version: int) -> None:
    view = memoryview(bytearray(data))
    if frames.parse_fetch(view, 0, len(data), version) is not None:
        FetchRequest.decode(data, version)
    if frames.parse_produce(view, 0, len(data), version) is not None:
        ProduceRequest.decode(data, version)


def test_a_count_far_beyond_the_frame_costs_nothing() -> None:
    data = b"\xff\xff" + b"\x00\x01" + b"\x00\x00\x00\x00" + b"\x7f\xff\xff\xff"
    assert frames.parse_produce(memoryview(bytearray(data)), 0, len(data), 3) is None
    with pytest.raises(ProtocolError):
        ProduceRequest.decode(data, 3)


@given(st.integers(3, 13), int32, st.lists(st.tuples(names, ids, int32, int16, int64, int64, int64), max_size=6))
@settings(max_examples=300, deadline=None)
def test_a_produce_answer_is_written_as_the_generated_class_writes_it(
    version: int, correlation_id: int, rows: list[Any]
) -> None:
    results, response = [], ProduceResponse()
    for name, topic_id, *numbers in rows:
        topic: str | bytes = topic_id if version >= 13 else name
        results.append((topic, *numbers))
        last = response.responses[-1] if response.responses else None
        if last is None or (last.topic_id if version >= 13 else last.name) != topic:
            last = TopicProduceResponse(
                name="" if version >= 13 else name, topic_id=topic_id if version >= 13 else bytes(16)
            )
            response.responses.append(last)
        index, error, base, append_time, log_start = numbers
        last.partition_responses.append(
            PartitionProduceResponse(
                index=index,
                error_code=error,
                base_offset=base,
                log_append_time_ms=append_time,
                log_start_offset=log_start,
            )
        )
    expected = encode_response(response, version, correlation_id, b"\0" if version >= 9 else b"")
    assert frames.encode_produce(version, correlation_id, results, 0) == joined(expected)


@given(
    st.integers(4, 18),
    int32,
    int16,
    int32,
    st.lists(
        st.tuples(
            names,
            ids,
            int32,
            int16,
            int64,
            int64,
            int64,
            st.none() | st.lists(st.tuples(int64, int64), max_size=2),
            int32,
            st.binary(max_size=20),
        ),
        max_size=5,
    ),
)
@settings(max_examples=300, deadline=None)
def test_a_fetch_answer_is_written_as_the_generated_class_writes_it(
    version: int, correlation_id: int, error: int, session_id: int, rows: list[Any]
) -> None:
    by_id = version >= 13
    results, response = [], FetchResponse(error_code=error, session_id=session_id if version >= 7 else 0)
    for name, topic_id, index, code, high, stable, start, aborted, preferred, data in rows:
        topic: str | bytes = topic_id if by_id else name
        results.append((topic, index, code, high, stable, start, aborted, preferred, data))
        last = response.responses[-1] if response.responses else None
        if last is None or (last.topic_id if by_id else last.topic) != topic:
            last = FetchableTopicResponse(topic="" if by_id else name, topic_id=topic_id if by_id else bytes(16))
            response.responses.append(last)
        last.partitions.append(
            PartitionData(
                partition_index=index,
                error_code=code,
                high_watermark=high,
                last_stable_offset=stable,
                log_start_offset=start,
                aborted_transactions=None
                if aborted is None
                else [AbortedTransaction(producer_id=p, first_offset=f) for p, f in aborted],
                preferred_read_replica=preferred if version >= 11 else -1,
                records=data,
            )
        )
    expected = encode_response(response, version, correlation_id, b"\0" if version >= 12 else b"")
    assert joined(frames.encode_fetch(version, correlation_id, 0, error, session_id, results)) == joined(expected)


def joined(chunks: Any) -> bytes:
    return b"".join(bytes(chunk) for chunk in chunks)


class Gate:
    """Stays open for a number of frames."""

    def __init__(self, opens_for: int) -> None:
        self.left = opens_for
        self.seen: list[bytes] = []

    @property
    def _delivering(self) -> bool:
        return self.left > 0

    def frame(self, view: memoryview, start: int, stop: int) -> None:
        self.left -= 1
        self.seen.append(bytes(view[start:stop]))


@given(
    st.lists(st.binary(max_size=12), max_size=8),
    st.binary(max_size=6),
    st.integers(0, 3),
    st.integers(1, 9),
    st.integers(1, 9),
    st.sampled_from([math.inf, 0.0]),
)
@settings(max_examples=300, deadline=None)
def test_frames_are_found_as_the_reference_finds_them(
    whole: list[bytes], rest: bytes, skipped: int, most: int, opens_for: int, seconds: float
) -> None:
    data = bytes(skipped) + b"".join(len(one).to_bytes(4, "big") + one for one in whole) + rest
    view = memoryview(bytearray(data))

    def outcome(deliver: Any) -> Any:
        gate = Gate(opens_for)
        try:
            return deliver(view, skipped, len(view), 10, gate.frame, gate, most, seconds), gate.seen
        except ProtocolError as error:
            return str(error), gate.seen

    assert outcome(frames.deliver_frames) == outcome(walk_frames)


@given(st.integers(3, 13), st.integers(0, 255), st.integers(0, 3), st.integers(-2, 2), st.integers(-3, 3))
@settings(max_examples=300, deadline=None)
def test_only_plain_batches_take_the_short_way(
    version: int, attributes: int, magic: int, wrong_length: int, cut: int
) -> None:
    good = bytearray(70)
    good[8:12] = (70 - 12 + wrong_length).to_bytes(4, "big")
    good[16] = magic
    good[22] = attributes
    batch = bytes(good[: 70 + cut])
    topic = TopicProduceData(partition_data=[PartitionProduceData(index=0, records=batch)])
    data = ProduceRequest(transactional_id=None, acks=1, topic_data=[topic]).encode(version)
    plain = frames.parse_produce(memoryview(bytearray(data)), 0, len(data), version, True)
    is_plain = (
        len(batch) == 70 + wrong_length
        and magic == 2
        and not attributes & 0x10
        and (version >= 7 or attributes & 7 != 4)
    )
    assert (plain is not None) == is_plain
