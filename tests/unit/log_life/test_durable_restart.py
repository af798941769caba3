"""Durable topics when a broker starts: nothing acknowledged is hidden while the first commit is still under way."""

from __future__ import annotations

from pathlib import Path

from in_process_node import InProcessNode
from storage_kit import batch


def test_what_is_in_a_durable_log_is_forced_before_clients_are_let_in(tmp_path: Path) -> None:
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("orders", **{"flush.messages": "1"})
    partition = node.node.replicas.get("orders", 0)
    data = memoryview(bytearray(batch(b"one")))
    partition.append(data, 0, len(data), -1)
    # Written, but the commit runs off the loop, which stands still here: as right after a start.
    assert partition.log.high_watermark == 0
    node.node.replicas.settle_durable()
    assert partition.log.high_watermark == 1
    node.close()
