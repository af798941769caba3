"""A transactional batch for a partition that has not been opened yet: it is asked about before it is written, too."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode

from moldau.errors import ErrorCode
from moldau.protocol.messages.describe_transactions import DescribeTransactionsRequest, DescribeTransactionsResponse
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from moldau.protocol.records import encode_batch

PARTITIONS = 60
LAST = PARTITIONS - 1


@pytest.fixture(params=[True, False], ids=["compiled", "readable"])
def node(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path, compiled=request.param)
    yield node
    node.close()


def identity(node: InProcessNode) -> Any:
    assert node.ask(FindCoordinatorRequest(key="mine", key_type=1), 1, FindCoordinatorResponse).error_code == 0
    given: list[Any] = []

    def taken() -> bool:
        request = InitProducerIdRequest(transactional_id="mine", transaction_timeout_ms=60_000)
        given.append(node.ask(request, 4, InitProducerIdResponse))
        return given[-1].error_code == ErrorCode.NONE

    node.turn_until(taken)
    return given[-1]


def write(node: InProcessNode, producer: Any, version: int) -> ErrorCode:
    batch = encode_batch(
        [(0, None, b"v", ())],
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        base_sequence=0,
        is_transactional=True,
    )
    data = TopicProduceData(name="wide", partition_data=[PartitionProduceData(index=LAST, records=batch)])
    request = ProduceRequest(transactional_id="mine", acks=-1, timeout_ms=1000, topic_data=[data])
    answer = node.ask(request, version, ProduceResponse)
    return ErrorCode(answer.responses[0].partition_responses[0].error_code)


@pytest.fixture
def producer(node: InProcessNode, monkeypatch: pytest.MonkeyPatch) -> Any:
    given = identity(node)
    arrivals = node.node.replicas.arrivals
    node.turn_until(lambda: not arrivals)
    monkeypatch.setattr(arrivals, "_continue", lambda: None)
    node.create_topic("wide", PARTITIONS)
    assert node.node.replicas.find("wide", LAST) is None
    return given


def test_version_2_makes_the_partition_part_of_the_transaction(node: InProcessNode, producer: Any) -> None:
    assert write(node, producer, 12) == ErrorCode.NONE
    described = node.ask(DescribeTransactionsRequest(transactional_ids=["mine"]), 0, DescribeTransactionsResponse)
    (transaction,) = described.transaction_states
    assert [(topic.topic, topic.partitions) for topic in transaction.topics] == [("wide", [LAST])]


def test_version_1_is_refused_what_it_has_not_added(node: InProcessNode, producer: Any) -> None:
    assert write(node, producer, 11) == ErrorCode.TRANSACTION_ABORTABLE
    partition = node.node.replicas.find("wide", LAST)
    assert partition is None or partition.log.local.log_end_offset == 0


def test_a_partition_that_cannot_be_opened_now_is_not_opened_by_the_write(
    node: InProcessNode, producer: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would not have been asked about."""
    replicas = node.node.replicas
    monkeypatch.setattr(replicas, "find_or_open", lambda topic, index: None)
    assert write(node, producer, 12) == ErrorCode.KAFKA_STORAGE_ERROR
    assert replicas.find("wide", LAST) is None
