"""Metadata, DescribeTopicPartitions and DescribeCluster."""

from __future__ import annotations

import pytest
from api_kit import ApiWorld, versions
from controller_kit import CLUSTER, code

from moldau.errors import ErrorCode
from moldau.protocol.messages.broker_registration import Listener
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    RequestCursor,
    TopicRequest,
)
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from moldau.server.apis.describe_cluster import DESCRIBE_CLUSTER
from moldau.server.apis.describe_topic_partitions import DESCRIBE_TOPIC_PARTITIONS
from moldau.server.apis.metadata import METADATA
from moldau.storage.storage_error import StorageError
from moldau.types import ZERO_UUID


def _ask(world: ApiWorld, version: int, *names: str, create: bool = True, **fields: object) -> MetadataResponse:
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in names],
        allow_auto_topic_creation=create if version >= 4 else True,
        **fields,  # type: ignore[arg-type]
    )
    return world.call(METADATA, request, version)  # type: ignore[no-any-return]


@pytest.mark.parametrize("version", versions(METADATA))
def test_a_topic_at_every_version(version: int) -> None:
    world = ApiWorld(brokers=(1,))
    world.join(2, rack="north")
    world.create("orders", assignment={0: [2, 1]})
    response = _ask(world, version, "orders")
    topic = response.topics[0]
    partition = topic.partitions[0]
    assert (topic.error_code, topic.name, partition.error_code) == (0, "orders", 0)
    assert (partition.partition_index, partition.leader_id) == (0, 2)
    assert (partition.replica_nodes, partition.isr_nodes) == ([2, 1], [2, 1])
    assert {(broker.node_id, broker.host, broker.port) for broker in response.brokers} == {
        (1, "host1", 9092),
        (2, "host2", 9092),
    }
    if version >= 1:
        assert response.controller_id in (1, 2)
        assert [broker.rack for broker in response.brokers if broker.node_id == 2] == ["north"]
    if version >= 2:
        assert response.cluster_id == CLUSTER
    if version >= 7:
        assert partition.leader_epoch == 0
    known = world.image.topics.get("orders")
    assert known is not None
    assert topic.topic_id == (known.id if version >= 10 else ZERO_UUID)


@pytest.mark.parametrize("version", versions(METADATA))
def test_all_topics_and_no_topics(version: int) -> None:
    world = ApiWorld()
    world.create("a", 1, 1)
    world.create("b", 2, 1)
    empty = world.call(METADATA, MetadataRequest(topics=[]), version)
    if version == 0:
        assert {topic.name for topic in empty.topics} == {"a", "b"}
    else:
        assert empty.topics == []
        everything = world.call(METADATA, MetadataRequest(topics=None), version)
        assert {topic.name for topic in everything.topics} == {"a", "b"}
    assert len(empty.brokers) == 1


def test_asking_creates_the_topic_and_answers_with_its_leader() -> None:
    world = ApiWorld({"num.partitions": "3"})
    topic = _ask(world, 9, "fresh").topics[0]
    assert code(topic) is ErrorCode.NONE
    assert [(partition.partition_index, partition.leader_id) for partition in topic.partitions] == [
        (0, 1),
        (1, 1),
        (2, 1),
    ]
    assert "fresh" in world.image.topics.by_name


@pytest.mark.parametrize(("properties", "allowed"), [({}, False), ({"auto.create.topics.enable": "false"}, True)])
def test_creation_can_be_forbidden_by_either_side(properties: dict[str, str], allowed: bool) -> None:
    world = ApiWorld(properties)
    topic = _ask(world, 9, "fresh", create=allowed).topics[0]
    assert code(topic) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert not world.image.topics.by_name


def test_creation_that_fails_says_why() -> None:
    world = ApiWorld({"default.replication.factor": "3"})
    world.create("known", 1, 1)
    codes = {topic.name: code(topic) for topic in _ask(world, 9, "known", "fresh", "bad name").topics}
    assert codes == {
        "known": ErrorCode.NONE,
        "fresh": ErrorCode.INVALID_REPLICATION_FACTOR,
        "bad name": ErrorCode.INVALID_TOPIC_EXCEPTION,
    }
    full = ApiWorld()
    full.quorum.failures = [StorageError("/disk", "Appending", OSError(28, "full"))]
    assert code(_ask(full, 9, "other").topics[0]) is ErrorCode.LEADER_NOT_AVAILABLE
    assert code(_ask(full, 9, "other").topics[0]) is ErrorCode.NONE


def test_internal_topics_are_not_created_by_asking() -> None:
    world = ApiWorld()
    topic = _ask(world, 9, "__consumer_offsets").topics[0]
    assert (code(topic), topic.is_internal) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, True)


def test_all_topics_never_creates() -> None:
    world = ApiWorld()
    world.call(METADATA, MetadataRequest(topics=None), 9)
    assert not world.image.topics.by_name


def test_topics_by_id() -> None:
    world = ApiWorld()
    known = world.create("orders", 1, 1).topic_id
    request = MetadataRequest(
        topics=[MetadataRequestTopic(topic_id=known, name=None), MetadataRequestTopic(topic_id=b"?" * 16, name=None)]
    )
    found, missing = world.call(METADATA, request, 12).topics
    assert (found.name, found.topic_id, len(found.partitions)) == ("orders", known, 1)
    assert (missing.error_code, missing.name, missing.topic_id) == (ErrorCode.UNKNOWN_TOPIC_ID, None, b"?" * 16)
    for version in (10, 11):
        early = world.call(METADATA, MetadataRequest(topics=[MetadataRequestTopic(topic_id=known, name="x")]), version)
        assert code(early.topics[0]) is ErrorCode.INVALID_REQUEST


def test_a_partition_without_a_leader() -> None:
    world = ApiWorld(brokers=(1, 2))
    world.create("orders", assignment={0: [2]})
    world.heartbeat(2, want_fence=True)
    for version in (0, 5, 6, 12):
        response = _ask(world, version, "orders")
        partition = response.topics[0].partitions[0]
        assert (code(partition), partition.leader_id) == (ErrorCode.LEADER_NOT_AVAILABLE, -1)
        assert [broker.node_id for broker in response.brokers] == [1]
        # The oldest clients look up every broker that is named, so only those in the answer are.
        assert partition.replica_nodes == ([] if version == 0 else [2])
        if version >= 5:
            assert partition.offline_replicas == [2]


def test_addresses_are_those_of_the_listener_the_client_uses() -> None:
    world = ApiWorld(brokers=())
    both = [
        Listener(name="PLAINTEXT", host="inside", port=9092),
        Listener(name="OUTSIDE", host="outside", port=19092),
    ]
    world.join(1, listeners=both)
    world.join(2)
    world.create("orders", assignment={0: [1, 2], 1: [2, 1]})
    inside = world.call(METADATA, MetadataRequest(topics=None), 9)
    assert {(broker.node_id, broker.host) for broker in inside.brokers} == {(1, "inside"), (2, "host2")}
    outside = world.call(METADATA, MetadataRequest(topics=None), 9, listener="OUTSIDE")
    assert [(broker.node_id, broker.host, broker.port) for broker in outside.brokers] == [(1, "outside", 19092)]
    reachable, elsewhere = outside.topics[0].partitions
    assert (reachable.leader_id, reachable.offline_replicas) == (1, [2])
    assert (code(elsewhere), elsewhere.leader_id) == (ErrorCode.LISTENER_NOT_FOUND, -1)
    older = world.call(METADATA, MetadataRequest(topics=None), 5, listener="OUTSIDE")
    assert code(older.topics[0].partitions[1]) is ErrorCode.LEADER_NOT_AVAILABLE
    oldest = world.call(METADATA, MetadataRequest(topics=[]), 0, listener="OUTSIDE")
    assert code(oldest.topics[0].partitions[0]) is ErrorCode.REPLICA_NOT_AVAILABLE


def test_internal_topics_and_authorized_operations() -> None:
    world = ApiWorld()
    world.create("__consumer_offsets", 1, 1)
    request = MetadataRequest(
        topics=[MetadataRequestTopic(name="__consumer_offsets")],
        include_cluster_authorized_operations=True,
        include_topic_authorized_operations=True,
    )
    response = world.call(METADATA, request, 9)
    assert response.topics[0].is_internal
    assert (response.topics[0].topic_authorized_operations, response.cluster_authorized_operations) == (3576, 8096)
    plain = _ask(world, 9, "__consumer_offsets")
    assert plain.topics[0].topic_authorized_operations == plain.cluster_authorized_operations == -(2**31)


# -------------------------------------------------------------------------------------------- DescribeTopicPartitions


def _page(
    world: ApiWorld, *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsResponse:
    request = DescribeTopicPartitionsRequest(
        topics=[TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=None if cursor is None else RequestCursor(topic_name=cursor[0], partition_index=cursor[1]),
    )
    return world.call(DESCRIBE_TOPIC_PARTITIONS, request, 0)  # type: ignore[no-any-return]


def _walk(world: ApiWorld, limit: int, *names: str) -> list[list[tuple[str, list[int]]]]:
    pages, cursor = [], None
    while True:
        page = _page(world, *names, limit=limit, cursor=cursor)
        pages.append([(topic.name or "", [part.partition_index for part in topic.partitions]) for topic in page.topics])
        if page.next_cursor is None:
            return pages
        cursor = page.next_cursor.topic_name, page.next_cursor.partition_index


def test_pages_cover_everything_once() -> None:
    world = ApiWorld()
    for name, count in (("b", 3), ("a", 2), ("c", 1)):
        world.create(name, count, 1)
    assert _walk(world, 100) == [[("a", [0, 1]), ("b", [0, 1, 2]), ("c", [0])]]
    assert _walk(world, 2) == [[("a", [0, 1])], [("b", [0, 1])], [("b", [2]), ("c", [0])]]
    assert _walk(world, 4) == [[("a", [0, 1]), ("b", [0, 1])], [("b", [2]), ("c", [0])]]
    assert _walk(world, 0) == _walk(world, 1)
    assert _walk(world, 3, "c", "b") == [[("b", [0, 1, 2])], [("c", [0])]]


def test_the_brokers_own_limit_holds() -> None:
    world = ApiWorld({"max.request.partition.size.limit": "2"})
    world.create("a", 3, 1)
    assert _walk(world, 100) == [[("a", [0, 1])], [("a", [2])]]


def test_details_and_unknown_topics() -> None:
    world = ApiWorld()
    created = world.create("a", 1, 1)
    known, bad, missing = _page(world, "a", "b", "a b").topics
    assert (known.topic_id, known.topic_authorized_operations) == (created.topic_id, 3576)
    partition = known.partitions[0]
    assert (partition.leader_id, partition.leader_epoch, partition.isr_nodes) == (1, 0, [1])
    assert partition.eligible_leader_replicas == partition.last_known_elr == partition.offline_replicas == []
    assert [code(topic) for topic in (bad, missing)] == [
        ErrorCode.INVALID_TOPIC_EXCEPTION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


def test_cursors_that_cannot_be() -> None:
    world = ApiWorld()
    world.create("a", 1, 1)
    for cursor in (("z", 0), ("a", -1)):
        assert code(_page(world, "a", cursor=cursor).topics[0]) is ErrorCode.INVALID_REQUEST
    # A topic that was deleted between two pages is simply passed over.
    assert _page(world, cursor=("aa", 3)).topics == []


# ---------------------------------------------------------------------------------------------------- DescribeCluster


@pytest.mark.parametrize("version", versions(DESCRIBE_CLUSTER))
def test_the_cluster(version: int) -> None:
    world = ApiWorld(brokers=(1, 2))
    world.register(3, rack="south")
    request = DescribeClusterRequest(include_cluster_authorized_operations=True, include_fenced_brokers=version >= 2)
    response = world.call(DESCRIBE_CLUSTER, request, version)
    assert (response.cluster_id, response.error_code, response.error_message) == (CLUSTER, 0, None)
    assert response.controller_id in (1, 2)
    assert response.cluster_authorized_operations == 8096
    brokers = {broker.broker_id: broker for broker in response.brokers}
    assert set(brokers) == ({1, 2, 3} if version >= 2 else {1, 2})
    if version >= 2:
        assert (brokers[3].is_fenced, brokers[3].rack, brokers[1].is_fenced) == (True, "south", False)


def test_controllers_are_asked_for_elsewhere() -> None:
    world = ApiWorld()
    for endpoint, expected in ((2, ErrorCode.MISMATCHED_ENDPOINT_TYPE), (3, ErrorCode.UNSUPPORTED_ENDPOINT_TYPE)):
        response = world.call(DESCRIBE_CLUSTER, DescribeClusterRequest(endpoint_type=endpoint), 1)
        assert code(response) is expected
        assert response.error_message
