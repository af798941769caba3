"""Which partitions may be written to together, and until when."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process_node import InProcessNode

from moldau.coordinator.group.record_types import OFFSETS_TOPIC
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.records import Record, encode_batch
from moldau.replica.appends import Appends
from moldau.replica.runs import Runs


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path, compiled=True)
    yield node
    node.close()


@pytest.fixture
def runs(node: InProcessNode) -> Runs:
    return Runs(node.node.replicas, node.runtime.clock, 12)


def write(node: InProcessNode) -> None:
    data = memoryview(bytearray(encode_batch([Record(0, 1_700_000_000_000, None, b"value", [])])))
    Appends(node.node.replicas, 1, by_id=False).append("orders", 0, data, 0, len(data))


def test_a_partition_is_found_by_name_and_by_id(node: InProcessNode, runs: Runs) -> None:
    topic_id = node.create_topic("orders")
    partition = node.node.replicas.get("orders", 0)
    assert runs.find("orders", 0) is partition
    assert runs.find(topic_id, 0) is partition
    assert (runs.find("orders", 1), runs.find("others", 0), runs.find(b"n" * 16, 0)) == (None, None, None)


def test_clients_do_not_write_to_topics_of_the_node(node: InProcessNode, runs: Runs) -> None:
    topic_id = node.create_topic(OFFSETS_TOPIC)
    assert node.node.replicas.get(OFFSETS_TOPIC, 0) is not None
    assert (runs.find(OFFSETS_TOPIC, 0), runs.find(topic_id, 0)) == (None, None)


def test_a_run_is_opened_where_a_record_counts_at_once(node: InProcessNode) -> None:
    closed = False
    runs = Runs(node.node.replicas, node.runtime.clock, 12, is_closed=lambda: closed)
    node.create_topic("orders")
    partition = node.node.replicas.get("orders", 0)
    write(node)
    assert runs.open(partition) is not None
    partition.is_leader = False
    assert runs.open(partition) is None
    partition.is_leader = True
    closed = True
    assert runs.open(partition) is None


def test_no_run_is_opened_on_a_topic_that_is_gone(node: InProcessNode, runs: Runs) -> None:
    node.create_topic("orders")
    partition = node.node.replicas.get("orders", 0)
    write(node)
    assert runs.open(partition) is not None
    request = DeleteTopicsRequest(topic_names=["orders"], timeout_ms=1000)
    node.settle(node.node.controller.delete_topics(request, 5))
    assert runs.find("orders", 0) is None
    # It may not have been given up yet: what is written to it nobody would ever read.
    partition.is_leader = True
    assert partition.has_runs
    assert runs.open(partition) is None
