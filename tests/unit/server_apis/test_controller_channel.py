"""How a broker reaches the active controller: in this process, elsewhere, nowhere for a while, and in the name of a
client."""

from __future__ import annotations

from typing import Any

import pytest
from api_kit import ApiWorld, OneListener, versions
from controller_kit import code

from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.links.addresses import Address
from moldau.links.errors import ConnectionFailed, RequestTimedOut
from moldau.protocol.api import REQUESTS, RESPONSES, ApiKey
from moldau.protocol.message import Message
from moldau.protocol.messages.alter_configs import AlterableConfig as ReplacedConfig
from moldau.protocol.messages.alter_configs import AlterConfigsRequest
from moldau.protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from moldau.protocol.messages.api_versions import ApiVersionsRequest
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from moldau.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from moldau.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from moldau.protocol.messages.envelope import EnvelopeRequest, EnvelopeResponse
from moldau.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from moldau.protocol.messages.unregister_broker import UnregisterBrokerRequest
from moldau.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from moldau.server.apis.envelope import ENVELOPE
from moldau.server.apis.table import BROKER_APIS, CONTROLLER_APIS
from moldau.server.context import RequestContext
from moldau.server.dispatch import Api, DispatchTable
from moldau.server.envelopes import packed_host, seal, unpacked_host
from moldau.slicing import run_whole

AT_BROKER = {api.key: api for api in BROKER_APIS}
AT_CONTROLLER = {api.key: api for api in CONTROLLER_APIS}
ONE, TWO = Address("controller-1", 9093), Address("controller-2", 9093)


class Outcome:
    def __init__(self, promised: Deferred[Any]) -> None:
        self.value: Any = None
        self.error: BaseException | None = None
        self.times = 0
        promised.then(self._settled)

    def _settled(self, value: Any, error: BaseException | None) -> None:
        self.value, self.error = value, error
        self.times += 1


@pytest.fixture
def broker() -> ApiWorld:
    """A node that is only a broker and knows nobody yet."""
    world = ApiWorld()
    world.services.controller = None
    world.quorum.node_id, world.quorum.leader_id = 7, -1
    world.others.addresses = {1: ONE, 2: TWO}
    return world


def heartbeat() -> BrokerHeartbeatRequest:
    return BrokerHeartbeatRequest(broker_id=7, broker_epoch=3)


def elected(world: ApiWorld, leader: int) -> None:
    world.quorum.leader_id = leader
    world.quorum.epoch += 1
    world.services.controller_channel.on_leader(leader, world.quorum.epoch)
    world.loop.advance(0)


# ------------------------------------------------------------------------------------------------------------ to whom


def test_the_controller_in_this_process_is_a_function_call_away() -> None:
    world = ApiWorld()
    epoch = world.image.cluster.brokers[1].epoch
    request = BrokerHeartbeatRequest(broker_id=1, broker_epoch=epoch, current_metadata_offset=world.image.offset)
    outcome = Outcome(world.services.controller_channel.ask(request))
    # Nothing had to be written, and no turn of the loop has passed.
    assert isinstance(outcome.value, BrokerHeartbeatResponse)
    assert world.others.asked == []


def test_what_the_controller_in_this_process_refuses_is_an_error() -> None:
    world = ApiWorld()
    outcome = Outcome(world.services.controller_channel.ask(heartbeat()))
    assert isinstance(outcome.error, KafkaError)
    assert outcome.error.code is ErrorCode.STALE_BROKER_EPOCH


def test_a_fault_of_the_controller_in_this_process_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who beats or proposes sets his timer when he is answered; an exception would be the end of that."""
    world = ApiWorld()

    def broken(*_: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(world.controller, "broker_heartbeat", broken)
    channel = world.services.controller_channel
    assert isinstance(Outcome(channel.ask(heartbeat())).error, ZeroDivisionError)
    assert not channel._open


def test_the_leader_elsewhere_is_asked_at_its_endpoint(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 2
    outcome = Outcome(broker.services.controller_channel.ask(heartbeat()))
    ((address, request, answer),) = broker.others.asked
    assert address == TWO
    assert request.broker_epoch == 3
    response = BrokerHeartbeatResponse(is_fenced=False)
    answer.resolve(response)
    assert outcome.value is response
    assert outcome.times == 1


def test_an_error_for_the_whole_response_is_one_here(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 2
    outcome = Outcome(broker.services.controller_channel.ask(heartbeat()))
    broker.others.asked[0][2].resolve(BrokerHeartbeatResponse(error_code=ErrorCode.STALE_BROKER_EPOCH))
    assert isinstance(outcome.error, KafkaError)
    assert outcome.error.code is ErrorCode.STALE_BROKER_EPOCH
    assert len(broker.others.asked) == 1


def test_without_a_leader_it_waits_for_one(broker: ApiWorld) -> None:
    outcome = Outcome(broker.services.controller_channel.ask(heartbeat()))
    broker.loop.advance(5.0)
    assert broker.others.asked == []
    elected(broker, 1)
    # At once: who has waited for an election need not wait for the end of a pause.
    assert [address for address, _, _ in broker.others.asked] == [ONE]
    assert outcome.times == 0


@pytest.mark.parametrize(
    "answer",
    [
        BrokerHeartbeatResponse(error_code=ErrorCode.NOT_CONTROLLER),
        ConnectionFailed("it is gone"),
        RequestTimedOut("it is silent"),
    ],
)
def test_who_does_not_lead_or_is_lost_is_asked_again_and_then_the_next(broker: ApiWorld, answer: Any) -> None:
    broker.quorum.leader_id = 1
    outcome = Outcome(broker.services.controller_channel.ask(heartbeat()))
    for number in range(3):
        given = broker.others.asked[number][2]
        if isinstance(answer, Exception):
            given.fail(answer)
        else:
            given.resolve(answer)
        assert len(broker.others.asked) == number + 1
        broker.quorum.leader_id = 2
        broker.loop.advance(1.3)
        assert len(broker.others.asked) == number + 2
    assert [address for address, _, _ in broker.others.asked] == [ONE, TWO, TWO, TWO]
    broker.others.asked[3][2].resolve(BrokerHeartbeatResponse())
    assert isinstance(outcome.value, BrokerHeartbeatResponse)


def test_topics_that_are_all_not_for_this_controller_are_asked_for_again(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    refused = AT_BROKER[ApiKey.CREATE_TOPICS].error_response
    assert refused is not None
    request = CreateTopicsRequest(topics=[broker.creation("a"), broker.creation("b")])
    outcome = Outcome(broker.services.controller_channel.ask(request))
    broker.others.asked[0][2].resolve(refused(request, 7, KafkaError(ErrorCode.NOT_CONTROLLER)))
    broker.loop.advance(1.0)
    broker.others.asked[1][2].resolve(refused(request, 7, KafkaError(ErrorCode.TOPIC_ALREADY_EXISTS)))
    assert isinstance(outcome.value, CreateTopicsResponse)


def test_there_is_an_end_to_asking_again(broker: ApiWorld) -> None:
    outcome = Outcome(broker.services.controller_channel.ask(heartbeat(), timeout=10.0))
    broker.loop.advance(8.0)
    assert outcome.times == 0
    broker.loop.advance(2.0)
    assert isinstance(outcome.error, KafkaError)
    assert outcome.error.code is ErrorCode.NOT_CONTROLLER
    elected(broker, 1)
    assert broker.others.asked == []
    assert outcome.times == 1


def test_what_another_try_does_not_mend_is_told_at_once(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    outcome = Outcome(broker.services.controller_channel.ask(heartbeat()))
    broker.others.asked[0][2].fail(KafkaError(ErrorCode.UNSUPPORTED_VERSION))
    assert isinstance(outcome.error, KafkaError)
    broker.loop.advance(60.0)
    assert len(broker.others.asked) == 1


def test_nobody_waits_for_the_answer_of_a_leader_that_is_none_any_more(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    outcome = Outcome(broker.services.controller_channel.ask(heartbeat(), line="heartbeat"))
    elected(broker, 2)
    assert [address for address, _, _ in broker.others.asked] == [ONE, TWO]
    assert broker.others.forgotten == [(ONE, "controller heartbeat")]
    # Late words of the old one: an error means nothing any more.
    broker.others.asked[0][2].fail(ConnectionFailed("forgotten"))
    broker.loop.advance(5.0)
    assert len(broker.others.asked) == 2
    broker.others.asked[1][2].resolve(BrokerHeartbeatResponse())
    assert outcome.times == 1
    assert outcome.error is None


def test_the_same_leader_in_a_new_epoch_is_still_waited_for(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    Outcome(broker.services.controller_channel.ask(heartbeat()))
    elected(broker, 1)
    assert len(broker.others.asked) == 1
    assert broker.others.forgotten == []


def test_a_node_that_is_elected_answers_what_it_was_asking_others() -> None:
    world = ApiWorld()
    world.quorum.register(world.services.controller_channel)
    world.others.addresses = {2: TWO}
    world.quorum.lose_leadership()
    request = CreateTopicsRequest(topics=[world.creation("late", 1, 1)])
    outcome = Outcome(world.services.controller_channel.ask(request))
    assert len(world.others.asked) == 1
    world.quorum.leader_id = 1
    world.quorum.epoch += 1
    world.controller.on_leader(1, world.quorum.epoch)
    world.services.controller_channel.on_leader(1, world.quorum.epoch)
    world.loop.advance(0)
    world.quorum.commit()
    assert outcome.value.topics[0].error_code == 0


def test_closing_fails_what_waits_and_what_comes(broker: ApiWorld) -> None:
    channel = broker.services.controller_channel
    broker.quorum.leader_id = 1
    waiting = [Outcome(channel.ask(heartbeat()))]
    broker.quorum.leader_id = -1
    waiting.append(Outcome(channel.ask(heartbeat())))
    channel.close()
    waiting.append(Outcome(channel.ask(heartbeat())))
    for outcome in waiting:
        assert isinstance(outcome.error, ConnectionFailed)
    broker.others.asked[0][2].resolve(BrokerHeartbeatResponse())
    broker.loop.advance(60.0)
    assert len(broker.others.asked) == 1
    assert [outcome.times for outcome in waiting] == [1, 1, 1]


# ------------------------------------------------------------------------------------------------- in a client's name


def pass_over(broker: ApiWorld, controller: ApiWorld, api: Api, request: Message, version: int) -> Any:
    """A client's request at a broker, with the envelope it becomes opened by the controller; bytes in between."""
    table = DispatchTable(CONTROLLER_APIS, controller.services)
    sent = len(broker.others.asked)
    answer = Outcome(broker.begin(api, request, version))
    for address, envelope, reply in broker.others.asked[sent:]:
        assert address == ONE
        kind = REQUESTS[envelope.API_KEY]
        opened = kind.decode(envelope.encode(0), 0)
        reply.resolve(controller.call(ENVELOPE, opened, 0, listener="CONTROLLER", table=table))
    if answer.error is not None:
        assert isinstance(answer.error, KafkaError)
        assert api.error_response is not None
        return api.error_response(request, version, answer.error)
    return RESPONSES[api.key].decode(answer.value.encode(version), version)


def forwarded_requests(world: ApiWorld) -> list[Message]:
    resource = AlterConfigsResource(
        resource_type=2,
        resource_name="known",
        configs=[AlterableConfig(name="retention.ms", config_operation=0, value="77")],
    )
    return [
        CreateTopicsRequest(topics=[world.creation("fresh", 1, 1), world.creation("known", 1, 1)]),
        CreatePartitionsRequest(topics=[CreatePartitionsTopic(name="known", count=3)]),
        IncrementalAlterConfigsRequest(resources=[resource]),
        AlterConfigsRequest(
            resources=[
                ReplacedResource(
                    resource_type=2, resource_name="known", configs=[ReplacedConfig(name="retention.ms", value="78")]
                )
            ]
        ),
        ElectLeadersRequest(topic_partitions=[TopicPartitions(topic="known", partitions=[0])]),
        UpdateFeaturesRequest(feature_updates=[FeatureUpdateKey(feature="no.such.feature", max_version_level=1)]),
        UnregisterBrokerRequest(broker_id=99),
    ]


@pytest.mark.parametrize("number", range(7))
def test_a_forwarded_request_is_answered_as_if_it_had_not_been(broker: ApiWorld, number: int) -> None:
    broker.quorum.leader_id = 1
    request = forwarded_requests(broker)[number]
    api = AT_BROKER[ApiKey(request.API_KEY)]
    for version in versions(api):
        controller, alone = ApiWorld(), ApiWorld()
        for world in (controller, alone):
            world.create("known", 1, 1)
        there = pass_over(broker, controller, api, request, version)
        here = alone.call(api, request, version)
        assert _without_ids(there) == _without_ids(here)
        names = [sorted(world.image.topics.by_name) for world in (controller, alone)]
        assert names[0] == names[1]
        assert controller.image.configs.topic("known") == alone.image.configs.topic("known")


def _without_ids(response: Any) -> Any:
    for topic in getattr(response, "topics", ()):
        topic.topic_id = bytes(16)
    return response


def test_topics_by_name_and_by_id_are_deleted_through_a_broker(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    controller = ApiWorld()
    controller.create("one", 1, 1)
    controller.create("two", 1, 1)
    two = controller.image.topics.get("two")
    assert two is not None
    request = DeleteTopicsRequest(
        topics=[DeleteTopicState(name="one"), DeleteTopicState(name=None, topic_id=two.id)], timeout_ms=1000
    )
    answer = pass_over(broker, controller, AT_BROKER[ApiKey.DELETE_TOPICS], request, 6)
    assert [code(topic) for topic in answer.responses] == [ErrorCode.NONE, ErrorCode.NONE]
    assert not controller.image.topics.get("one")


def test_an_envelope_says_who_asks(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    broker.begin(AT_BROKER[ApiKey.UNREGISTER_BROKER], UnregisterBrokerRequest(broker_id=4), 0)
    ((_, envelope, _),) = broker.others.asked
    assert envelope.client_host_address == bytes([127, 0, 0, 1])
    # The version, then the fields of DefaultPrincipalData: compact strings, a flag, no tagged fields.
    assert envelope.request_principal == b"\0\0" + b"\x05User" + b"\x0aANONYMOUS" + b"\0" + b"\0"


def test_settings_of_brokers_are_checked_here_and_decided_there(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    controller = ApiWorld()

    def resource(kind: int, name: str, key: str, value: str) -> AlterConfigsResource:
        changes = [AlterableConfig(name=key, config_operation=0, value=value)]
        return AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)

    controller.create("orders", 1, 1)
    request = IncrementalAlterConfigsRequest(
        resources=[
            resource(4, "1", "log.cleaner.threads", "none"),
            resource(2, "orders", "retention.ms", "5"),
            resource(4, "2", "log.cleaner.threads", "2"),
        ]
    )
    answer = pass_over(broker, controller, AT_BROKER[ApiKey.INCREMENTAL_ALTER_CONFIGS], request, 1)
    assert [code(one) for one in answer.responses] == [
        ErrorCode.INVALID_REQUEST,
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]
    ((_, envelope, _),) = broker.others.asked
    assert b"orders" in envelope.request_data
    assert b"log.cleaner.threads" not in envelope.request_data
    assert controller.image.configs.topic("orders") == {"retention.ms": "5"}


def test_at_the_controller_any_broker_may_be_set_and_no_other_thing() -> None:
    world = ApiWorld(brokers=(1, 2))
    api = AT_CONTROLLER[ApiKey.INCREMENTAL_ALTER_CONFIGS]
    for kind, name, expected in (
        (4, "2", ErrorCode.NONE),
        (4, "", ErrorCode.NONE),
        (4, "five", ErrorCode.INVALID_REQUEST),
        (64, "thing", ErrorCode.INVALID_REQUEST),
    ):
        changes = [AlterableConfig(name="log.cleaner.threads", config_operation=0, value="2")]
        wanted = AlterConfigsResource(resource_type=kind, resource_name=name, configs=changes)
        answer = world.call(api, IncrementalAlterConfigsRequest(resources=[wanted]), 1)
        assert code(answer.responses[0]) is expected, (kind, name)


def test_a_controller_that_is_not_active_returns_the_envelope(broker: ApiWorld) -> None:
    controller = ApiWorld()
    controller.quorum.lose_leadership()
    table = DispatchTable(CONTROLLER_APIS, controller.services)
    answer = controller.call(ENVELOPE, enveloped(broker, UnregisterBrokerRequest(broker_id=9), 0), 0, table=table)
    assert code(answer) is ErrorCode.NOT_CONTROLLER
    # And a broker that hears this asks again.
    broker.quorum.leader_id = 1
    outcome = Outcome(broker.begin(AT_BROKER[ApiKey.UNREGISTER_BROKER], UnregisterBrokerRequest(broker_id=9), 0))
    broker.others.asked[0][2].resolve(answer)
    broker.loop.advance(1.0)
    assert len(broker.others.asked) == 2
    assert outcome.times == 0


def enveloped(world: ApiWorld, request: Message, version: int) -> EnvelopeRequest:
    connection: Any = OneListener("PLAINTEXT")
    context = RequestContext(connection, world.services, request.API_KEY, version, 5, "app")
    return run_whole(seal(context, request))


@pytest.mark.parametrize(
    ("spoil", "expected"),
    [
        ({"request_data": b""}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b"\0\x40\0\0\0\0\0\1\xff"}, ErrorCode.INVALID_REQUEST),
        ({"request_data": b"\x03\xe7\0\0\0\0\0\1\xff\xff\0"}, ErrorCode.INVALID_REQUEST),
        ({"request_principal": None}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b""}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0\x09\1\1\0\0"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"request_principal": b"\0\0\x7f"}, ErrorCode.PRINCIPAL_DESERIALIZATION_FAILURE),
        ({"client_host_address": b"\1\2\3"}, ErrorCode.INVALID_REQUEST),
    ],
)
def test_an_envelope_that_cannot_be_opened(broker: ApiWorld, spoil: dict[str, Any], expected: ErrorCode) -> None:
    controller = ApiWorld()
    whole = enveloped(broker, UnregisterBrokerRequest(broker_id=9), 0)
    table = DispatchTable(CONTROLLER_APIS, controller.services)
    assert code(controller.call(ENVELOPE, whole.changed(**spoil), 0, table=table)) is expected


def test_only_what_clients_ask_of_controllers_is_passed_on(broker: ApiWorld) -> None:
    controller = ApiWorld()
    table = DispatchTable(CONTROLLER_APIS, controller.services)
    for request, version in ((heartbeat(), 0), (ApiVersionsRequest(), 0)):
        answer = controller.call(ENVELOPE, enveloped(broker, request, version), 0, table=table)
        assert code(answer) is ErrorCode.INVALID_REQUEST
    cut = enveloped(broker, CreateTopicsRequest(topics=[broker.creation("a", 1, 1)]), 7)
    answer = controller.call(ENVELOPE, cut.changed(request_data=cut.request_data[:-3]), 0, table=table)
    assert code(answer) is ErrorCode.INVALID_REQUEST


def test_an_answer_to_something_else_is_not_taken(broker: ApiWorld) -> None:
    broker.quorum.leader_id = 1
    for wrong in (EnvelopeResponse(response_data=b"\0\0\0\1\0\0"), EnvelopeResponse(response_data=None)):
        outcome = Outcome(broker.begin(AT_BROKER[ApiKey.UNREGISTER_BROKER], UnregisterBrokerRequest(broker_id=9), 0))
        broker.others.asked[-1][2].resolve(wrong)
        assert outcome.error is not None


@pytest.mark.parametrize("host", ["10.1.2.3", "::1", "2001:db8::7"])
def test_addresses_are_packed_and_unpacked(host: str) -> None:
    assert unpacked_host(packed_host(host)) == host


def test_a_host_that_is_a_name_is_nowhere() -> None:
    assert packed_host("node-1") == bytes(4)
