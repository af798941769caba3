"""Every group API at every version it has: decoded from bytes, handled, and encoded again."""

from __future__ import annotations

from types import GeneratorType, SimpleNamespace
from typing import Any

import pytest
from group_world import GroupWorld

from moldau.coordinator.group.consumer_protocol import encode_subscription
from moldau.deferred import Deferred
from moldau.errors import ErrorCode, KafkaError
from moldau.protocol.messages import consumer_group_heartbeat as chb
from moldau.protocol.messages import offset_commit as oc
from moldau.protocol.messages import offset_fetch as of
from moldau.protocol.messages.consumer_group_describe import ConsumerGroupDescribeRequest
from moldau.protocol.messages.consumer_protocol_subscription import ConsumerProtocolSubscription
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest
from moldau.protocol.messages.heartbeat import HeartbeatRequest
from moldau.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from moldau.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from moldau.protocol.messages.list_groups import ListGroupsRequest
from moldau.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
)
from moldau.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment
from moldau.server.apis.consumer_group_describe import CONSUMER_GROUP_DESCRIBE
from moldau.server.apis.consumer_group_heartbeat import CONSUMER_GROUP_HEARTBEAT
from moldau.server.apis.delete_groups import DELETE_GROUPS
from moldau.server.apis.describe_groups import DESCRIBE_GROUPS
from moldau.server.apis.heartbeat import HEARTBEAT
from moldau.server.apis.join_group import JOIN_GROUP
from moldau.server.apis.leave_group import LEAVE_GROUP
from moldau.server.apis.list_groups import LIST_GROUPS
from moldau.server.apis.offset_commit import OFFSET_COMMIT
from moldau.server.apis.offset_delete import OFFSET_DELETE
from moldau.server.apis.offset_fetch import OFFSET_FETCH
from moldau.server.apis.sync_group import SYNC_GROUP
from moldau.server.dispatch import Api
from moldau.slicing import run_whole

ALL = (
    *(JOIN_GROUP, SYNC_GROUP, HEARTBEAT, LEAVE_GROUP, LIST_GROUPS, DESCRIBE_GROUPS, DELETE_GROUPS),
    *(OFFSET_COMMIT, OFFSET_FETCH, OFFSET_DELETE, CONSUMER_GROUP_HEARTBEAT, CONSUMER_GROUP_DESCRIBE),
)


class Caller:
    """Sends requests the way a connection does, through bytes both ways."""

    def __init__(self) -> None:
        self.world = GroupWorld()
        self.world.create_topic("t", 2)
        self.topic_id = self.world.image.topics.by_name["t"].id
        view = SimpleNamespace(image=self.world.image)
        self.services = SimpleNamespace(authorization=None, groups=self.world.groups, metadata=view)

    def call(self, api: Api, version: int, request: Any) -> Any:
        context: Any = SimpleNamespace(
            services=self.services, version=version, client_id="client", peer=("127.0.0.1", 1)
        )
        decoded = api.request.decode(request.encode(version), version)
        try:
            answer: Any = api.handler(context, decoded)
            if isinstance(answer, GeneratorType):
                answer = run_whole(answer)
        except KafkaError as error:
            assert api.error_response is not None
            answer = api.error_response(decoded, version, error)
        self.world.time.settle()
        if isinstance(answer, Deferred):
            seen: list[Any] = []
            answer.then(lambda value, error: seen.append(error or value))
            answer = seen[0]
        assert answer is not None
        if isinstance(answer, BaseException):
            raise answer
        return type(answer).decode(answer.encode(version), version)


def versions(api: Api) -> list[int]:
    return list(range(api.request.MIN_VERSION, api.request.MAX_VERSION + 1))


@pytest.mark.parametrize("version", versions(JOIN_GROUP))
def test_a_classic_member_at_every_version(version: int) -> None:
    caller = Caller()
    metadata = encode_subscription(ConsumerProtocolSubscription(topics=["t"]), 1)
    request = JoinGroupRequest(
        group_id="g",
        session_timeout_ms=10_000,
        rebalance_timeout_ms=10_000,
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    if version == 0:
        request.rebalance_timeout_ms = -1
    joined = caller.call(JOIN_GROUP, version, request)
    if version >= 4:
        assert joined.error_code == ErrorCode.MEMBER_ID_REQUIRED
        request.member_id = joined.member_id
        joined = caller.call(JOIN_GROUP, version, request)
    assert (joined.error_code, joined.generation_id, joined.protocol_name) == (0, 1, "range")
    member_id = joined.member_id
    assert joined.leader == member_id
    assert [row.metadata for row in joined.members] == [metadata]
    rows = [SyncGroupRequestAssignment(member_id=member_id, assignment=b"mine")]
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, assignments=rows)
    for other in versions(SYNC_GROUP):
        if other == 5:
            # Since then it has to say which protocol it means.
            for missing in ({}, {"protocol_type": "consumer"}, {"protocol_name": "range"}):
                unsaid = SyncGroupRequest(group_id="g", generation_id=1, member_id=member_id, **missing)
                assert caller.call(SYNC_GROUP, 5, unsaid).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
            sync.protocol_type, sync.protocol_name = "consumer", "range"
        assert caller.call(SYNC_GROUP, other, sync).assignment == b"mine"
    beat = HeartbeatRequest(group_id="g", generation_id=1, member_id=member_id)
    assert {caller.call(HEARTBEAT, other, beat).error_code for other in versions(HEARTBEAT)} == {0}
    for other in versions(DESCRIBE_GROUPS):
        (described,) = caller.call(DESCRIBE_GROUPS, other, DescribeGroupsRequest(groups=["g"])).groups
        assert (described.group_state, described.members[0].client_host) == ("Stable", "/127.0.0.1")


@pytest.mark.parametrize("version", versions(LEAVE_GROUP))
def test_leaving_at_every_version(version: int) -> None:
    caller = Caller()
    request = LeaveGroupRequest(group_id="g", member_id="nobody" if version < 3 else "")
    if version >= 3:
        request.members = [MemberIdentity(member_id="nobody")]
    left = caller.call(LEAVE_GROUP, version, request)
    code = left.error_code if version < 3 else left.members[0].error_code
    assert code == ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("version", versions(OFFSET_COMMIT))
def test_committing_at_every_version_and_fetching_at_every_other(version: int) -> None:
    caller = Caller()
    rows = [
        oc.OffsetCommitRequestPartition(partition_index=index, committed_offset=5, committed_metadata="note")
        for index in (0, 9)
    ]
    topic = oc.OffsetCommitRequestTopic(name="t", topic_id=caller.topic_id, partitions=rows)
    unknown = oc.OffsetCommitRequestTopic(name="unknown", topic_id=bytes(15) + b"x", partitions=rows[:1])
    request = oc.OffsetCommitRequest(group_id="g", topics=[topic, unknown])
    response = caller.call(OFFSET_COMMIT, version, request)
    codes = [row.error_code for each in response.topics for row in each.partitions]
    missing = ErrorCode.UNKNOWN_TOPIC_ID if version >= 10 else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert sorted(codes) == sorted([0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, missing])
    for other in versions(OFFSET_FETCH):
        (found,) = fetch(caller, other, everything=False)
        assert found == (0, 5, "note", 0)
        if other >= 2:
            assert fetch(caller, other, everything=True) == [(0, 5, "note", 0)]


def fetch(caller: Caller, version: int, *, everything: bool) -> list[tuple[int, int, str, int]]:
    if version >= 8:
        topics = [of.OffsetFetchRequestTopics(name="t", topic_id=caller.topic_id, partition_indexes=[0])]
        group = of.OffsetFetchRequestGroup(group_id="g", topics=None if everything else topics)
        (answer,) = caller.call(OFFSET_FETCH, version, of.OffsetFetchRequest(groups=[group])).groups
        if version >= 10:
            assert {row.topic_id for row in answer.topics} == {caller.topic_id}
    else:
        old = [of.OffsetFetchRequestTopic(name="t", partition_indexes=[0])]
        request = of.OffsetFetchRequest(group_id="g", topics=None if everything else old)
        answer = caller.call(OFFSET_FETCH, version, request)
    assert answer.error_code == 0
    return [
        (row.partition_index, row.committed_offset, row.metadata, row.error_code)
        for topic in answer.topics
        for row in topic.partitions
    ]


def test_offsets_of_an_earlier_topic_of_the_same_name_are_not_its_own() -> None:
    caller = Caller()
    row = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topic = oc.OffsetCommitRequestTopic(name="t", topic_id=caller.topic_id, partitions=[row])
    caller.call(OFFSET_COMMIT, 10, oc.OffsetCommitRequest(group_id="g", topics=[topic]))
    # The tombstones of the deleted topic have not been written: the new topic must not start at 5 all the same.
    group = of.OffsetFetchRequestGroup(
        group_id="g", topics=[of.OffsetFetchRequestTopics(name="t", topic_id=bytes(15) + b"y", partition_indexes=[0])]
    )
    seen: list[Any] = []
    caller.world.groups.fetch_offsets(group, require_stable=False).then(lambda value, _: seen.append(value))
    assert seen[0].topics[0].partitions[0].committed_offset == -1


@pytest.mark.parametrize("version", versions(CONSUMER_GROUP_HEARTBEAT))
def test_a_consumer_member_at_every_version(version: int) -> None:
    caller = Caller()
    request = chb.ConsumerGroupHeartbeatRequest(
        group_id="g",
        member_id="" if version == 0 else "mine",
        rebalance_timeout_ms=1000,
        subscribed_topic_names=["t"],
        topic_partitions=[],
    )
    joined = caller.call(CONSUMER_GROUP_HEARTBEAT, version, request)
    assert (joined.error_code, joined.member_epoch) == (0, 1)
    assert [row.partitions for row in joined.assignment.topic_partitions] == [[0, 1]]
    for other in versions(CONSUMER_GROUP_DESCRIBE):
        request_ = ConsumerGroupDescribeRequest(group_ids=["g", "none"], include_authorized_operations=True)
        known, unknown = caller.call(CONSUMER_GROUP_DESCRIBE, other, request_).groups
        assert (known.group_state, known.members[0].member_id) == ("Stable", joined.member_id)
        assert known.authorized_operations > 0
        assert unknown.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_listing_and_deleting_at_every_version() -> None:
    for version in versions(DELETE_GROUPS):
        caller = Caller()
        row = oc.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
        topic = oc.OffsetCommitRequestTopic(name="t", partitions=[row])
        caller.call(OFFSET_COMMIT, 8, oc.OffsetCommitRequest(group_id="g", topics=[topic]))
        for other in versions(LIST_GROUPS):
            assert [row.group_id for row in caller.call(LIST_GROUPS, other, ListGroupsRequest()).groups] == ["g"]
        rows = [OffsetDeleteRequestPartition(partition_index=0)]
        gone = [OffsetDeleteRequestTopic(name=name, partitions=rows) for name in ("t", "unknown")]
        deleted = caller.call(OFFSET_DELETE, 0, OffsetDeleteRequest(group_id="g", topics=gone))
        codes = {topic.name: topic.partitions[0].error_code for topic in deleted.topics}
        assert codes == {"t": 0, "unknown": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
        names = DeleteGroupsRequest(groups_names=["g", "none"])
        results = {row.group_id: row.error_code for row in caller.call(DELETE_GROUPS, version, names).results}
        assert results == {"g": 0, "none": ErrorCode.GROUP_ID_NOT_FOUND}


@pytest.mark.parametrize("api", ALL, ids=lambda api: api.key.name)
def test_a_refusal_fits_into_every_version(api: Api) -> None:
    assert api.error_response is not None
    for version in versions(api):
        request: Any = api.request()
        refused = api.error_response(request, version, KafkaError(ErrorCode.NOT_COORDINATOR))
        type(refused).decode(refused.encode(version), version)
