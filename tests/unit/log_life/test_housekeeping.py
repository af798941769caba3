"""What a node does now and then, and what it says about its last end."""

from __future__ import annotations

import logging

import pytest
from in_process_node import InProcessNode
from storage_kit import batch

from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

RARELY = {"log.retention.check.interval.ms": "300000", "log.cleaner.backoff.ms": "300000"}


def write(node, topic, count=3):
    log = node.node.replicas.get(topic, 0).log
    for _ in range(count):
        data = PartitionProduceData(index=0, records=bytes(batch(b"v", key=b"k", timestamp=1)))
        topic_data = [TopicProduceData(name=topic, partition_data=[data])]
        answer = node.ask(ProduceRequest(acks=-1, timeout_ms=1000, topic_data=topic_data), 9, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0
        log.local.roll()
    return log


def until(node, condition):
    loop = node.runtime.loop
    for _ in range(2000):
        if condition():
            return
        loop.call_later(0.005, loop.stop)
        loop.run()
    raise AssertionError("it did not happen")


def test_the_first_pass_comes_after_the_initial_delay_and_not_after_an_interval(tmp_path):
    node = InProcessNode(tmp_path, compiled=True, settings={**RARELY, "log.initial.task.delay.ms": "10"})
    node.create_topic("short", **{"retention.ms": "1"})
    log = write(node, "short")
    node.close()
    again = InProcessNode(tmp_path, compiled=True, settings={**RARELY, "log.initial.task.delay.ms": "10"})
    log = again.node.replicas.get("short", 0).log
    until(again, lambda: log.log_start_offset == 3)
    again.close()


def test_what_is_compacted_and_deleted_expires_with_the_cleaner(tmp_path):
    settings = {**RARELY, "log.cleaner.backoff.ms": "10"}
    node = InProcessNode(tmp_path, compiled=True, settings=settings)
    node.create_topic("both", **{"retention.ms": "1", "cleanup.policy": "compact,delete"})
    log = write(node, "both")
    until(node, lambda: log.log_start_offset == 3)
    node.close()


def test_the_names_of_the_tasks_and_their_times(tmp_path):
    node = InProcessNode(tmp_path, compiled=True)
    tasks = {name: (min(first, interval), interval) for name, first, interval, _ in node.node.housekeeping._tasks}
    assert tasks["retention"] == (30.0, 300.0)
    assert tasks["recovery points"] == tasks["log starts"] == tasks["compacted offsets"] == (30.0, 60.0)
    assert tasks["high watermarks"] == (5.0, 5.0)
    node.close()


@pytest.mark.parametrize("clean", [True, False])
def test_the_log_tells_of_an_unclean_stop_and_what_was_recovered(tmp_path, clean, caplog):
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("orders")
    node.create_topic("empty")
    write(node, "orders")
    node.close()
    if not clean:
        (tmp_path / ".kafka_cleanshutdown").unlink()
        with (tmp_path / "orders-0" / f"{3:020d}.log").open("ab") as file:
            file.write(b"torn" * 10)
    caplog.clear()
    with caplog.at_level(logging.INFO):
        again = InProcessNode(tmp_path, compiled=True)
    again.close()
    assert (f"{tmp_path} was not closed in order" in caplog.text) == (not clean)
    assert ("40 bytes that were not complete were cut off" in caplog.text) == (not clean)
    assert ("2 of 2 logs were read" in caplog.text) == ("is whole again" in caplog.text) == (not clean)
