"""The compiled offset commits are held to the generated classes: requests, answers, and the records they become."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from moldau import _speed
from moldau.coordinator.group.offset_store import CommittedOffset, offset_record
from moldau.coordinator.partition_hash import java_hash
from moldau.coordinator.record_framing import encode_key, encode_value
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from moldau.protocol.records import BatchBuilder
from moldau.server.request_channel import encode_response
from moldau.slicing import run_whole
from moldau.types import TopicPartition

if not _speed.COMPILED:
    pytest.skip("the kernels are not compiled here: there is nothing to hold equal", allow_module_level=True)

from moldau._speed import commits

int16 = st.integers(-(2**15), 2**15 - 1)
int32 = st.integers(-(2**31), 2**31 - 1)
int64 = st.integers(-(2**63), 2**63 - 1)
names = st.text(max_size=12)
ids = st.binary(min_size=16, max_size=16).filter(any)
versions = st.integers(2, 10)


@st.composite
def requests(draw: st.DrawFn) -> tuple[OffsetCommitRequest, int]:
    version = draw(versions)

    def partition() -> OffsetCommitRequestPartition:
        return OffsetCommitRequestPartition(
            partition_index=draw(int32),
            committed_offset=draw(int64),
            committed_leader_epoch=draw(int32) if version >= 6 else -1,
            committed_metadata=draw(st.none() | names),
        )

    request = OffsetCommitRequest(
        group_id=draw(names),
        generation_id_or_member_epoch=draw(int32),
        member_id=draw(names),
        group_instance_id=draw(st.none() | names) if version >= 7 else None,
        topics=[
            OffsetCommitRequestTopic(
                name=draw(names) if version < 10 else "",
                topic_id=draw(ids) if version >= 10 else bytes(16),
                partitions=[partition() for _ in range(draw(st.integers(1, 3)))],
            )
            for _ in range(draw(st.integers(1, 3)))
        ],
    )
    return request, version


def plan_of(request: OffsetCommitRequest, version: int) -> Any:
    return (
        request.group_id,
        request.generation_id_or_member_epoch,
        request.member_id,
        request.group_instance_id,
        [
            (
                topic.topic_id if version >= 10 else topic.name,
                [
                    (
                        row.partition_index,
                        row.committed_offset,
                        row.committed_leader_epoch,
                        row.committed_metadata or "",
                    )
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ],
    )


def parsed(data: bytes, version: int) -> Any:
    # Set into a larger buffer: a kernel that looks past its range would find something there.
    framed = memoryview(bytearray(b"\x01" * 7 + data + b"\x01" * 7))
    return commits.parse_commit(framed, 7, 7 + len(data), version)


@given(requests())
@settings(max_examples=300, deadline=None)
def test_a_commit_is_read_as_the_generated_class_reads_it(case: tuple[OffsetCommitRequest, int]) -> None:
    request, version = case
    assert parsed(request.encode(version), version) == plan_of(request, version)


@given(st.data())
@settings(max_examples=500, deadline=None)
def test_what_the_kernel_takes_from_damaged_bytes_the_generated_class_takes_too(data: st.DataObject) -> None:
    request, version = data.draw(requests())
    broken = bytearray(request.encode(version))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, max(0, len(broken) - 1)))
        match data.draw(st.sampled_from(("flip", "cut", "insert"))):
            case "flip" if broken:
                broken[place] = data.draw(st.integers(0, 255))
            case "cut":
                del broken[place:]
            case _:
                broken[place:place] = data.draw(st.binary(min_size=1, max_size=5))
    plan = parsed(bytes(broken), version)
    if plan is not None:
        assert plan == plan_of(OffsetCommitRequest.decode(bytes(broken), version), version)


@given(st.binary(max_size=200), st.integers(-1, 12))
@settings(max_examples=500, deadline=None)
def test_random_bytes_are_declined_or_read_like_the_generated_class(data: bytes, version: int) -> None:
    if parsed(data, version) is not None:
        OffsetCommitRequest.decode(data, version)


def commit_of(version: int, topics: int, partitions: int, **fields: Any) -> bytes:
    rows = [OffsetCommitRequestPartition(partition_index=number) for number in range(partitions)]
    named = [OffsetCommitRequestTopic(name="t", partitions=rows) for _ in range(topics)]
    return OffsetCommitRequest(group_id="g", topics=named, **fields).encode(version)


def test_what_is_not_a_plain_commit_is_left_to_others() -> None:
    assert parsed(commit_of(4, 1, 1), 4) is not None
    assert parsed(commit_of(4, 1, 1, retention_time_ms=1000), 4) is None
    assert parsed(commit_of(8, 0, 0), 8) is None
    assert parsed(commit_of(8, 1, 0), 8) is None
    assert parsed(commit_of(8, 1, 63), 8) is not None
    assert parsed(commit_of(8, 1, 64), 8) is None
    assert parsed(commit_of(8, 33, 1), 8) is None
    assert parsed(commit_of(8, 1, 1) + b"\0", 8) is None
    assert commits.parse_commit(commit_of(8, 1, 1), 0, 10_000, 8) is None


@given(requests(), int32, int16)
@settings(max_examples=300, deadline=None)
def test_an_answer_is_written_as_the_generated_class_writes_it(
    case: tuple[OffsetCommitRequest, int], correlation_id: int, error: int
) -> None:
    request, version = case
    response = OffsetCommitResponse(
        topics=[
            OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponsePartition(partition_index=row.partition_index, error_code=error)
                    for row in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
    expected = encode_response(response, version, correlation_id, b"\0" if version >= 8 else b"")
    topics = plan_of(request, version)[-1]
    assert commits.encode_commit(version, correlation_id, topics, error) == b"".join(map(bytes, expected))  # type: ignore[arg-type]


committed_rows = st.lists(st.tuples(names, ids, int32, int64, int32, names), min_size=1, max_size=5)


@given(st.lists(st.tuples(names, committed_rows), min_size=1, max_size=4), st.integers(0, 2**62))
@settings(max_examples=300, deadline=None)
def test_records_are_written_as_the_generated_classes_write_them(asked: list[tuple[str, Any]], now: int) -> None:
    builder = BatchBuilder()
    for group, rows in asked:
        for topic, topic_id, partition, offset, leader_epoch, metadata in rows:
            committed = CommittedOffset(offset, leader_epoch, metadata, now, None, topic_id)
            record = offset_record(group, TopicPartition(topic, partition), committed)
            builder.append(now, encode_key(record.key), run_whole(encode_value(record)), ())
    assert commits.offset_batch(asked, now) == builder.build()


def test_what_a_record_cannot_hold_is_left_to_others() -> None:
    row = ("t", b"i" * 16, 0, 0, 0, "")
    good = ("g", [row])
    assert commits.offset_batch([good, ("g" * 32767, [row])], 1) is not None
    assert commits.offset_batch([good, ("g" * 32768, [row])], 1) is None
    assert commits.offset_batch([good, ("g", [("t" * 32768, *row[1:])])], 1) is None
    assert commits.offset_batch([good, ("g", [(*row[:5], "m" * 32768)])], 1) is None


@given(st.text(max_size=40))
@settings(max_examples=300, deadline=None)
def test_the_hash_of_an_id_is_that_of_java(text: str) -> None:
    assert commits.java_hash(text) == (java_hash(text) if text.isascii() else None)
