"""A controller's listener: nodes need cluster action, and what they pass on is decided by whose it is.

Also what holds for every listener: who is let in before the rules are known, and what is told of each decision.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from guarded_node import JAN, GuardedNode, acl
from in_process_node import InProcessNode

from moldau.config.definition import ConfigError
from moldau.config.settings.security import STANDARD_AUTHORIZER
from moldau.errors import ErrorCode, error_code
from moldau.protocol.api import ApiKey, request_header_version
from moldau.protocol.message import Message
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.default_principal_data import DefaultPrincipalData
from moldau.protocol.messages.describe_cluster import DescribeClusterRequest
from moldau.protocol.messages.envelope import EnvelopeRequest
from moldau.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from moldau.protocol.messages.request_header import RequestHeader
from moldau.security.acl import Operation, Permission, ResourceType, allowed_bits, bit
from moldau.security.principal import THIS_NODE, Principal, user
from moldau.server.apis.table import CONTROLLER_APIS
from moldau.server.authorization import Authorization, audit
from moldau.server.dispatch import DispatchTable

# What brokers and controllers say to each other; nobody else may.
AMONG_NODES = {
    *(ApiKey.FETCH, ApiKey.FETCH_SNAPSHOT, ApiKey.VOTE, ApiKey.BEGIN_QUORUM_EPOCH, ApiKey.END_QUORUM_EPOCH),
    *(ApiKey.BROKER_REGISTRATION, ApiKey.BROKER_HEARTBEAT, ApiKey.CONTROLLER_REGISTRATION, ApiKey.ALTER_PARTITION),
    *(ApiKey.ALLOCATE_PRODUCER_IDS, ApiKey.ASSIGN_REPLICAS_TO_DIRS, ApiKey.UPDATE_RAFT_VOTER, ApiKey.ENVELOPE),
}
# Those of clients that are about the cluster as a whole; what is about topics is in the table of all APIs.
ABOUT_THE_CLUSTER = {
    ApiKey.ELECT_LEADERS: Operation.ALTER,
    ApiKey.ALTER_PARTITION_REASSIGNMENTS: Operation.ALTER,
    ApiKey.LIST_PARTITION_REASSIGNMENTS: Operation.DESCRIBE,
    ApiKey.UPDATE_FEATURES: Operation.ALTER,
    ApiKey.DESCRIBE_CLUSTER: Operation.ALTER,
    ApiKey.UNREGISTER_BROKER: Operation.ALTER,
    ApiKey.DESCRIBE_QUORUM: Operation.DESCRIBE,
    ApiKey.ADD_RAFT_VOTER: Operation.ALTER,
    ApiKey.REMOVE_RAFT_VOTER: Operation.ALTER,
    ApiKey.DESCRIBE_ACLS: Operation.DESCRIBE,
    ApiKey.DESCRIBE_CLIENT_QUOTAS: Operation.DESCRIBE_CONFIGS,
    ApiKey.DESCRIBE_USER_SCRAM_CREDENTIALS: Operation.DESCRIBE,
}
ABOUT_RESOURCES = {
    *(ApiKey.CREATE_TOPICS, ApiKey.DELETE_TOPICS, ApiKey.CREATE_PARTITIONS, ApiKey.CREATE_ACLS, ApiKey.DELETE_ACLS),
    *(ApiKey.ALTER_CONFIGS, ApiKey.INCREMENTAL_ALTER_CONFIGS, ApiKey.DESCRIBE_CONFIGS, ApiKey.ALTER_CLIENT_QUOTAS),
    ApiKey.ALTER_USER_SCRAM_CREDENTIALS,
    # In test_api_delegation_tokens: they are about who asks.
    *(ApiKey.CREATE_DELEGATION_TOKEN, ApiKey.RENEW_DELEGATION_TOKEN, ApiKey.EXPIRE_DELEGATION_TOKEN),
    ApiKey.DESCRIBE_DELEGATION_TOKEN,
}
OPEN_TO_ALL = {ApiKey.API_VERSIONS, ApiKey.SASL_HANDSHAKE, ApiKey.SASL_AUTHENTICATE}


@pytest.fixture
def node(tmp_path: Path) -> Iterator[GuardedNode]:
    node = GuardedNode(tmp_path)
    yield node
    node.close()


def latest(key: ApiKey) -> tuple[Message, int]:
    api = next(api for api in CONTROLLER_APIS if api.key is key)
    return api.request(), DispatchTable([api], None).offers[key].max_version  # type: ignore[arg-type]


def asked_as_jan(node: GuardedNode, key: ApiKey) -> ErrorCode:
    request, version = latest(key)
    if key is ApiKey.DESCRIBE_CLUSTER:
        request = DescribeClusterRequest(endpoint_type=2)
    return error_code(node.as_user(JAN, request, version).error_code)


def test_only_nodes_may_say_what_nodes_say(node: GuardedNode) -> None:
    for key in AMONG_NODES:
        assert asked_as_jan(node, key) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED, key
    node.permit(acl(Operation.CLUSTER_ACTION))
    for key in AMONG_NODES:
        assert asked_as_jan(node, key) is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED, key


@pytest.mark.parametrize("key", list(ABOUT_THE_CLUSTER))
def test_what_administrators_ask_a_controller(node: GuardedNode, key: ApiKey) -> None:
    for other in Operation:
        if not allowed_bits(other) & bit(ABOUT_THE_CLUSTER[key]) and other > Operation.ALL:
            node.permit(acl(other))
    assert asked_as_jan(node, key) is ErrorCode.CLUSTER_AUTHORIZATION_FAILED
    node.permit(acl(ABOUT_THE_CLUSTER[key]))
    assert asked_as_jan(node, key) is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED


def test_nothing_a_controller_offers_is_left_out() -> None:
    offered = {api.key for api in CONTROLLER_APIS}
    assert offered == AMONG_NODES | set(ABOUT_THE_CLUSTER) | ABOUT_RESOURCES | OPEN_TO_ALL


# ------------------------------------------------------------------------------------------------------ passed on


def passed_on(node: GuardedNode, carrier: Principal, who: Principal, name: str) -> tuple[ErrorCode, ErrorCode | None]:
    """What becomes of the envelope, and of the topic that is asked for in it."""
    version = 7
    header = RequestHeader(request_api_key=19, request_api_version=version, correlation_id=3, client_id="c").encode(
        request_header_version(19, version)
    )
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=5000)
    principal = DefaultPrincipalData(type=who.kind, name=who.name).encode(0)
    envelope = EnvelopeRequest(
        request_data=header + request.encode(version),
        request_principal=b"\0\0" + principal,
        client_host_address=bytes([10, 0, 0, 7]),
    )
    answer = node.as_user(carrier, envelope, 0)
    if answer.error_code:
        return error_code(answer.error_code), None
    inner = CreateTopicsResponse.decode(answer.response_data[5:], version)
    return ErrorCode.NONE, error_code(inner.topics[0].error_code)


def test_what_is_passed_on_is_decided_by_whose_it_is(node: GuardedNode) -> None:
    refused = ErrorCode.CLUSTER_AUTHORIZATION_FAILED, None
    assert passed_on(node, JAN, user("admin"), "a") == refused
    assert passed_on(node, user("admin"), JAN, "a") == (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert passed_on(node, user("admin"), user("admin"), "a") == (ErrorCode.NONE, ErrorCode.NONE)
    here = acl(Operation.CREATE, ResourceType.TOPIC, "b")
    node.permit(here._replace(host="10.0.0.8"))
    assert passed_on(node, user("admin"), JAN, "b") == (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    # The address is the client's, not the broker's.
    node.permit(here._replace(host="10.0.0.7"))
    assert passed_on(node, user("admin"), JAN, "b") == (ErrorCode.NONE, ErrorCode.NONE)


def test_nobody_passes_for_the_node_itself(node: GuardedNode) -> None:
    twin = Principal(THIS_NODE.kind, THIS_NODE.name)
    assert passed_on(node, user("admin"), twin, "a") == (ErrorCode.NONE, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
    assert passed_on(node, twin, user("admin"), "a")[0] is ErrorCode.CLUSTER_AUTHORIZATION_FAILED


# ------------------------------------------------------------------------------------------- for every listener


def authorization(node: GuardedNode) -> Authorization:
    found = node.node.services.authorization
    assert found is not None
    return found


def test_until_the_rules_are_known_only_super_users_are_let_in(node: GuardedNode) -> None:
    node.permit(acl(Operation.DESCRIBE))
    request, version = latest(ApiKey.DESCRIBE_QUORUM)
    assert authorization(node).is_ready
    authorization(node).is_ready = False
    answers = [error_code(node.as_user(who, request, version).error_code) for who in (JAN, user("admin"))]
    assert answers[0] is ErrorCode.UNKNOWN_SERVER_ERROR
    assert answers[1] not in (ErrorCode.UNKNOWN_SERVER_ERROR, ErrorCode.CLUSTER_AUTHORIZATION_FAILED)


def test_a_change_holds_for_the_next_request(node: GuardedNode) -> None:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="t")], allow_auto_topic_creation=False)

    def code() -> ErrorCode:
        return error_code(node.as_user(JAN, request, 12, at="broker").topics[0].error_code)

    assert code() is ErrorCode.TOPIC_AUTHORIZATION_FAILED
    node.permit(acl(Operation.DESCRIBE, ResourceType.TOPIC, "t"))
    assert code() is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    node.permit(
        acl(Operation.DESCRIBE, ResourceType.TOPIC, "t")._replace(permission=Permission.DENY, principal="User:*")
    )
    assert code() is ErrorCode.TOPIC_AUTHORIZATION_FAILED


def test_decisions_are_told_to_who_asks_for_it(node: GuardedNode, caplog: pytest.LogCaptureFixture) -> None:
    named = MetadataRequest(
        topics=[MetadataRequestTopic(name=name) for name in ("a", "b\n2026 forged", "c" * 2000)],
        allow_auto_topic_creation=False,
    )
    everything = MetadataRequest(topics=None)
    node.permit(acl(Operation.DESCRIBE, ResourceType.TOPIC, "a"))

    def lines(level: int | None) -> list[str]:
        caplog.clear()
        before = audit.level
        if level is not None:
            audit.setLevel(level)
        try:
            node.as_user(JAN, named, 12, at="broker")
            node.as_user(JAN, everything, 12, at="broker")
        finally:
            audit.setLevel(before)
        return [record.getMessage() for record in caplog.records if record.name == audit.name]

    assert lines(None) == []
    denied = lines(logging.INFO)
    assert len(denied) == 2
    assert denied[0] == (
        "Principal = User:jan is Denied Operation = DESCRIBE from host = 127.0.0.1 on resource = "
        "TOPIC:LITERAL:b\\n2026 forged for request = Metadata with resourceRefCount = 1 based on rule DefaultDeny"
    )
    assert all(len(line) < 800 and line.isprintable() for line in denied)
    told = lines(logging.DEBUG)
    assert len(told) == 3
    assert "is Allowed" in told[0]
    assert told[0].endswith("based on rule MatchingAcl(User:jan may describe topic 'a')")


def test_super_users_that_cannot_be(tmp_path: Path) -> None:
    settings = {"authorizer.class.name": STANDARD_AUTHORIZER, "super.users": "admin"}
    with pytest.raises(ConfigError, match=r"super.users: 'admin' is no principal"):
        InProcessNode(tmp_path / "x", compiled=True, settings=settings)
