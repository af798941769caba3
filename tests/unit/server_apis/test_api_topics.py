"""CreateTopics, DeleteTopics, CreatePartitions at all versions."""

from __future__ import annotations

import pytest
from api_kit import ApiWorld, versions
from controller_kit import code

from moldau.errors import ErrorCode
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from moldau.protocol.messages.create_topics import CreateTopicsRequest
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.server.apis.create_partitions import CREATE_PARTITIONS
from moldau.server.apis.create_topics import CREATE_TOPICS
from moldau.server.apis.delete_topics import DELETE_TOPICS
from moldau.types import ZERO_UUID


@pytest.mark.parametrize("version", versions(CREATE_TOPICS))
def test_creating(version: int) -> None:
    world = ApiWorld()
    world.create("known", 1, 1)
    request = CreateTopicsRequest(
        topics=[world.creation("fresh", 2, 1, configs={"retention.ms": "5"}), world.creation("known", 1, 1)]
    )
    fresh, known = world.call(CREATE_TOPICS, request, version).topics
    assert (fresh.name, fresh.error_code, fresh.error_message) == ("fresh", 0, None)
    assert code(known) is ErrorCode.TOPIC_ALREADY_EXISTS
    assert "known" in known.error_message
    if version >= 5:
        assert (fresh.num_partitions, fresh.replication_factor) == (2, 1)
        assert ("retention.ms", "5", 1) in [(c.name, c.value, c.config_source) for c in fresh.configs]
    topic = world.image.topics.get("fresh")
    assert topic is not None
    assert fresh.topic_id == (topic.id if version >= 7 else ZERO_UUID)


@pytest.mark.parametrize("version", versions(CREATE_TOPICS))
def test_a_request_refused_as_a_whole(version: int) -> None:
    world = ApiWorld()
    request = CreateTopicsRequest(topics=[world.creation("a", 9000, 1), world.creation("b", 9000, 1)])
    response = world.call(CREATE_TOPICS, request, version)
    assert [(topic.name, code(topic)) for topic in response.topics] == [
        ("a", ErrorCode.POLICY_VIOLATION),
        ("b", ErrorCode.POLICY_VIOLATION),
    ]


def test_a_node_without_a_controller_says_so() -> None:
    world = ApiWorld()
    world.services.controller = None
    response = world.call(CREATE_TOPICS, CreateTopicsRequest(topics=[world.creation("a", 1, 1)]), 7)
    assert code(response.topics[0]) is ErrorCode.NOT_CONTROLLER


@pytest.mark.parametrize("version", versions(DELETE_TOPICS))
def test_deleting(version: int) -> None:
    world = ApiWorld()
    world.create("orders", 1, 1)
    if version >= 6:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicState(name="orders"), DeleteTopicState(name="missing")], timeout_ms=10_000
        )
    else:
        request = DeleteTopicsRequest(topic_names=["orders", "missing"], timeout_ms=10_000)
    responses = world.call(DELETE_TOPICS, request, version).responses
    assert {response.name: code(response) for response in responses} == {
        "orders": ErrorCode.NONE,
        "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    assert not world.image.topics.by_name


@pytest.mark.parametrize("version", versions(DELETE_TOPICS))
def test_deleting_while_it_is_switched_off(version: int) -> None:
    world = ApiWorld({"delete.topic.enable": "false"})
    world.create("orders", 1, 1)
    if version >= 6:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=10_000)
    else:
        request = DeleteTopicsRequest(topic_names=["orders"], timeout_ms=10_000)
    response = world.call(DELETE_TOPICS, request, version).responses[0]
    assert code(response) is (ErrorCode.TOPIC_DELETION_DISABLED if version >= 3 else ErrorCode.INVALID_REQUEST)
    assert "orders" in world.image.topics.by_name


@pytest.mark.parametrize("version", versions(CREATE_PARTITIONS))
def test_more_partitions(version: int) -> None:
    world = ApiWorld()
    world.create("orders", 1, 1)
    request = CreatePartitionsRequest(
        topics=[
            CreatePartitionsTopic(name="orders", count=4, assignments=None),
            CreatePartitionsTopic(name="missing", count=4, assignments=None),
        ],
        timeout_ms=10_000,
    )
    grown, missing = world.call(CREATE_PARTITIONS, request, version).results
    assert (code(grown), grown.error_message) == (ErrorCode.NONE, None)
    assert code(missing) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    topic = world.image.topics.get("orders")
    assert topic is not None
    assert len(topic.partitions) == 4
