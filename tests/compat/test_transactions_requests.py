"""Transactions request by request, for what the clients at hand do not send: version 2, and what must be refused.

The requests go through our own codec; that the bytes are Kafka's is shown elsewhere, by the clients.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from node_process import NodeProcess, StartNode
from transactional_clients import create_topic, read_topic

from moldau.client.cluster import Cluster
from moldau.client.conversation import Ask, Conversation
from moldau.errors import ErrorCode
from moldau.protocol.messages import add_partitions_to_txn as adding
from moldau.protocol.messages import produce as producing
from moldau.protocol.messages import txn_offset_commit as committing
from moldau.protocol.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from moldau.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest
from moldau.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
)
from moldau.protocol.messages.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from moldau.protocol.records import encode_batch


class Producer:
    """A transactional producer, one request at a time; it keeps the id, epoch and sequences it is given."""

    def __init__(self, cluster: Cluster, transactional_id: str) -> None:
        self._cluster = cluster
        self.transactional_id = transactional_id
        self.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=[transactional_id]))
        given = self._identity()
        while given.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:  # which was made this very moment
            given = self._identity()
        assert given.error_code == 0
        self.id, self.epoch = given.producer_id, given.producer_epoch
        self.sequences: dict[tuple[str, int], int] = {}

    def _identity(self) -> Any:
        return self.ask(InitProducerIdRequest(transactional_id=self.transactional_id, transaction_timeout_ms=60_000))

    def ask(self, request: Any, at_most: int | None = None) -> Any:
        def conversation() -> Conversation[Any]:
            return (yield Ask(request, at_most=at_most))

        return self._cluster.run(conversation())

    def write(self, topic: str, partition: int, value: bytes, version: int = 12, **fields: Any) -> int:
        """Produces one record; the error code."""
        sequence = self.sequences.get((topic, partition), 0)
        batch = encode_batch(
            [(0, None, value, ())],
            **{
                "producer_id": self.id,
                "producer_epoch": self.epoch,
                "base_sequence": sequence,
                "is_transactional": True,
                **fields,
            },
        )
        request = producing.ProduceRequest(
            transactional_id=self.transactional_id,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[
                producing.TopicProduceData(
                    name=topic, partition_data=[producing.PartitionProduceData(index=partition, records=batch)]
                )
            ],
        )
        response = self.ask(request, at_most=version)
        code = int(response.responses[0].partition_responses[0].error_code)
        if code == 0:
            self.sequences[topic, partition] = sequence + 1
        return code

    def end(self, commit: bool, version: int = 5) -> int:
        request = EndTxnRequest(
            transactional_id=self.transactional_id, producer_id=self.id, producer_epoch=self.epoch, committed=commit
        )
        response = self.ask(request, at_most=version)
        if response.error_code == 0 and version >= 5:
            self.id, self.epoch = response.producer_id, response.producer_epoch
            self.sequences.clear()
        return int(response.error_code)

    def add(self, topic: str, partition: int) -> int:
        request = adding.AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=self.id,
            v3_and_below_producer_epoch=self.epoch,
            v3_and_below_topics=[adding.AddPartitionsToTxnTopic(name=topic, partitions=[partition])],
        )
        response = self.ask(request, at_most=3)
        return int(response.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code)


@pytest.fixture
def cluster(broker: NodeProcess) -> Iterator[Cluster]:
    with Cluster(broker.bootstrap) as connected:
        yield connected


@pytest.fixture
def two(broker: NodeProcess, topic: str) -> str:
    """A topic with two partitions."""
    create_topic(broker.bootstrap, topic, 2)
    return topic


def test_the_first_to_speak_of_groups_may_be_a_transaction(start_node: StartNode, topic: str) -> None:
    """kafka-python and aiokafka add the offsets of a group, and look for who keeps them only then."""
    node = start_node()
    with Cluster(node.bootstrap) as connected:
        producer = Producer(connected, topic)
        request = AddOffsetsToTxnRequest(
            transactional_id=topic, producer_id=producer.id, producer_epoch=producer.epoch, group_id=topic
        )
        assert producer.ask(request, at_most=3).error_code == 0
        assert producer.end(True, version=4) == 0


def test_version_2_adds_by_writing_and_ends_with_a_new_epoch(broker: NodeProcess, cluster: Cluster, two: str) -> None:
    producer = Producer(cluster, f"{two}-id")
    for turn, commit in enumerate([True, False, True]):
        epoch = producer.epoch
        assert producer.write(two, 0, b"%d" % turn) == 0
        assert producer.write(two, 1, b"%d" % turn) == 0
        assert producer.write(two, 1, b"%d" % turn) == 0
        assert producer.end(commit) == 0
        assert producer.epoch == epoch + 1
    assert sorted(read_topic(broker.bootstrap, two, 2)) == [b"0"] * 3 + [b"2"] * 3


def test_a_first_batch_of_version_2_begins_with_sequence_0(cluster: Cluster, two: str) -> None:
    producer = Producer(cluster, f"{two}-id")
    assert producer.write(two, 0, b"too far", base_sequence=3) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.write(two, 0, b"first") == 0
    assert producer.write(two, 0, b"too far", base_sequence=3) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.write(two, 0, b"second") == 0
    assert producer.end(True) == 0
    assert producer.write(two, 1, b"too far", base_sequence=1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert producer.write(two, 1, b"first") == 0


def test_a_late_write_of_version_2_does_not_join_the_next_transaction(cluster: Cluster, two: str) -> None:
    producer = Producer(cluster, f"{two}-id")
    assert producer.write(two, 0, b"in time") == 0
    assert producer.end(True) == 0
    late = producer.write(two, 0, b"late", producer_epoch=producer.epoch - 1, base_sequence=1)
    assert late == ErrorCode.INVALID_PRODUCER_EPOCH


@pytest.mark.parametrize(("version", "code"), [(9, ErrorCode.INVALID_TXN_STATE), (11, ErrorCode.TRANSACTION_ABORTABLE)])
def test_version_1_writes_only_to_what_was_added(cluster: Cluster, two: str, version: int, code: ErrorCode) -> None:
    producer = Producer(cluster, f"{two}-id")
    assert producer.write(two, 0, b"too early", version) == code
    assert producer.add(two, 0) == 0
    assert producer.write(two, 0, b"now", version) == 0
    assert producer.write(two, 1, b"not there", version) == code
    assert producer.end(True, version=3) == 0
    assert producer.write(two, 0, b"after the end", version) == code


def test_what_must_be_refused(cluster: Cluster, two: str) -> None:
    producer = Producer(cluster, f"{two}-id")
    assert producer.add(two, 7) == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert producer.end(True, version=3) == ErrorCode.INVALID_TXN_STATE
    assert producer.write(two, 0, b"", producer_epoch=7) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.write(two, 0, b"", producer_id=1 << 40) == ErrorCode.INVALID_PRODUCER_ID_MAPPING
    # Transactional records in a request that names no transactional id.
    producer.transactional_id = None  # type: ignore[assignment]
    assert producer.write(two, 0, b"") == ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED


def _fetched_offset(producer: Producer, group: str, topic: str) -> int:
    request = OffsetFetchRequest(
        groups=[
            OffsetFetchRequestGroup(
                group_id=group, topics=[OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
            )
        ]
    )
    response = producer.ask(request, at_most=9)
    return int(response.groups[0].topics[0].partitions[0].committed_offset)


@pytest.mark.parametrize("version", [3, 5])
def test_offsets_count_when_the_transaction_is_committed(cluster: Cluster, two: str, version: int) -> None:
    group = f"{two}-group"
    producer = Producer(cluster, f"{two}-id")
    producer.ask(FindCoordinatorRequest(key_type=0, coordinator_keys=[group]))

    def commit_offset(offset: int) -> int:
        request = committing.TxnOffsetCommitRequest(
            transactional_id=producer.transactional_id,
            group_id=group,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            topics=[
                committing.TxnOffsetCommitRequestTopic(
                    name=two,
                    partitions=[committing.TxnOffsetCommitRequestPartition(partition_index=0, committed_offset=offset)],
                )
            ],
        )
        return int(producer.ask(request, at_most=version).topics[0].partitions[0].error_code)

    def add_offsets() -> int:
        request = AddOffsetsToTxnRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            group_id=group,
        )
        return int(producer.ask(request).error_code)

    if version < 5:
        assert commit_offset(1) == ErrorCode.INVALID_TXN_STATE
        assert add_offsets() == 0
    assert commit_offset(1) == 0
    assert _fetched_offset(producer, group, two) == -1
    assert producer.end(True, version) == 0
    assert _fetched_offset(producer, group, two) == 1
    if version < 5:
        assert add_offsets() == 0
    assert commit_offset(2) == 0
    assert producer.end(False, version) == 0
    assert _fetched_offset(producer, group, two) == 1


def test_the_batched_form_verifies_and_adds(cluster: Cluster, two: str) -> None:
    producer = Producer(cluster, f"{two}-id")

    def batched(verify_only: bool) -> list[int]:
        request = adding.AddPartitionsToTxnRequest(
            transactions=[
                adding.AddPartitionsToTxnTransaction(
                    transactional_id=producer.transactional_id,
                    producer_id=producer.id,
                    producer_epoch=producer.epoch,
                    verify_only=verify_only,
                    topics=[adding.AddPartitionsToTxnTopic(name=two, partitions=[0, 1])],
                )
            ]
        )
        (result,) = producer.ask(request).results_by_transaction
        return [row.partition_error_code for topic in result.topic_results for row in topic.results_by_partition]

    assert batched(verify_only=True) == [ErrorCode.TRANSACTION_ABORTABLE] * 2
    assert batched(verify_only=False) == [0, 0]
    assert batched(verify_only=True) == [0, 0]


def test_a_hanging_transaction_is_found_and_ended(start_node: StartNode, topic: str) -> None:
    """Without verification a write can be made that no coordinator knows: what KIP-890 is there to prevent."""
    import json
    import subprocess

    from node_process import MOLDAU

    node = start_node({"transaction.partition.verification.enable": "false"})

    def moldau(*arguments: str) -> str:
        command = [str(MOLDAU), "transactions", *arguments, "--bootstrap", node.bootstrap]
        return subprocess.run(command, capture_output=True, text=True, timeout=60, check=True).stdout

    create_topic(node.bootstrap, topic, 2)
    with Cluster(node.bootstrap) as cluster:
        producer = Producer(cluster, "forgetful")
        assert producer.write(topic, 1, b"hangs", version=9) == 0
        other = Producer(cluster, "careful")
        assert other.write(topic, 1, b"behind it", version=9) == 0
        request = DescribeProducersRequest(topics=[TopicRequest(name=topic, partition_indexes=[1])])
        (row,) = producer.ask(request).topics[0].partitions
        open_there = {one.producer_id: one.current_txn_start_offset for one in row.active_producers}
        assert open_there == {producer.id: 0, other.id: 1}
        # Version 2 adds what it writes to, verified or not.
        modern = Producer(cluster, "modern")
        assert modern.write(topic, 0, b"known") == 0
        found = json.loads(moldau("find-hanging", "--longer-than", "0s", "--json"))
        assert modern.end(False) == 0
        assert {one["producer_id"] for one in found} == {producer.id, other.id}
        moldau("abort", "--topic", topic, "--partition", "1", "--start-offset", "0")
        marker = WritableTxnMarker(
            producer_id=other.id,
            producer_epoch=other.epoch,
            transaction_result=True,
            coordinator_epoch=0,
            topics=[WritableTxnMarkerTopic(name=topic, partition_indexes=[1, 5])],
        )
        (result,) = other.ask(WriteTxnMarkersRequest(markers=[marker])).markers
        codes = {row.partition_index: row.error_code for row in result.topics[0].partitions}
        assert codes == {1: 0, 5: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert json.loads(moldau("find-hanging", "--longer-than", "0s", "--json")) == []
    assert read_topic(node.bootstrap, topic, 2) == [b"behind it"]
