"""InitProducerId and FindCoordinator."""

from __future__ import annotations

from typing import Any

import pytest
from api_kit import ApiWorld, versions
from controller_kit import code

from moldau.config.broker import BrokerConfig
from moldau.coordinator.partition_hash import partition_for
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.server.apis.find_coordinator import FIND_COORDINATOR
from moldau.server.apis.init_producer_id import INIT_PRODUCER_ID
from moldau.server.internal_topics import InternalTopics


@pytest.mark.parametrize("version", versions(INIT_PRODUCER_ID))
def test_every_producer_gets_its_own_id(version: int) -> None:
    world = ApiWorld()
    request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    answers = [world.call(INIT_PRODUCER_ID, request, version) for _ in range(3)]
    assert [(a.error_code, a.producer_id, a.producer_epoch) for a in answers] == [(0, 0, 0), (0, 1, 0), (0, 2, 0)]
    # Ids come in blocks: one record for a thousand of them.
    assert world.image.producer_ids.next == 1000


def test_an_id_and_an_epoch_come_together() -> None:
    world = ApiWorld()
    for fields in ({"producer_id": 5}, {"producer_epoch": 5}):
        request = InitProducerIdRequest(transactional_id=None, **fields)
        assert code(world.call(INIT_PRODUCER_ID, request, 4)) is ErrorCode.INVALID_REQUEST
    both = InitProducerIdRequest(transactional_id=None, producer_id=5, producer_epoch=5)
    assert code(world.call(INIT_PRODUCER_ID, both, 4)) is ErrorCode.NONE


def test_without_a_controller_the_producer_shall_try_again() -> None:
    world = ApiWorld()
    world.quorum.lose_leadership()
    answer = world.call(INIT_PRODUCER_ID, InitProducerIdRequest(transactional_id=None), 4)
    assert code(answer) is ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


def ask(world: ApiWorld, key_type: int, keys: list[str], version: int) -> Any:
    """The first answer, in whichever form the version has."""
    if version >= 4:
        request = FindCoordinatorRequest(key_type=key_type, coordinator_keys=keys)
        return world.call(FIND_COORDINATOR, request, version).coordinators[0]
    return world.call(FIND_COORDINATOR, FindCoordinatorRequest(key=keys[0], key_type=key_type), version)


@pytest.mark.parametrize(
    ("key_type", "topic", "version"),
    # Version 0 knows groups only.
    [(0, "__consumer_offsets", version) for version in versions(FIND_COORDINATOR)]
    + [(1, "__transaction_state", version) for version in versions(FIND_COORDINATOR)[1:]],
)
def test_the_coordinator_leads_the_partition_of_the_name(key_type: int, topic: str, version: int) -> None:
    world = ApiWorld(brokers=(1, 2, 3))
    assert world.image.topics.get(topic) is None
    first = ask(world, key_type, ["some-name", "another"], version)
    # The topic was made because somebody asked, and is not made again.
    partitions = world.image.topics.get(topic).partitions
    assert len(partitions) == 50
    assert first.node_id == partitions[partition_for("some-name", 50)].leader
    assert (code(first), first.host, first.port) == (ErrorCode.NONE, f"host{first.node_id}", 9092)
    assert ask(world, key_type, ["some-name"], version).node_id == first.node_id
    if version >= 1:
        assert first.error_message is None


def test_several_names_are_answered_once_each() -> None:
    world = ApiWorld(brokers=(1, 2, 3))
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g", "h", "g"])
    assert [found.key for found in world.call(FIND_COORDINATOR, request, 5).coordinators] == ["g", "h"]


@pytest.mark.parametrize("version", range(1, 7))
def test_other_coordinators_are_not_known(version: int) -> None:
    found = ask(ApiWorld(), 9, ["k"], version)
    assert (code(found), found.node_id, found.host, found.port) == (ErrorCode.INVALID_REQUEST, -1, "", -1)
    assert found.error_message


def test_nobody_is_alive() -> None:
    world = ApiWorld(brokers=())
    answer = world.call(FIND_COORDINATOR, FindCoordinatorRequest(key="g"), 2)
    assert code(answer) is ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_nobody_leads_the_partition() -> None:
    world = ApiWorld(brokers=(1, 2, 3))
    first = ask(world, 0, ["some-name"], 4)
    world.heartbeat(first.node_id, want_shut_down=True)
    assert world.image.topics.get("__consumer_offsets").partitions[partition_for("some-name", 50)].leader == -1
    found = ask(world, 0, ["some-name"], 4)
    assert (code(found), found.node_id, found.port) == (ErrorCode.COORDINATOR_NOT_AVAILABLE, -1, -1)


def test_an_endpoint_is_that_of_the_listener_that_was_asked() -> None:
    world = ApiWorld(brokers=(1,))
    request = FindCoordinatorRequest(key_type=0, coordinator_keys=["g"])
    (found,) = world.call(FIND_COORDINATOR, request, 4, listener="INSIDE").coordinators
    assert code(found) is ErrorCode.COORDINATOR_NOT_AVAILABLE


CLUSTER_OF_SEVERAL = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "controller.listener.names": "CONTROLLER",
    "controller.quorum.voters": "1@h:9093",
}


def test_the_topic_waits_for_enough_brokers() -> None:
    world = ApiWorld(CLUSTER_OF_SEVERAL, brokers=(1, 2))
    for key_type in (0, 1):
        assert code(ask(world, key_type, ["g"], 4)) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert not world.image.topics.by_name
    world.join(3)
    for key_type, name in enumerate(("__consumer_offsets", "__transaction_state")):
        assert code(ask(world, key_type, ["g"], 4)) is ErrorCode.NONE
        assert {len(state.replicas) for state in world.image.topics.by_name[name].partitions.values()} == {3}
    assert world.image.configs.topic("__transaction_state")["min.insync.replicas"] == "2"


def test_however_many_ask_the_controller_is_asked_once() -> None:
    topics, config = InternalTopics(), BrokerConfig.parse({"log.dirs": "/unused"})
    asked: list[Deferred[Any]] = []

    def controller(_: CreateTopicsRequest) -> Deferred[Any]:
        asked.append(Deferred())
        return asked[-1]

    def create() -> list[Any]:
        seen: list[Any] = []
        topics.create(config, controller, "__consumer_offsets").then(lambda _, error: seen.append(error))
        return seen

    def answer(code: ErrorCode) -> CreateTopicsResponse:
        return CreateTopicsResponse(topics=[CreatableTopicResult(error_code=code)])

    waiting = [create(), create()]
    assert len(asked) == 1
    asked[0].resolve(answer(ErrorCode.INVALID_REPLICATION_FACTOR))
    assert [error.code for (error,) in waiting] == [ErrorCode.COORDINATOR_NOT_AVAILABLE] * 2
    again = create()
    asked[1].resolve(answer(ErrorCode.TOPIC_ALREADY_EXISTS))
    assert again == [None]
    lost = create()
    asked[2].fail(KafkaError(ErrorCode.NOT_CONTROLLER))
    assert [error.code for error in lost] == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
