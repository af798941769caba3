"""Leader epochs and in-sync replicas through the wire: what a client with an old idea of the cluster is told."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process_node import InProcessNode

from moldau import _speed
from moldau.errors import ErrorCode
from moldau.metadata.features import supported_features
from moldau.metadata.image import PartitionRegistration
from moldau.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from moldau.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from moldau.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from moldau.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.protocol.records import Record, encode_batch

WAYS = [pytest.param(True, id="compiled"), pytest.param(False, id="generated")] if _speed.COMPILED else [False]


class Stage:
    """A node that was started twice: offsets 0 and 1 are of an earlier leader epoch than 2."""

    def __init__(self, directory: Path, compiled: bool) -> None:
        self.node = InProcessNode(directory, compiled=compiled)
        self.topic_id = self.node.create_topic("orders")
        self.first_epoch = self.leader_epoch
        self.produce("orders", 2)
        self.node.close()
        self.node = InProcessNode(directory, compiled=compiled)
        self.produce("orders", 1)

    @property
    def leader_epoch(self) -> int:
        return self.node.node.replicas.get("orders", 0).leader_epoch

    def produce(self, topic: str, count: int, acks: int = -1) -> ErrorCode:
        records = encode_batch([Record(index, 1_700_000_000_000, None, b"value", []) for index in range(count)])
        data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])
        request = ProduceRequest(acks=acks, timeout_ms=1000, topic_data=[data])
        answer = self.node.ask(request, 9, ProduceResponse)
        return ErrorCode(answer.responses[0].partition_responses[0].error_code)

    def fetch(self, version: int, offset: int, leader_epoch: int = -1, fetched_epoch: int = -1) -> PartitionData:
        partition = FetchPartition(
            partition=0,
            fetch_offset=offset,
            current_leader_epoch=leader_epoch,
            last_fetched_epoch=fetched_epoch,
            partition_max_bytes=1 << 20,
        )
        topic = FetchTopic(topic="orders", topic_id=self.topic_id, partitions=[partition])
        request = FetchRequest(max_bytes=1 << 20, max_wait_ms=0, min_bytes=0, topics=[topic])
        answer = self.node.ask(request, version, FetchResponse)
        (data,) = answer.responses[0].partitions
        assert isinstance(data, PartitionData)
        return data


@pytest.fixture(params=WAYS)
def stage(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Stage]:
    stage = Stage(tmp_path, request.param)
    yield stage
    stage.node.close()


def test_another_leader_epoch_than_ours(stage: Stage) -> None:
    ours = stage.leader_epoch
    assert ours > stage.first_epoch
    for epoch, code in (
        (ours, ErrorCode.NONE),
        (ours - 1, ErrorCode.FENCED_LEADER_EPOCH),
        (ours + 1, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ):
        for version in (9, 12, 17):
            assert stage.fetch(version, 0, epoch).error_code == code
        offsets = ListOffsetsRequest(
            topics=[
                ListOffsetsTopic(
                    name="orders",
                    partitions=[ListOffsetsPartition(partition_index=0, current_leader_epoch=epoch, timestamp=-1)],
                )
            ]
        )
        listed = stage.node.ask(offsets, 6, ListOffsetsResponse)
        assert listed.topics[0].partitions[0].error_code == code
        ends = OffsetForLeaderEpochRequest(
            topics=[
                OffsetForLeaderTopic(
                    topic="orders",
                    partitions=[OffsetForLeaderPartition(partition=0, current_leader_epoch=epoch, leader_epoch=0)],
                )
            ]
        )
        ended = stage.node.ask(ends, 4, OffsetForLeaderEpochResponse)
        assert ended.topics[0].partitions[0].error_code == code


def test_a_log_that_left_ours(stage: Stage) -> None:
    for version in (12, 17):
        honest = stage.fetch(version, 2, fetched_epoch=stage.first_epoch)
        assert (honest.error_code, honest.diverging_epoch.end_offset) == (ErrorCode.NONE, -1)
        assert honest.records
        told = stage.fetch(version, 3, fetched_epoch=stage.first_epoch)
        assert (told.error_code, told.records) == (ErrorCode.NONE, b"")
        assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (stage.first_epoch, 2)


def test_fewer_in_sync_than_the_topic_asks_for(stage: Stage) -> None:
    node = stage.node
    second = BrokerRegistrationRequest(
        broker_id=2,
        cluster_id=node.node.cluster_id,
        incarnation_id=bytes(15) + b"\x02",
        listeners=[Listener(name="PLAINTEXT", host="127.0.0.1", port=1, security_protocol=0)],
        features=[
            Feature(name=name, min_supported_version=span.minimum, max_supported_version=span.maximum)
            for name, span in supported_features().items()
        ],
        log_dirs=[bytes(range(16))],
    )
    assert node.settle(node.node.controller.register_broker(second)).error_code == 0
    topics = [
        CreatableTopic(
            name=f"needs-{count}",
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[1, 2])],
            configs=[CreatableTopicConfig(name="min.insync.replicas", value=str(count))],
        )
        for count in (1, 2)
    ]
    created = node.settle(node.node.controller.create_topics(CreateTopicsRequest(topics=topics, timeout_ms=10_000)))
    assert [row.error_code for row in created.topics] == [0, 0]
    assert stage.produce("needs-1", 1) is ErrorCode.NONE
    assert stage.produce("needs-2", 1) is ErrorCode.NOT_ENOUGH_REPLICAS
    assert stage.produce("needs-2", 1, acks=1) is ErrorCode.NONE


def test_a_producer_that_waited_in_vain_is_told_where_its_records_are(stage: Stage) -> None:
    partition = stage.node.node.replicas.get("orders", 0)
    replicas = (1, 2)
    partition.become_leader(
        PartitionRegistration(replicas, (bytes(16),) * 2, replicas, 1, partition.leader_epoch, partition_epoch=9), 0
    )
    records = encode_batch([Record(0, 1_700_000_000_000, None, b"value", [])])
    data = TopicProduceData(name="orders", partition_data=[PartitionProduceData(index=0, records=records)])
    request = ProduceRequest(acks=-1, timeout_ms=1, topic_data=[data])
    (answer,) = stage.node.ask(request, 9, ProduceResponse).responses[0].partition_responses
    assert (answer.error_code, answer.base_offset, answer.log_start_offset) == (ErrorCode.REQUEST_TIMED_OUT, 3, 0)
