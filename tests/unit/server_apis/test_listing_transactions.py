"""ListTransactions with a pattern: any client may send one, so it is matched by RE2, and not on the loop."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from in_process_node import InProcessNode, Wire, request_frame

from moldau.errors import ErrorCode
from moldau.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from moldau.protocol.messages.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from moldau.protocol.messages.metadata import MetadataRequest

# A backtracking engine takes as long for it as there are ways to cut up the id: more than anybody can wait.
ENDLESS = "(a+)+b"
VICTIM = "a" * 60


@pytest.fixture
def node(tmp_path: Path) -> Iterator[InProcessNode]:
    node = InProcessNode(tmp_path / "data", compiled=True, settings={"transaction.state.log.num.partitions": "1"})
    node.create_topic("__transaction_state", 1)
    node.turn_until(lambda: node.node.transactions.runtime.is_loaded(0))
    for name in (VICTIM, "orders"):
        request = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=1000)
        assert node.ask(request, 4, InitProducerIdResponse).error_code == ErrorCode.NONE
    yield node
    node.close()


def listed(node: InProcessNode, pattern: str) -> ListTransactionsResponse:
    answer: ListTransactionsResponse = node.ask(
        ListTransactionsRequest(transactional_id_pattern=pattern), 2, ListTransactionsResponse
    )
    return answer


def test_a_pattern_for_whole_ids(node: InProcessNode) -> None:
    assert [row.transactional_id for row in listed(node, "or.*").transaction_states] == ["orders"]
    assert listed(node, "order").transaction_states == []
    assert listed(node, "[").error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


def test_a_pattern_that_never_ends_elsewhere_ends_here(node: InProcessNode) -> None:
    hostile, other = Wire(), Wire()
    node.send(hostile, request_frame(ListTransactionsRequest(transactional_id_pattern=ENDLESS), 2))
    assert not hostile.sent, "it is matched elsewhere"
    node.send(other, request_frame(MetadataRequest(topics=[]), 9))
    assert other.sent
    node.turn_until(lambda: bool(hostile.sent))
    assert listed(node, ENDLESS).transaction_states == []
