"""Topics of many partitions come and go: never much of that in one turn of the loop, and nobody notices."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process_node import InProcessNode
from storage_kit import batch, names_in

from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData

COUNT = 200


class Turns:
    """Counts what happens between two turns of the loop."""

    def __init__(self, node, owner, name, at_most):
        self.counts = [0]
        done, turn = getattr(owner, name), node.runtime.loop._turn
        self._at_most = at_most

        def counted(*arguments):
            self.counts[-1] += 1
            return done(*arguments)

        def next_turn():
            self.counts.append(0)
            turn()

        setattr(owner, name, counted)
        node.runtime.loop._turn = next_turn

    def check(self, total):
        assert (sum(self.counts), max(self.counts) <= self._at_most) == (total, True)


@pytest.fixture
def node(tmp_path):
    node = InProcessNode(tmp_path, compiled=True)
    yield node
    node.close()


def turns(node, condition):
    loop = node.runtime.loop
    for _ in range(5000):
        if condition():
            return
        loop.call_later(0.002, loop.stop)
        loop.run()
    raise AssertionError("it did not happen")


def produce(node, topic, index):
    data = PartitionProduceData(index=index, records=bytes(batch(b"v")))
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    answer = node.ask(request, 9, ProduceResponse).responses[0].partition_responses[0]
    return answer.error_code, answer.base_offset


def test_partitions_are_opened_some_in_a_turn_and_at_once_for_whoever_asks(node):
    replicas = node.node.replicas
    opening = Turns(node, replicas, "_take_on", at_most=25)
    node.create_topic("wide", COUNT)
    assert len(replicas.by_name["wide"].partitions) < COUNT, "the answer does not wait for all"
    assert produce(node, "wide", COUNT - 1) == (0, 0)
    assert produce(node, "wide", COUNT - 1) == (0, 1)
    turns(node, lambda: len(replicas.by_name["wide"].partitions) == COUNT)
    opening.check(COUNT)
    assert produce(node, "wide", COUNT // 2) == (0, 0)


def test_a_topic_deleted_before_all_of_it_was_open(node, tmp_path):
    replicas = node.node.replicas
    node.create_topic("wide", COUNT)
    assert len(replicas.by_name["wide"].partitions) < COUNT
    node.settle(node.node.controller.delete_topics(DeleteTopicsRequest(topic_names=["wide"], timeout_ms=1000), 5))
    turns(node, lambda: node.node.logs.retirement._names == {} and not replicas._arriving)
    assert not [name for name in names_in(tmp_path) if name.startswith("wide") and not name.endswith("-delete")]
    assert "wide" not in replicas.by_name


def test_logs_go_some_in_a_turn_and_their_names_at_once(node, tmp_path):
    replicas, logs = node.node.replicas, node.node.logs
    node.create_topic("wide", COUNT)
    turns(node, lambda: len(replicas.by_name["wide"].partitions) == COUNT)
    renamed = []
    disk = node.runtime.disk
    rename, sync = type(disk).rename, type(disk).sync_directory
    synced = []

    class Watched(type(disk)):
        def rename(self, source, target):
            renamed.append(target)
            rename(self, source, target)

        def sync_directory(self, path):
            synced.append(path)
            sync(self, path)

    logs.disk = logs.retirement._disk = Watched()
    node.settle(node.node.controller.delete_topics(DeleteTopicsRequest(topic_names=["wide"], timeout_ms=1000), 5))
    assert logs.retirement._names, "the answer does not wait for the disk"
    turns(node, lambda: logs.retirement._names == {})
    assert len(renamed) == COUNT
    assert synced == [str(tmp_path)], "one for all"


def test_a_topic_created_again_while_the_old_one_is_on_its_way_out(node, tmp_path):
    replicas = node.node.replicas
    for life in range(5):
        node.create_topic("wide", 40)
        turns(node, lambda: len(replicas.by_name["wide"].partitions) == 40)
        assert [produce(node, "wide", index) for index in (0, 39)] == [(0, 0), (0, 0)], life
        node.settle(node.node.controller.delete_topics(DeleteTopicsRequest(topic_names=["wide"], timeout_ms=1000), 5))
    assert not [path for path in Path(tmp_path).iterdir() if path.name.endswith("-stray")]
