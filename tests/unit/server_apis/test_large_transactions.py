"""Transactions that wrote to very many partitions end without holding up the others."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau import slicing
from moldau.errors import ErrorCode
from moldau.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from moldau.protocol.messages.end_txn import EndTxnRequest
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

COUNT = 200


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InProcessNode]:
    settings = {"transaction.state.log.num.partitions": "1", "transaction.state.log.min.isr": "1"}
    settings["transaction.state.log.replication.factor"] = "1"
    node = InProcessNode(tmp_path / "data", compiled=True, hurry=True, settings=settings)
    node.create_topic("wide", COUNT)
    yield node
    node.close()


def ready_producer(node: InProcessNode) -> Any:
    """The first question makes the topic in which transactions are kept."""
    asked = InitProducerIdRequest(transactional_id="tx", transaction_timeout_ms=60_000)
    while True:
        node.ask(FindCoordinatorRequest(key_type=1, coordinator_keys=["tx"]), 4, FindCoordinatorResponse)
        producer = node.ask(asked, 4, InitProducerIdResponse)
        if producer.error_code == ErrorCode.NONE:
            return producer
        node.turn()


def test_markers_are_written_some_at_a_time(node: InProcessNode, monkeypatch: pytest.MonkeyPatch) -> None:
    producer = ready_producer(node)
    added = node.ask(
        AddPartitionsToTxnRequest(
            v3_and_below_transactional_id="tx",
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name="wide", partitions=list(range(COUNT)))],
        ),
        3,
        AddPartitionsToTxnResponse,
    )
    (topic,) = added.results_by_topic_v3_and_below
    assert {row.partition_error_code for row in topic.results_by_partition} == {ErrorCode.NONE}
    monkeypatch.setattr(slicing, "SLICE_SECONDS", 0)
    monkeypatch.setattr(slicing, "FIRST_SLICE_SECONDS", 0)
    before, wire = node.node.slicer.slices, Wire()
    ended = EndTxnRequest(
        transactional_id="tx",
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        committed=True,
    )
    node.send(wire, request_frame(ended, 3))
    replicas = node.node.replicas
    written = [replicas.get("wide", index).log for index in range(COUNT)]
    node.turn_until(lambda: all(log.log_end_offset == 1 for log in written))
    assert node.node.slicer.slices - before >= COUNT / 20
