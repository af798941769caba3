"""What nodes ask of controllers, far too much of it: refused before it is read, or decided and answered in slices."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from guarded_node import ADMIN, GuardedNode, acl
from in_process_node import InProcessNode, Wire, request_frame

from moldau import slicing
from moldau.errors import ErrorCode
from moldau.metadata.topic_name import CLUSTER_METADATA
from moldau.protocol.api import RESPONSES
from moldau.protocol.message import Message
from moldau.protocol.messages import assign_replicas_to_dirs as assigns
from moldau.protocol.messages import begin_quorum_epoch as begins
from moldau.protocol.messages import broker_registration as brokers
from moldau.protocol.messages import controller_registration as controllers
from moldau.protocol.messages import end_quorum_epoch as ends
from moldau.protocol.messages import update_raft_voter as updates
from moldau.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnTransaction
from moldau.protocol.messages.add_raft_voter import AddRaftVoterRequest, Listener
from moldau.protocol.messages.alter_partition import AlterPartitionRequest, RequestTopicData
from moldau.protocol.messages.alter_partition_reassignments import AlterPartitionReassignmentsRequest, ReassignableTopic
from moldau.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from moldau.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest
from moldau.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions
from moldau.protocol.messages.envelope import EnvelopeResponse
from moldau.security.acl import Operation, PatternType, Permission, ResourceType
from moldau.server.context import RequestContext
from moldau.server.envelopes import answer_in, seal

COUNT = 3000


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path_factory.mktemp("node") / "data", compiled=True, hurry=True)
    yield node
    node.close()


@pytest.fixture
def tiny_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A step of work is a slice."""
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)


def slices_of(node: InProcessNode, request: Message, *, at: str = "controller") -> int:
    before, wire = node.node.slicer.slices, Wire()
    node.send(wire, request_frame(request, request.MAX_VERSION), at=at)
    node.turn_until(lambda: bool(wire.sent) and not len(node.node.slicer))
    assert wire.closed is None
    return node.node.slicer.slices - before


METADATA_LOG: dict[str, Any] = {"topic_name": CLUSTER_METADATA}


@pytest.mark.parametrize(
    ("request_", "array"),
    [
        (
            begins.BeginQuorumEpochRequest(
                topics=[begins.RequestTopicData(**METADATA_LOG, partitions=[begins.RequestPartitionData()])],
                leader_endpoints=[begins.LeaderEndpoint()] * COUNT,
            ),
            "leader_endpoints",
        ),
        (
            ends.EndQuorumEpochRequest(
                topics=[ends.RequestTopicData(**METADATA_LOG, partitions=[ends.RequestPartitionData()])],
                leader_endpoints=[ends.LeaderEndpoint()] * COUNT,
            ),
            "leader_endpoints",
        ),
        (AddRaftVoterRequest(listeners=[Listener()] * COUNT), "listeners"),
        (updates.UpdateRaftVoterRequest(listeners=[updates.Listener()] * COUNT), "listeners"),
        (brokers.BrokerRegistrationRequest(log_dirs=[bytes(16)] * COUNT), "log_dirs"),
        (controllers.ControllerRegistrationRequest(listeners=[controllers.Listener()] * COUNT), "listeners"),
        (BrokerHeartbeatRequest(offline_log_dirs=[bytes(16)] * COUNT), "offline_log_dirs"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Message) else value,
)
def test_what_a_node_says_of_itself_is_little(node: InProcessNode, request_: Any, array: str) -> None:
    kind = RESPONSES[request_.API_KEY]
    answer: Any = node.ask(request_, request_.MAX_VERSION, kind, at="controller")
    assert answer.error_code == ErrorCode.INVALID_REQUEST
    # Not for what else is wrong with it.
    few = request_.changed(**{array: []})
    assert node.ask(few, few.MAX_VERSION, kind, at="controller").error_code != ErrorCode.INVALID_REQUEST


def test_topics_are_gone_through_in_slices_though_no_partition_is_named(node: InProcessNode, tiny_slices: None) -> None:
    (broker,) = node.node.services.metadata.image.cluster.brokers.values()
    said = {"broker_id": broker.id, "broker_epoch": broker.epoch}
    # Each is read, decided and answered.
    altered = AlterPartitionRequest(**said, topics=[RequestTopicData(topic_id=b"absent".ljust(16))] * COUNT)
    assert slices_of(node, altered) > 2.5 * COUNT
    rows = [assigns.RequestTopicData(topic_id=b"absent".ljust(16))] * COUNT
    of_topics = assigns.AssignReplicasToDirsRequest(**said, directories=[assigns.RequestDirectoryData(topics=rows)])
    assert slices_of(node, of_topics) > 2.5 * COUNT
    of_none = assigns.AssignReplicasToDirsRequest(**said, directories=[assigns.RequestDirectoryData()] * COUNT)
    assert slices_of(node, of_none) > 2.5 * COUNT


def test_partitions_of_many_transactions_are_added_in_slices(node: InProcessNode, tiny_slices: None) -> None:
    named = [AddPartitionsToTxnTransaction(transactional_id=f"absent-{number}") for number in range(COUNT)]
    request = AddPartitionsToTxnRequest(transactions=named)
    assert slices_of(node, request, at="broker") > 3.5 * COUNT


ABSENT = [f"absent-{number:05d}" for number in range(COUNT)]


def passed_on(node: InProcessNode, request: Message) -> RequestContext:
    """In the name of a client of another broker."""
    connection = node.connect(Wire(), at="broker")
    return RequestContext(connection, node.node.services, request.API_KEY, request.MAX_VERSION, 5, "app")


def test_what_is_passed_on_is_written_answered_and_read_in_slices(node: InProcessNode, tiny_slices: None) -> None:
    request = ElectLeadersRequest(timeout_ms=9000, topic_partitions=[TopicPartitions(topic=name) for name in ABSENT])
    context = passed_on(node, request)
    pauses, envelope = drained(seal(context, request))
    # Topics are written some at a time.
    assert pauses > COUNT / 40
    # As many as without an envelope, among them those in which the answer is written.
    assert slices_of(node, envelope) > slices_of(node, request) - 100
    answer = node.ask(envelope, 0, EnvelopeResponse, at="controller")
    pauses, answered = drained(answer_in(answer, context))
    assert pauses > 0.9 * COUNT
    assert isinstance(answered, ElectLeadersResponse)
    assert [row.topic for row in answered.replica_election_results] == ABSENT


def drained(work: Any) -> tuple[int, Any]:
    """How often it paused, and what came of it."""
    pauses = 0
    while True:
        try:
            next(work)
        except StopIteration as done:
            return pauses, done.value
        pauses += 1


def test_very_much_that_is_passed_on_is_refused_for_all_of_it(node: InProcessNode) -> None:
    """And not in its own words, which would take as long as to do it."""
    topics = [ReassignableTopic(name=name) for name in ABSENT] * 2
    request = AlterPartitionReassignmentsRequest(timeout_ms=0, topics=topics)
    envelope = drained(seal(passed_on(node, request), request))[1]
    answer = node.ask(envelope, 0, EnvelopeResponse, at="controller")
    refused: Any = drained(answer_in(answer, passed_on(node, request)))[1]
    assert refused.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert not refused.responses


def test_rules_that_many_filters_match_are_told_so_often_and_no_more(tmp_path: Path) -> None:
    node = GuardedNode(tmp_path / "data")
    try:
        rules = [acl(Operation.READ, ResourceType.TOPIC, f"t{number}") for number in range(200)]
        node.permit(*rules)
        asked = DeleteAclsFilter(
            resource_type_filter=ResourceType.TOPIC,
            resource_name_filter=None,
            principal_filter=None,
            host_filter=None,
            pattern_type_filter=PatternType.ANY,
            operation=Operation.ANY,
            permission_type=Permission.ANY,
        )
        answer = node.as_user(ADMIN, DeleteAclsRequest(filters=[asked] * 501), 3)
        assert {result.error_code for result in answer.filter_results} == {ErrorCode.POLICY_VIOLATION}
        assert len(node.node.services.metadata.image.acls.by_id) == 200
        answer = node.as_user(ADMIN, DeleteAclsRequest(filters=[asked] * 500), 3)
        assert {len(result.matching_acls) for result in answer.filter_results} == {200}
        assert not node.node.services.metadata.image.acls.by_id
    finally:
        node.close()
