"""Answers at the edges, each as Apache Kafka 4.3 gives it to the same request."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode

from moldau.errors import ErrorCode
from moldau.protocol.message import Message
from moldau.protocol.messages import add_partitions_to_txn as add
from moldau.protocol.messages import consumer_group_heartbeat as heartbeat
from moldau.protocol.messages import describe_producers as producers
from moldau.protocol.messages import fetch as fetches
from moldau.protocol.messages import leave_group as leave
from moldau.protocol.messages import offset_commit as commit
from moldau.protocol.messages import offset_delete as deletion
from moldau.protocol.messages import produce as produces
from moldau.protocol.messages.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from moldau.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from moldau.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from moldau.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from moldau.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.records import Record, encode_batch

NOT_YET = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Stage:
    def __init__(self, directory: Path) -> None:
        one = {"offsets.topic.replication.factor": "1", "transaction.state.log.replication.factor": "1"}
        self.node = InProcessNode(directory, compiled=False, settings=one)
        self.ids = {name: self.node.create_topic(name, 2) for name in ("t", "u")}
        for kind, key in ((0, "g"), (1, "tx")):
            request = FindCoordinatorRequest(key_type=kind, coordinator_keys=[key])
            self.until(lambda request=request: self.ask(request, 4, FindCoordinatorResponse).coordinators[0])

    def ask(self, request: Message, version: int, response: type[Message]) -> Any:
        return self.node.ask(request, version, response)

    def until(self, ask: Callable[[], Any]) -> Any:
        """The first answer of a coordinator that has been loaded."""
        while True:
            answer = ask()
            if answer.error_code not in NOT_YET:
                return answer
            self.node.runtime.loop.call_later(0.01, self.node.runtime.loop.stop)
            self.node.runtime.loop.run()

    def beat(self, version: int = 1, **fields: Any) -> heartbeat.ConsumerGroupHeartbeatResponse:
        request = heartbeat.ConsumerGroupHeartbeatRequest(
            **{
                "group_id": "g",
                "member_id": "m",
                "member_epoch": 0,
                "rebalance_timeout_ms": 30_000,
                "subscribed_topic_names": ["t"],
                "topic_partitions": [],
                **fields,
            }
        )
        answer = self.until(lambda: self.ask(request, version, heartbeat.ConsumerGroupHeartbeatResponse))
        assert isinstance(answer, heartbeat.ConsumerGroupHeartbeatResponse)
        return answer


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("small-answers"))
    yield stage
    stage.node.close()


# --------------------------------------------------------------------------------------------------------------- groups


@pytest.mark.parametrize(
    ("version", "fields", "code"),
    [
        (0, {"member_id": ""}, ErrorCode.NONE),
        (1, {"member_id": ""}, ErrorCode.INVALID_REQUEST),
        (1, {"member_id": " "}, ErrorCode.INVALID_REQUEST),
        (0, {"member_id": "", "member_epoch": 3}, ErrorCode.INVALID_REQUEST),
        (1, {"group_id": ""}, ErrorCode.INVALID_REQUEST),
        (1, {"group_id": " "}, ErrorCode.INVALID_REQUEST),
        (1, {"instance_id": " "}, ErrorCode.INVALID_REQUEST),
        (1, {"rack_id": ""}, ErrorCode.INVALID_REQUEST),
        (1, {"member_epoch": -3}, ErrorCode.INVALID_REQUEST),
        (1, {"member_epoch": -2}, ErrorCode.INVALID_REQUEST),
        (1, {"rebalance_timeout_ms": -1}, ErrorCode.INVALID_REQUEST),
        (1, {"topic_partitions": None}, ErrorCode.INVALID_REQUEST),
        (1, {"subscribed_topic_names": None}, ErrorCode.INVALID_REQUEST),
        (1, {"server_assignor": "lottery"}, ErrorCode.UNSUPPORTED_ASSIGNOR),
        # Nothing to subscribe to is a subscription.
        (1, {"subscribed_topic_names": []}, ErrorCode.NONE),
        (1, {"subscribed_topic_names": None, "subscribed_topic_regex": ""}, ErrorCode.NONE),
        (1, {"subscribed_topic_names": None, "subscribed_topic_regex": "none-.*"}, ErrorCode.NONE),
    ],
)
def test_who_may_join_a_consumer_group(
    stage: Stage, version: int, fields: dict[str, Any], code: ErrorCode, request: pytest.FixtureRequest
) -> None:
    answer = stage.beat(version, **{"group_id": f"joins-{request.node.name}", **fields})
    assert answer.error_code == code
    if code == ErrorCode.NONE:
        assert answer.member_id
        assert answer.member_epoch == 1


def test_leave_group_removes_members_of_the_consumer_protocol(stage: Stage) -> None:
    stage.beat(group_id="leaves", member_id="m1")
    stage.beat(group_id="leaves", member_id="m2", instance_id="i")
    stage.beat(group_id="leaves", member_id="m3")

    def left(member_id: str, instance_id: str | None = None) -> tuple[int, int]:
        identity = leave.MemberIdentity(member_id=member_id, group_instance_id=instance_id)
        request = leave.LeaveGroupRequest(group_id="leaves", members=[identity])
        answer = stage.ask(request, 4, leave.LeaveGroupResponse)
        return answer.error_code, answer.members[0].error_code

    assert left("nobody") == (0, ErrorCode.UNKNOWN_MEMBER_ID)
    assert left("m1") == (0, 0)
    assert left("wrong", "i") == (0, ErrorCode.FENCED_INSTANCE_ID)
    assert left("", "i") == (0, 0)
    assert left("m2", "i") == (0, ErrorCode.UNKNOWN_MEMBER_ID)
    single = leave.LeaveGroupRequest(group_id="leaves", member_id="m3")
    assert stage.ask(single, 2, leave.LeaveGroupResponse).error_code == 0
    (described,) = stage.ask(
        ConsumerGroupDescribeRequest(group_ids=["leaves"]), 1, ConsumerGroupDescribeResponse
    ).groups
    assert (described.group_state, described.members) == ("Empty", [])


def test_the_empty_group_id(stage: Stage) -> None:
    for version, code in ((0, ErrorCode.NONE), (5, ErrorCode.NONE), (6, ErrorCode.GROUP_ID_NOT_FOUND)):
        (described,) = stage.ask(
            DescribeGroupsRequest(groups=["no-offsets", ""][1:]), version, DescribeGroupsResponse
        ).groups
        assert (described.error_code, described.group_state) == (code, "Dead")
    (described,) = stage.ask(ConsumerGroupDescribeRequest(group_ids=[""]), 1, ConsumerGroupDescribeResponse).groups
    assert described.error_code == ErrorCode.INVALID_GROUP_ID
    (deleted,) = stage.ask(DeleteGroupsRequest(groups_names=[""]), 2, DeleteGroupsResponse).results
    assert deleted.error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_deleting_offsets_of_what_does_not_exist(stage: Stage) -> None:
    row = commit.OffsetCommitRequestPartition(partition_index=0, committed_offset=5)
    topic = commit.OffsetCommitRequestTopic(name="t", partitions=[row])
    committed = stage.ask(
        commit.OffsetCommitRequest(group_id="forgets", topics=[topic]), 9, commit.OffsetCommitResponse
    )
    assert committed.topics[0].partitions[0].error_code == 0

    def delete(group: str, **asked: list[int]) -> tuple[int, dict[tuple[str, int], int]]:
        topics = [
            deletion.OffsetDeleteRequestTopic(
                name=name, partitions=[deletion.OffsetDeleteRequestPartition(partition_index=n) for n in numbers]
            )
            for name, numbers in asked.items()
        ]
        request = deletion.OffsetDeleteRequest(group_id=group, topics=topics)
        answer = stage.ask(request, 0, deletion.OffsetDeleteResponse)
        names = [topic.name for topic in answer.topics]
        assert len(names) == len(set(names))
        return answer.error_code, {
            (topic.name, row.partition_index): row.error_code for topic in answer.topics for row in topic.partitions
        }

    absent = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert delete("forgets", t=[0, 1, 9], missing=[0]) == (
        0,
        {("t", 0): 0, ("t", 1): 0, ("t", 9): absent, ("missing", 0): absent},
    )
    assert delete("forgets", t=[9]) == (0, {("t", 9): absent})
    # Whether there is such a group comes first.
    assert delete("nobody", missing=[0]) == (ErrorCode.GROUP_ID_NOT_FOUND, {})


# --------------------------------------------------------------------------------------------------------- transactions


def test_internal_topics_are_no_part_of_a_clients_transaction(stage: Stage) -> None:
    request = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000)
    producer = stage.until(lambda: stage.ask(request, 4, InitProducerIdResponse))

    def added(version: int, *names: str) -> dict[str, int]:
        topics = [add.AddPartitionsToTxnTopic(name=name, partitions=[0]) for name in names]
        if version < 4:
            old = add.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id="tx",
                v3_and_below_producer_id=producer.producer_id,
                v3_and_below_producer_epoch=producer.producer_epoch,
                v3_and_below_topics=topics,
            )
            rows = stage.ask(old, version, add.AddPartitionsToTxnResponse).results_by_topic_v3_and_below
        else:
            transaction = add.AddPartitionsToTxnTransaction(
                transactional_id="tx",
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                topics=topics,
            )
            new = add.AddPartitionsToTxnRequest(transactions=[transaction])
            (result,) = stage.ask(new, version, add.AddPartitionsToTxnResponse).results_by_transaction
            rows = result.topic_results
        return {row.name: row.results_by_partition[0].partition_error_code for row in rows}

    for name in ("__consumer_offsets", "__transaction_state"):
        assert added(3, name, "t") == {
            name: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
            "t": ErrorCode.OPERATION_NOT_ATTEMPTED,
        }
    assert added(3, "missing", "t") == {
        "missing": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        "t": ErrorCode.OPERATION_NOT_ATTEMPTED,
    }
    assert added(3, "t") == {"t": 0}
    assert added(5, "__consumer_offsets", "t") == {"__consumer_offsets": 0, "t": 0}


def test_producers_of_a_topic_that_cannot_be(stage: Stage) -> None:
    names = ["", "a b", "..", "x" * 300, "missing", "t"]
    topics = [producers.TopicRequest(name=name, partition_indexes=[0, 9]) for name in names]
    answer = stage.ask(producers.DescribeProducersRequest(topics=topics), 0, producers.DescribeProducersResponse)
    codes = {topic.name: [row.error_code for row in topic.partitions] for topic in answer.topics}
    invalid, absent = ErrorCode.INVALID_TOPIC_EXCEPTION, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes == {**{name: [invalid] * 2 for name in names[:4]}, "missing": [absent] * 2, "t": [0, absent]}


# --------------------------------------------------------------------------------------------------------------- topics


def test_a_topic_without_time_is_not_created(stage: Stage) -> None:
    topic = CreatableTopic(name="in-no-time", num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[topic], timeout_ms=0)
    (row,) = stage.ask(request, 5, CreateTopicsResponse).topics
    assert row.error_code == ErrorCode.REQUEST_TIMED_OUT
    # Whatever was decided before this one is in the image as well.
    stage.node.create_topic("in-time")
    assert "in-no-time" not in stage.node.node.metadata.image.topics.by_name


# -------------------------------------------------------------------------------------------------------------- records


@pytest.mark.parametrize("replica_id", [0, 1, 5])
def test_a_fetch_that_claims_to_be_a_replica(stage: Stage, replica_id: int) -> None:
    for version in (12, 15, 17):
        partition = fetches.FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1000)
        topic = fetches.FetchTopic(topic="t", topic_id=stage.ids["t"], partitions=[partition])
        request = fetches.FetchRequest(max_bytes=1 << 20, topics=[topic])
        if version < 15:
            request.replica_id = replica_id
        else:
            request.replica_state = fetches.ReplicaState(replica_id=replica_id, replica_epoch=1)
        (data,) = stage.ask(request, version, fetches.FetchResponse).responses[0].partitions
        assert (data.error_code, data.high_watermark, data.log_start_offset) == (
            ErrorCode.NOT_LEADER_OR_FOLLOWER,
            -1,
            -1,
        )


def test_what_a_produce_answer_says_besides_its_code(stage: Stage) -> None:
    stage.node.create_topic("written")
    stage.node.create_topic("stamped", **{"message.timestamp.type": "LogAppendTime"})
    stamp = 1_700_000_000_000

    def produce(topic: str, timestamp: int = stamp, damage: int = 0, **fields: int) -> tuple[int, int, int, int]:
        batch = bytearray(encode_batch([Record(0, timestamp, None, b"value", [])], **fields))
        batch[-1] ^= damage
        row = produces.PartitionProduceData(index=0, records=bytes(batch))
        data = produces.TopicProduceData(name=topic, partition_data=[row])
        request = produces.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data])
        answer = stage.ask(request, 9, produces.ProduceResponse).responses[0].partition_responses[0]
        return answer.error_code, answer.base_offset, answer.log_append_time_ms, answer.log_start_offset

    for _ in range(3):
        assert produce("written")[0] == 0
    row = DeleteRecordsPartition(partition_index=0, offset=2)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name="written", partitions=[row])], timeout_ms=1000)
    assert stage.ask(request, 2, DeleteRecordsResponse).topics[0].partitions[0].error_code == 0
    assert produce("written") == (0, 3, -1, 2)
    # The log has looked at these.
    assert produce("written", 32_503_680_000_000) == (ErrorCode.INVALID_TIMESTAMP, -1, -1, 2)
    assert produce("written", producer_id=7, producer_epoch=0, base_sequence=0) == (0, 4, -1, 2)
    assert produce("written", producer_id=7, producer_epoch=0, base_sequence=9) == (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER,
        *(-1, -1, 2),
    )
    # A batch that came before is answered with the time of its records.
    assert produce("written", producer_id=7, producer_epoch=0, base_sequence=0) == (0, 4, stamp, 2)
    # It has not looked at these.
    assert produce("written", damage=1) == (ErrorCode.CORRUPT_MESSAGE, -1, -1, -1)
    assert produce("missing") == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1, -1, -1)
    assert produce("__consumer_offsets") == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1, -1, -1)
    code, offset, appended, start = produce("stamped")
    assert (code, offset, start) == (0, 0, 0)
    assert appended > stamp


def test_what_records_may_be_deleted(stage: Stage) -> None:
    stage.node.create_topic("deleted-from")
    stage.node.create_topic("table", **{"cleanup.policy": "compact"})
    stage.node.create_topic("both", **{"cleanup.policy": "compact,delete"})
    for topic in ("deleted-from", "both"):
        batch = encode_batch([Record(index, 1_700_000_000_000, b"key", b"value", []) for index in range(4)])
        row = produces.PartitionProduceData(index=0, records=batch)
        data = produces.TopicProduceData(name=topic, partition_data=[row])
        stage.ask(produces.ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[data]), 9, produces.ProduceResponse)

    def delete(topic: str, offset: int) -> tuple[int, int]:
        row = DeleteRecordsPartition(partition_index=0, offset=offset)
        request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[row])], timeout_ms=1000)
        (answer,) = stage.ask(request, 2, DeleteRecordsResponse).topics[0].partitions
        return answer.error_code, answer.low_watermark

    out_of_range = (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete("deleted-from", -2) == out_of_range
    assert delete("deleted-from", 5) == out_of_range
    assert delete("deleted-from", 0) == (0, 0)
    assert delete("deleted-from", 3) == (0, 3)
    assert delete("deleted-from", 1) == (0, 3)
    assert delete("deleted-from", 4) == (0, 4)
    assert delete("both", -1) == (0, 4)
    assert delete("table", 0) == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete("missing", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete("__consumer_offsets", 0) == (ErrorCode.INVALID_TOPIC_EXCEPTION, -1)
