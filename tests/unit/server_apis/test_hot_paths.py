"""Produce and Fetch answer the same by the compiled way and through the generated classes, whatever they are sent."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from in_process_node import InProcessNode

from moldau import _speed
from moldau.errors import ErrorCode
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, ForgottenTopic
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.records import Compression, Record, encode_batch

pytestmark = pytest.mark.skipif(not _speed.COMPILED, reason="the kernels are not compiled: there is only one way")

TOPICS = {"plain": {}, "keyed": {"cleanup.policy": "compact"}, "stamped": {"message.timestamp.type": "LogAppendTime"}}


class Pair:
    """Two nodes that get the same requests; topics differ in their ids only."""

    def __init__(self, directory: Path) -> None:
        self.nodes = [
            InProcessNode(directory / name, compiled=name == "compiled") for name in ("compiled", "generated")
        ]
        self.ids: list[dict[str, bytes]] = [
            {name: node.create_topic(name, 2, **configs) for name, configs in TOPICS.items()} for node in self.nodes
        ]

    def ask(self, build: Any, version: int, response: type[Any]) -> tuple[Any, Any]:
        answers = [node.ask(build(ids), version, response) for node, ids in zip(self.nodes, self.ids, strict=True)]
        return answers[0], answers[1]

    def plain(self, answer: Any, ids: dict[str, bytes]) -> Any:
        """An answer without what must differ between two nodes: ids, sessions, the moment of appending."""
        names = {topic_id: name for name, topic_id in ids.items()}
        if answer is None:
            return None
        if isinstance(answer, str):
            return without_position(answer)
        for topic in answer.responses:
            if topic.topic_id in names:
                topic.topic_id = names[topic.topic_id].encode().ljust(16)
            for partition in getattr(topic, "partition_responses", ()):
                if partition.log_append_time_ms > 0:
                    partition.log_append_time_ms = 1
                if partition.error_message is not None:
                    partition.error_message = without_position(partition.error_message)
            for partition in getattr(topic, "partitions", ()):
                if partition.records is not None:
                    # The stamp of the broker, and the checksum that covers it.
                    partition.records = len(partition.records) if topic_is_stamped(topic) else bytes(partition.records)
        if isinstance(answer, FetchResponse):
            answer.session_id = min(answer.session_id, 1)
            for node in answer.node_endpoints:
                node.port = 0
        return answer

    def assert_same(self, build: Any, version: int, response: type[Any]) -> Any:
        one, other = self.ask(build, version, response)
        one, other = self.plain(one, self.ids[0]), self.plain(other, self.ids[1])
        assert one == other
        return one

    def close(self) -> None:
        for node in self.nodes:
            node.close()


def without_position(message: str) -> str:
    """Where damage lies is counted in the frame by one, in the batch by the other."""
    return re.sub(r"position \d+", "position", message)


def topic_is_stamped(topic: Any) -> bool:
    return topic.topic == "stamped" or topic.topic_id.rstrip() == b"stamped"


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    pair = Pair(tmp_path_factory.mktemp("nodes"))
    yield pair
    pair.close()


def batch(random: Random) -> bytes | None:
    """Mostly good batches; some are null, empty, damaged, doubled, keyless or of another magic."""
    count = random.randint(1, 5)
    records = [
        Record(
            index, 1_700_000_000_000 + index, random.choice((None, b"k")), random.randbytes(random.randint(0, 60)), []
        )
        for index in range(count)
    ]
    good = encode_batch(records, compression=random.choice(list(Compression)))
    match random.randint(0, 15):
        case 0:
            return None
        case 1:
            return b""
        case 2:
            return good[: random.randint(1, len(good) - 1)]
        case 3:
            return good + good
        case 4:
            position = random.randrange(len(good))
            return good[:position] + bytes([good[position] ^ 0x55]) + good[position + 1 :]
        case 5:
            return good[:16] + b"\x01" + good[17:]
    return good


def topic_name(random: Random) -> str:
    return random.choice((*TOPICS, "plain", "plain", "absent"))


def produce_request(random: Random, version: int) -> Any:
    topics = [
        (topic_name(random), [(random.choice((0, 0, 1, 7)), batch(random)) for _ in range(random.randint(1, 2))])
        for _ in range(random.randint(1, 3))
    ]
    acks = random.choice((1, 1, -1, 0, 2))

    def build(ids: dict[str, bytes]) -> ProduceRequest:
        return ProduceRequest(
            acks=acks,
            timeout_ms=1000,
            topic_data=[
                TopicProduceData(
                    name=name if version < 13 else "",
                    topic_id=ids.get(name, b"absent".ljust(16)) if version >= 13 else bytes(16),
                    partition_data=[PartitionProduceData(index=index, records=data) for index, data in partitions],
                )
                for name, partitions in topics
            ],
        )

    return build


def fetch_request(random: Random, version: int, session: tuple[int, int]) -> Any:
    topics = [
        (
            topic_name(random),
            [
                FetchPartition(
                    partition=random.choice((0, 0, 1, 7)),
                    fetch_offset=random.choice((0, 1, 3, 10**9)),
                    partition_max_bytes=random.choice((0, 1, 200, 1 << 20)),
                    current_leader_epoch=random.choice((-1, 0, 99)) if version >= 9 else -1,
                    last_fetched_epoch=random.choice((-1, 0, 50)) if version >= 12 else -1,
                )
                for _ in range(random.randint(1, 2))
            ],
        )
        for _ in range(random.randint(0, 3))
    ]
    limits = random.choice((1 << 20, 300, 1))
    isolation, max_wait = random.randint(0, 1), random.randint(0, 1)
    forgets = version >= 7 and random.random() < 0.2

    def build(ids: dict[str, bytes]) -> FetchRequest:
        def topic_id(name: str) -> bytes:
            return ids.get(name, b"absent".ljust(16)) if version >= 13 else bytes(16)

        return FetchRequest(
            max_wait_ms=max_wait,
            min_bytes=1,
            max_bytes=limits,
            isolation_level=isolation,
            session_id=session[0] if version >= 7 else 0,
            session_epoch=session[1] if version >= 7 else -1,
            topics=[
                FetchTopic(topic=name if version < 13 else "", topic_id=topic_id(name), partitions=partitions)
                for name, partitions in topics
            ],
            forgotten_topics_data=[
                ForgottenTopic(topic="plain" if version < 13 else "", topic_id=topic_id("plain"), partitions=[0])
            ]
            if forgets
            else [],
        )

    return build


@pytest.mark.parametrize("seed", range(8))
def test_both_ways_answer_the_same(pair: Pair, seed: int) -> None:
    random = Random(seed)
    for _ in range(60):
        version = random.randint(3, 13)
        pair.assert_same(produce_request(random, version), version, ProduceResponse)
        version = random.randint(4, 18)
        session = random.choice(((0, -1), (0, 0), (5, 3)))
        pair.assert_same(fetch_request(random, version, session), version, FetchResponse)


@pytest.mark.parametrize("version", range(3, 14))
def test_what_is_produced_is_fetched(pair: Pair, version: int) -> None:
    data = encode_batch([Record(0, 1_700_000_000_000, b"key", b"value-%d" % version, [])])

    def produce(ids: dict[str, bytes]) -> ProduceRequest:
        topic = TopicProduceData(topic_id=ids["keyed"]) if version >= 13 else TopicProduceData(name="keyed")
        topic.partition_data = [PartitionProduceData(index=1, records=data)]
        return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic])

    answer = pair.assert_same(produce, version, ProduceResponse)
    outcome = answer.responses[0].partition_responses[0]
    assert outcome.error_code == ErrorCode.NONE

    def fetch(ids: dict[str, bytes]) -> FetchRequest:
        asked = FetchPartition(partition=1, fetch_offset=outcome.base_offset, partition_max_bytes=1 << 20)
        return FetchRequest(min_bytes=1, topics=[FetchTopic(topic="keyed", partitions=[asked])])

    found = pair.assert_same(fetch, 11, FetchResponse).responses[0].partitions[0]
    assert found.high_watermark == outcome.base_offset + 1
    assert b"value-%d" % version in found.records
