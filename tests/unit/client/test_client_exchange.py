"""One connection's protocol, frame by frame, without a socket."""

from __future__ import annotations

from struct import pack
from typing import Any

import pytest

from moldau.errors import ErrorCode, KafkaError, ProtocolError
from moldau.links.errors import ConnectionFailed, UnsupportedRequest
from moldau.links.exchange import Exchange
from moldau.protocol.api import ApiKey, request_header_version, response_header_version
from moldau.protocol.messages.api_versions import ApiVersion, ApiVersionsResponse
from moldau.protocol.messages.delete_records import DeleteRecordsRequest
from moldau.protocol.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.protocol.messages.request_header import RequestHeader
from moldau.protocol.wire import Reader


def sent(exchange: Exchange) -> list[tuple[int, int, int]]:
    """(API key, version, correlation id) of the frames that go out; every frame is complete and well formed."""
    stream = b"".join(exchange.take_outgoing())
    frames = []
    while stream:
        size = int.from_bytes(stream[:4], "big")
        frame, stream = stream[4 : 4 + size], stream[4 + size :]
        assert len(frame) == size
        key, version = int.from_bytes(frame[:2], "big"), int.from_bytes(frame[2:4], "big")
        header = RequestHeader.read(Reader(frame), request_header_version(key, version))
        assert header.client_id == "tester"
        frames.append((key, version, header.correlation_id))
    return frames


def answer(exchange: Exchange, correlation_id: int, key: int, version: int, response: Any) -> None:
    tags = b"\0" if response_header_version(key, version) else b""
    exchange.frame(memoryview(pack(">i", correlation_id) + tags + response.encode(version)))


def offer(ranges: dict[int, tuple[int, int]], error: int = 0) -> ApiVersionsResponse:
    return ApiVersionsResponse(
        error_code=error,
        api_keys=[ApiVersion(api_key=key, min_version=low, max_version=high) for key, (low, high) in ranges.items()],
    )


def agreed(ranges: dict[int, tuple[int, int]], **options: Any) -> Exchange:
    exchange = Exchange("tester", **options)
    ((key, version, correlation_id),) = sent(exchange)
    answer(exchange, correlation_id, key, version, offer(ranges))
    return exchange


def test_versions_are_agreed_on_before_anything_else_is_sent() -> None:
    exchange = Exchange("tester")
    call = exchange.call(MetadataRequest(topics=[]))
    assert sent(exchange) == [(ApiKey.API_VERSIONS, 4, 0)]
    answer(exchange, 0, ApiKey.API_VERSIONS, 4, offer({ApiKey.METADATA: (0, 9)}))
    assert sent(exchange) == [(ApiKey.METADATA, 9, 1)]
    answer(exchange, 1, ApiKey.METADATA, 9, MetadataResponse(cluster_id="prague"))
    assert call.result().cluster_id == "prague"


def test_the_highest_common_version_not_above_a_limit() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 99), ApiKey.LIST_OFFSETS: (0, 5)})
    exchange.call(MetadataRequest(topics=[]))
    exchange.call(MetadataRequest(topics=[]), at_most=5)
    exchange.call(ListOffsetsRequest())
    assert [version for _, version, _ in sent(exchange)] == [MetadataRequest.MAX_VERSION, 5, 5]


def test_long_requests_are_as_well_formed_as_short_ones() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)})
    for length in (10, 4000, 4096, 5000):
        exchange.call(MetadataRequest(topics=[MetadataRequestTopic(name="t" * length)]), at_most=8)
        exchange.call(MetadataRequest(topics=[MetadataRequestTopic(name="t" * length)]))
    assert [version for _, version, _ in sent(exchange)] == [8, 9, 8, 9, 8]
    for number in range(1, 6):
        answer(exchange, number, ApiKey.METADATA, 9 - number % 2, MetadataResponse())
    assert [version for _, version, _ in sent(exchange)] == [9, 8, 9]


def test_a_refused_version_is_followed_by_one_the_node_knows() -> None:
    exchange = Exchange("tester")
    sent(exchange)
    refusal = offer({ApiKey.API_VERSIONS: (0, 2)}, ErrorCode.UNSUPPORTED_VERSION)
    exchange.frame(memoryview(pack(">i", 0) + refusal.encode(0)))
    assert sent(exchange) == [(ApiKey.API_VERSIONS, 2, 1)]
    answer(exchange, 1, ApiKey.API_VERSIONS, 2, offer({ApiKey.METADATA: (0, 1)}))
    assert exchange.versions is not None
    assert exchange.versions.ranges == {ApiKey.METADATA: (0, 1)}


def test_a_refusal_that_cannot_be_read_leads_to_version_0() -> None:
    """librdkafka's test broker answers like this."""
    exchange = Exchange("tester")
    sent(exchange)
    exchange.frame(memoryview(b"\0\0\0\0\x00\x23\x01\x00\x12\x00\x00\x00\x02\x00\x00\x00\x00"))
    assert sent(exchange) == [(ApiKey.API_VERSIONS, 0, 1)]


def test_a_node_that_keeps_offering_the_refused_version_is_not_asked_for_ever() -> None:
    exchange = Exchange("tester")
    refusal = offer({ApiKey.API_VERSIONS: (0, 4)}, ErrorCode.UNSUPPORTED_VERSION).encode(0)
    for expected in (4, 3, 2, 1):
        ((_, version, correlation_id),) = sent(exchange)
        assert version == expected
        exchange.frame(memoryview(pack(">i", correlation_id) + refusal))
    ((_, version, correlation_id),) = sent(exchange)
    assert version == 0
    with pytest.raises(KafkaError, match="refused ApiVersions"):
        exchange.frame(memoryview(pack(">i", correlation_id) + refusal))


def test_answers_go_to_their_requests_in_order() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)})
    calls = [exchange.call(MetadataRequest(topics=[])) for _ in range(3)]
    for _, _, correlation_id in sent(exchange):
        answer(exchange, correlation_id, ApiKey.METADATA, 9, MetadataResponse(cluster_id=str(correlation_id)))
    assert [call.result().cluster_id for call in calls] == ["1", "2", "3"]


def test_no_more_in_flight_than_allowed() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)}, max_in_flight=2)
    for _ in range(4):
        exchange.call(MetadataRequest(topics=[]))
    assert len(sent(exchange)) == 2
    answer(exchange, 1, ApiKey.METADATA, 9, MetadataResponse())
    assert sent(exchange) == [(ApiKey.METADATA, 9, 3)]
    assert exchange.unanswered == 2


def test_what_is_not_answered_takes_no_place() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)}, max_in_flight=1)
    calls = [exchange.call(MetadataRequest(topics=[]), answered=False) for _ in range(3)]
    assert [call.result() for call in calls] == [None] * 3
    assert len(sent(exchange)) == 3
    assert exchange.idle


def test_an_answer_that_was_not_wanted_is_passed_over() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)})
    exchange.call(MetadataRequest(topics=[]), answered=False)
    wanted = exchange.call(MetadataRequest(topics=[]))
    answer(exchange, 1, ApiKey.METADATA, 9, MetadataResponse())
    answer(exchange, 2, ApiKey.METADATA, 9, MetadataResponse(cluster_id="wanted"))
    assert wanted.result().cluster_id == "wanted"


def test_what_the_node_does_not_offer_fails_alone() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9), ApiKey.DELETE_RECORDS: (50, 60)})
    missing, distant = exchange.call(ListOffsetsRequest()), exchange.call(DeleteRecordsRequest())
    fine = exchange.call(MetadataRequest(topics=[]))
    with pytest.raises(UnsupportedRequest, match="does not offer ListOffsets"):
        missing.result()
    with pytest.raises(UnsupportedRequest, match="DeleteRecords in versions 50 to 60"):
        distant.result()
    assert len(sent(exchange)) == 1
    assert not fine.settled


def test_what_a_version_cannot_say_fails_alone() -> None:
    exchange = agreed({ApiKey.LIST_OFFSETS: (0, 1), ApiKey.METADATA: (0, 9)})
    call = exchange.call(ListOffsetsRequest(isolation_level=1))
    with pytest.raises(KafkaError, match="isolation_level"):
        call.result()
    assert exchange.idle
    exchange.call(MetadataRequest(topics=[]))
    assert len(sent(exchange)) == 1


def test_bytes_behind_an_answer_do_no_harm() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)})
    call = exchange.call(MetadataRequest(topics=[]))
    exchange.frame(memoryview(b"\0\0\0\1\0" + MetadataResponse(cluster_id="c").encode(9) + b"\0"))
    assert call.result().cluster_id == "c"


@pytest.mark.parametrize(
    ("frame", "complaint"),
    [
        (b"\0\0\0\7\0", "request 7 while request 1"),
        (b"\0\0", "without a correlation id"),
        (b"\0\0\0\1\0" + ListOffsetsResponse().encode(11)[:3], "Metadata version 9 cannot be read"),
    ],
)
def test_nonsense_ends_the_connection(frame: bytes, complaint: str) -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)})
    call = exchange.call(MetadataRequest(topics=[]))
    with pytest.raises(ProtocolError, match=complaint) as caught:
        exchange.frame(memoryview(frame))
    exchange.lost(caught.value)
    with pytest.raises(ProtocolError):
        call.result()


def test_an_answer_nobody_asked_for() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)})
    with pytest.raises(ProtocolError, match="no request"):
        exchange.frame(memoryview(b"\0\0\0\1"))


def test_a_lost_connection_settles_everything_once() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)}, max_in_flight=1)
    calls = [exchange.call(MetadataRequest(topics=[])) for _ in range(3)]
    exchange.lost(ConnectionFailed("gone"))
    exchange.lost(ConnectionFailed("gone again"))
    calls.append(exchange.call(MetadataRequest(topics=[])))
    for call in calls:
        with pytest.raises(ConnectionFailed, match=r"^gone$"):
            call.result()
    assert exchange.take_outgoing() == []


def test_correlation_ids_start_over() -> None:
    exchange = agreed({ApiKey.METADATA: (0, 9)})
    exchange._next_correlation = 0x7FFFFFFF
    exchange.call(MetadataRequest(topics=[]))
    exchange.call(MetadataRequest(topics=[]))
    assert [correlation_id for _, _, correlation_id in sent(exchange)] == [0x7FFFFFFF, 0]
