"""Requests that are built once and sent as they are, and the places in them and in their answers that matter."""

from __future__ import annotations

import random
import time
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
from moldau.protocol.records import Compression, encode_batch
from moldau.types import ZERO_UUID, Uuid

RECORD_OVERHEAD = 12  # of a record inside a batch, at most
BATCH_OVERHEAD = 61
FETCH_BY_ID = 13  # from this version on topics are named by their ids
WORDS = [b"amber", b"barge", b"current", b"delta", b"eddy", b"ford", b"gorge", b"harbour", b"island", b"jetty"]


class Frame(NamedTuple):
    """One request, or one for each partition, all of the same length."""

    data: bytes
    records: int  # in the batch of a produce request
    error_at: int  # the error code in the answer
    offset_at: int = 0  # the fetch offset in the request
    payload: int = 0  # bytes of record values in one request, before compression


def values_of(count: int, size: int) -> list[bytes]:
    """Values as programs write them, half text and half numbers, the same every time: about half of it compresses."""
    chance = random.Random(count * size)
    half = size // 2
    return [(b"".join(chance.choices(WORDS, k=half // 4))[:half] + chance.randbytes(size - half)) for _ in range(count)]


def batch_of(size: int, record: int = 100, codec: Compression = Compression.NONE) -> tuple[bytes, int]:
    """A batch of at most this many bytes before compression, and how many records are in it."""
    count = max(1, (size - BATCH_OVERHEAD) // (record + RECORD_OVERHEAD))
    now = int(time.time() * 1000)
    records = [(now + number // 10, None, value, ()) for number, value in enumerate(values_of(count, record))]
    return encode_batch(records, compression=codec), count


def produce_frame(
    topic: str,
    size: int,
    version: int,
    acks: int = -1,
    *,
    record: int = 100,
    codec: Compression = Compression.NONE,
    partitions: int = 1,
) -> Frame:
    """One batch to each of the partitions in turn."""
    batch, count = batch_of(size, record, codec)

    def ask(index: int) -> bytes:
        part = PartitionProduceData(index=index, records=batch)
        topics = [TopicProduceData(name=topic, partition_data=[part])]
        return frame(ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=topics), version)

    def answer(code: int) -> bytes:
        part = PartitionProduceResponse(index=0, error_code=code)
        return ProduceResponse(responses=[TopicProduceResponse(name=topic, partition_responses=[part])]).encode(version)

    error_at = response_body_at(ProduceRequest.API_KEY, version) + place_of(answer)
    return Frame(b"".join(map(ask, range(partitions))), count, error_at, payload=count * record)


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
