"""The blocking face: finding brokers, following leaders and controllers, retrying until the time is over."""

from __future__ import annotations

import socket
from typing import Any

import pytest
from scripted_peer import HANG_UP, Handler, ScriptedPeer, metadata

from moldau.client.admin import (
    LATEST,
    ConfigChange,
    ConfigOperation,
    ConfigResource,
    FoundOffset,
    NewTopic,
    ResourceType,
    alter_configs,
    create_topics,
    delete_topics,
    describe_cluster,
    describe_configs,
    describe_topics,
    list_offsets,
)
from moldau.client.backoff import Backoff
from moldau.client.cluster import Cluster
from moldau.client.conversation import AskAll, Conversation, Learn, Pause
from moldau.client.errors import NoBrokerAnswers
from moldau.client.metadata import ClusterView
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.protocol.api import ApiKey
from moldau.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsResponse
from moldau.protocol.messages.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from moldau.protocol.messages.incremental_alter_configs import (
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsResponse,
)
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from moldau.runtime.clock import SystemClock
from moldau.types import TopicPartition

QUICK = Backoff(first=0.001, limit=0.002)


def cluster_of(*addresses: Address, timeout: float = 10.0) -> Cluster:
    return Cluster(list(addresses), timeout=timeout, backoff=QUICK)


class LeapingClock(SystemClock):
    """The time, and as much later as a test says."""

    ahead = 0.0

    def monotonic(self) -> float:
        return super().monotonic() + self.ahead


def nowhere() -> Address:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return Address(*server.getsockname())


def offsets_answer(leader_of: set[int], offset: int) -> Handler:
    """Answers ListOffsets for the partitions it leads, and NOT_LEADER_OR_FOLLOWER for all others."""

    def answer(version: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        return ListOffsetsResponse(
            topics=[
                ListOffsetsTopicResponse(
                    name=topic.name,
                    partitions=[
                        ListOffsetsPartitionResponse(
                            partition_index=part.partition_index,
                            error_code=0 if part.partition_index in leader_of else ErrorCode.NOT_LEADER_OR_FOLLOWER,
                            offset=offset,
                        )
                        for part in topic.partitions
                    ],
                )
                for topic in request.topics
            ]
        )

    return answer


# ------------------------------------------------------------------------------------------------- finding brokers


def test_no_broker_answers_is_told_with_the_addresses() -> None:
    address = nowhere()
    sentence = rf"No broker answers at {address}: Connection refused\."
    with cluster_of(address) as cluster, pytest.raises(NoBrokerAnswers, match=sentence):
        cluster.run(describe_topics(["rivers"]))


def test_the_second_address_is_tried_when_the_first_does_not_answer() -> None:
    handlers = {ApiKey.METADATA: lambda version, request: metadata({1: peer.address})}
    with ScriptedPeer(handlers) as peer, cluster_of(nowhere(), peer.address) as cluster:
        assert cluster.run(describe_cluster()).cluster_id == "scripted"


def test_a_broker_that_left_is_replaced_by_another() -> None:
    brokers: dict[int, Address] = {}
    handlers = {ApiKey.METADATA: lambda version, request: metadata(brokers, {"rivers": {0: (1, 0)}})}
    first, second = ScriptedPeer(dict(handlers)), ScriptedPeer(dict(handlers))
    brokers.update({1: first.address, 2: second.address})
    with second, cluster_of(first.address) as cluster:
        cluster.run(describe_topics(["rivers"]))
        first.close()
        assert cluster.run(describe_topics(["rivers"]))[0].name == "rivers"
        assert second.asked(ApiKey.METADATA)


# ------------------------------------------------------------------------------------- leaders and controllers


def test_each_partition_is_asked_of_its_leader() -> None:
    brokers: dict[int, Address] = {}

    def view(version: int, request: Any) -> Any:
        return metadata(brokers, {"rivers": {0: (1, 7), 1: (2, 8)}})

    first = ScriptedPeer({ApiKey.METADATA: view, ApiKey.LIST_OFFSETS: offsets_answer({0}, 10)})
    second = ScriptedPeer({ApiKey.METADATA: view, ApiKey.LIST_OFFSETS: offsets_answer({1}, 20)})
    brokers.update({1: first.address, 2: second.address})
    wanted = {TopicPartition("rivers", index): LATEST for index in (0, 1)}
    with first, second, cluster_of(first.address) as cluster:
        found = cluster.run(list_offsets(wanted))
        assert found == {where: FoundOffset(10 * (where.partition + 1)) for where in wanted}
        (asked,) = second.asked(ApiKey.LIST_OFFSETS)
        assert asked.topics[0].partitions[0].current_leader_epoch == 8


def test_a_leader_that_moved_is_found_again() -> None:
    brokers: dict[int, Address] = {}

    def after(version: int, request: Any) -> Any:
        return metadata(brokers, {"rivers": {0: (1, 0), 1: (2, 1)}})

    def before(version: int, request: Any) -> Any:
        return metadata(brokers, {"rivers": {0: (1, 0), 1: (1, 0)}})

    first = ScriptedPeer({ApiKey.METADATA: [before, after], ApiKey.LIST_OFFSETS: offsets_answer({0}, 10)})
    second = ScriptedPeer({ApiKey.METADATA: after, ApiKey.LIST_OFFSETS: offsets_answer({1}, 20)})
    brokers.update({1: first.address, 2: second.address})
    wanted = {TopicPartition("rivers", index): LATEST for index in (0, 1)}
    with first, second, cluster_of(first.address) as cluster:
        found = cluster.run(list_offsets(wanted))
        assert [found[where] for where in wanted] == [FoundOffset(10), FoundOffset(20)]
        # Partition 0 was answered the first time and is not asked again.
        assert [part.partition_index for part in second.asked(ApiKey.LIST_OFFSETS)[0].topics[0].partitions] == [1]
        assert len(first.asked(ApiKey.LIST_OFFSETS)) == 1


def test_an_error_that_does_not_pass_is_given_when_the_time_is_over() -> None:
    answer = offsets_answer({0}, 10)

    def until_the_third(version: int, request: ListOffsetsRequest) -> ListOffsetsResponse:
        if len(peer.asked(ApiKey.LIST_OFFSETS)) > 2:
            clock.ahead = 1000.0
        return answer(version, request)

    handlers: dict[ApiKey, Handler] = {
        ApiKey.METADATA: lambda version, request: metadata({1: peer.address}, {"rivers": {0: (1, 0), 1: (1, 0)}}),
        ApiKey.LIST_OFFSETS: until_the_third,
    }
    wanted = {TopicPartition("rivers", index): LATEST for index in (0, 1)}
    with ScriptedPeer(handlers) as peer, cluster_of(peer.address, timeout=60.0) as cluster:
        clock = cluster.open()[1].clock = LeapingClock()
        found = cluster.run(list_offsets(wanted))
        assert found[TopicPartition("rivers", 0)] == FoundOffset(10)
        failure = found[TopicPartition("rivers", 1)]
        assert isinstance(failure, KafkaError)
        assert failure.code is ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert len(peer.asked(ApiKey.LIST_OFFSETS)) == 3


@pytest.mark.parametrize("when", ["pausing", "looking for leaders"])
def test_what_was_answered_counts_whenever_the_time_is_over(when: str) -> None:
    """Whoever performs the steps says with the error of the last try that there is no time for another one."""
    view = ClusterView().after(metadata({1: nowhere()}, {"rivers": {0: (1, 0), 1: (1, 0)}}), None)
    conversation = list_offsets({TopicPartition("rivers", index): LATEST for index in (0, 1)})
    assert isinstance(next(conversation), Learn)
    asking = conversation.send(view)
    assert isinstance(asking, AskAll)
    pause = conversation.send([offsets_answer({0}, 10)(1, ask.request) for ask in asking.asks])
    assert isinstance(pause, Pause)
    if when == "looking for leaders":
        assert isinstance(conversation.send(None), Learn)
    with pytest.raises(StopIteration) as ended:
        conversation.throw(pause.because)
    found = ended.value.value
    assert found[TopicPartition("rivers", 0)] == FoundOffset(10)
    assert found[TopicPartition("rivers", 1)].code is ErrorCode.NOT_LEADER_OR_FOLLOWER


def test_a_topic_that_is_not_there_is_not_asked_for_again() -> None:
    handlers = {ApiKey.METADATA: lambda version, request: metadata({1: peer.address}, errors={"nowhere": 3})}
    with ScriptedPeer(handlers) as peer, cluster_of(peer.address) as cluster:
        with pytest.raises(KafkaError, match="There is no topic 'nowhere'"):
            cluster.run(describe_topics(["nowhere"]))
        assert len(peer.asked(ApiKey.METADATA)) == 1


def test_topics_are_created_by_the_controller_even_after_it_moved() -> None:
    brokers: dict[int, Address] = {}

    def refused(version: int, request: Any) -> CreateTopicsResponse:
        return CreateTopicsResponse(topics=[CreatableTopicResult(name="rivers", error_code=ErrorCode.NOT_CONTROLLER)])

    def created(version: int, request: Any) -> CreateTopicsResponse:
        return CreateTopicsResponse(topics=[CreatableTopicResult(name="rivers", num_partitions=3)])

    def controlled_by(node: int) -> Handler:
        return lambda version, request: metadata(brokers, controller=node)

    old = ScriptedPeer({ApiKey.METADATA: [controlled_by(1), controlled_by(2)], ApiKey.CREATE_TOPICS: refused})
    new = ScriptedPeer({ApiKey.METADATA: controlled_by(2), ApiKey.CREATE_TOPICS: created})
    brokers.update({1: old.address, 2: new.address})
    with old, new, cluster_of(old.address) as cluster:
        (outcome,) = cluster.run(create_topics([NewTopic("rivers", 3, configs={"retention.ms": "1"})]))
        assert (outcome.error, outcome.partitions) == (None, 3)
        (request,) = new.asked(ApiKey.CREATE_TOPICS)
        assert [(config.name, config.value) for config in request.topics[0].configs] == [("retention.ms", "1")]


def test_a_connection_lost_while_asking_is_made_again() -> None:
    handlers = {
        ApiKey.METADATA: [lambda version, request: HANG_UP, lambda version, request: metadata({1: peer.address})]
    }
    with ScriptedPeer(handlers) as peer, cluster_of(peer.address) as cluster:
        assert cluster.run(describe_cluster()).cluster_id == "scripted"


def test_pausing_ends_with_the_reason_when_no_time_is_left() -> None:
    def conversation() -> Conversation[None]:
        yield Pause(0, KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, "nobody leads"))

    with cluster_of(nowhere(), timeout=0.0) as cluster, pytest.raises(KafkaError, match="nobody leads"):
        cluster.run(conversation())


# ----------------------------------------------------------------------------------------------- admin's requests


@pytest.mark.parametrize("highest", [5, 6])
def test_topics_are_deleted_by_name_in_every_version(highest: int) -> None:
    handlers = {
        ApiKey.METADATA: lambda version, request: metadata({1: peer.address}),
        ApiKey.DELETE_TOPICS: lambda version, request: DeleteTopicsResponse(
            responses=[DeletableTopicResult(name="a"), DeletableTopicResult(name="b", error_code=3)]
        ),
    }
    with (
        ScriptedPeer(handlers, ranges={ApiKey.DELETE_TOPICS: (1, highest)}) as peer,
        cluster_of(peer.address) as cluster,
    ):
        first, second = cluster.run(delete_topics(["a", "b"]))
        assert first.error is None
        assert str(second.error) == "There is no topic 'b'."
        (request,) = peer.asked(ApiKey.DELETE_TOPICS)
        assert (request.topic_names or [state.name for state in request.topics]) == ["a", "b"]


@pytest.mark.parametrize("highest", [1, 4])
def test_settings_are_described_with_what_the_version_can_say(highest: int) -> None:
    answer = DescribeConfigsResponse(
        results=[
            DescribeConfigsResult(
                resource_type=2,
                resource_name="rivers",
                configs=[
                    DescribeConfigsResourceResult(name="b", value="2", config_source=5),
                    DescribeConfigsResourceResult(name="a", value="1", config_source=1),
                ],
            )
        ]
    )
    handlers = {ApiKey.DESCRIBE_CONFIGS: lambda version, request: answer}
    with ScriptedPeer(handlers, ranges={ApiKey.DESCRIBE_CONFIGS: (1, highest)}) as peer:  # noqa: SIM117
        with cluster_of(peer.address) as cluster:
            resource = ConfigResource(ResourceType.TOPIC, "rivers")
            configs = cluster.run(describe_configs(resource, ["a", "b"], documentation=True))
            assert [(config.name, config.value, config.is_default) for config in configs] == [
                ("a", "1", False),
                ("b", "2", True),
            ]
            assert peer.asked(ApiKey.DESCRIBE_CONFIGS)[0].include_documentation == (highest == 4)


def test_settings_of_a_broker_are_changed_through_that_broker() -> None:
    brokers: dict[int, Address] = {}

    def altered(version: int, request: Any) -> IncrementalAlterConfigsResponse:
        return IncrementalAlterConfigsResponse(
            responses=[
                AlterConfigsResourceResponse(resource_type=resource.resource_type, resource_name=resource.resource_name)
                for resource in request.resources
            ]
        )

    handlers = {
        ApiKey.METADATA: lambda version, request: metadata(brokers, controller=1),
        ApiKey.INCREMENTAL_ALTER_CONFIGS: altered,
    }
    first, second = ScriptedPeer(dict(handlers)), ScriptedPeer(dict(handlers))
    brokers.update({1: first.address, 2: second.address})
    topic, broker = ConfigResource(ResourceType.TOPIC, "rivers"), ConfigResource(ResourceType.BROKER, "2")
    change = [ConfigChange("name", ConfigOperation.SET, "value")]
    with first, second, cluster_of(first.address) as cluster:
        assert cluster.run(alter_configs({topic: change, broker: change})) == {topic: None, broker: None}
        for peer, resource in ((first, topic), (second, broker)):
            (request,) = peer.asked(ApiKey.INCREMENTAL_ALTER_CONFIGS)
            assert [(each.resource_type, each.resource_name) for each in request.resources] == [tuple(resource)]
