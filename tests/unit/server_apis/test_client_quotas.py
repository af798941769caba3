"""A client above its quota is answered, told to wait and not listened to meanwhile; no other one is."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
    RequestEntityData,
    RequestEntryData,
)
from moldau.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from moldau.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.metadata import MetadataRequest, MetadataResponse
from moldau.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.protocol.records import Record, encode_batch

EXCEEDED = 89


class Clock:
    """Of the quotas: time goes on when the test says so."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture(params=[True, False], ids=["compiled", "generated"])
def node(request: pytest.FixtureRequest, tmp_path: Path, clock: Clock) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path, compiled=request.param)
    node.node.services.client_quotas._now = clock
    yield node
    node.close()


def limit(node: InProcessNode, entity: dict[str, str | None], **values: float) -> None:
    entry = RequestEntryData(
        entity=[RequestEntityData(entity_type=kind, entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value) for key, value in values.items()],
    )
    answer = node.ask(AlterClientQuotasRequest(entries=[entry]), 1, AlterClientQuotasResponse)
    assert [row.error_code for row in answer.entries] == [0]


def produce_request(topic: str, size: int, acks: int = 1) -> ProduceRequest:
    batch = encode_batch([Record(0, 1_750_000_000_000, None, bytes(size))])
    rows = [PartitionProduceData(index=0, records=batch)]
    return ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=rows)])


def produce(node: InProcessNode, topic: str, size: int) -> ProduceResponse:
    answer: ProduceResponse = node.ask(produce_request(topic, size), 9, ProduceResponse)
    assert answer.responses[0].partition_responses[0].error_code == 0
    return answer


def fetch(
    node: InProcessNode, topic: str, at: int = 0, *, max_bytes: int = 1 << 20, replica: int = -1
) -> FetchResponse:
    asked = FetchPartition(partition=0, fetch_offset=at, partition_max_bytes=max_bytes)
    request = FetchRequest(
        replica_id=replica,
        max_wait_ms=0,
        min_bytes=0,
        max_bytes=max_bytes,
        topics=[FetchTopic(topic=topic, partitions=[asked])],
    )
    answer: FetchResponse = node.ask(request, 12, FetchResponse)
    return answer


def fetched(answer: FetchResponse) -> int:
    return sum(len(part.records or b"") for topic in answer.responses for part in topic.partitions)


@pytest.mark.parametrize("entity", [{"user": "ANONYMOUS"}, {"client-id": "test"}, {"user": None, "client-id": None}])
def test_who_produces_too_much_waits(node: InProcessNode, clock: Clock, entity: dict[str, str | None]) -> None:
    node.create_topic("rivers")
    limit(node, entity, producer_byte_rate=1000)
    assert produce(node, "rivers", 500).throttle_time_ms == 0
    told = produce(node, "rivers", 10_000).throttle_time_ms
    # What was sent and the requests around it, of which a second is given in advance.
    assert 9_500 < told < 10_500
    clock.now += told / 1000
    assert produce(node, "rivers", 10).throttle_time_ms < 1_500
    # The answer came, so it was written.
    assert fetched(fetch(node, "rivers")) > 10_500


def test_somebody_else_does_not(node: InProcessNode) -> None:
    node.create_topic("rivers")
    limit(node, {"client-id": "other"}, producer_byte_rate=1, consumer_byte_rate=1, request_percentage=0.0001)
    limit(node, {"user": "other"}, producer_byte_rate=1, consumer_byte_rate=1)
    assert produce(node, "rivers", 100_000).throttle_time_ms == 0
    assert fetch(node, "rivers").throttle_time_ms == 0


def test_he_is_not_listened_to_meanwhile(node: InProcessNode) -> None:
    node.create_topic("rivers")
    limit(node, {"client-id": "test"}, producer_byte_rate=1000)
    for acks in (1, 0):
        wire = Wire()
        node.send(wire, request_frame(produce_request("rivers", 100_000, acks), 9))
        assert wire.paused
        assert len(wire.sent) == acks
    # Others are.
    other = Wire()
    node.send(other, request_frame(MetadataRequest(topics=[]), 9))
    assert len(other.sent) == 1
    assert not other.paused


def test_who_fetches_too_much_waits_and_gets_a_batch_all_the_same(node: InProcessNode, clock: Clock) -> None:
    node.create_topic("rivers")
    for _ in range(40):
        produce(node, "rivers", 1_000)
    limit(node, {"client-id": "test"}, consumer_byte_rate=1000)
    first = fetch(node, "rivers")
    assert 900 < fetched(first) < 1_500
    assert first.throttle_time_ms < 100
    assert 900 < fetch(node, "rivers", 1).throttle_time_ms < 1_500
    # A broker that follows is held to nothing.
    assert fetch(node, "rivers", replica=2).throttle_time_ms == 0


def test_who_has_said_to_be_a_broker_is_held_to_what_he_produces(node: InProcessNode) -> None:
    node.create_topic("rivers")
    limit(node, {"client-id": "test"}, producer_byte_rate=1000)
    wire = Wire()
    connection = node.connect(wire)
    asked = FetchPartition(partition=0, partition_max_bytes=100)
    topics = [FetchTopic(topic="rivers", partitions=[asked])]
    for request, version in (
        (FetchRequest(replica_id=2, max_wait_ms=0, min_bytes=0, max_bytes=100, topics=topics), 12),
        (produce_request("rivers", 100_000), 9),
    ):
        assert not wire.paused
        frame = request_frame(request, version)
        connection.frame(memoryview(frame), 0, len(frame))
    assert len(wire.sent) == 2
    assert wire.paused


def test_a_fetch_brings_a_quarter_of_what_is_allowed_in_a_second(node: InProcessNode) -> None:
    node.create_topic("rivers")
    for _ in range(40):
        produce(node, "rivers", 1_000)
    limit(node, {"client-id": "test"}, consumer_byte_rate=20_000)
    assert 3_000 < fetched(fetch(node, "rivers")) <= 5_000


def test_who_costs_too_much_time_waits_no_longer_than_a_sample(node: InProcessNode) -> None:
    limit(node, {"client-id": "test"}, request_percentage=0.000001)
    answer = node.ask(MetadataRequest(topics=[]), 9, MetadataResponse)
    assert answer.throttle_time_ms == 1000
    # The same for what has a way of its own.
    commit = node.ask(OffsetCommitRequest(group_id="g", topics=[]), 8, OffsetCommitResponse)
    assert commit.throttle_time_ms == 1000


def create(node: InProcessNode, version: int, **topics: int) -> Any:
    asked = [CreatableTopic(name=name, num_partitions=count, replication_factor=1) for name, count in topics.items()]
    answer = node.ask(CreateTopicsRequest(topics=asked, timeout_ms=5000), version, CreateTopicsResponse)
    return {row.name: row.error_code for row in answer.topics}, answer.throttle_time_ms


def test_changes_are_refused_when_they_are_used_up_and_come_back(node: InProcessNode, clock: Clock) -> None:
    limit(node, {"user": "ANONYMOUS"}, controller_mutation_rate=1)
    # Eleven are saved up, and lent beyond that: the next one waits.
    assert create(node, 6, a=20, b=1) == ({"a": 0, "b": EXCEEDED}, 9000)
    clock.now += 8.9
    assert create(node, 6, b=1)[0] == {"b": EXCEEDED}
    clock.now += 0.1
    # Who was given what he asked for waits for nothing.
    assert create(node, 6, b=1) == ({"b": 0}, 0)
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(name="b")], timeout_ms=5000)
    assert node.ask(delete, 6, DeleteTopicsResponse).responses[0].error_code == EXCEEDED
    more = CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="b", count=3, assignments=None)], timeout_ms=5000)
    assert node.ask(more, 3, CreatePartitionsResponse).results[0].error_code == EXCEEDED
    clock.now += 1
    assert node.ask(more, 3, CreatePartitionsResponse).results[0].error_code == 0
    clock.now += 2
    assert node.ask(delete, 6, DeleteTopicsResponse).responses[0].error_code == 0


def test_what_is_refused_for_another_reason_uses_up_nothing(node: InProcessNode) -> None:
    node.create_topic("a", 20)
    limit(node, {"user": "ANONYMOUS"}, controller_mutation_rate=1)
    exists, invalid, unknown = 36, 37, 3
    assert create(node, 6, a=20) == ({"a": exists}, 0)
    more = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name="a", count=19, assignments=None)], timeout_ms=5000
    )
    answer = node.ask(more, 3, CreatePartitionsResponse)
    assert (answer.results[0].error_code, answer.throttle_time_ms) == (invalid, 0)
    delete = DeleteTopicsRequest(topics=[DeleteTopicState(name="b")], timeout_ms=5000)
    assert node.ask(delete, 6, DeleteTopicsResponse).responses[0].error_code == unknown
    # All that is saved up is still there; what is only tried needs none of it.
    assert create(node, 6, c=20) == ({"c": 0}, 0)
    assert create(node, 6, d=1) == ({"d": EXCEEDED}, 9000)
    asked = [CreatableTopic(name="d", num_partitions=1, replication_factor=1)]
    tried = CreateTopicsRequest(topics=asked, timeout_ms=5000, validate_only=True)
    assert node.ask(tried, 6, CreateTopicsResponse).topics[0].error_code == 0


def test_who_does_not_know_the_error_is_served_and_waits_afterwards(node: InProcessNode) -> None:
    limit(node, {"user": "ANONYMOUS"}, controller_mutation_rate=1)
    assert create(node, 5, a=20) == ({"a": 0}, 9000)
    assert create(node, 5, b=1) == ({"b": 0}, 10_000)


def described(node: InProcessNode, *parts: tuple[str, int, str | None], strict: bool = False) -> list[dict[str, Any]]:
    components = [ComponentData(entity_type=kind, match_type=how, match=name) for kind, how, name in parts]
    answer = node.ask(
        DescribeClientQuotasRequest(components=components, strict=strict), 1, DescribeClientQuotasResponse
    )
    assert answer.error_code == 0, answer.error_message
    return [{part.entity_type: part.entity_name for part in entry.entity} for entry in answer.entries]


def test_quotas_are_described_by_filters(node: InProcessNode) -> None:
    one, two, three = {"user": "jan"}, {"user": "jan", "client-id": "app"}, {"user": None}
    for entity in (one, two, three):
        limit(node, entity, producer_byte_rate=1000)
    limit(node, {"ip": "127.0.0.9"}, connection_creation_rate=5)
    exact, nameless, any_name = 0, 1, 2
    assert len(described(node)) == 4
    assert described(node, ("user", exact, "jan")) == [one, two]
    assert described(node, ("user", exact, "jan"), strict=True) == [one]
    assert described(node, ("user", nameless, None)) == [three]
    assert described(node, ("user", any_name, None), strict=True) == [one, three]
    assert described(node, ("client-id", any_name, None)) == [two]
    assert described(node, ("ip", exact, "127.0.0.9")) == [{"ip": "127.0.0.9"}]
    refused = node.ask(
        DescribeClientQuotasRequest(components=[ComponentData(entity_type="group", match_type=2)]),
        1,
        DescribeClientQuotasResponse,
    )
    assert refused.error_code == 35
