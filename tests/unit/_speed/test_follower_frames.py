"""Followers' fetches and short answers: the kernel writes and reads what the generated classes do, or leaves it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from moldau import _speed
from moldau.protocol.messages.fetch import (
    AbortedTransaction,
    EpochEndOffset,
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from moldau.replica.source_fetch import SourceFetch, SourceLimits
from moldau.replica.source_session import Asked
from moldau.types import Uuid

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")

if _speed.COMPILED:
    from moldau._speed.following import encode_source_fetch, parse_source_answer

int32s = st.integers(0, 2**31 - 1)
int64s = st.integers(-1, 2**63 - 1)
keys = st.tuples(st.sampled_from([Uuid(bytes([number]) * 16) for number in range(3)]), st.integers(0, 5))
asked = st.builds(Asked, int64s, int64s, int32s, st.integers(-1, 100), int32s)
limits = st.builds(SourceLimits, st.text("abcXYZ-_0", min_size=1, max_size=200), int32s, int64s, int32s, int32s, int32s)


@given(
    limits,
    int32s,
    st.integers(-1, 2**31 - 1),
    st.dictionaries(keys, asked, max_size=8),
    st.lists(keys, max_size=5, unique=True),
    st.integers(15, 18),
)
def test_requests_are_written_alike(
    limits: SourceLimits, session_id: int, epoch: int, named: dict[object, Asked], gone: list[object], version: int
) -> None:
    request = SourceFetch(limits, session_id, epoch, list(named.items()), gone)  # type: ignore[arg-type]
    assert request.encode(version) == request.message().encode(version)
    assert request.message() == FetchRequest.decode(request.encode(version), version)


def test_versions_that_know_no_replica_state_are_left_to_the_generated_class() -> None:
    assert encode_source_fetch(14, 1, 1, 1, 0, 0, [], [], "c", 1, 1) is None
    assert encode_source_fetch(19, 1, 1, 1, 0, 0, [], [], "c", 1, 1) is None


partitions = st.builds(
    PartitionData,
    partition_index=int32s,
    high_watermark=int64s,
    last_stable_offset=int64s,
    log_start_offset=int64s,
    records=st.one_of(st.none(), st.binary(max_size=300)),
    aborted_transactions=st.one_of(st.none(), st.just([])),
)
topics = st.builds(
    FetchableTopicResponse,
    topic_id=st.sampled_from([Uuid(bytes([number]) * 16) for number in range(3)]),
    partitions=st.lists(partitions, max_size=4),
)
answers = st.builds(FetchResponse, session_id=int32s, throttle_time_ms=int32s, responses=st.lists(topics, max_size=4))


def frame(answer: FetchResponse, version: int) -> bytes:
    return b"\0\0\0\x07" + b"\0" + answer.encode(version)


@given(answers, st.integers(13, 18))
def test_short_answers_are_read_alike(answer: FetchResponse, version: int) -> None:
    data = frame(answer, version)
    session_id, rows = parse_source_answer(data, 4, version)
    assert session_id == answer.session_id
    assert [
        (topic, index, high_watermark, log_start, data[first:end])
        for topic, index, high_watermark, log_start, first, end in rows
    ] == [
        (topic.topic_id, part.partition_index, part.high_watermark, part.log_start_offset, bytes(part.records or b""))
        for topic in answer.responses
        for part in topic.partitions
    ]


@given(answers, st.integers(13, 18), st.data())
def test_what_is_cut_off_is_left(answer: FetchResponse, version: int, data: st.DataObject) -> None:
    whole = frame(answer, version)
    cut = data.draw(st.integers(0, len(whole) - 1))
    assert parse_source_answer(whole[:cut], 4, version) is None


def one(**fields: object) -> FetchResponse:
    part = PartitionData(partition_index=0, records=b"", **fields)  # type: ignore[arg-type]
    return FetchResponse(session_id=1, responses=[FetchableTopicResponse(topic_id=Uuid(b"t" * 16), partitions=[part])])


@pytest.mark.parametrize(
    "answer",
    [
        FetchResponse(error_code=71),
        one(error_code=6),
        one(diverging_epoch=EpochEndOffset(epoch=1, end_offset=5)),
        one(aborted_transactions=[AbortedTransaction(producer_id=1, first_offset=2)]),
        FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic_id=Uuid(b"t" * 16),
                    partitions=[PartitionData(partition_index=index, records=b"") for index in range(17)],
                )
            ]
        ),
        FetchResponse(
            responses=[
                FetchableTopicResponse(
                    topic_id=Uuid(b"t" * 16), partitions=[PartitionData(partition_index=0, records=b"x" * 33_000)]
                )
            ]
        ),
    ],
    ids=["refused", "a partition refused", "diverging", "aborted", "many partitions", "many records"],
)
def test_what_is_not_plain_is_left(answer: FetchResponse) -> None:
    assert parse_source_answer(frame(answer, 17), 4, 17) is None
    assert parse_source_answer(frame(one(), 17), 4, 17) is not None
    assert parse_source_answer(frame(one(), 17), 4, 12) is None
