"""The first question for a coordinator creates its topic: no turn opens all of it, and nobody is sent away."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from in_process_node import InProcessNode

from moldau.errors import ErrorCode
from moldau.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from moldau.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestTopic, OffsetFetchResponse

PARTITIONS = 50


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path, compiled=True, settings={"offsets.topic.num.partitions": str(PARTITIONS)})
    yield node
    node.close()


def once_loaded(node: InProcessNode, ask: Callable[[], int]) -> int:
    """As a client does, which asks again while its coordinator reads its log."""
    codes: list[int] = []

    def answered() -> bool:
        codes.append(ask())
        return codes[-1] != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    node.turn_until(answered)
    return codes[-1]


def commit(node: InProcessNode, group: str) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=7)
    request = OffsetCommitRequest(
        group_id=group, topics=[OffsetCommitRequestTopic(name="orders", partitions=[partition])]
    )
    return once_loaded(node, lambda: node.ask(request, 8, OffsetCommitResponse).topics[0].partitions[0].error_code)


def test_who_asks_first_finds_a_coordinator_that_answers(node: InProcessNode, monkeypatch: pytest.MonkeyPatch) -> None:
    node.create_topic("orders")
    replicas = node.node.replicas
    more = replicas.arrivals._continue
    # The turns after the one that brings the topic: held back, so that it can be seen what that one did.
    monkeypatch.setattr(replicas.arrivals, "_continue", lambda: None)
    found = node.ask(FindCoordinatorRequest(key="group"), 0, FindCoordinatorResponse)
    assert found.error_code == 0
    opened = replicas.by_name["__consumer_offsets"].partitions
    assert 0 < len(opened) < PARTITIONS
    assert commit(node, "group") == ErrorCode.NONE
    # Other metadata in between, as creating one more topic brings it, opens some of them as well.
    node.create_topic("more")
    assert len(opened) < PARTITIONS
    monkeypatch.undo()
    more()
    node.turn_until(lambda: len(opened) == PARTITIONS)
    for number in range(40):
        assert commit(node, f"group-{number}") == ErrorCode.NONE


def test_a_large_topic_for_transactions_is_not_opened_in_one_turn_either(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = {"transaction.state.log.num.partitions": "120"}
    node = InProcessNode(tmp_path, compiled=True, settings=settings)
    replicas = node.node.replicas
    more = replicas.arrivals._continue
    monkeypatch.setattr(replicas.arrivals, "_continue", lambda: None)
    found = node.ask(FindCoordinatorRequest(key="mine", key_type=1), 1, FindCoordinatorResponse)
    assert found.error_code == 0
    opened = replicas.by_name["__transaction_state"].partitions
    assert 0 < len(opened) < PARTITIONS
    # What it names can be used at once.
    request = InitProducerIdRequest(transactional_id="mine", transaction_timeout_ms=1000)
    assert once_loaded(node, lambda: node.ask(request, 4, InitProducerIdResponse).error_code) == ErrorCode.NONE
    monkeypatch.undo()
    more()
    node.turn_until(lambda: len(opened) == 120)
    node.turn_until(lambda: all(node.node.transactions.runtime.is_loaded(index) for index in range(120)))
    node.close()


def test_what_a_kill_kept_from_being_opened_is_opened_by_the_next_start(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    lived, died = tmp_path / "lived", tmp_path / "died"
    node = InProcessNode(lived, compiled=True)
    node.create_topic("orders")
    monkeypatch.setattr(node.node.replicas.arrivals, "_continue", lambda: None)
    assert node.ask(FindCoordinatorRequest(key="group"), 0, FindCoordinatorResponse).error_code == 0
    assert commit(node, "group") == ErrorCode.NONE
    shutil.copytree(lived, died)
    node.close()
    again = InProcessNode(died, compiled=True)
    again.turn_until(lambda: all(again.node.groups.runtime.is_loaded(index) for index in range(PARTITIONS)))
    asked = OffsetFetchRequest(group_id="group", topics=[OffsetFetchRequestTopic(name="orders", partition_indexes=[0])])
    (topic,) = again.ask(asked, 7, OffsetFetchResponse).topics
    assert topic.partitions[0].committed_offset == 7
    again.close()
