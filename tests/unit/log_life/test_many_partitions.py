"""Topics of many partitions come and go: never much of that in one turn of the loop, and nobody notices."""

from __future__ import annotations

from pathlib import Path

import pytest
from in_process_node import InProcessNode, Wire, request_frame
from storage_kit import batch, names_in

from moldau.errors import ErrorCode
from moldau.protocol.messages.delete_topics import DeleteTopicsRequest
from moldau.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from moldau.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from moldau.slicing import SLICE_SECONDS

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


def delete(node, topic):
    request = DeleteTopicsRequest(topic_names=[topic], timeout_ms=10_000)
    node.settle(node.node.controller.delete_topics(request, 5))


def produce(node, topic, index):
    data = PartitionProduceData(index=index, records=bytes(batch(b"v")))
    request = ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[TopicProduceData(name=topic, partition_data=[data])])
    answer = node.ask(request, 9, ProduceResponse).responses[0].partition_responses[0]
    return answer.error_code, answer.base_offset


def test_partitions_are_opened_some_in_a_turn_and_at_once_for_whoever_asks(node):
    replicas = node.node.replicas
    opening = Turns(node, replicas, "_hold", at_most=25)
    node.create_topic("wide", COUNT)
    assert len(replicas.by_name["wide"].partitions) < COUNT, "the answer does not wait for all"
    assert not replicas.arrivals._places, "the topic is noted as a whole"
    assert produce(node, "wide", COUNT - 1) == (0, 0)
    assert produce(node, "wide", COUNT - 1) == (0, 1)
    turns(node, lambda: len(replicas.by_name["wide"].partitions) == COUNT)
    opening.check(COUNT)
    assert produce(node, "wide", COUNT // 2) == (0, 0)


ASKED = range(COUNT // 2, COUNT // 2 + 60)


def write_to_many():
    rows = [PartitionProduceData(index=index, records=bytes(batch(b"v"))) for index in ASKED]
    topic = TopicProduceData(name="wide", partition_data=rows)
    return ProduceRequest(acks=-1, timeout_ms=1000, topic_data=[topic]), 8, ProduceResponse


def read_many():
    rows = [FetchPartition(partition=index, partition_max_bytes=100) for index in ASKED]
    topic = FetchTopic(topic="wide", partitions=rows)
    return FetchRequest(max_wait_ms=0, max_bytes=1000, session_epoch=-1, topics=[topic]), 11, FetchResponse


@pytest.mark.parametrize("ask", [write_to_many, read_many])
def test_one_request_for_many_of_them_does_not_open_them_all_in_one_turn(node, monkeypatch, ask):
    replicas = node.node.replicas
    monkeypatch.setattr(replicas.arrivals, "_continue", lambda: None)
    node.create_topic("wide", COUNT)
    opening = Turns(node, replicas, "_hold", at_most=25)
    node.node.slicer._now = SlowClock().monotonic
    request, version, kind = ask()
    wire = Wire()
    node.send(wire, request_frame(request, version))
    assert wire.paused
    turns(node, lambda: wire.sent)
    opening.check(len(ASKED))
    (topic,) = kind.decode(wire.sent[0][8:], version).responses
    rows = topic.partition_responses if kind is ProduceResponse else topic.partitions
    assert [row.error_code for row in rows] == [0] * len(ASKED)


def test_a_topic_deleted_before_all_of_it_was_open(node, tmp_path):
    replicas = node.node.replicas
    node.create_topic("wide", COUNT)
    assert len(replicas.by_name["wide"].partitions) < COUNT
    delete(node, "wide")
    turns(node, lambda: node.node.logs.retirement._names == {} and not replicas.arrivals)
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
    delete(node, "wide")
    assert logs.retirement._names, "the answer does not wait for the disk"
    turns(node, lambda: logs.retirement._names == {})
    assert len(renamed) == COUNT
    # Those that leave while a group is being moved are the next one.
    assert set(synced) == {str(tmp_path)}
    assert len(synced) < COUNT // 4, "one for many"


def test_a_topic_created_again_while_the_old_one_is_on_its_way_out(node, tmp_path):
    replicas = node.node.replicas
    for life in range(5):
        node.create_topic("wide", 40)
        turns(node, lambda: len(replicas.by_name["wide"].partitions) == 40)
        assert [produce(node, "wide", index) for index in (0, 39)] == [(0, 0), (0, 0)], life
        delete(node, "wide")
    assert not [path for path in Path(tmp_path).iterdir() if path.name.endswith("-stray")]


class SlowClock:
    """A look at it takes so long that few steps fit a slice."""

    def __init__(self):
        self._now = 0.0

    def monotonic(self):
        self._now += SLICE_SECONDS / 4
        return self._now


def test_partitions_of_a_deleted_topic_leave_some_in_a_turn_and_are_found_by_nobody(node):
    replicas, retirement = node.node.replicas, node.node.logs.retirement
    node.create_topic("wide", COUNT)
    turns(node, lambda: len(replicas.by_name["wide"].partitions) == COUNT)
    last = replicas.get("wide", COUNT - 1)
    node.node.slicer._now = SlowClock().monotonic
    leaving = Turns(node, node.node.logs, "delete", at_most=10)
    delete(node, "wide")
    assert replicas.departures, "the answer does not wait for all"
    assert last.is_leader, "it has not left"
    assert replicas.find("wide", COUNT - 1) is None
    assert produce(node, "wide", COUNT - 1)[0] == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    turns(node, lambda: not replicas.departures and not retirement._names)
    assert not last.is_leader
    leaving.check(COUNT)


def test_logs_that_are_out_of_the_way_are_forgotten_some_in_a_turn(node):
    replicas, retirement = node.node.replicas, node.node.logs.retirement
    node.create_topic("wide", COUNT)
    turns(node, lambda: len(replicas.by_name["wide"].partitions) == COUNT)
    replicas.departures.begin = lambda: None
    delete(node, "wide")
    # Twice in the turn that hears of the renames: callbacks come after what threads hand in.
    forgetting = Turns(node, retirement, "_moved", at_most=128)
    replicas.departures.finish()
    retirement.finish()
    turns(node, lambda: not retirement._names)
    forgetting.check(COUNT)


def test_a_topic_created_again_takes_the_places_it_needs_first(node, tmp_path):
    replicas = node.node.replicas
    for _ in range(3):
        node.create_topic("wide", COUNT)
        turns(node, lambda: len(replicas.by_name["wide"].partitions) == COUNT)
        node.node.slicer._now = SlowClock().monotonic
        delete(node, "wide")
        assert replicas.departures
    topic_id = node.create_topic("wide", COUNT)
    turns(node, lambda: len(replicas.by_name["wide"].partitions) == COUNT and not replicas.departures)
    assert {partition.topic_id for partition in replicas.partitions()} == {topic_id}
    assert [produce(node, "wide", index) for index in (0, COUNT - 1)] == [(0, 0), (0, 0)]
    assert not [path for path in Path(tmp_path).iterdir() if path.name.endswith("-stray")]


def test_a_stop_takes_along_what_had_still_to_leave(tmp_path):
    node = InProcessNode(tmp_path, compiled=True)
    node.create_topic("wide", COUNT)
    turns(node, lambda: len(node.node.replicas.by_name["wide"].partitions) == COUNT)
    node.node.replicas.departures.begin = lambda: None
    delete(node, "wide")
    assert node.node.replicas.departures
    node.close()
    assert not [name for name in names_in(tmp_path) if name.startswith("wide") and not name.endswith("-delete")]
