"""Requests that are built once and sent as they are, and the places in them and in their answers that matter."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import NamedTuple

from bench.conversation import frame, response_body_at
from moldau.protocol.messages.fetch import (
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from moldau.protocol.records import encode_batch
from moldau.types import ZERO_UUID, Uuid

RECORD_BYTES = 100
RECORD_OVERHEAD = 12  # of such a record inside a batch, at most
BATCH_OVERHEAD = 61
TIMESTAMP = 1_700_000_000_000
FETCH_BY_ID = 13  # from this version on topics are named by their ids


class Frame(NamedTuple):
    data: bytes
    records: int  # in the batch of a produce request
    error_at: int  # the error code in the answer
    offset_at: int = 0  # the fetch offset in the request


def batch_of(size: int) -> tuple[bytes, int]:
    """A batch of at most this many bytes, of 100-byte records that do not compress; and how many they are."""
    count = max(1, (size - BATCH_OVERHEAD) // (RECORD_BYTES + RECORD_OVERHEAD))
    chance = random.Random(count)
    records = [(TIMESTAMP + number // 10, None, chance.randbytes(RECORD_BYTES), ()) for number in range(count)]
    return encode_batch(records), count


def produce_frame(topic: str, size: int, version: int, acks: int = -1) -> Frame:
    batch, count = batch_of(size)
    request = ProduceRequest(
        acks=acks,
        timeout_ms=30_000,
        topic_data=[TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=batch)])],
    )

    def answer(code: int) -> bytes:
        part = PartitionProduceResponse(index=0, error_code=code)
        return ProduceResponse(responses=[TopicProduceResponse(name=topic, partition_responses=[part])]).encode(version)

    return Frame(frame(request, version), count, response_body_at(request.API_KEY, version) + place_of(answer))


def fetch_frame(topic: str, topic_id: Uuid, size: int, version: int) -> Frame:
    name, id_ = ("", topic_id) if version >= FETCH_BY_ID else (topic, ZERO_UUID)

    def ask(offset: int) -> bytes:
        part = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=size)
        return frame(
            FetchRequest(
                max_wait_ms=500,
                min_bytes=1,
                max_bytes=size,
                session_epoch=-1,
                topics=[FetchTopic(topic=name, topic_id=id_, partitions=[part])],
            ),
            version,
        )

    def answer(code: int) -> bytes:
        part = PartitionData(partition_index=0, error_code=code, high_watermark=0)
        answered = FetchableTopicResponse(topic=name, topic_id=id_, partitions=[part])
        return FetchResponse(responses=[answered]).encode(version)

    error_at = response_body_at(FetchRequest.API_KEY, version) + place_of(answer)
    return Frame(ask(0), 0, error_at, place_of(ask))


def place_of(encoded: Callable[[int], bytes]) -> int:
    """Where an integer lies in an encoding: where the encodings of 0 and of -1, all bits set, begin to differ."""
    zero, ones = encoded(0), encoded(-1)
    assert len(zero) == len(ones)
    return next(place for place, pair in enumerate(zip(zero, ones, strict=True)) if pair[0] != pair[1])
